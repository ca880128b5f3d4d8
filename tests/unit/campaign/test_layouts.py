"""A layout that is impossible is refused while nothing is held, with what would fit."""

from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.cli.checking import check
from perjoule.model.errors import CampaignError

TEXT = """
name = "layouts"
clients = {clients}
{servers}
seed = 1
[testbed]
kind = "{testbed}"
[[filesystem]]
kind = "moosefs"
goal = [2, 5]
[[workload]]
kind = "fio"
"""


def asked(testbed: str = "virtual", servers: str = "", clients: str = "[1]") -> str:
    return TEXT.format(testbed=testbed, servers=servers, clients=clients)


def test_check_refuses_an_impossible_layout_and_says_what_fits(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(asked())
    said = r"^campaign.toml line 8: moosefs goal 5 on virtual: .* has 4 storage hosts; set goal to at most 4$"
    with pytest.raises(CampaignError, match=said):
        check.main([str(tmp_path / "campaign.toml")], standalone_mode=False)


def test_what_keeps_a_layout_from_being_possible_has_its_line_or_its_override() -> None:
    def where(text: str, *overrides: str) -> list[str]:
        found = campaign.impossible(campaign.parse(text, source="lab.toml", overrides=overrides))
        return [error.where for error in found.values()]

    assert where(asked(), "filesystem.goal=9") == ["--set filesystem.goal=9: moosefs on virtual"]
    several = asked(servers="servers = [1, 4]").replace("goal = [2, 5]", "goal = 2")
    assert where(several) == ["lab.toml line 8: moosefs, 1 server on virtual servers 1"]
    second = asked().replace(
        "goal = [2, 5]", 'goal = 2\n[[filesystem]]\nkind = "glusterfs"\nlabel = "It"\nredundancy = 3'
    )
    assert where(second) == ["lab.toml line 11: It on virtual"]
    few = (
        asked(testbed="local", clients="[1, 2]").replace("moosefs", "simulated").replace("goal = [2, 5]", "")
    )
    assert where(few) == ["lab.toml line 6: simulated on local"]


def test_each_number_of_servers_is_a_deployment_of_its_own() -> None:
    found = campaign.impossible(campaign.parse(asked(servers="servers = [1, 4, 5]")))
    wrong = {"moosefs goal 2, 1 server", "moosefs goal 5, 1 server", "moosefs goal 5, 4 servers"}
    assert {filesystem for _, filesystem in found} == wrong


def test_a_testbed_that_can_t_have_this_many_clients_is_refused_as_well() -> None:
    found = campaign.impossible(
        campaign.parse(
            asked(testbed="local", clients="[1, 2]")
            .replace("moosefs", "simulated")
            .replace("goal = [2, 5]", "")
        )
    )
    assert [error.what for error in found.values()] == ["2 clients requested on one machine"]


def test_beegfs_is_refused_on_virtual_hosts_which_share_the_kernel_of_its_client() -> None:
    text = asked().replace("moosefs", "beegfs").replace("goal = [2, 5]", "")
    (error,) = campaign.impossible(campaign.parse(text, source="lab.toml")).values()
    assert str(error).startswith(
        "lab.toml line 8: beegfs on virtual: virtual hosts can't mount BeeGFS: its client is a module"
    )
    assert str(error).endswith("; use testbed cluster, with the module on each client")
    hosts = (
        'name = "a", address = "192.0.2.1", role = "storage"}, {name = "b", address = "192.0.2.2", role = '
        '"client"'
    )
    assert not campaign.impossible(
        campaign.parse(text.replace('kind = "virtual"', f'kind = "cluster"\nhosts = [{{{hosts}}}]'))
    )


def test_shrink_keeps_whole_objects() -> None:
    text = (
        asked()
        .replace('kind = "moosefs"\ngoal = [2, 5]', 'kind = "rados"')
        .replace('"fio"', '"rados"\nobject = "3 MiB"\nsize = "30 MiB"')
    )
    trial = campaign.parse(text, overrides=["shrink=7"]).trials[0]
    assert trial.workload.options["size"] == "6 MiB"
