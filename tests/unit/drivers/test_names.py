"""Names of many hosts as administrators write them."""

import pytest

from perjoule import campaign, drivers
from perjoule.drivers.names import fold, unfold
from perjoule.model.errors import CampaignError
from perjoule.testbeds.cluster import SshCluster


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("n1", ["n1"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[008-011,64].lab", ["n008.lab", "n009.lab", "n010.lab", "n011.lab", "n64.lab"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_a_pattern_stands_for_names(pattern: str, names: list[str]) -> None:
    assert unfold(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("n[1", "bracket without its partner"),
        ("n1]", "bracket without its partner"),
        ("n[]", "write numbers in brackets"),
        ("n[a-c]", "write numbers in brackets"),
        ("n[3-1]", "3 is larger than 1"),
        ("n[1-99999999]", "stands for too many hosts"),
        ("n[1-200][1-200]", "stands for 40000 hosts"),
        ("n[1-9999][1-9999][1-9999]", "stands for 999700029999 hosts"),  # at once, and in no memory
    ],
)
def test_what_is_not_a_pattern_is_refused(pattern: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        unfold(pattern)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (unfold("n[001-064]"), "n[001-064]"),
        (["n1", "n2", "n4", "m"], "n[1-2,4], m"),
        (["n1", "n01"], "n1, n01"),
        (["storage-1", "client-1", "storage-2"], "storage-[1-2], client-1"),
        (["a"], "a"),
    ],
)
def test_names_become_one_text(names: list[str], text: str) -> None:
    assert fold(names) == text


def _parsed(table: str) -> SshCluster:
    rest = '[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = "simulated"\n'
    made = campaign.parse(f'[testbed]\nkind = "cluster"\nhosts = [{table}]\n{rest}', source="lab.toml")
    bed = drivers.testbed(made.trials[0].testbed)
    assert isinstance(bed, SshCluster)
    return bed


def test_one_table_is_many_hosts_with_a_role() -> None:
    bed = _parsed(
        '{name = "s1", address = "192.0.2.1", role = "storage"}, '
        '{name = "n[01-12]", address = "192.0.2.[11-22]", ssh = "lab-n[01-12]", role = "client"}'
    )
    assert len(bed.hosts) == 13
    last = bed.hosts[-1]
    assert (last.name, last.address, last.ssh, last.role) == ("n12", "192.0.2.22", "lab-n12", "client")


def test_patterns_of_different_lengths_are_refused() -> None:
    with pytest.raises(
        CampaignError, match=r'name = "n\[1-3\]" is 3 hosts, but address = "192.0.2.\[1-2\]" is 2'
    ):
        _parsed('{name = "n[1-3]", address = "192.0.2.[1-2]", role = "client"}')
    with pytest.raises(CampaignError, match="bracket without its partner"):
        _parsed('{name = "n[1-3", address = "192.0.2.1", role = "client"}')
    with pytest.raises(CampaignError, match=r"is 3 hosts"):
        _parsed('{name = "n[1-3]", address = "192.0.2.1", role = "client"}')


def test_node_sets_have_steps_and_lists() -> None:
    assert unfold("n[1-9/2]") == ["n1", "n3", "n5", "n7", "n9"]
    assert unfold("n[001-003,9],m[1-2]-ib,gate") == ["n001", "n002", "n003", "n9", "m1-ib", "m2-ib", "gate"]
    for operator in ("n[1-9]!n3", "n[1-9]&n3", "n[1-9]^n3", "n*", "n?"):
        with pytest.raises(ValueError, match="does not know"):
            unfold(operator)
    with pytest.raises(ValueError, match="write numbers in brackets"):
        unfold("n[1-9/0]")
    with pytest.raises(ValueError, match="too many hosts"):
        unfold(",".join(["n[1-9999]"] * 10_000))
