"""What hosts lack for a campaign, asked before anything is changed on them."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from perjoule import campaign, drivers
from perjoule.drivers.protocols import Check, Offered
from perjoule.execution import host_disks, readiness
from perjoule.filesystems._ceph import layout
from perjoule.model.errors import MachineError
from perjoule.testbeds._power import setting
from perjoule.testbeds.cluster import SshCluster, pool
from perjoule.testbeds.cluster.facts import probe
from perjoule.testbeds.cluster.findings import clock_finding, installed_at_once, together
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.workloads.hep import LIBRARIES
from places import TRANSCRIPTS
from sysfs import DRIVE, Sysfs

TOOLS = (
    "bash cat chmod cut env flock findmnt getconf grep head id losetup mkdir mkfifo "
    "nproc ps readlink rm sed setsid sleep sort stat tar"
)
LEVELS = "choose one of: default, performance, powersave, powersupersave"
CAMPAIGN = """
name = "lab"
clients = [1, 3]
[testbed]
kind = "cluster"
work = "WORK"
hosts = [
    {name = "s[1-2]", address = "10.0.0.[1-2]", role = "storage"},
    {name = "n[01-04]", address = "10.0.1.[1-4]", role = "client"},
]
[[filesystem]]
kind = "directory"
path = "/mnt"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "64 MiB"
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A campaign whose hosts are keepers on this machine, with the programs of a folder; n03 is not
    reached.
    """
    for tool in TOOLS.split():
        found = next(there for folder in os.get_exec_path() if (there := Path(folder, tool)).exists())
        (tmp_path / tool).symlink_to(found)

    def command(self: Ssh, argv: Sequence[str], **_ways: object) -> list[str]:
        if self.name == "n03":
            return [
                "sh",
                "-c",
                "echo 'ssh: connect to host 10.0.1.3 port 22: No route to host' >&2; exit 255",
            ]
        return [str(tmp_path / "env"), f"PATH={tmp_path}", *argv]

    monkeypatch.setattr(Ssh, "command", command)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield CAMPAIGN.replace("WORK", str(tmp_path / "work"))
    pool.close()
    assert not [path for path in tmp_path.glob("work/cluster/*") if path.is_dir()]


def lines(checks: Sequence[Check]) -> list[tuple[str, str, str, bool]]:
    return [
        (one.name, one.detail, one.fix, one.needed)
        for one in checks
        if not one.ok and one.fix != "apt install chrony"
    ]


def test_a_campaigns_hosts_are_queried_for_its_programs_and_one_that_is_not_reached_is_a_line(
    text: str,
) -> None:
    assert lines(readiness.checks(campaign.parse(text, source="lab.toml"))) == [
        ("host n03", "there is no route to it", "check that it is on, and check its address", True),
        # the second of two directions asks nothing new
        ("hosts n[01-02]", "no fio", "apt install fio", True),
    ]


def cluster(text: str) -> SshCluster:
    bed = drivers.testbed(campaign.parse(text, source="lab.toml").trials[0].testbed)
    assert isinstance(bed, SshCluster)
    return bed


@pytest.mark.parametrize(
    ("on", "names"),
    [
        ("client", "hosts n[01-02]"),
        ("storage", "hosts s[1-2]"),
        ("first storage", "host s1"),
        ("metadata", "host s1"),
        ("all", "hosts s[1-2], n[01-02]"),
    ],
)
def test_a_host_is_queried_only_for_what_it_would_run(text: str, on: str, names: str) -> None:
    bed = cluster(text)
    bed.checks()
    wanted = Check("tool", True, "", "apt install tools", look="program no-such-tool", on=on)
    assert lines(bed.lacking(2, [wanted])) == [(names, "no tool", "apt install tools", True)]


@pytest.mark.parametrize(
    ("look", "there"),
    [
        ("program flock", True),
        ("program no-such|flock", True),
        ("program no-such|flock2", False),
        ("program flock /no/such", False),
        ("program sh /no/such:/bin:/usr/bin", True),
        (f"library json {sys.executable}", True),
        (f"library no_such {sys.executable}", False),
        ("library json /no/such/python3", False),
        ("path /proc/stat", True),
        ("path /proc/no-such", False),
        ("kernel proc", True),
        ("kernel no-such", False),
        ("setting /proc/no-such 0", True),
        ("setting /proc/sys/kernel/ostype Linux", True),
        ("setting /proc/sys/kernel/ostype 0", False),
        ("root", os.geteuid() == 0),
        ("free 1", True),
        ("free 999999999999999999", False),
    ],
)
def test_a_host_says_of_each_thing_whether_it_has_it(text: str, look: str, there: bool) -> None:
    bed = cluster(text)
    bed.checks()
    found = lines(bed.lacking(1, [Check("it", True, "", "fix it", look=look, on="first storage")]))
    assert found == ([] if there else [("host s1", "no it", "fix it", True)])


def with_power(text: str, **wanted: object) -> SshCluster:
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in wanted.items())
    text = text.replace("[[filesystem]]", f"[testbed.power]\n{table}\n[[filesystem]]")
    bed = drivers.testbed(campaign.parse(text, source="lab.toml").trials[0].testbed)
    assert isinstance(bed, SshCluster)
    return bed


@pytest.mark.parametrize(
    ("wanted", "on", "lacked"),
    [
        ({"cpu_governor": "powersave"}, ["storage", "client"], []),
        (
            {"cpu_governor": "ondemand"},
            ["storage"],
            [
                (
                    "hosts s[1-2]",
                    'power: does not offer cpu_governor = "ondemand"',
                    "choose one of: performance, powersave",
                    True,
                )
            ],
        ),
        (
            {"pcie_aspm": "none"},
            ["n01", "n04"],  # a campaign of one client does not hold n04
            [("host n01", 'power: does not offer pcie_aspm = "none"', LEVELS, True)],
        ),
        (
            {"devices": [f"{DRIVE}-part1"], "disk_apm": 1},
            ["s1"],
            [("host s1", f"power: {DRIVE}-part1: is a partition", "name the whole drive", True)],
        ),
        (
            {"devices": [DRIVE, f"{DRIVE}-2"], "disk_apm": 127},
            ["storage"],
            [("hosts s[1-2]", f"power: none has {DRIVE}-2", "correct devices", True)],
        ),
    ],
)
def test_hosts_are_queried_for_the_power_states_that_they_need(
    wanted: dict[str, object],
    on: list[str],
    lacked: list[tuple[str, str, str, bool]],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Sysfs(tmp_path / "fake folder")
    for tool in fake.tools.iterdir():
        (tmp_path / tool.name).symlink_to(tool)
    monkeypatch.setattr(setting, "DEV", str(fake.dev))
    monkeypatch.setenv(setting.ROOT, str(fake.root))
    bed = with_power(text, **fake.options(**wanted, on=on))
    bed.checks()
    assert lines(bed.lacking(1, [])) == lacked
    assert fake.changed() == {}


def test_hosts_offer_a_tuning_what_all_that_power_names_have(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Sysfs(tmp_path / "fake folder")
    monkeypatch.setenv(setting.ROOT, str(fake.root))
    found = with_power(text, **fake.options(cpu_governor="powersave", on=["storage"])).offered(1)
    assert found["power.cpu_governor"] == Offered(("performance", "powersave"), "performance")
    assert found["power.cpu_deepest_idle"] == Offered(("POLL", "C1", "C6"), "C6")
    assert fake.changed() == {}


def test_power_states_of_the_kernel_are_for_root(text: str) -> None:
    bed = with_power(text, on=["s1"], cpu_governor="none")
    bed.checks()
    keeper = pool.keeper_at(bed._place(bed.hosts[0]))
    assert keeper is not None
    keeper.probe = replace(keeper.probe, user="user")
    assert lines(bed.lacking(1, [])) == [
        ("host s1", "only root can set power states", "log in as root, or set sudo = true", True)
    ]


def test_a_server_without_login_is_skipped_and_can_run_nothing(text: str) -> None:
    text = text.replace(
        '{name = "s[1-2]", address = "10.0.0.[1-2]",', '{name = "s[1-2]", login = false,'
    ).replace(", 3]", "]")
    made = campaign.parse(text, source="lab.toml")
    checked = {one.name: one.detail for one in readiness.checks(made)}
    assert checked["hosts s[1-2]"] == "login = false, skipped"
    with drivers.testbed(made.trials[0].testbed).hold(1) as hosts:
        server = hosts.servers[1]
        assert (server.name, server.role, server.counters().cpu_s) == ("s2", "storage", None)
        # data of a mounted folder don't lie below the servers' work folder
        host_disks.require(made.trials, hosts)
        with pytest.raises(
            MachineError, match=r"s2: nothing can run on this host: only meters know it; .*directory"
        ):
            server.run(["true"], timeout_s=1)


@pytest.mark.parametrize(
    ("filesystem", "lacked"),
    [
        (
            'kind = "beegfs"\nprefix = "/no/such"',
            {
                "beegfs-mgmtd": "host s1",
                "beegfs-ctl or beegfs": "host s1",
                "beegfs-meta": "host s1",
                "beegfs-storage": "hosts s[1-2]",
            },
        ),
        (
            'kind = "orangefs"\nprefix = "/no/such"\nroles = "both"',
            {"pvfs2-server": "hosts s[1-2]", "pvfs2-statfs": "hosts n[01-02]", "pvfs2fuse": "hosts n[01-02]"},
        ),
        ('kind = "cephfs"', {"python3-rados": "host s1"}),
    ],
)
def test_each_host_is_queried_for_its_own_programs_and_libraries(
    filesystem: str, lacked: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "PYTHON", "/no/such/python3")
    made = campaign.parse(text.replace('kind = "directory"\npath = "/mnt"', filesystem), source="lab.toml")
    found = [
        (what, line[0])
        for line in lines(readiness.checks(made))
        for what in line[1].removeprefix("no ").split(", ")
    ]
    assert sorted(one for one in found if one[0] in lacked) == sorted(lacked.items())


@pytest.mark.parametrize(
    ("workers", "names"), [("storage", "hosts s[1-2], n[01-02]"), ("clients", "hosts n[01-02]")]
)
def test_hosts_of_an_analysis_are_queried_for_its_libraries(
    workers: str, names: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = 'kind = "fio"\noperation = ["write", "read"]'
    text = text.replace(load, f'kind = "hep"\nworkers = "{workers}"')
    assert [one for one in lines(readiness.checks(campaign.parse(text))) if "pip install" in one[2]] == []
    monkeypatch.setattr(sys, "executable", "/no/such/python3")
    found = [one for one in lines(readiness.checks(campaign.parse(text))) if "pip install" in one[2]]
    assert [one[:2] for one in found] == [(names, f"no {', '.join(LIBRARIES)}")]


def test_what_the_same_hosts_lack_and_one_command_fixes_is_one_line() -> None:
    hosts = [Check(f"n{n}", False, f"no {p}", f"apt install {p}-tools") for p in ("a", "b") for n in (1, 2)]
    other = [
        Check("n1", False, "no root rights", "log in as root"),
        Check("n1", False, "no c", "apt-get install c"),
    ]
    other += [Check("n1", False, f"no {name}", "install it all") for name in ("d", "e")]
    assert lines(installed_at_once(together([*hosts, *other]))) == [
        ("hosts n[1-2]", "no a, b", "apt install a-tools b-tools", True),
        ("host n1", "no root rights", "log in as root", True),
        ("host n1", "no c", "apt install c", True),
        ("host n1", "no d, e", "install it all", True),
    ]


def test_a_clock_that_nothing_synchronizes_is_a_finding_but_no_obstacle() -> None:
    said = (TRANSCRIPTS / "cluster" / "probe.txt").read_text()
    for kept, what in (
        ("", "nothing is known to"),
        ("NTPSynchronized=no", "not synchronized"),
        ("NTPSynchronized=yes", ""),
    ):
        found = clock_finding("n1", probe(said.replace("timedatectl ", f"timedatectl {kept}"), "n1"))
        assert [one.needed for one in found] == ([False] if what else [])
        assert all(what in one.detail for one in found)
