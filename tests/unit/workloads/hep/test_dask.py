"""Dask for the muon analysis: who is started where, and what is reported when one of them ends or hangs."""

import json
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Counters, Host, Hosts, Mounted, Process, Workload
from perjoule.model import Json
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.testbeds.local import LocalHost
from perjoule.workloads import hep
from perjoule.workloads._muons import job
from perjoule.workloads.hep import dask, seal
from scripted import ScriptedHost, ScriptedProcess

ADDRESS = "tcp://10.99.0.8:37911"


class Machine(ScriptedHost):
    """A host whose programs end as `codes` says (by a part of their module's name); the others run on."""

    def __init__(self, name: str, codes: Mapping[str, int], *, address: str | None = ADDRESS) -> None:
        super().__init__(name)
        self.codes, self.scheduler, self.received_bytes = codes, address, 0
        self.started: list[tuple[str, ScriptedProcess]] = []

    def starts(self, words: Sequence[str], log: Path) -> Process:
        line = " ".join(words)
        code = next((code for part, code in self.codes.items() if part in line), None)
        process = ScriptedProcess(code, "ValueError: no basket in the file\n")
        self.started.append((line, process))
        return process

    def read(self, path: Path) -> bytes:
        if self.scheduler is None:
            raise WorkloadError("no such file")
        return json.dumps({"address": self.scheduler}).encode()

    def counters(self) -> Counters:
        self.received_bytes += 1000
        return Counters(0.0, network_received_bytes=self.received_bytes if self.name != "storage-2" else None)


def ran(
    folder: Path, first: Machine, codes: Mapping[str, int], *, limit_s: float = 5.0
) -> tuple[object, list[Machine]]:
    workers = [Machine(f"storage-{n}", codes) for n in (1, 2)]
    try:
        return dask.job(first, workers, {"tasks": []}, folder, time_limit_s=limit_s), workers
    except WorkloadError as error:
        return error, workers


def test_a_dask_of_somebody_else_is_used_and_neither_started_nor_ended(tmp_path: Path) -> None:
    first, workers = (
        Machine("client-1", {"_muons.job": 0}),
        [Machine("storage-1", {}), Machine("storage-2", {})],
    )
    dask.job(
        first, workers, {"tasks": []}, tmp_path, time_limit_s=5.0, scheduler_file="/scratch/scheduler.json"
    )
    assert ["_muons.job" in words for words, _ in first.started] == [True]
    assert [host.started for host in workers] == [[], []]
    told = json.loads((tmp_path / "job.json").read_text())
    assert told["scheduler"] == ADDRESS
    assert told["addresses"] == {"storage-1": "10.0.0.1", "storage-2": "10.0.0.1"}
    assert not any("/scratch/scheduler.json" in words for host in (first, *workers) for words in host.ran)


