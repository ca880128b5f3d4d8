"""IOR and what starts its ranks: its reports are read rightly, and mpirun gets what it can do."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Process, Workload
from perjoule.model import Json
from perjoule.model.errors import (
    MountLost,
    MovedTooLittle,
    ProgramFailed,
    TimeLimit,
    TransientError,
    UnexpectedOutput,
    WorkloadError,
)
from perjoule.model.units import MIB
from perjoule.workloads._mpi import mpirun, ranks
from perjoule.workloads.ior import report
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

SAID = TRANSCRIPTS / "ior"


def ior(**options: Json) -> Workload:
    made = drivers.build("workloads", "ior", {"size": "8 MiB", "transfer": "1 MiB", **options})
    assert isinstance(made, Workload)
    return made


class Client(ScriptedHost):
    """A client whose mpirun leaves what a transcript holds; what its agent was asked lies in `asked` by
    address.
    """

    def __init__(
        self, number: int, *, code: int | None = 0, log: str = "", asked: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"client-{number}")
        self.address = f"10.0.0.{number}"
        self.code, self.log, self.asked, self.sizes, self.sees = code, log, asked or {}, "", True
        self.started: list[Sequence[str]] = []

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        failed = (words[0] == "stat" and not self.sizes) or (words[:2] == ["test", "-e"] and not self.sees)
        return int(failed), self.sizes

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append(words)
        log.write_text(self.log)
        return ScriptedProcess(self.code, self.log)

    def put(self, content: str | bytes, path: Path, **_: Any) -> None:
        assert path == self.directory / "mpi" / "agent"

    def read(self, path: Path) -> bytes:
        if path.name == "ior.json":
            return (SAID / "write" / "ior.json").read_bytes()
        if (address := path.name.removeprefix("agent.")) in self.asked:
            return self.asked[address].encode()
        raise WorkloadError("no such file", where=self.name)


def test_a_raw_folder_gives_each_client_its_bytes_and_its_window() -> None:
    outcome = ior(ranks=2).outcome(SAID / "write")
    assert outcome.engine == "IOR-4.1.0+dev"
    assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
        (f"client-{number}", "write", 8 * MIB, 8) for number in (1, 2, 3)
    ]
    clocks = json.loads((SAID / "write" / "run.json").read_text())["clocks"]
    assert clocks[0]["monotonic_s"] < outcome.began_s < outcome.ended_s < clocks[1]["monotonic_s"]
    total_s = json.loads((SAID / "write" / "ior.json").read_text())["tests"][0]["Results"][0]["totalTime"]
    assert outcome.ended_s - outcome.began_s == pytest.approx(total_s, abs=1e-4)
    assert not outcome.results[0].latency_s


def test_a_stonewalled_run_counts_what_was_moved() -> None:
    options: Mapping[str, Json] = {"size": "4 GiB", "transfer": "16 KiB"}
    outcome = ior(**options, stonewall="1 s").outcome(SAID / "stonewall")
    assert [r.moved_bytes for r in outcome.results] == [198639616]
    assert outcome.doubts == ()
    with pytest.raises(MovedTooLittle, match=r"189.4 MiB of 4 GiB"):
        ior(**options).outcome(SAID / "stonewall")


def test_shares_of_a_stonewalled_sum_give_a_doubt() -> None:
    found = report.results({"client-1": (1.0, 2.0), "client-2": (1.0, 2.5)}, "write", 5 * MIB + 1, MIB)
    assert [r.moved_bytes for r in found] == [5 * MIB // 2 + 1, 5 * MIB // 2]
    assert "equal share" in report.doubts("", found, equal=False)[0]
    assert report.doubts("", found, equal=True) == ()


def test_who_opens_its_file_late_by_its_hosts_clock_is_named(tmp_path: Path) -> None:
    """Ranks 0, 2 and 4 or 5 are the first of their clients: they opened at .774546, .777877 and .777699 s."""
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "write", raw)
    short = ior(ranks=2).outcome(raw).doubts
    ran = json.loads((raw / "run.json").read_text())
    # 19.3 and 33.2 ms after client-1
    behind = {"client-1": [0.0, 0.0], "client-2": [-0.016, -0.016], "client-3": [-0.03, -0.03]}
    (raw / "run.json").write_text(json.dumps({**ran, "ahead_s": behind}))
    assert set(ior(ranks=2).outcome(raw).doubts) - set(short) == {
        "client-3 opened its file 33 ms after client-1"
    }
    assert not [doubt for doubt in short if "opened" in doubt]


def test_iors_warnings_are_doubts() -> None:
    found = report.results({"client-1": (1.0, 2.0)}, "read", MIB, MIB)
    log = "WARNING: inconsistent file size by different tasks, (ior.c:377).\n"
    assert report.doubts(log, found, equal=True) == (
        "IOR warned: inconsistent file size by different tasks, (ior.c:377).",
    )


def test_warnings_inside_the_json_are_why_the_summary_file_is_requested() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        report.summary((SAID / "warnings-inside.json").read_text())


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_summary_is_refused(share: float, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "write", raw)
    text = (raw / "ior.json").read_text()
    (raw / "ior.json").write_text(text[: int(len(text) * share)])
    with pytest.raises(UnexpectedOutput):
        ior(ranks=2).outcome(raw)


def test_a_rank_that_told_no_moment_is_missed(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "write", raw)
    lines = [line for line in (raw / "ior.log").read_text().splitlines(keepends=True) if "Task=4" not in line]
    (raw / "ior.log").write_text("".join(lines))
    with pytest.raises(WorkloadError, match="rank 4 did not report its write close stop"):
        ior(ranks=2).outcome(raw)


def test_a_summary_that_says_something_else_than_the_log_is_refused(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "stonewall", raw)
    (raw / "ior.log").write_text((raw / "ior.log").read_text().replace("198639616", "298639616"))
    with pytest.raises(WorkloadError, match=r"the log reports 284\.\d+ MiB, the summary 189\.\d+ MiB"):
        ior(size="4 GiB", transfer="16 KiB", stonewall="1 s").outcome(raw)


def test_a_full_disk_is_reported_with_iors_message() -> None:
    with pytest.raises(
        WorkloadError, match=r"ior failed \(exit code 134\): WARNING: write.* No space left on device"
    ) as caught:
        ranks.check("ior", 134, (SAID / "full" / "ior.log").read_text())
    assert not caught.value.transient


def test_a_mount_that_is_gone_is_transient() -> None:
    with pytest.raises(MountLost):
        ranks.check(
            "ior", 255, "ERROR: open64() failed, Transport endpoint is not connected, (aiori-POSIX.c:500)"
        )


def test_mpirun_starts_ranks_client_by_client_each_in_its_folder(tmp_path: Path) -> None:
    asked = (SAID / "orted.txt").read_text()
    second = Client(2)
    first = Client(1, code=None, asked={second.address: asked})
    with pytest.raises(TimeLimit, match=r"0.2 s on client-1"):
        ior(ranks=2, time_limit="0.2 s").run([first, second], ScriptedMount(first, second), tmp_path)
    (mpirun,) = first.started
    assert mpirun[: mpirun.index("mpirun")][:2] == ["env", "-i"]
    text = " ".join(mpirun)
    assert "-np 2 --host 10.0.0.1:2 env -C /mnt/client-1 PERJOULE_CLIENT=client-1 ior -vvv -w " in text
    assert "ior -vvv -w -a POSIX -t 1048576 -b 4194304 -k -F -o ior.rank -e" in text
    assert " : -np 2 --host 10.0.0.2:2 env -C /mnt/client-2 PERJOULE_CLIENT=client-2 ior " in text
    assert "btl_tcp_if_include 10.0.0.0/30" in text
    assert "plm_rsh_agent /of/client-1/mpi/agent" in text
    (orted,) = second.started
    assert "TMPDIR=/of/client-2/mpi" in orted
    assert orted[orted.index("orted") :][-2:] == ["pmix", "^s1,s2,cray,isolated"]


def test_a_daemon_that_can_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpirun, "STUCK_S", 0.0)
    second = Client(2, code=127, log="env: 'orted': No such file or directory")
    first = Client(1, code=None, asked={second.address: (SAID / "orted.txt").read_text()})
    with pytest.raises(ProgramFailed, match=r"client-2: .*127: env: 'orted'"):
        ior().run([first, second], ScriptedMount(first, second), tmp_path)


def test_a_daemon_of_the_file_system_that_died_is_the_better_reason(tmp_path: Path) -> None:
    client = Client(1, code=1, log="ERROR: write failed")
    with pytest.raises(TransientError, match="ceph-osd died"):
        ior().run([client], ScriptedMount(client, dead=True), tmp_path)


def test_what_the_agent_was_asked_is_read_as_an_argument_list() -> None:
    words = mpirun.daemon((SAID / "orted.txt").read_text())
    assert words[:3] == ["orted", "-mca", "orte_leave_session_attached"]
    assert "284688384.0;tcp://10.99.0.5:55537" in words
    prefixed = 'PATH=/opt/ompi/bin:$PATH ; export PATH ; /opt/ompi/bin/orted -mca ess "env"'
    assert mpirun.daemon(prefixed) == ["/opt/ompi/bin/orted", "-mca", "ess", "env"]
    with pytest.raises(WorkloadError, match="something other than its daemon"):
        mpirun.daemon("hydra_pmi_proxy --control-port 1")


@pytest.mark.parametrize(
    ("addresses", "network"),
    [
        (["127.0.0.1"], "127.0.0.1/32"),
        (["10.99.0.5", "10.99.0.6"], "10.99.0.4/30"),
        (["10.99.0.5", "10.99.0.10", "10.99.0.6"], "10.99.0.0/28"),
    ],
)
def test_mpi_uses_the_smallest_network_of_all_clients(addresses: Sequence[str], network: str) -> None:
    assert ranks.network(addresses) == network


def test_a_write_begins_without_the_old_files(tmp_path: Path) -> None:
    client = Client(1)
    ior().prepare([client], ScriptedMount(client), tmp_path)
    assert [argv[0] for argv in client.ran] == ["bash", "sync", "drop caches"]


def test_a_read_finds_its_files_or_lays_them_out_with_nothing_that_is_measured(tmp_path: Path) -> None:
    load = ior(operation="read", ranks=2)
    there = Client(1)
    there.sizes = f"{4 * MIB}\n{4 * MIB}\n"
    load.prepare([there], ScriptedMount(there), tmp_path)
    assert there.ran[0] == [
        *("stat", "--format=%s", "/mnt/client-1/ior.rank.00000000", "/mnt/client-1/ior.rank.00000001")
    ]
    assert not there.started
    bare = Client(1)
    load.prepare([bare], ScriptedMount(bare), tmp_path)
    assert "ior -vvv -w -e -a POSIX -t 1048576 -b 4194304 -k -F -o ior.rank" in " ".join(bare.started[0])
    assert (tmp_path / "layout-ior.json").exists()


def test_what_a_stonewalled_write_leaves_never_passes_for_a_layout(tmp_path: Path) -> None:
    client = Client(1, code=1, log="ERROR")
    with pytest.raises(WorkloadError):
        ior(stonewall="1 s").run([client], ScriptedMount(client), tmp_path)
    assert "ior.part" in client.started[0]


def test_a_shared_file_needs_a_folder_that_all_see(tmp_path: Path) -> None:
    clients = [Client(1), Client(2)]
    clients[1].sees = False
    with pytest.raises(WorkloadError, match=r"client-2: a shared file needs one folder for all clients"):
        ior(shared_file=True).prepare(clients, ScriptedMount(*clients), tmp_path)
    ior(shared_file=True).prepare(clients[:1], ScriptedMount(*clients), tmp_path)


@pytest.mark.parametrize("operation", ["write", "read"])
def test_a_shared_file_is_there_and_seen_before_any_rank_opens_it(operation: str, tmp_path: Path) -> None:
    """Ranks that create it at once are answered "File exists" at random."""
    late = iter([1, 1, 0])

    class Slow(Client):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            return (
                (next(late), "")
                if words == ["test", "-e", "/mnt/client-2/ior.shared"]
                else super().answers(words)
            )

    clients = [Slow(1), Slow(2)]
    load = ior(operation=operation, shared_file=True)
    load.prepare(clients, ScriptedMount(*clients), tmp_path)
    assert ["touch", "/mnt/client-1/ior.shared"] in clients[0].ran
    assert next(late, None) is None  # client 2 was asked until it saw it
    if operation == "read":  # its layout writes, too
        first = clients[0].started[0]
        assert first[first.index("-E") - 1 : first.index("-o")] == ["-k", "-E"]
        assert "-F" not in first


def test_a_shared_file_that_a_client_never_sees_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perjoule.workloads.ior.SEEN_S", 0.0)

    class Blind(Client):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            return (
                (1, "")
                if words[:2] == ["test", "-e"] and words[2].endswith("ior.shared")
                else super().answers(words)
            )

    clients = [Client(1), Blind(2)]
    with pytest.raises(
        TransientError, match="client-2: the shared file that client-1 created is not visible"
    ):
        ior(shared_file=True).prepare(clients, ScriptedMount(*clients), tmp_path)


def test_an_address_that_is_a_name_is_looked_up_by_another_client(tmp_path: Path) -> None:
    names = {"node-1.example.org": "10.0.0.1", "node-2": "10.0.0.2"}

    class Named(Client):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            if words[:2] != ["getent", "ahostsv4"]:
                return super().answers(words)
            own = words[2] == self.address
            said = "127.0.1.1" if own else names.get(words[2], "")
            return (0, f"{said}  STREAM {words[2]}\n{said}  DGRAM\n") if said else (2, "")

    first, second = Named(1, code=None), Named(2, code=None)
    first.address, second.address = names
    first.asked = {"10.0.0.2": (SAID / "orted.txt").read_text()}
    with pytest.raises(TimeLimit):
        ior(time_limit="0.2 s").run([first, second], ScriptedMount(first, second), tmp_path)
    text = " ".join(first.started[0])
    assert "--host 10.0.0.1:1 " in text
    assert "--host 10.0.0.2:1 " in text
    assert "btl_tcp_if_include 10.0.0.0/30" in text
    assert second.started

    second.address = "unknown"
    with pytest.raises(
        WorkloadError,
        match=r'client-2: MPI needs an IPv4 address, and client-1 finds none for "unknown"; set',
    ):
        ior().run([first, second], ScriptedMount(first, second), tmp_path)
    second.address, names["host"] = "host", "--hostfile"
    with pytest.raises(WorkloadError, match='client-1 finds --hostfile for "host"; set'):
        ior().run([first, second], ScriptedMount(first, second), tmp_path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"size": "10 MiB", "transfer": "4 MiB"},
            'not a whole number of 1 ranks\' transfers of "4 MiB" .write "8 MiB"',
        ),
        ({"size": "8 MiB", "ranks": 3}, 'write "6 MiB"'),
        ({"collective": True}, 'collective is for api "MPIIO"'),
        ({"direct": True, "api": "MPIIO"}, 'direct is for api "POSIX"'),
        ({"direct": True, "transfer": "100 B", "size": "1000 B"}, "whole sectors"),
        ({"reorder": True}, 'reorder is for operation "read"'),
        ({"stonewall": "1.5 s"}, 'write stonewall = "2 s"'),
        ({"stonewall": "10 min", "time_limit": "1 min"}, "below time_limit"),
        ({"wear_out": True}, "needs a stonewall"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        ior(**options)


def test_ior_that_is_not_there_is_reported_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = ior(prefix=str(tmp_path)).checks()[0]
    assert (found.name, found.ok, found.detail) == ("ior", False, f"not in {tmp_path}/bin")
    assert "PERJOULE_IOR_PREFIX" in found.fix
    monkeypatch.delenv("PERJOULE_IOR_PREFIX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [check.detail for check in ior().checks()] == ["not on the PATH", "not found"]
