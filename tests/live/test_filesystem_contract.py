"""What holds for every file system driver found on disk, on virtual hosts: a new one needs no entry here.

Each is brought up as its EXAMPLE says, on four storage hosts, a metadata and a management host, for two
clients.
"""

import importlib.util
import json
import re
import secrets
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from day import by_day
from lacking import lacking
from on_hosts import hosts_of, received_bytes
from perjoule import drivers
from perjoule.drivers.protocols import (
    FileSystem,
    Host,
    Hosts,
    Mounted,
    OffersBuckets,
    WorksInBackground,
    able,
)
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._options import Deployed
from perjoule.machine import buckets
from perjoule.machine.disks import space_bytes
from perjoule.machine.mounts import is_mounted
from perjoule.model.errors import MachineError, TransientError
from perjoule.model.units import MIB
from places import ROOT, TESTS
from s3_store import credentials

pytestmark = pytest.mark.live

FROM_THE_PAGE = "sshfs"
KINDS = [*drivers.kinds("filesystems"), FROM_THE_PAGE]
# Those of CephFS and of SeaweedFS, by the same code: by day only these two fail to come up.
SAME_DAEMONS = ("rados", "rbd", "rgw", "seaweed_s3")
PAGE = ROOT / "docs" / "how-to" / "new-file-system.md"
MOST_LINES = 80
# the first ones bring nothing up
PATIENCE = ("1 ms", "30 ms", "60 ms", "120 ms", "250 ms", "500 ms", "1 s", "2 s")
MOVES_NOTHING = "simulated"
EXISTS, PORT = ("bucket",), 8333  # what leads to a store that is there already
FILE_BYTES = 8 * MIB
SPACE_KNOWN_S = 3.0  # after which every server has told clients of its space

CAMPAIGN = """
name = "page"
repetitions = 1
settle = "0.1 s"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
servers = 2
[[filesystem]]
kind = "sshfs"
[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "16 MiB"
[[meter]]
kind = "system"
"""
COMMAND = """
import sys
import perjoule.filesystems
perjoule.filesystems.__path__.append(sys.argv.pop(1))
from perjoule.cli import main
main()
"""


def on_the_page() -> str:
    return PAGE.read_text().partition("```python\n")[2].partition("```")[0]


def module(kind: str, folder: Path) -> ModuleType:
    if kind != FROM_THE_PAGE:
        return drivers.module_of("filesystems", kind)  # another package's, too
    source = folder / f"{kind}.py"
    source.write_text(on_the_page())
    spec = importlib.util.spec_from_file_location(f"perjoule.filesystems.{kind}", source)
    assert spec is not None, f"the page's driver is not a Python module: correct the block in {PAGE.name}"
    assert spec.loader is not None, f"Python has no loader for {source}: give the file the ending .py"
    made = importlib.util.module_from_spec(spec)
    sys.modules[made.__name__] = made  # where dataclasses look for the module of a class
    spec.loader.exec_module(made)
    return made


def driver(kind: str, folder: Path, **options: Any) -> FileSystem:
    """Build a driver as its EXAMPLE says; skip, with what is missing, where its programs are not
    installed.
    """
    found = module(kind, folder)
    table = {**tomllib.loads(found.EXAMPLE)["filesystem"][0], **options}
    if "endpoint" in table:
        table["credentials"] = str(credentials(folder))
    if "path" in table:
        table["path"] = str(folder)  # of a file system that is there already
    cls = next(
        one
        for one in vars(found).values()
        if getattr(one, "__module__", "") == found.__name__ and is_driver(one)
    )
    made = cls(**{option: value for option, value in table.items() if option not in ("kind", "label")})
    if missing := lacking(made.checks()):
        pytest.skip(missing)
    return made


def is_driver(one: Any) -> bool:
    return isinstance(one, type) and issubclass(one, FileSystem)


