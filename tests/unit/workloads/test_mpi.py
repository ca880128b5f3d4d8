"""What starts ranks: each way is tried with two ranks, and the first that works is kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Launcher, Process
from perjoule.model import Json
from perjoule.model.errors import WorkloadError
from perjoule.workloads import _mpi
from perjoule.workloads._mpi import preflight
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

LINKED = "\tlibc.so.6 => /lib/libc.so.6 (0x7f)\n\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x00007f)\n"
TOGETHER = "perjoule: rank 1 of 2\nperjoule: rank 0 of 2\n"
STRANGERS = "perjoule: rank 0 of 1\nperjoule: rank 0 of 1\n"


class Srun(Launcher):
    """Each way says and ends as it is written here; None: it hangs."""

    def __init__(self, **ways: tuple[int | None, str]) -> None:
        self.ends, self.ways, self.facts = ways, tuple(ways), dict[str, Json]()
        self.started: list[tuple[str, str, tuple[str, ...], int]] = []
        self.processes: list[ScriptedProcess] = []

    def spawn(
        self,
        method: str,
        prefixes: Mapping[str, Sequence[str]],
        argv: Sequence[str],
        *,
        count: int,
        log: Path,
        env: Mapping[str, str],
    ) -> Process:
        assert env["OMPI_MCA_btl"] == "self,tcp"
        assert env["OMPI_MCA_btl_tcp_if_include"] == "10.0.0.1/32"
        assert all(prefix[:3] == ["env", "-C", f"/mnt/{name}"] for name, prefix in prefixes.items())
        self.started.append((method, argv[0], tuple(prefixes), count))
        code, said = self.ends[method] if argv[0] == "python3" else (0, "done\n")
        log.write_text(said)
        self.processes.append(ScriptedProcess(code, said))
        return self.processes[-1]


class Node(ScriptedHost):
    def __init__(self, name: str, launcher: Launcher, linked: str = LINKED) -> None:
        super().__init__(name)
        self.launcher, self.linked = launcher, linked
        self.mpirun: list[Sequence[str]] = []

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        return 0, self.linked if "perjoule-ldd" in words else ""

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.mpirun.append(words)
        log.write_text("mpirun is too old")
        return ScriptedProcess(int("python3" in words), "mpirun is too old")


def run(nodes: Sequence[Node], folder: Path, count: int = 3) -> None:
    _mpi.run(
        nodes, ScriptedMount(*nodes), ["/opt/ior"], ranks_count=count, log=folder / "ior.log", time_limit_s=5
    )


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "LIMIT_S", 0.1)


def test_a_way_that_hangs_is_ended_and_the_first_that_works_is_kept(tmp_path: Path) -> None:
    srun = Srun(
        hangs=(None, ""),
        fails=(1, "not built with PMI"),
        strangers=(0, STRANGERS),
        works=(0, TOGETHER),
        later=(0, TOGETHER),
    )
    nodes = [Node(f"client-{number}", srun) for number in (1, 2, 3)]
    run(nodes, tmp_path)
    two, three = ("client-1", "client-2"), ("client-1", "client-2", "client-3")
    tried = [(way, "python3", two, 1) for way in ("hangs", "fails", "strangers", "works")]
    assert srun.started == [*tried, ("works", "/opt/ior", three, 3)]
    assert [process.stopped_count for process in srun.processes] == [1, 0, 0, 0, 0]
    (fact,) = srun.facts.values()
    assert isinstance(fact, dict)
    assert fact["launcher"] == "works"
    assert fact["library"] == "/usr/lib/libmpi.so.40"
    assert fact["failed"] == {
        "hangs": "python3 not finished within 0.1 s on client-1",
        "fails": "python3 failed (exit code 1): not built with PMI",
        "strangers": "the ranks did not find each other (rank 0 of 1, rank 0 of 1)",
    }
    run(nodes, tmp_path)
    assert srun.started[5:] == [("works", "/opt/ior", three, 3)]
    assert not nodes[0].mpirun


def test_one_client_alone_has_both_ranks_and_says_nothing_of_several(tmp_path: Path) -> None:
    srun = Srun(works=(0, TOGETHER))
    nodes = [Node(f"client-{number}", srun) for number in (1, 2)]
    _mpi.ready(nodes[:1], ScriptedMount(*nodes), "/opt/ior", tmp_path)
    assert srun.started == [("works", "python3", ("client-1",), 2)]
    run(nodes, tmp_path)
    assert srun.started[1:] == [
        ("works", "python3", ("client-1", "client-2"), 1),
        ("works", "/opt/ior", ("client-1", "client-2"), 3),
    ]
    assert list(srun.facts) == ["/opt/ior on one host", "/opt/ior on several hosts"]


def test_if_nothing_starts_ranks_each_reason_is_reported(tmp_path: Path) -> None:
    node = Node("client-1", Srun(pmix=(1, "mismatch"), pmi2=(0, STRANGERS)))
    with pytest.raises(
        WorkloadError,
        match=r"nothing starts two ranks.*pmix: .*mismatch; pmi2: .*; mpirun: .*mpirun is too old",
    ):
        run([node], tmp_path)


@pytest.mark.parametrize(
    ("said", "why"),
    [("no python3\n", "python3 is missing"), ("\tlibc.so.6 => /lib/libc.so.6\n", "linked with no")],
)
def test_without_a_library_to_try_mpirun_starts_the_ranks(tmp_path: Path, said: str, why: str) -> None:
    node = Node("client-1", Srun(pmix=(0, TOGETHER)), said)
    run([node], tmp_path)
    assert node.launcher
    (fact,) = node.launcher.facts.values()
    assert isinstance(fact, dict)
    assert fact["launcher"] == "mpirun"
    assert why in str(fact["preflight"])
    assert "mpirun" in node.mpirun[0]


@pytest.mark.parametrize(
    ("said", "library"),
    [
        (LINKED, "/usr/lib/libmpi.so.40"),
        ("\tlibmpich.so.12 => /opt/mpich/lib/libmpich.so.12 (0x1)", "/opt/mpich/lib/libmpich.so.12"),
        ("\tlibmpi_cxx.so.40 => not found\n\tlibmpifort.so.12 => /x/libmpifort.so.12 (0x1)\n", ""),
        ("\tlibmpi_cray.so.12 => /opt/cray/libmpi_cray.so.12 (0x1)", "/opt/cray/libmpi_cray.so.12"),
    ],
)
def test_the_library_of_a_program_is_found(said: str, library: str) -> None:
    assert preflight.linked(said) == library
