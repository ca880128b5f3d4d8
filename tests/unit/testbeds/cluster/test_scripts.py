"""What a keeper hears over its connection: words by their number, of which nothing is run, evaluated or
taken for a path.
"""

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from perjoule.machine.scripts import BASH
from perjoule.model.errors import MachineError
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.login import Login
from perjoule.testbeds.cluster.scripts import KEEP
from perjoule.testbeds.slurm.ranks import RANK
from sshd import until

RUN = "5c1b2c3d"
HOSTILE = (
    "$(touch {0})",
    "`touch {0}`",
    "; touch {0}",
    "a\nb\ntouch {0}\n",
    "a' ; touch {0} ; '",
    '" ; touch {0} ; "',
    "*",
    "~",
    "{{a,b}}",
    "-n",
    "",
    " ",
    "\\",
    "\t\r\x1b[2J\x7f",
    "\udcff\udc80",
    "é" * 3000,
    "x" * 100_000,
)


class Here(Login):
    """A host that is this machine, without ssh."""

    name = "h1"

    @property
    def where(self) -> str:
        return self.name

    def command(
        self, argv: Sequence[str], *, socket: str = "", master: bool = False, verb: Sequence[str] = ()
    ) -> list[str]:
        return list(argv)

    def refusal(self, message: str) -> MachineError:
        return MachineError(message, where=self.name)


@contextlib.contextmanager
def kept(work: Path) -> Generator[Keeper]:
    keeper = Keeper(Here(), str(work))
    try:
        keeper.keep(RUN)
        yield keeper
    finally:
        keeper.close()


@pytest.fixture
def work() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="words-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("word", HOSTILE)
def test_a_word_reaches_the_program_as_it_is(work: Path, word: str) -> None:
    mark = work / "touched"
    word = word.format(mark)
    with kept(work) as keeper:
        answer, late = keeper.run(["printf", "%s|", word, "last"], timeout_s=20)
        assert (answer.out.decode(errors="surrogateescape"), answer.code, late) == (f"{word}|last|", 0, False)
        assert keeper.run(["cat"], b"input\0\n", timeout_s=20)[0].out == b"input\0\n"
    assert not mark.exists()


def test_the_number_of_a_program_that_has_ended_is_forgotten_while_its_answer_waits(work: Path) -> None:
    """Another process may have it by then, and would get the signal of an `ask`."""
    argv = [*BASH, KEEP, "perjoule-keeper", str(work), "h1"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        words = b"\0".join([b"head", b"-c", b"1000000", b"/dev/zero", b""])
        keeper.stdin.write(b"keep " + RUN.encode() + b"\nrun 1 4 0\n" + words)
        keeper.stdin.flush()
        while keeper.stdout.readline() != b"ready\n":
            pass
        programs = work / f"cluster/{RUN}-h1/programs"
        until(lambda: (programs / "1.out").exists() and (programs / "1.out").stat().st_size == 1_000_000)
        until(lambda: (programs / "1.pid").read_text() == "")
        keeper.stdin.close()
        keeper.stdout.read()


def test_a_word_with_a_nul_is_refused_before_it_is_sent(work: Path) -> None:
    with kept(work) as keeper:
        with pytest.raises(ValueError, match="contains a NUL"):
            keeper.run(["printf", "a\0b"], timeout_s=20)
        assert keeper.run(["printf", "still here"], timeout_s=20)[0].out == b"still here"


@pytest.mark.parametrize(
    "line",
    [
        b"run 1 a[$(touch {0})] 0\ntrue\0",
        b"run 1 1 a[$(touch {0})]\ntrue\0",
        b"run a[$(touch {0})] 1 0\ntrue\0",
        b"run ../../../out 1 3\ncat\0abc",
        b"run 1 0 x; touch {0}\n",
        b"run 1 0 touch {0}\n",
        b"run 1 0 launch 2 touch {0}\n",
        b"run 1 99999999999999999999 0\ntouch {0}\0",
        b"end 1 a[$(touch {0})]\n",
        b"end 1 -e\n",
        b"ask ../../../out\n",
        b"tell FOLDER/../../out line\n",
        b"counters $(touch {0})\n",
        b"clock ../../out\n",
    ],
)
@pytest.mark.parametrize("before", [b"keep RUN\n", b""])
def test_a_line_that_no_perjoule_sends_ends_the_keeper_and_does_nothing(
    work: Path, line: bytes, before: bytes
) -> None:
    mark = work / "touched"
    line = line.replace(b"{0}", bytes(mark)).replace(b"FOLDER", bytes(work / f"cluster/{RUN}-h1"))
    said = before.replace(b"RUN", RUN.encode()) + line + b"run 7 2 0\nprintf\0alive\0"
    subprocess.run(
        [*BASH, KEEP, "perjoule-keeper", str(work), "h1"],
        input=said,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert [path.name for path in work.iterdir()] == []


@pytest.mark.parametrize(
    "line",
    [
        b"unit a[$(touch {0})] -\nkeep 5c1b2c3d\n",
        b"states $(touch {0})\n",
        b"states a[$(touch {0})]\n",
        b"states /sys /dev; touch {0}\n",
    ],
)
def test_before_it_keeps_the_host_it_hears_numbers_and_words(work: Path, line: bytes) -> None:
    mark = work / "touched"
    argv = [*BASH, KEEP, "perjoule-keeper", str(work), "h1"]
    done = subprocess.run(
        argv, input=line.replace(b"{0}", bytes(mark)), capture_output=True, check=False, timeout=60
    )
    assert b"stated" not in done.stdout
    assert not mark.exists()


@pytest.mark.parametrize("run", ["../../x", "a;touch", "$(touch x)", "", "*", "-x", "a/b"])
def test_a_run_has_a_plain_name(work: Path, run: str) -> None:
    argv = [*BASH, KEEP, "perjoule-keeper", str(work), "h1"]
    done = subprocess.run(
        argv, input=f"keep {run}\n", capture_output=True, text=True, check=False, timeout=60
    )
    assert [path.name for path in work.iterdir() if path.name != "cluster"] == []
    assert done.stdout.splitlines()[-1].startswith("refused ")


def test_nothing_in_a_keeper_evaluates_text() -> None:
    assert re.findall(r"\beval\b", KEEP + RANK) == []