def traces(hosts: Hosts) -> dict[str, list[str]]:
    """What runs, is mounted and lies on each host; a process that was killed but not yet reaped does not
    run.
    """

    def of(host: Host) -> list[str]:
        processes = host.run(["ps", "-eo", "stat=,comm="], timeout_s=10).stdout.splitlines()
        running = [line.split(maxsplit=1)[1] for line in processes if line[0] != "Z"]
        mounts = host.run(["cat", "/proc/mounts"], timeout_s=10).stdout.splitlines()
        files = host.run(["ls", "-A", host.directory], timeout_s=10).stdout.splitlines()
        found = {
            *running,
            *(f"mount {line.split()[1]}" for line in mounts),
            *(f"file {file}" for file in files),
        }
        return sorted(found - {"ps", "cat", "ls", "sh", "nsenter"})

    return {host.name: of(host) for host in hosts.all}


def left_behind(filesystem: FileSystem, hosts: Hosts, before: dict[str, list[str]]) -> dict[str, list[str]]:
    """What was not there before, a moment after the end: what was killed takes one to go.

    Disks go with their hosts, and so do the files of what is not a deployment, or has too many of them to
    remove.
    """
    until_s = time.monotonic() + 5
    with_host = ("file ", "mount ")
    if isinstance(filesystem, Deployed):
        with_host = () if filesystem.removes_files else ("file ",)
    while True:
        left = {name: sorted({*now} - {*before[name]}) for name, now in traces(hosts).items()}
        left = {name: [trace for trace in of if not trace.startswith(with_host)] for name, of in left.items()}
        found = {name: traces for name, traces in left.items() if traces}
        if not found or time.monotonic() > until_s:
            return found
        time.sleep(0.1)


def heard(error: str) -> set[str]:
    """The logs, as HOST-DAEMON.log, of all daemons whose name, host and last words an error has."""
    found = re.finditer(r"(?P<name>\S+) on (?P<hosts>[\w-]+(?:, [\w-]+)*) last said: \S", error)
    return {f"{host}-{match['name']}.log" for match in found for host in match["hosts"].split(", ")}


@dataclass
class Life:
    """One deployment on its hosts; `end` takes it down."""

    kind: str
    filesystem: FileSystem
    hosts: Hosts
    mounted: Mounted
    before: dict[str, list[str]]
    space_bytes: dict[str, int]  # that each client sees at first
    end: Callable[[], None]
    up_s: float = field(default_factory=time.monotonic)  # since when clients have it
    seeds: dict[str, str] = field(default_factory=dict[str, str])  # of each client's object

    @property
    def client(self) -> Host:
        return self.hosts.clients[0]

    def data(self, client: Host) -> Path:
        """A file, a device, or an object as POOL/OBJECT or BUCKET/OBJECT."""
        if self.filesystem.offers == "devices":
            return self.mounted.devices[client.name]
        if self.filesystem.offers == "pools":
            return Path(self.mounted.pools[client.name].name, "contract")
        if self.filesystem.offers == "buckets":
            bucket = able(self.mounted, OffersBuckets).bucket(client.name)
            return Path(bucket.name, bucket.prefix, "contract-00000000")
        return self.mounted.directories[client.name] / "contract"

    def write(self, client: Host) -> str:
        """Write random bytes durably, and return their checksum; of an object, the seed of its bytes."""
        if self.filesystem.offers == "buckets":
            return self._object(client, "put", secrets.token_hex(8))
        scratch = client.directory / "scratch"
        size = ["bs=1M", f"count={FILE_BYTES // MIB}"]
        client.run(["dd", "if=/dev/urandom", f"of={scratch}", *size], timeout_s=60)
        if self.filesystem.offers == "pools":
            client.run([*self._rados(client), "put", "contract", scratch], timeout_s=60)
        else:
            client.run(
                ["dd", f"if={scratch}", f"of={self.data(client)}", *size, "conv=fsync,notrunc"], timeout_s=60
            )
        said = client.run(["sha256sum", scratch], timeout_s=60).stdout.split()[0]
        client.run(["rm", scratch], timeout_s=10)
        return said

    def read(self, client: Host) -> str:
        """Read them again, and return their checksum."""
        if self.filesystem.offers == "buckets":
            return self._object(client, "get", self.seeds[client.name])
        if self.filesystem.offers == "pools":
            scratch = client.directory / "scratch"
            client.run([*self._rados(client), "get", "contract", scratch], timeout_s=60)
            said = client.run(["sha256sum", scratch], timeout_s=60).stdout
            client.run(["rm", scratch], timeout_s=10)
            return said.split()[0]
        argv = ["sh", "-c", 'head -c "$1" "$2" | sha256sum', "read", str(FILE_BYTES), self.data(client)]
        return client.run(argv, timeout_s=60).stdout.split()[0]

    def _object(self, client: Host, operation: str, seed: str) -> str:
        self.seeds[client.name] = seed
        wanted: dict[str, Any] = {"object_bytes": FILE_BYTES, "count": 1, "duration_s": 60.0, "seed": seed}
        wanted |= {"tolerate_errors": False, "wait": []}
        bucket = able(self.mounted, OffersBuckets).bucket(client.name)
        buckets.ask(client, bucket, operation, "contract-", timeout_s=60, **wanted)
        client.run(["rm", client.directory / buckets.PROGRAM_NAME], timeout_s=10)
        return seed

    def _rados(self, client: Host) -> list[str | Path]:
        pool = self.mounted.pools[client.name]
        return ["rados", "-c", pool.configuration, "-n", pool.user, "-p", pool.name]


