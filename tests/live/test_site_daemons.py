"""A site's own daemons: nobody speaks to them, and who has a port is named before anything is touched."""

import json
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from day import by_day
from lacking import lacking
from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Host, Hosts
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.moosefs import MooseFS
from perjoule.machine import ports
from perjoule.model.errors import MachineError
from sshd import NEEDS_SSHD, PERJOULE, Lab, toml, until

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

# $1 a folder. It is up when it has its port.
GLUSTERD = """
mkdir -p "$1/state" "$1/run" "$1/log"
printf 'volume management\\ntype mgmt/glusterd\\noption working-directory %s/state\\n' "$1" > "$1/vol"
printf 'option run-directory %s/run\\n' "$1" >> "$1/vol"
printf 'option glusterd-sockfile %s/run/s\\noption transport-type socket\\n' "$1" >> "$1/vol"
printf 'option transport.socket.listen-port 24007\\noption event-threads 1\\nend-volume\\n' >> "$1/vol"
exec glusterd -N -f "$1/vol" -p "$1/run/pid" -l "$1/log/glusterd.log" --logger=gluster-log
"""
LISTEN = """
import socket, sys, time
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=int(sys.argv[3]))
time.sleep(600)
"""


@dataclass
class Site:
    """Hosts with an sshd each, of which some run what is the site's own."""

    folder: Path
    lab: Lab
    hosts: Hosts
    tables: list[dict[str, str]]

    def perjoule(self, verb: str, filesystem: str, *words: str | Path, **options: object) -> tuple[int, str]:
        load = 'kind = "fio"\noperation = "write"\nsize = "8 MiB"'
        (self.folder / "lab.toml").write_text(
            toml(self.lab.options(self.tables, 22) | options, filesystem, load)
        )
        env = {"XDG_STATE_HOME": str(self.folder), "COLUMNS": "250"}
        log = self.folder / f"{verb}.log"
        log.unlink(missing_ok=True)
        running = self.hosts.management.spawn(
            [PERJOULE, verb, self.folder / "lab.toml", *words], log=log, env=env
        )
        return running.wait(timeout_s=150), running.output()


@contextmanager
def site(servers: int = 2) -> Generator[Site]:
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as name, hosts_of(servers=servers).hold(1) as hosts:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "nfs").mkdir()  # what a host's tools of NFS keep
        for host in hosts.by_role("storage"):
            host.run(["mount", "--bind", folder / "nfs", "/var/lib/nfs"], timeout_s=20)
            (folder / f"{host.name}.glusterd").mkdir()
            host.run(["mount", "--bind", folder / f"{host.name}.glusterd", "/var/lib/glusterd"], timeout_s=20)
        lab = Lab(folder)
        yield Site(folder, lab, hosts, lab.serve([*hosts.by_role("storage"), *hosts.clients]))


def has_listener(host: Host, port: int) -> bool:
    return bool(host.run(["ss", "-Hltn", f"sport = :{port}"], timeout_s=10).stdout)


def test_a_glusterd_of_the_sites_own_is_named_and_never_probed() -> None:
    if missing := lacking(GlusterFS().checks()):
        pytest.skip(missing)
    with site() as there:
        theirs, own = there.hosts.by_role("storage")[1], there.folder / "own"
        own.mkdir()
        theirs.spawn(["bash", "-c", GLUSTERD, "site", own], log=there.folder / "site.log")
        until(lambda: has_listener(theirs, 24007))
        gluster = 'kind = "glusterfs"\nlayout = "replicated"\nreplicas = 2'
        doctor, run = (
            there.perjoule("doctor", gluster),
            there.perjoule("run", gluster, "--into", there.folder / "out"),
        )
        peers = subprocess.run(
            ["ls", own / "state" / "peers"], capture_output=True, text=True, check=False
        ).stdout
        assert peers == ""
        assert "probe" not in (own / "log" / "glusterd.log").read_text()
        assert doctor[0] == run[0] == 3, doctor[1] + run[1]
        for said in (doctor[1], run[1]):
            assert "storage-2" in said
            assert "port 24007 is taken by glusterd (process" in said
            assert "a site's own daemons run on it: glusterd (process" in said
        assert there.perjoule("check", gluster, "--connect")[0] == 3
        beside, said = there.perjoule("run", gluster, "--into", there.folder / "out", beside_production=True)
        assert beside == 3
        assert "port 24007 is taken by glusterd (process" in said
        assert not (there.folder / "out").exists()