def test_each_host_has_the_worker_of_its_name_or_of_its_address_and_one_only() -> None:
    names = {
        "tcp://10.0.0.1:7": "0",
        "tcp://10.0.0.1:5": "1",
        "tcp://10.0.0.9:5": "n2",
        "tls://[fd00::3]:8": "x",
    }
    hosts = {"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "fd00::3"}
    assert job.chosen(names, hosts) == {
        "n1": "tcp://10.0.0.1:5",
        "n2": "tcp://10.0.0.9:5",
        "n3": "tls://[fd00::3]:8",
    }
    with pytest.raises(SystemExit, match=r"no worker of Dask on n4 \(10.0.0.4\); workers: tcp://10.0.0.1:5"):
        job.chosen(names, {"n4": "10.0.0.4"})


def left(*hosts: Machine) -> list[str]:
    return [words for host in hosts for words, process in host.started if process.returncode is None]


def test_a_job_has_a_scheduler_and_a_worker_on_each_host_which_all_end_with_it(tmp_path: Path) -> None:
    first = Machine("client-1", {"_muons.job": 0})
    received, workers = ran(tmp_path, first, {})
    assert received == {"storage-1": 1000}  # the other can't tell
    assert ["dask_scheduler" in words for words, _ in first.started] == [True, False]
    for host in workers:
        ((words, process),) = host.started
        assert f"dask_worker {ADDRESS}" in words
        assert f"--name {host.name} " in words
        assert process.stopped_count
        (folder,) = {argv[-1] for argv in host.ran}
        assert [argv[0] for argv in host.ran] == ["mkdir", "rm"]
        assert folder.startswith(f"/of/{host.name}/hep-")
    assert json.loads((tmp_path / "job.json").read_text()) == {
        "scheduler": ADDRESS,
        "time_limit_s": 5.0,
        "addresses": {"storage-1": "10.0.0.1", "storage-2": "10.0.0.1"},
        "tasks": [],
    }
    assert not left(first, *workers)


def test_an_analysis_that_fails_says_why(tmp_path: Path) -> None:
    first = Machine("client-1", {"_muons.job": 1})
    error, workers = ran(tmp_path, first, {})
    assert str(error) == "client-1: the analysis failed (exit code 1): ValueError: no basket in the file"
    assert not left(first, *workers)


def test_a_worker_that_dies_ends_the_job_at_once(tmp_path: Path) -> None:
    first = Machine("client-1", {})
    error, workers = ran(tmp_path, first, {"--name storage-2": 9}, limit_s=60)
    assert isinstance(error, TransientError)
    assert str(error).startswith("the worker on storage-2 ended while waiting for the job's end: ValueError")
    assert not left(first, *workers)


@pytest.mark.parametrize(("address", "what"), [(None, "Dask's scheduler"), (ADDRESS, "the job's end")])
def test_what_hangs_is_given_up_after_the_time_limit(tmp_path: Path, address: str | None, what: str) -> None:
    first = Machine("client-1", {}, address=address)
    error, workers = ran(tmp_path, first, {}, limit_s=0.2)
    assert isinstance(error, TransientError)
    assert str(error).startswith(f"{what} did not appear within 0.2 s; raise time_limit")
    assert not left(first, *workers)


# by plain TCP, and with a key of their own
STRANGER = """
import os, sys
from distributed import Client
from distributed.security import Security
_, address, key = sys.argv
own = Security(tls_ca_file=key, tls_client_cert=key, tls_client_key=key, require_encryption=True)
for scheme, security in (("tcp", None), ("tls", own)):
    try:
        with Client(f"{scheme}://{address}", timeout=2, security=security) as client:
            print("ran as uid", client.run_on_scheduler(os.getuid))
    except OSError:
        print("refused")
"""


class Overheard(LocalHost):
    """This machine, on which somebody sends work to each scheduler as soon as it has an address."""

    answers: tuple[str, ...] = ()

    def read(self, path: Path) -> bytes:
        content = super().read(path)
        if path.name == "scheduler.json" and content:
            address, key = json.loads(content)["address"].partition("://")[2], self.directory / "own.pem"
            key.write_text(seal.sealed())
            argv = [sys.executable, "-c", STRANGER, address, key]
            completed = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
            self.answers = (*self.answers, *completed.stdout.splitlines())
            keys = [file for file in path.parent.glob("*.pem") if stat.S_IMODE(file.stat().st_mode) & 0o077]
            assert not keys
        return content


@pytest.mark.heavy
def test_no_other_user_of_a_host_has_its_dask_run_anything(tmp_path: Path) -> None:
    for name in hep.LIBRARIES:
        pytest.importorskip(name, reason=f"{name} is missing (.venv/bin/pip install 'perjoule[hep]')")
    (tmp_path / "host").mkdir()
    (tmp_path / "raw").mkdir()
    host = Overheard(tmp_path / "host")
    options: dict[str, Json] = {"tasks": [], "tasks_per_file": 1, "directories": {"local": str(tmp_path)}}
    dask.job(host, [host], options, tmp_path / "raw", time_limit_s=60.0)
    assert host.answers == ("refused", "refused")
    counts = json.loads((tmp_path / "raw" / "histogram.json").read_text())["counts"]
    assert not np.any(counts)  # the job itself was let in, and ended well
    assert not [*(tmp_path / "host").glob("hep-*")]


class OnClientsAlone(Mounted):
    """A file system that storage hosts don't have mounted."""

    def __init__(self) -> None:
        self.directories, self.facts, self.logs = {"client-1": Path("/mnt")}, {}, ()

    def locate(self, path: Path) -> tuple[str, ...]:
        raise AssertionError

    def drop_caches(self) -> None:
        raise AssertionError

    def alive(self) -> None:
        raise AssertionError


def prepared(hosts: Sequence[Host], folder: Path, **options: Json) -> None:
    load = drivers.build("workloads", "hep", options)
    assert isinstance(load, Workload)
    load.prepare(hosts, OnClientsAlone(), folder)


def test_a_file_system_that_storage_hosts_do_not_have_is_refused_in_a_sentence(tmp_path: Path) -> None:
    hosts = [Machine(name, {}) for name in ("client-1", "storage-1")]
    with pytest.raises(
        WorkloadError,
        match='not mounted on storage-1, where the analysis should run; write workers = "clients"',
    ):
        prepared(hosts, tmp_path)
    with pytest.raises(
        WorkloadError, match='no storage hosts to run the analysis on; write workers = "clients"'
    ):
        prepared(hosts[:1], tmp_path)


def test_users_of_a_file_system_are_clients_and_those_that_a_load_asks_for() -> None:
    held = tuple(Machine(name, {}) for name in ("storage-1", "metadata-1", "client-1"))
    assert [host.name for host in Hosts(held).users] == ["client-1"]
    assert [host.name for host in Hosts(held, using=("storage",)).users] == ["client-1", "storage-1"]