@pytest.fixture(scope="module", params=KINDS)
def life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    kind = request.param
    filesystem = driver(kind, tmp_path_factory.mktemp(kind))
    with hosts_of().hold(2) as hosts, ExitStack() as stack:
        if kind in EXISTS:
            filesystem = served(kind, tmp_path_factory.mktemp(kind), hosts.management, stack)
        before = traces(hosts)
        try:
            mounted = stack.enter_context(filesystem.mount(hosts))
        except MachineError as error:
            pytest.skip(str(error))
        yield Life(kind, filesystem, hosts, mounted, before, seen_bytes(hosts, mounted), stack.close)


def served(kind: str, folder: Path, host: Host, stack: ExitStack) -> FileSystem:
    """Start the store that is there already, and return the driver that leads to it."""
    argv = [sys.executable, TESTS / "s3_store.py", host.address, str(PORT)]
    store = host.spawn(argv, log=folder / "store.log")
    stack.callback(store.stop)
    until_s = time.monotonic() + 20
    while "serving" not in store.output():
        assert time.monotonic() < until_s, store.output()
        time.sleep(0.05)
    return driver(kind, folder, endpoint=f"http://{host.address}:{PORT}")


def seen_bytes(hosts: Hosts, mounted: Mounted) -> dict[str, int]:
    clients = [client for client in hosts.clients if client.name in mounted.directories]
    return {client.name: space_bytes(client, mounted.directories[client.name])[1] for client in clients}


def test_it_comes_up_empty_for_every_client_with_facts_and_logs(life: Life) -> None:
    names = {client.name for client in life.hosts.clients}
    offered = {
        "folders": life.mounted.directories,
        "pools": life.mounted.pools,
        "devices": life.mounted.devices,
        "buckets": {},
    }
    if isinstance(life.mounted, OffersBuckets):
        offered["buckets"] = {name: life.mounted.bucket(name) for name in names}
    lacking = names - offered[life.filesystem.offers].keys()
    assert not lacking, f"have `mount` give {life.filesystem.offers} to {lacking} as well"
    if life.filesystem.offers == "folders":
        found = life.client.run(["ls", "-A", life.mounted.directories[life.client.name]], timeout_s=10).stdout
        assert found == "", (
            f"remove what bring-up leaves in the file system, or mount a folder below: {found}"
        )
    assert json.dumps(dict(life.mounted.facts)) != "{}", (
        "report facts: the version and layout, in the daemons' words"
    )
    unread = [log for log in life.mounted.logs if not log.is_file()]
    unread += [
        log
        for host, log in life.mounted.logs_there
        if host.run(["test", "-f", log], timeout_s=10, check=False).returncode
    ]
    assert not unread, (
        f"`logs` or `logs_there` name files that are not there: {unread}; correct the paths that daemons "
        "log to"
    )
    known = {host.name for host in life.hosts.all}
    assert set(life.mounted.data_hosts) <= known, (
        f"`data_hosts` has names of no host: {life.mounted.data_hosts}"
    )
    life.mounted.alive()
    if isinstance(life.mounted, WorksInBackground):
        assert isinstance(life.mounted.busy(), str), 'have `busy` return what it works on, or ""'