TAKEN = {
    "moosefs": ('kind = "moosefs"', 9421, "0.0.0.0", socket.AF_INET),
    "cephfs": ('kind = "cephfs"\ncopies = 1', 3300, "::1", socket.AF_INET6),
    "nfs": ('kind = "nfs"\nclient = "fuse"', 2049, "127.0.0.1", socket.AF_INET),
}


@pytest.mark.parametrize("name", by_day(TAKEN, "moosefs"))
def test_a_port_that_somebody_has_is_named_by_doctor_and_nothing_is_made(name: str) -> None:
    filesystem, port, address, family = TAKEN[name]
    with site(servers=1) as there:
        host = there.hosts.by_role("storage")[0]
        argv = [
            "setpriv",
            "--reuid=65534",
            "--clear-groups",
            "/usr/bin/python3",
            "-c",
            LISTEN,
            address,
            str(port),
            str(int(family)),
        ]
        host.spawn(argv, log=there.folder / "listener.log")
        until(lambda: has_listener(host, port))
        for verb, *more in (["doctor"], ["run", "--into", str(there.folder / "out")]):
            code, said = there.perjoule(verb, filesystem, *more)
            assert code == 3, said
            assert f"port {port} is taken by python3 (process" in said
        assert not (there.folder / "out").exists()


@pytest.mark.slow  # by day: a site's own glusterd is named, above
def test_beside_a_sites_own_daemons_hosts_are_used_only_if_the_campaign_says_so() -> None:
    if missing := lacking(MooseFS().checks()):
        pytest.skip(missing)
    with site(servers=1) as there:
        host, own = there.hosts.by_role("storage")[0], there.folder / "mfschunkserver"
        own.write_bytes(Path("/bin/sleep").read_bytes())
        own.chmod(0o755)
        host.spawn([own, "600"], log=there.folder / "own.log")
        code, said = there.perjoule("doctor", 'kind = "moosefs"')
        assert code == 3
        assert "a site's own daemons run on it: mfschunkserver (process" in said
        assert "beside_production" in said
        code, said = there.perjoule(
            "run", 'kind = "moosefs"', "--into", there.folder / "out", beside_production=True
        )
        assert code == 0, said
        records = [json.loads(path.read_text()) for path in (there.folder / "out").rglob("record.json")]
        assert [record["status"] for record in records] == ["valid"]


@pytest.mark.slow  # by day: a glusterd of the site, above
def test_exports_of_the_sites_own_get_none_beside_them_unless_the_campaign_says_so() -> None:
    with site(servers=1) as there:
        etab = there.folder / "nfs" / "etab"
        ours = f"{there.lab.options(there.tables, 22)['work']}/cluster/run/storage-1/nfs/export"
        theirs = ("/srv/homes", "/srv/projects")
        etab.write_text("".join(f"{folder}\t10.0.0.0/24(rw,sync)\n" for folder in (*theirs, ours)))
        kernel = 'kind = "nfs"\nclient = "fuse"\nserver = "kernel"'
        words = "its kernel's NFS server exports folders of a site's own: /srv/homes, /srv/projects"
        for verb, more in (
            ("doctor", ()),
            ("check", ("--connect",)),
            ("run", ("--into", there.folder / "out")),
        ):
            code, said = there.perjoule(verb, kernel, *more)
            assert code == 3, said
            assert words in said
            assert "beside_production" in said
        assert words not in there.perjoule("doctor", kernel, beside_production=True)[1]
        # Ganesha's are its own
        assert words not in there.perjoule("doctor", 'kind = "nfs"\nclient = "fuse"')[1]
        etab.write_text(f"{ours}\t10.0.0.0/24(rw,sync)\n")
        assert words.partition(":")[0] not in there.perjoule("doctor", kernel)[1]
        assert not (there.folder / "out").exists()


