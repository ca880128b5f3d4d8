"""Leases of Chameleon, by openstacksdk and a stand-in for OpenStack's APIs in the form of their documentation;
nodes are this machine, by a stand-in for ssh.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from chameleon_api import NETWORK, PUBLIC, SECRET, SITE, ChameleonApi, chameleon_api, utc_s
from lending import live_at, notes
from perjoule import drivers
from perjoule.drivers.protocols import Cleaned, Footing, Hosts
from perjoule.machine.installing import installs
from perjoule.model.errors import CampaignError, LoginRefused, MachineError
from perjoule.testbeds import _reserved, _reserving
from perjoule.testbeds.chameleon import Chameleon, api, reservation
from typed import as_written

THREE = [
    {"type": "storage_nvme", "role": "storage", "count": 2},
    {"type": "compute_skylake", "role": "client"},
]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChameleonApi]:
    """A site; at the end nothing of ours is leased there."""
    home = live_at(tmp_path, monkeypatch)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(home / "clouds.yaml"))
    with chameleon_api(home) as cloud:
        yield cloud
        _reserved.give_all_back()
        assert cloud.alive == []
        assert notes(tmp_path) == []


def bed(tmp_path: Path, **options: object) -> Chameleon:
    usual: dict[str, object] = {"image": "CC-Ubuntu24.04", "key": "mine", "hosts": THREE}
    return as_written(Chameleon, **{**usual, "work": str(tmp_path / "work"), **options})


def lease(site: ChameleonApi) -> dict[str, Any]:
    (only,) = site.leases.values()
    return only


def test_nodes_are_leased_reached_by_sudo_and_given_back_at_the_end_of_the_command(
    site: ChameleonApi, tmp_path: Path
) -> None:
    with bed(tmp_path).hold(1) as hosts:
        assert [(host.name, host.role, host.address) for host in hosts.all] == [
            ("P3-NVME-001", "storage", "127.0.0.2"),
            ("P3-NVME-002", "storage", "127.0.0.3"),
            ("P3-CPU-001", "client", "127.0.0.4"),
        ]
        assert hosts.clients[0].run(["echo", "there"], timeout_s=5).stdout == "there\n"
        assert hosts.facts["chameleon"] == {
            "site": SITE,
            "lease": lease(site)["id"],
            "nodes": ["P3-CPU-001", "P3-NVME-001", "P3-NVME-002"],
            "image": "CC-Ubuntu24.04",
        }
        assert {server["node"]: server["asked"]["name"] for server in site.servers.values()} == {
            name: name for name in site.nodes
        }
        reached = {entry["port_id"]: entry["floating_ip_address"] for entry in site.floating.values()}
        assert sorted(reached) == [f"port-{id}" for id in sorted(site.servers)]
    logins = (tmp_path / "home" / "ssh-asked").read_text()
    assert set(re.findall(r" -l cc -- (\S+) ", logins)) == set(reached.values())
    assert (tmp_path / "home" / "sudo-asked").exists()
    assert site.alive
    _reserved.give_all_back()
    assert (site.leases, site.servers, site.floating) == ({}, {}, {})


def test_a_lease_is_requested_with_everything_that_was_set(site: ChameleonApi, tmp_path: Path) -> None:
    hosts = [
        {"type": "storage_nvme", "role": "client", "node": "odroid-hc4/A"},
        {"name": "P3-NVME-[001-001]", "role": "storage"},
    ]
    options = {"time": "90 min", "floating_ips": False, "user": "root", "cloud": "openstack"}
    with bed(tmp_path, hosts=hosts, **options).hold(1) as held:
        assert [(host.name, host.role, host.node and host.node.name) for host in held.all] == [
            ("P3-NVME-002", "client", "A"),
            ("P3-NVME-001", "storage", None),
        ]
        lasts_s = utc_s(lease(site)["end_date"]) - utc_s(lease(site)["start_date"])
        assert 90 * 60 <= lasts_s < 92 * 60  # Blazar knows minutes
    (asked,) = site.made
    assert re.fullmatch("perjoule-openstack-[0-9a-f]{8}-[0-9a-f]{8}", asked["name"])
    wanted = [json.loads(entry["resource_properties"]) for entry in asked["reservations"]]
    assert wanted == [["=", "$node_name", "P3-NVME-001"], ["=", "$node_type", "storage_nvme"]]
    assert {entry["resource_type"] for entry in asked["reservations"]} == {"physical:host"}
    assert next(iter(site.servers.values()))["asked"] == {
        "name": "P3-NVME-001",
        "imageRef": "id-CC-Ubuntu24.04",
        "flavorRef": "id-baremetal",
        "key_name": "mine",
        "networks": [{"uuid": f"id-{NETWORK}"}],
    }
    logins = (tmp_path / "home" / "ssh-asked").read_text()
    assert set(re.findall(r" -l root -- (\S+) ", logins)) == {"127.0.0.2", "127.0.0.3"}
    assert not (tmp_path / "home" / "sudo-asked").exists()


def test_a_secret_is_in_no_command_fact_or_note(site: ChameleonApi, tmp_path: Path) -> None:
    with bed(tmp_path).hold(1) as hosts:
        texts = [json.dumps(hosts.facts, default=str), repr(site.made), *notes(tmp_path)]
        texts += [path.read_text() for path in (tmp_path / "home").glob("*-asked")]
        assert not [text for text in texts if SECRET in text]


def test_deployments_of_a_command_share_a_lease_until_it_ends(site: ChameleonApi, tmp_path: Path) -> None:
    for servers in (1, 2):
        with bed(tmp_path, servers=servers).hold(1) as hosts:
            assert len(hosts.servers) == servers
    assert len(site.made) == 1
    site.leases.clear()  # as when somebody deletes it by hand
    with bed(tmp_path).hold(1):
        assert len(site.made) == 2


def test_a_lease_lasts_until_its_end_and_says_how_it_ended(
    site: ChameleonApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bed(tmp_path).lease_s == 7200
    testbed = bed(tmp_path)
    list(testbed.awaited())
    end_s = utc_s(lease(site)["end_date"])
    clock = SimpleNamespace(monotonic=lambda: 500.0, time=lambda: end_s - 60)
    for module in (_reserving, reservation):
        monkeypatch.setattr(module, "time", clock)
    with testbed.hold(1) as hosts:
        lent = hosts.lease
        assert lent
        assert lent.name == f"Chameleon lease {lease(site)['id']} at {SITE}"
        assert lent.ends_s == pytest.approx(560, abs=1)
        assert lent.over() == ""
        lease(site)["status"] = "TERMINATED"
        assert lent.over() == "has ended"


def test_a_lease_that_does_not_start_is_reported_and_given_up_in_the_end(
    site: ChameleonApi, tmp_path: Path
) -> None:
    site.waits_count = 10**9
    waiting = bed(tmp_path, wait="0.1 s").awaited()
    assert next(waiting) == f"Chameleon lease lease-0 at {SITE} is pending"
    with pytest.raises(MachineError, match=r"is pending, after 0.1 s; raise wait"):
        list(waiting)
    assert site.leases == {}


def test_a_lease_that_fails_before_it_begins_is_one_sentence(site: ChameleonApi, tmp_path: Path) -> None:
    site.waits_count = 10**9
    waiting = bed(tmp_path).awaited()
    next(waiting)
    lease(site)["status"] = "ERROR"
    with pytest.raises(MachineError, match="lease-0 at CHI@TACC has failed"):
        list(waiting)
    assert site.leases == {}


def test_a_refused_lease_is_one_sentence_with_the_words_of_blazar(site: ChameleonApi, tmp_path: Path) -> None:
    site.refusal = "Lease duration exceeds the maximum of 7 days"
    with (
        pytest.raises(MachineError, match="Chameleon: Lease duration exceeds the maximum of 7 days"),
        bed(tmp_path).hold(1),
    ):
        pass
    assert site.made == []
    (note,) = notes(tmp_path)  # it may be made yet
    make(site, f"perjoule-{note}")
    assert Chameleon.clean().removed == (f"Chameleon lease lease-0 at {SITE}",)


def test_nodes_that_others_have_are_refused_in_the_words_of_blazar(
    site: ChameleonApi, tmp_path: Path
) -> None:
    make(site, "of-others")
    with pytest.raises(MachineError, match="Chameleon: Not enough hosts available"), bed(tmp_path).hold(1):
        pass
    site.leases.clear()
    assert Chameleon.clean() == Cleaned()


def test_a_lease_whose_answer_was_lost_is_deleted(site: ChameleonApi, tmp_path: Path) -> None:
    site.broken = True
    with pytest.raises(MachineError, match="the API of Chameleon does not answer"), bed(tmp_path).hold(1):
        pass
    assert len(site.made) == 1
    assert site.leases == {}


def test_a_node_in_error_is_named_with_its_fault_and_the_lease_ends(
    site: ChameleonApi, tmp_path: Path
) -> None:
    site.failing = ("P3-NVME-002",)
    problem = r"CC-Ubuntu24\.04 could not be installed on P3-NVME-002 \(No valid host was found\.\)"
    with pytest.raises(MachineError, match=problem), bed(tmp_path).hold(1):
        pass
    assert site.leases == {}


def test_nodes_that_still_boot_are_waited_for(site: ChameleonApi, tmp_path: Path) -> None:
    (tmp_path / "home" / "ssh-refuses").touch()
    waiting = bed(tmp_path).awaited()
    sentences = [next(waiting), next(waiting)]
    assert sentences[0] == "Ironic installs CC-Ubuntu24.04 on 3 nodes"
    assert re.match(r"P3-NVME-001.*; waiting up to 20 min 0 s for it to come back", sentences[1])
    (tmp_path / "home" / "ssh-refuses").unlink()
    assert list(waiting) == []


def dead(site: ChameleonApi, tmp_path: Path) -> str:
    """What a perjoule that was killed leaves: a note that nobody has locked, and a lease of its name."""
    note = f"{api.ChameleonSite('').place}-00000001"
    folder = tmp_path / "state" / "perjoule" / "chameleon"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / note).touch(mode=0o600)
    make(site, f"perjoule-{note}")
    return note


def make(site: ChameleonApi, name: str) -> None:
    properties = json.dumps(["=", "$node_type", "compute_skylake"])
    wanted = {"resource_type": "physical:host", "resource_properties": properties, "min": 1, "max": 1}
    dates = {"start_date": "now", "end_date": "2099-01-01 00:00"}
    site.refusal = ""
    site.lend({"name": name, **dates, "reservations": [wanted]})


STORAGE = [{"type": "storage_nvme", "role": "client"}]


def test_the_lease_of_a_dead_perjoule_is_deleted_and_that_of_a_living_one_is_not(
    site: ChameleonApi, tmp_path: Path
) -> None:
    with bed(tmp_path, hosts=STORAGE).hold(1):
        dead(site, tmp_path)
        assert Chameleon.clean() == Cleaned(removed=(f"Chameleon lease lease-1 at {SITE}",))
        assert site.alive == ["lease-0"]
    assert Chameleon.clean() == Cleaned()


def test_the_next_reservation_deletes_the_lease_of_a_dead_perjoule(
    site: ChameleonApi, tmp_path: Path
) -> None:
    dead(site, tmp_path)
    with bed(tmp_path).hold(1):
        assert site.alive == ["lease-1"]


def test_a_lease_that_is_just_starting_is_deleted_a_little_later(site: ChameleonApi, tmp_path: Path) -> None:
    dead(site, tmp_path)
    site.starting_count = 2
    assert Chameleon.clean() == Cleaned(removed=(f"Chameleon lease lease-0 at {SITE}",))


def test_a_lease_that_can_not_be_deleted_is_named_and_stays_noted(
    site: ChameleonApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = dead(site, tmp_path)
    site.starting_count = 10**9
    with monkeypatch.context() as patched:
        patched.setattr(_reserved, "GONE_S", 0.05)
        problem = "Chameleon: Lease lease-0 is starting and can't be deleted"
        assert Chameleon.clean() == Cleaned(failures=(f"Chameleon lease perjoule-{note} ({problem})",))
        patched.setattr(api, "installed", lambda: False)
        assert Chameleon.clean() == Cleaned(
            failures=(f"Chameleon lease perjoule-{note} (openstacksdk is not installed)",)
        )
    assert notes(tmp_path) == [note]
    site.starting_count = 0
    assert Chameleon.clean().removed == (f"Chameleon lease lease-0 at {SITE}",)


def test_a_login_to_another_project_does_not_forget_a_lease(site: ChameleonApi, tmp_path: Path) -> None:
    note = dead(site, tmp_path)
    site.project = "another"
    assert Chameleon.clean() == Cleaned(
        failures=(f"Chameleon lease perjoule-{note} (the login is for another project or site)",)
    )
    site.project = "8a5c"
    assert Chameleon.clean().removed == (f"Chameleon lease lease-0 at {SITE}",)


@pytest.mark.parametrize(
    ("options", "detail", "fix"),
    [
        (
            {},
            "nodes: 2 of storage_nvme, 1 of compute_skylake at CHI@TACC; perjoule will ask for 3, and look at them "
            "then",
            "",
        ),
        (
            {"hosts": [{"type": "atom", "role": "client"}]},
            "1 nodes of atom requested, CHI@TACC has 0",
            "known: compute_skylake, storage_nvme",
        ),
        (
            {"hosts": [{"name": "P3-CPU-[001-003]", "role": "client"}]},
            "CHI@TACC has no node P3-CPU-002, P3-CPU-003",
            "see the site's hardware",
        ),
        ({"image": "none"}, 'CHI@TACC has no images of the name "none"', "see `openstack image list`"),
        ({"image": "twice"}, 'CHI@TACC has 2 images of the name "twice"', "see `openstack image list`"),
        ({"network": "lab"}, 'CHI@TACC has no networks of the name "lab"', "see `openstack network list`"),
        ({"key": "other"}, 'there is no key "other" at CHI@TACC', "known: mine"),
        ({"cloud": "nowhere"}, "OpenStack: Cloud nowhere was not found.", api.LOGIN),
    ],
)
def test_what_can_not_be_had_is_found_before(
    site: ChameleonApi, tmp_path: Path, options: dict[str, object], detail: str, fix: str
) -> None:
    (check,) = bed(tmp_path, **options).checks()
    assert check.detail == detail
    assert check.ok == (not options)
    assert check.fix == fix
    if options:
        with pytest.raises((CampaignError, MachineError)), bed(tmp_path, **options).hold(1):
            pass
    assert site.made == []


def test_what_is_missing_here_is_named_before_anybody_is_asked(
    site: ChameleonApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "clouds.yaml").write_text("clouds: {}\n")
    (check,) = bed(tmp_path).checks()
    assert not check.ok
    assert check.detail.startswith("OpenStack: ")
    assert check.fix == api.LOGIN
    monkeypatch.setattr(api, "installed", lambda: False)
    (check,) = bed(tmp_path).checks()
    assert (check.ok, check.detail) == (False, "not installed")
    assert check.fix == installs("perjoule[chameleon]")
    assert site.requests == []


def test_a_refused_login_leaves_no_note(site: ChameleonApi, tmp_path: Path) -> None:
    login = tmp_path / "home" / "clouds.yaml"
    login.write_text(login.read_text().replace(SECRET, "wrong"))
    with (
        pytest.raises(LoginRefused, match=r"Chameleon refuses the login \(401\)") as refused,
        bed(tmp_path).hold(1),
    ):
        pass
    assert "wrong" not in str(refused.value)
    assert notes(tmp_path) == []


def test_roles_are_planned_before_there_are_nodes(tmp_path: Path) -> None:
    planned: Hosts = bed(tmp_path).planned(1)
    assert [host.role for host in planned.all] == ["storage", "storage", "client"]
    assert not bed(tmp_path).names_hosts
    named = bed(tmp_path, hosts=[{"name": "nc[01-02]", "role": "client"}])
    assert named.names_hosts
    assert [host.name for host in named.planned(2).all] == ["nc01", "nc02"]
    assert bed(tmp_path).footing("nc01") == Footing("cc", str(tmp_path / "work"), True)


@pytest.mark.parametrize(
    "options",
    [
        {"cloud": "../mine"},
        {"image": "image\nname"},
        {"key": "../key"},
        {"network": "a&b"},
        {"hosts": [{"type": 'atom"]', "role": "client"}]},
        {"hosts": [{"name": 'nc1","', "role": "client"}]},
    ],
)
def test_a_campaign_gives_openstack_only_names(options: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"image": "CC-Ubuntu24.04", "key": "mine", "hosts": THREE}
    assert drivers.build("testbeds", "chameleon", usual, to_run=True)
    with pytest.raises(ValidationError, match="is not permitted"):
        drivers.build("testbeds", "chameleon", {**usual, **options}, to_run=True)


@pytest.mark.parametrize("nodes", [{}, {"type": "atom", "name": "nc12"}])
def test_nodes_are_of_a_type_or_have_names(nodes: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="write one of them"):
        as_written(Chameleon, image="CC", key="mine", hosts=[{"role": "client", **nodes}])


def test_public_addresses_are_part_of_the_lease(site: ChameleonApi, tmp_path: Path) -> None:
    with bed(tmp_path, hosts=STORAGE).hold(1):
        *_, addresses = site.made[0]["reservations"]
    assert addresses == {
        "resource_type": "virtual:floatingip",
        "network_id": f"id-{PUBLIC}",
        "amount": 1,
    }


def test_a_login_beside_a_campaign_is_not_read(
    site: ChameleonApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, beside = tmp_path / "home" / "clouds.yaml", tmp_path / "clouds.yaml"
    beside.write_text(own.read_text())
    own.unlink()
    monkeypatch.setattr("openstack.config.loader.CONFIG_SEARCH_PATH", [str(tmp_path), str(tmp_path / "none")])
    (check,) = bed(tmp_path).checks()
    assert check.detail.startswith("OpenStack: ")
    monkeypatch.setattr("openstack.config.loader.CONFIG_SEARCH_PATH", [str(tmp_path / "none"), str(tmp_path)])
    (check,) = bed(tmp_path).checks()
    assert check.ok
