"""Jobs of Grid'5000, by python-grid5000 and a stand-in for the API in the form of its documentation; nodes are
this machine, by a stand-in for ssh.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from grid_api import LOGIN, GridApi, full, grid_api
from lending import live_at, notes
from perjoule import drivers
from perjoule.drivers.protocols import Cleaned, Hosts
from perjoule.machine.installing import installs
from perjoule.model.errors import CampaignError, LoginRefused, MachineError
from perjoule.testbeds import _reserved, _reserving
from perjoule.testbeds.grid5000 import Grid5000, api, reservation
from typed import as_written

THREE = [{"cluster": "taurus", "role": "storage", "count": 2}, {"cluster": "nova", "role": "client"}]


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GridApi]:
    """A site; at the end nothing of ours is reserved there."""
    with grid_api(live_at(tmp_path, monkeypatch)) as site:
        yield site
        _reserved.give_all_back()
        assert site.alive == []
        assert notes(tmp_path) == []


def bed(tmp_path: Path, **options: object) -> Grid5000:
    usual = {"site": "lyon", "time": "2 h", "hosts": THREE, "work": str(tmp_path / "work")}
    return as_written(Grid5000, **{**usual, **options})


def job(grid: GridApi) -> dict[str, Any]:
    (only,) = grid.jobs.values()
    return only


def test_nodes_are_reserved_reached_and_given_back_at_the_end_of_the_command(
    grid: GridApi, tmp_path: Path
) -> None:
    with bed(tmp_path).hold(1) as hosts:
        assert [(host.name, host.role, host.address) for host in hosts.all] == [
            ("taurus-1", "storage", "127.0.0.2"),
            ("taurus-2", "storage", "127.0.0.3"),
            ("nova-1", "client", "127.0.0.4"),
        ]
        assert hosts.clients[0].run(["echo", "there"], timeout_s=5).stdout == "there\n"
        assert hosts.facts["grid5000"] == {
            "site": "lyon",
            "job": job(grid)["uid"],
            "nodes": [full("taurus", 1), full("taurus", 2), full("nova", 1)],
            "environment": "",
            "metrics": f"{grid.url}/sites/lyon/metrics",
        }
    logins = (tmp_path / "home" / "ssh-asked").read_text()
    assert set(re.findall(r" -- (\S+grid5000\.fr) ", logins)) == {
        full("taurus", 1),
        full("taurus", 2),
        full("nova", 1),
    }
    assert " -l root -- " not in logins
    assert grid.alive == [job(grid)["uid"]]
    _reserved.give_all_back()
    assert job(grid)["state"] == "error"


def test_a_job_is_requested_with_everything_that_was_set(grid: GridApi, tmp_path: Path) -> None:
    hosts = [
        {"cluster": "taurus", "role": "client", "node": "odroid-hc4/A"},
        {"name": "taurus-1", "role": "storage"},
        {"cluster": "sirius", "role": "client"},
    ]
    options = {"time": "90 min", "environment": "debian12-min", "queue": "production", "project": "lab"}
    with bed(tmp_path, hosts=hosts, **options).hold(2) as held:
        assert [(host.name, host.role, host.node and host.node.name) for host in held.all] == [
            ("taurus-2", "client", "A"),
            ("taurus-1", "storage", None),
            ("sirius-1", "client", None),
        ]
    submitted = job(grid)
    assert submitted["resources"] == (
        "{network_address in ('taurus-1.lyon.grid5000.fr')}/nodes=1+{cluster='taurus'}/nodes=1"
        "+{cluster='sirius'}/nodes=1,walltime=01:30:00"
    )
    assert re.fullmatch("perjoule-lyon-[0-9a-f]{8}", submitted["name"])
    assert (submitted["types"], submitted["queue"], submitted["project"]) == (
        ["deploy", "exotic"],
        "production",
        "lab",
    )
    (deployment,) = grid.deployments.values()
    assert (deployment["environment"], deployment["key"]) == ("debian12-min", "ssh-ed25519 AAAAC3Nza me@here")
    assert sorted(deployment["nodes"]) == [full("sirius", 1), full("taurus", 1), full("taurus", 2)]
    assert " -l root -- " in (tmp_path / "home" / "ssh-asked").read_text()


def test_deployments_of_a_command_share_a_job_until_it_ends(grid: GridApi, tmp_path: Path) -> None:
    for servers in (1, 2):
        with bed(tmp_path, servers=servers).hold(1) as hosts:
            assert len(hosts.servers) == servers
    assert len(grid.jobs) == 1
    job(grid)["state"] = "terminated"
    with bed(tmp_path).hold(1):
        assert len(grid.jobs) == 2


def test_a_lease_lasts_as_long_as_the_job_and_says_how_it_ended(
    grid: GridApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 500.0, time=lambda: float(job(grid)["started_at"]) + 60)
    for module in (_reserving, reservation):
        monkeypatch.setattr(module, "time", clock)
    assert bed(tmp_path).lease_s == 7200
    with bed(tmp_path).hold(1) as hosts:
        lease = hosts.lease
        assert lease
        assert (lease.name, lease.ends_s) == (f"Grid'5000 job {job(grid)['uid']} on lyon", 500 + 7140)
        assert lease.over() == ""
        job(grid)["state"] = "terminated"
        assert lease.over() == "has ended"


def test_a_job_that_waits_is_reported_and_given_up_in_the_end(grid: GridApi, tmp_path: Path) -> None:
    grid.waits_count = 10**9
    waiting = bed(tmp_path, wait="0.1 s").awaited()
    assert re.fullmatch(r"Grid'5000 job 1900000 on lyon is to start \w{3} \d\d:\d\d", next(waiting))
    with pytest.raises(MachineError, match=r"is to start .*, after 0.1 s; ask for fewer nodes"):
        list(waiting)
    assert grid.alive == []


def test_a_job_that_fails_before_it_begins_is_one_sentence(grid: GridApi, tmp_path: Path) -> None:
    grid.waits_count = 10**9
    waiting = bed(tmp_path).awaited()
    next(waiting)
    grid.jobs[1900000] |= {"state": "error", "message": "walltime is too long"}
    with pytest.raises(MachineError, match=r"1900000 on lyon was ended, or failed \(walltime is too long\)"):
        list(waiting)


def test_a_refused_job_is_one_sentence_with_the_words_of_oar(grid: GridApi, tmp_path: Path) -> None:
    grid.refusal = "Admission Rule ERROR : no access to queue production"
    with (
        pytest.raises(MachineError, match=r"Grid'5000: .*no access to queue production"),
        bed(tmp_path).hold(1),
    ):
        pass
    assert grid.jobs == {}
    (note,) = notes(tmp_path)  # it may be made yet
    make(grid, f"perjoule-{note}")
    assert Grid5000.clean().removed == ("Grid'5000 job 1900000 on lyon",)


def test_a_job_whose_answer_was_lost_is_ended(grid: GridApi, tmp_path: Path) -> None:
    grid.broken = True
    with pytest.raises(MachineError, match="the API of Grid'5000 does not answer"), bed(tmp_path).hold(1):
        pass
    assert job(grid)["state"] == "error"


def test_a_node_that_can_not_be_deployed_is_named_and_the_job_ends(grid: GridApi, tmp_path: Path) -> None:
    grid.undeployed = (full("taurus", 2),)
    with (
        pytest.raises(MachineError, match=r"debian12-min could not be deployed on taurus-2\.lyon"),
        bed(tmp_path, environment="debian12-min").hold(1),
    ):
        pass
    assert grid.alive == []


def dead(grid: GridApi, tmp_path: Path) -> None:
    """What a perjoule that was killed leaves: a note that nobody has locked, and a job of its name."""
    folder = tmp_path / "state" / "perjoule" / "grid5000"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lyon-00000001").touch(mode=0o600)
    make(grid, "perjoule-lyon-00000001")


def make(grid: GridApi, name: str) -> None:
    resources = "{cluster='nova'}/nodes=1,walltime=01:00:00"
    grid.refusal, request = "", {"name": name, "command": "sleep", "resources": resources}
    grid.answer("POST", "/sites/lyon/jobs", {}, request)


def test_the_job_of_a_dead_perjoule_is_ended_and_that_of_a_living_one_is_not(
    grid: GridApi, tmp_path: Path
) -> None:
    with bed(tmp_path).hold(1):
        dead(grid, tmp_path)
        assert Grid5000.clean() == Cleaned(removed=("Grid'5000 job 1900001 on lyon",))
        assert grid.alive == [1900000]
    assert Grid5000.clean() == Cleaned()


def test_the_next_reservation_ends_the_job_of_a_dead_perjoule(grid: GridApi, tmp_path: Path) -> None:
    dead(grid, tmp_path)
    with bed(tmp_path).hold(1):
        assert grid.alive == [1900001]


def test_a_job_that_can_not_be_ended_is_named_and_stays_noted(
    grid: GridApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(grid, tmp_path)
    grid.deaf = True
    with monkeypatch.context() as patched:
        patched.setattr(_reserved, "GONE_S", 0.05)
        assert Grid5000.clean() == Cleaned(
            failures=("Grid'5000 job perjoule-lyon-00000001 (it does not end)",)
        )
        patched.setattr(api, "installed", lambda: False)
        assert Grid5000.clean() == Cleaned(
            failures=("Grid'5000 job perjoule-lyon-00000001 (python-grid5000 is not installed)",)
        )
    assert notes(tmp_path) == ["lyon-00000001"]
    grid.deaf = False
    assert Grid5000.clean() == Cleaned(removed=("Grid'5000 job 1900000 on lyon",))
    assert notes(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "detail", "fix"),
    [
        ({}, "nodes: 2 of taurus, 1 of nova at lyon; perjoule will ask for 3, and look at them then", ""),
        (
            {"hosts": [{"cluster": "gros", "role": "client"}]},
            'lyon has no cluster "gros"',
            "known: nova, sirius, taurus",
        ),
        (
            {"hosts": [{"cluster": "taurus", "role": "client", "count": 3}]},
            "3 nodes of taurus requested, it has 2",
            "ask for fewer nodes",
        ),
        ({"site": "nowhere"}, "Grid'5000: ", ""),
    ],
)
def test_what_can_not_be_had_is_found_before(
    grid: GridApi, tmp_path: Path, options: dict[str, object], detail: str, fix: str
) -> None:
    (check,) = bed(tmp_path, **options).checks()
    assert check.detail.startswith(detail)
    assert check.ok == (not options)
    assert check.fix == fix
    assert grid.jobs == {}


def test_what_is_missing_here_is_named_before_anybody_is_asked(
    grid: GridApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / ".ssh" / "id_ed25519.pub").unlink()
    (check,) = bed(tmp_path, environment="debian12-min").checks()
    assert (check.ok, check.detail) == (False, "there is no public key in ~/.ssh")
    with pytest.raises(MachineError, match="make one by"), bed(tmp_path, environment="debian12-min").hold(1):
        pass
    assert grid.jobs == {}
    grid.requests.clear()
    (tmp_path / "home" / ".python-grid5000.yaml").unlink()
    (check,) = bed(tmp_path).checks()
    assert (check.ok, check.detail) == (False, "no login (No such file or directory)")
    assert check.fix.startswith("write username and password into ~/.python-grid5000.yaml")
    (tmp_path / "home" / ".python-grid5000.yaml").write_text("- username\n")
    assert [check.detail for check in bed(tmp_path).checks()] == ["no login (not the file of a login)"]
    monkeypatch.setattr(api, "installed", lambda: False)
    (check,) = bed(tmp_path).checks()
    assert (check.ok, check.detail) == (False, "not installed")
    assert check.fix == installs("perjoule[grid5000]")
    assert grid.requests == []


def test_a_refused_login_leaves_no_note(grid: GridApi, tmp_path: Path) -> None:
    login = tmp_path / "home" / ".python-grid5000.yaml"
    login.write_text(login.read_text().replace(LOGIN[1], "wrong"))
    with (
        pytest.raises(
            LoginRefused, match=r"the API of Grid'5000 refuses the login \(401\); correct ~/\.python-grid"
        ),
        bed(tmp_path).hold(1),
    ):
        pass
    assert notes(tmp_path) == []


def test_roles_are_planned_before_there_are_nodes(tmp_path: Path) -> None:
    planned: Hosts = bed(tmp_path).planned(1)
    assert [host.role for host in planned.all] == ["storage", "storage", "client"]
    assert not bed(tmp_path).names_hosts
    named = bed(tmp_path, hosts=[{"name": "nova-[1,3]", "role": "client"}])
    assert named.names_hosts
    assert [host.name for host in named.planned(2).all] == ["nova-1", "nova-3"]
    assert len(bed(tmp_path, servers=1).planned(1).servers) == 1
    with pytest.raises(CampaignError, match="2 client hosts requested, 1 available"):
        bed(tmp_path).planned(2)


@pytest.mark.parametrize(
    "options",
    [
        {"site": "lyon/../rennes"},
        {"queue": "default,walltime=9"},
        {"project": "a b"},
        {"environment": "http://192.0.2.1/env.yaml"},
        {"hosts": [{"cluster": "taurus'} or {type='default", "role": "client"}]},
        {"hosts": [{"name": "taurus-1') or ('", "role": "client"}]},
    ],
)
def test_a_campaign_gives_oar_and_kadeploy_only_names(options: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"site": "lyon", "hosts": THREE}
    assert drivers.build("testbeds", "grid5000", usual, to_run=True)
    with pytest.raises(ValidationError, match="is not permitted"):
        drivers.build("testbeds", "grid5000", {**usual, **options}, to_run=True)


@pytest.mark.parametrize("group", [{}, {"cluster": "taurus", "name": "taurus-1"}])
def test_a_group_is_of_a_cluster_or_has_names(group: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="write one of them"):
        as_written(Grid5000, site="lyon", hosts=[{"role": "client", **group}])


def test_a_node_that_no_host_can_be_is_a_sentence(grid: GridApi, tmp_path: Path) -> None:
    grid.clusters["taurus"][0] = "127.0.0.2 -oProxyCommand=x"
    with pytest.raises(MachineError, match="its nodes are described in another form"), bed(tmp_path).hold(1):
        pass


def test_a_job_of_another_user_with_the_name_of_ours_is_left_alone(grid: GridApi, tmp_path: Path) -> None:
    with bed(tmp_path).hold(1):
        ours = job(grid)
        grid.jobs[7] = {**ours, "uid": 7, "user_uid": "mallory", "user": "mallory"}
        grid.looks[7] = 0
        assert api.GridSite("lyon").living(ours["name"]) == [str(ours["uid"])]
        del grid.jobs[7]