@pytest.mark.slow  # by day: a glusterd of the site that runs, above
def test_the_state_of_a_sites_own_that_does_not_run_is_hidden_only_if_the_campaign_says_so() -> None:
    if missing := lacking(GlusterFS().checks()):
        pytest.skip(missing)
    with site() as there:
        state = there.folder / "glusterd"
        state.mkdir()
        host = there.hosts.by_role("storage")[1]
        host.run(["mount", "--bind", state, "/var/lib/glusterd"], timeout_s=20)
        gluster, words = (
            'kind = "glusterfs"\nlayout = "replicated"\nreplicas = 2',
            "has its state there: /var/lib/glusterd/glusterd.info",
        )
        assert words not in there.perjoule("doctor", gluster)[1]
        (there.folder / "storage-2.glusterd" / "glusterd.info").write_text("UUID=1\n")
        for verb, more in (
            ("doctor", ()),
            ("check", ("--connect",)),
            ("run", ("--into", there.folder / "out")),
        ):
            code, said = there.perjoule(verb, gluster, *more)
            assert code == 3, said
            assert words in said
            assert "storage-2" in said
            assert "beside_production" in said
        assert words not in there.perjoule("doctor", gluster, beside_production=True)[1]
        assert not (there.folder / "out").exists()


def test_whose_a_listener_is_follows_from_its_environment_or_its_session() -> None:
    with hosts_of(servers=1).hold(1) as hosts:
        host = hosts.clients[0]
        host.mark = "PERJOULE_HOST=test"
        listener = ["python3", "-c", LISTEN]
        host.spawn(["env", host.mark, "setsid", *listener, "0.0.0.0", "7001", "2"], log=host.directory / "a")
        # a daemon of ours that has cleaned its environment, in the session of one that has not
        cleaned = ["env", "-i", *listener, "0.0.0.0", "7002", "2"]
        host.spawn(
            ["env", host.mark, "setsid", "bash", "-c", '"$@" & wait', "bash", *cleaned],
            log=host.directory / "b",
        )
        host.spawn(["setsid", *listener, "::", "7003", "10"], log=host.directory / "c")
        until(lambda: len(ports.listeners(host, [7001, 7002, 7003])) == 3)
        whose = {one.port: one.ours for one in ports.listeners(host, [7001, 7002, 7003])}
        assert whose == {7001: True, 7002: True, 7003: False}
        assert ports.listens(host, 7002)
        assert not ports.listens(host, 7004)
        with pytest.raises(
            MachineError,
            match=r"port 7003 is taken by python3 \(process \d+\), which perjoule has not started",
        ):
            ports.listens(host, 7003)
        with pytest.raises(MachineError, match=r"port 7001 .*; port 7003"):
            ports.require_free(host, [7001, 7003, 7004])


LISTENING = {
    "glusterfs": ('layout = "distributed"', {}),
    "cephfs": ("copies = 1", {}),
    "nfs": ('client = "fuse"', {"client": "fuse"}),
}


# By day each campaign over SSH waits for its own, as in test_cluster.py.
@pytest.mark.parametrize("kind", by_day(LISTENING))
def test_a_deployment_waits_for_listeners_of_its_own_and_works(kind: str) -> None:
    options, built = LISTENING[kind]
    filesystem = drivers.build("filesystems", kind, built)
    assert isinstance(filesystem, FileSystem)
    if missing := lacking(filesystem.checks()):
        pytest.skip(missing)
    with site() as there:
        code, said = there.perjoule("run", f'kind = "{kind}"\n{options}', "--into", there.folder / "out")
        assert code == 0, said
        records = [json.loads(path.read_text()) for path in (there.folder / "out").rglob("record.json")]
        assert [(record["status"], record["reason"]) for record in records] == [("valid", "")]