def test_servers_users_put_nothing_in_the_place_of_what_root_writes_runs_and_mounts(life: Life) -> None:
    if not isinstance(life.mounted, Deployment):
        assert not isinstance(life.filesystem, Deployed)
        return
    theirs = ["(", "!", "-user", "root", "-o", "-perm", "/022", ")"]
    folders = {host.name: life.mounted.folder(host) for host in life.hosts.all}
    found = {
        host.name: host.run(
            ["find", folders[host.name], "-maxdepth", "0", *theirs], timeout_s=10, check=False
        )
        for host in life.hosts.all
    }
    assert not [name for name, done in found.items() if done.stdout], "give servers rooms by `furnish`"
    logs = [log for log in life.mounted.logs if log.lstat().st_uid or log.parent.lstat().st_uid]
    assert not logs, f"{logs} are not root's, which appends to them and reads them"


def test_what_is_written_is_read_back_unchanged_over_cold_caches(life: Life) -> None:
    written = life.write(life.client)
    holders = life.mounted.locate(life.data(life.client))
    assert holders or life.kind in EXISTS, (
        "`locate` names no host for a file of 8 MiB: read where its data lie"
    )
    if life.mounted.data_hosts:
        beyond = set(holders) - set(life.mounted.data_hosts)
        assert not beyond, f"`locate` names {beyond}, which `data_hosts` lacks: make the two agree"
    life.mounted.drop_caches()
    life.client.drop_caches()  # of all hosts, which share one kernel here
    before = received_bytes(life.client)
    assert life.read(life.client) == written, (
        "data changed between write and read: find out before you measure anything"
    )
    moved_bytes = received_bytes(life.client) - before
    if life.client.name not in holders and life.kind != MOVES_NOTHING:
        came = f"{moved_bytes} B came over the network for {FILE_BYTES} B"
        assert moved_bytes > FILE_BYTES, f"{came}: have `drop_caches` forget more"
        assert moved_bytes < 1.15 * FILE_BYTES, f"{came}: find out what else is read"
    life.mounted.alive()


def test_what_one_client_writes_another_reads(life: Life) -> None:
    one, two = life.hosts.clients
    own = life.filesystem.offers != "folders" or life.kind == MOVES_NOTHING
    written = "" if own else life.write(one)
    if own or one.name in life.mounted.locate(life.data(one)):
        pytest.skip(f"{life.kind} gives each client storage of its own")
    assert life.read(two) == written, (
        "clients see different data: is it one file system that both have mounted?"
    )


def test_clients_can_be_without_it_for_a_time(life: Life) -> None:
    if life.filesystem.offers != "folders" or not isinstance(life.mounted, Deployment):
        pytest.skip(f"{life.kind} is not perjoule's to unmount")
    written = life.write(life.client)
    with life.mounted.unmounted():
        life.mounted.alive()
        places = [(client, life.mounted.directories[client.name]) for client in life.hosts.clients]
        still = [client.name for client, place in places if is_mounted(client, place)]
        assert not still, f"still mounted on {still}: have `detach` unmount it"
    life.mounted.alive()
    assert life.read(life.client) == written, "data changed while no client had mounted it"


def test_clients_see_the_space_of_all_servers_from_the_start(life: Life) -> None:
    if life.space_bytes:  # tests before took some of this time
        time.sleep(max(0.0, life.up_s + SPACE_KNOWN_S - time.monotonic()))
    later = seen_bytes(life.hosts, life.mounted)
    assert life.space_bytes == pytest.approx(later, rel=0.05), (
        "wait in `serve` until clients see all space there is"
    )


def test_what_dies_is_named_with_its_last_words(life: Life) -> None:
    if isinstance(life.mounted, Deployment) and list(life.mounted.daemons):
        daemons = [*life.mounted.daemons]
        victim = next(
            (daemon for daemon in daemons if daemon.host.name in life.mounted.data_hosts), daemons[0]
        )
        victim.process.stop(timeout_s=0)
        where, words = victim.host.name, "last said"
    elif life.filesystem.offers == "folders" and life.kind != MOVES_NOTHING:
        place = life.mounted.directories[life.client.name]
        life.client.run(
            ["umount", "--lazy", place if place.is_mount() else place.parent], timeout_s=10, check=False
        )
        life.client.run(["rm", "-rf", "--one-file-system", "--", place], timeout_s=10, check=False)
        where, words = life.client.name, str(place.parent)
    else:
        pytest.skip(f"{life.kind} has no daemon to kill and no mount to take away")
    with pytest.raises(TransientError) as death:
        until_s = time.monotonic() + 5  # a kill is a moment older than the kernel's word of it
        while time.monotonic() < until_s:
            life.mounted.alive()
    assert where in str(death.value), f"say in the error of `alive` where it died ({where}): {death.value}"
    assert words in str(death.value), f"say in the error of `alive` {words!r}: {death.value}"


def test_its_end_leaves_nothing_even_after_a_death(life: Life) -> None:
    began_s = time.monotonic()
    life.end()
    took_s = time.monotonic() - began_s
    assert took_s < 10, f"it took {took_s:.0f} s to take it down: unmount lazily, and give daemons less time"
    left = left_behind(life.filesystem, life.hosts, life.before)
    assert not left, f"left behind: {left}; end and remove it in `down` or `clean`"


def too_late(filesystem: FileSystem, hosts: Hosts) -> TransientError:
    """How bring-up fails for lack of patience."""
    with pytest.raises(TransientError) as failure, filesystem.mount(hosts):
        pass
    late = re.search(r"not reached within [\d.]+ s|did not end within", str(failure.value))
    assert late, (
        "bring-up did not fail for its time limit: wait by `daemons.wait`, as long as `patience`: "
        f"{failure.value}"
    )
    return failure.value


@pytest.mark.parametrize("kind", by_day(KINDS, *(kind for kind in KINDS if kind not in SAME_DAEMONS)))
def test_a_bring_up_that_fails_says_the_last_words_of_all_daemons_and_leaves_nothing(
    kind: str, tmp_path: Path
) -> None:
    if not isinstance(filesystem := driver(kind, tmp_path), Deployed):
        pytest.skip(f"{kind} starts no daemons")
    with hosts_of().hold(2) as hosts:
        before = traces(hosts)
        for patience in PATIENCE:  # until a daemon has begun: before some, a tool runs that is limited, too
            failure = too_late(driver(kind, tmp_path, patience=patience), hosts)
            if failure.logs:
                break
        else:
            pytest.fail(
                "no daemon's log was kept: start daemons by `self.start`, inside the block of `explained`"
            )
        silent = {*failure.logs} - heard(str(failure))
        assert not silent, (
            f"the error lacks the last words of {silent}: bring daemons up in `daemons.explained()`: "
            f"{failure}"
        )
        left = left_behind(filesystem, hosts, before)
        assert not left, f"left behind: {left}; remove it in `clean`, even when bring-up ended half-way"
    assert filesystem.patience_s > 1, "leave `patience` in EXAMPLE as it is: this test sets the short one"


def test_the_driver_on_the_page_has_at_most_80_lines() -> None:
    lines_count = len(on_the_page().splitlines())
    assert lines_count <= MOST_LINES, (
        f"{PAGE.name} has {lines_count} lines of driver: move what others need too into Deployment"
    )


def test_the_driver_on_the_page_takes_part_in_a_campaign(tmp_path: Path) -> None:
    driver(FROM_THE_PAGE, tmp_path)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    results = tmp_path / "results"
    argv = [sys.executable, "-c", COMMAND, tmp_path, "run", tmp_path / "campaign.toml", "--into", results]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"the page's driver fails in a campaign: {done.stderr}"
    records = [json.loads(path.read_text()) for path in results.rglob("record.json")]
    assert [record["status"] for record in records] == ["valid", "valid"], [
        record["reason"] for record in records
    ]
    missing = {"sshfs", "openssh-server"} - records[0]["environment"]["packages"].keys()
    assert not missing, f"the record lacks the versions of {missing}: name these packages in `runs`"
