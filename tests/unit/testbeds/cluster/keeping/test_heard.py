"""Hosts that are broken or hostile: each costs one sentence with its name, and no more memory than a good
one.

A script instead of ssh plays the host. Memory is that of a process of its own, which may not take more than
1.5 GiB.
"""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perjoule.model.errors import MachineError, TransientError, UnexpectedOutput, WorkloadError
from perjoule.testbeds.cluster.facts import probe
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.workloads._running import rooms
from places import ROOT, transcript

PROBE = transcript("cluster", "probe.txt")
COUNTERS = transcript("cluster", "counters.txt")
MOST_BYTES = 300 * 2**20
RUN = "00000007"
# It answers each command by its script, and a question about its clock or counters by `said`.
TEMPLATE = r"""
{before}
cat {room}/probe
echo probed
read -r line
{keeping}
echo ready
while read -r word number count bytes; do
  case "$word" in
    alive) echo "answer 0 0 0 0" ;;
    clock | counters) printf 'answer %s 0 %s 0\n' "$number" "$(stat -c %s {room}/said)"; cat {room}/said ;;
    run)
      rest=
      for ((n = 0; n < count; n++)); do IFS= read -r -d '' argument; rest+="$argument "; done
      [ "$bytes" = 0 ] || head -c "$bytes" > /dev/null
      {running} ;;
  esac
done
"""
NOTHING = 'printf "answer %s 0 0 0\\n" "$number"'


def host_that(
    room: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: str = "",
    keeping: str = "",
    running: str = NOTHING,
    said: str = "",
) -> Callable[[], Keeper]:
    """Write the host's script, and return what logs in to it and holds it."""
    (room / "probe").write_text(PROBE)
    (room / "said").write_text(said)
    script = TEMPLATE.format(room=room, before=before, keeping=keeping, running=running)
    monkeypatch.setattr(Ssh, "command", lambda *_argv, **_ways: ["bash", "-c", script])

    def held() -> Keeper:
        keeper = Keeper(Ssh("h2", "there"), str(room))
        keeper.keep(RUN)
        return keeper

    return held


# What runs code beside the functions of this file, each in a process of its own, as it has imported them.
SERVER = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**29, 3 * 2**29))
import pytest
from pathlib import Path
from perjoule.model.errors import PerjouleError
from perjoule.testbeds.cluster import archive
from unit.testbeds.cluster.keeping.test_heard import SshHost, host_that, rooms, tarfile
for line in sys.stdin:
    folder, code = json.loads(line)
    if not os.fork():
        room, patch = Path(folder), pytest.MonkeyPatch()
        try:
            exec(code)
        except PerjouleError as error:
            print(error.id, error)
        print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], flush=True)
        os._exit(0)
    os.wait()
    print("ended", flush=True)
"""
Peak = Callable[[str], tuple[str, int]]


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    argv = [sys.executable, "-c", SERVER]
    with subprocess.Popen(argv, stdin=-1, stdout=-1, text=True, env=env) as serving:
        yield serving
        serving.kill()


@pytest.fixture
def peak_bytes(server: subprocess.Popen[str], tmp_path: Path) -> Peak:
    """Run code; return the error that it ends with, and the most memory that it took."""

    def ran(code: str) -> tuple[str, int]:
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps([str(tmp_path), textwrap.dedent(code)]) + "\n")
        server.stdin.flush()
        lines: list[str] = []
        while (line := server.stdout.readline()) != "ended\n":
            assert line, "it did not fork"
            lines.append(line.strip())
        assert lines, "its fault is on stderr"
        return " ".join(lines[:-1]), int(lines[-1]) * 1024

    return ran


# Memory


@pytest.mark.parametrize(
    "ways",
    [
        {"before": "yes"},
        {"before": "cat /dev/zero"},
        {"before": "yes ''"},
        {"keeping": "yes removed /x"},
        {"keeping": "cat /dev/zero"},
    ],
    ids=["lines", "zeros", "empty-lines", "removed", "zeros-later"],
)
def test_a_host_that_never_stops_talking_is_refused_at_once(ways: dict[str, str], peak_bytes: Peak) -> None:
    said, most_bytes = peak_bytes(f"host_that(room, patch, **{ways!r})()")
    assert said == (
        "machine h2 (there): it sent more than 8 MiB or 100000 lines instead of an answer; check its "
        "login shell"
    )
    assert most_bytes < MOST_BYTES


def test_what_a_host_says_on_stderr_does_not_fill_the_memory(peak_bytes: Peak) -> None:
    before = "head -c 2G /dev/zero | tr '\\0' x >&2; exit 255"
    said, most_bytes = peak_bytes(f"host_that(room, patch, before={before!r})()")
    assert said.startswith("machine.host_unreachable h2 (there): no connection: ")
    assert most_bytes < MOST_BYTES


@pytest.mark.parametrize("sizes", ["999999999 999999999", "67108865 0", "0 67108864", "0 1048577"])
def test_an_answer_announces_no_more_than_a_keeper_sends(sizes: str, peak_bytes: Peak) -> None:
    running = f'printf "answer %s 0 {sizes}\\n" "$number"; cat /dev/zero'
    code = f"""
    host_that(room, patch, running={running!r})().run(["true"], timeout_s=60)
    """
    said, most_bytes = peak_bytes(code)
    assert said.startswith(
        "transient.host_lost h2 (there): the connection was lost (unexpected answer: answer "
    )
    assert most_bytes < MOST_BYTES


def test_the_longest_answer_fits(peak_bytes: Peak) -> None:
    running = 'printf "answer %s 0 67108864 1048576\\n" "$number"; head -c 68157440 /dev/zero'
    code = f"""
    answer, _ = host_that(room, patch, running={running!r})().run(["true"], timeout_s=60)
    print(len(answer.out), len(answer.err))
    """
    said, most_bytes = peak_bytes(code)
    assert said == "67108864 1048576"
    assert most_bytes < MOST_BYTES


def test_a_command_that_prints_too_much_is_refused_before_it_is_text(peak_bytes: Peak) -> None:
    """As text, a single character of another alphabet makes four bytes of each."""
    running = (
        "printf 'answer %s 0 67108864 0\\n' \"$number\"; printf '\\360\\237\\230\\200'; head -c 67108860 "
        "/dev/zero"
    )
    code = f"""
    host = SshHost("h2", "client", "there", None, room, host_that(room, patch, running={running!r})(), None)
    host.run(["findmnt"], timeout_s=60)
    """
    said, most_bytes = peak_bytes(code)
    assert said == "workload h2: findmnt printed more than 16 MiB"
    assert most_bytes < MOST_BYTES


FETCHED = """
host = SshHost("h2", "client", "there", None, room, host_that(room, patch, running={running!r})(), None)
(room / "here").mkdir()
with rooms([host], room / "here"):
    pass
"""
LONG = """
case "$rest" in
  *perjoule-fetch*) printf 'answer %s 0 33554439 0\\n{size}\\n' "$number"; head -c $((33554439 - {length})) /dev/zero ;;
  *perjoule-piece*) printf 'answer %s 0 33554432 0\\n' "$number"; head -c 33554432 /dev/zero ;;
  *) printf 'answer %s 0 0 0\\n' "$number" ;;
esac
"""


@pytest.mark.parametrize("size", ["100000000", "9999999999999", "-5", "1_000", "a lot"])
def test_what_comes_back_from_a_host_ends(size: str, peak_bytes: Peak) -> None:
    running = LONG.format(size=size, length=len(size) + 1)
    said, most_bytes = peak_bytes(FETCHED.format(running=running))
    assert said.startswith("workload h2: what a program wrote did not come back whole ("), said
    assert most_bytes < MOST_BYTES


# Archives


def packed(*members: tarfile.TarInfo, form: int = tarfile.GNU_FORMAT) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=form) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return whole.getvalue()


def member(name: str, *, size: int = 1, kind: bytes = tarfile.REGTYPE, **headers: str) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.type, found.pax_headers = size, kind, headers
    return found


def sparse() -> bytes:
    """An archive of 1.5 KB with a file of 4 GiB, as `tar --sparse` makes it of a file with one written
    block.
    """
    header = bytearray(member("log", size=512).tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:398], header[398:410] = b"00000000000\0", b"00000001000\0"
    header[483:495] = b"40000000000\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"x" * 512 + bytes(1024)


def huge_name(kind: bytes) -> bytes:
    """A header that announces a name, or an extension, of 1 GiB."""
    header = member("././@LongLink", size=0, kind=kind)
    header.size = 2**30
    return header.tobuf(tarfile.GNU_FORMAT) + bytes(2048)


PAX_SPARSE: dict[str, Any] = {
    "GNU.sparse.major": "1",
    "GNU.sparse.minor": "0",
    "GNU.sparse.name": "log",
    "GNU.sparse.realsize": str(2**32),
}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (sparse(), "a file with holes"),
        (packed(member("log", size=512, **PAX_SPARSE), form=tarfile.PAX_FORMAT), "holes|not enough values"),
        (packed(member("..")), "a file called '..'"),
        (packed(member("./.")), "a file called '.'"),
        (packed(member("a\nb")), "a file called 'a\\\\nb'"),
        (packed(member("aux.json")), "a file called 'aux.json'"),
        (packed(member("x" * 300)), "a file called 'xxx"),
        (huge_name(tarfile.GNUTYPE_LONGNAME), "a name of 1 GiB"),
        (huge_name(tarfile.XHDTYPE), "a name of 1 GiB"),
        (packed(*(member(f"f{n}", size=0) for n in range(10_001))), "more than 10000 files"),
        (packed(member("log", size=5000))[:3000], "unexpected end of data"),
        (b"\xff" * 10_240, "header|checksum|truncated"),
    ],
    ids=[
        "sparse",
        "pax-sparse",
        "parent",
        "own",
        "line-feed",
        "reserved",
        "long",
        "long-name",
        "pax",
        "many",
        "cut",
        "noise",
    ],
)
def test_an_archive_that_no_run_made_is_refused_in_a_sentence_about_the_host(
    content: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    refused = f"^h2: what a program wrote did not come back whole .*({why}).*on the host until"
    with (
        sending(content, tmp_path, monkeypatch) as host,
        pytest.raises(WorkloadError, match=refused),
        rooms([host], here),
    ):
        pass
    assert all(re.fullmatch(r"log|f\d+", path.name) for path in here.iterdir())


def test_a_host_brings_its_own_files_again_and_replaces_none_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "h3.json").write_text("of h3")
    refused = "^h2: .*a file called 'h3.json', which is not its own"
    with sending(packed(member("h2.json"), member("h3.json")), tmp_path, monkeypatch) as host:
        for _ in range(2):
            with rooms([host], here):
                pass
        with pytest.raises(WorkloadError, match=refused), rooms([host], elsewhere):
            pass
        assert (elsewhere / "h3.json").read_text() == "of h3"
        (elsewhere / "h3.json").unlink()
        (elsewhere / "h3.json").symlink_to(tmp_path / "nothing")
        with pytest.raises(WorkloadError, match=refused), rooms([host], elsewhere):
            pass
        assert not (tmp_path / "nothing").exists()


@contextmanager
def sending(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[SshHost]:
    """A host that sends this archive of each folder."""
    (tmp_path / "archive").write_bytes(content)
    size = len(content) + len(str(len(content))) + 1
    running = f"""
case "$rest" in
  *perjoule-fetch*) printf 'answer %s 0 {size} 0\\n{len(content)}\\n' "$number"; cat {tmp_path}/archive ;;
  *) printf 'answer %s 0 0 0\\n' "$number" ;;
esac
"""
    keeper = host_that(tmp_path, monkeypatch, running=running)()
    try:
        yield SshHost("h2", "client", "there", None, tmp_path, keeper, None)
    finally:
        keeper.close()


@pytest.mark.parametrize(
    "content", [sparse(), huge_name(tarfile.XHDTYPE), huge_name(tarfile.GNUTYPE_LONGNAME)]
)
def test_an_archive_takes_no_memory(content: bytes, tmp_path: Path, peak_bytes: Peak) -> None:
    (tmp_path / "archive").write_bytes(content)
    os.truncate(tmp_path / "archive", 2**30 + 2**20)  # of zeros, with holes
    code = """
    try:
        for _, content in archive.files((room / "archive").open("rb")):
            archive.write(content, room / "out")
    except tarfile.TarError as error:
        print(error)
    """
    said, most_bytes = peak_bytes(code)
    assert said
    assert most_bytes < MOST_BYTES


# What a host sends


CLOCK, _, REST = COUNTERS.partition(" ")
BAD_CLOCKS = [
    "nan",
    "1e308",
    "inf",
    "-1.000000",
    "",
    "0x10",
    "1_0.000000",
    "9" * 5000,
    "1795273233",
    "١٧٩٥٢٧٣٢٣٣.372095",
]


@pytest.mark.parametrize("clock", BAD_CLOCKS)
def test_a_clock_that_is_none_is_refused(clock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = host_that(tmp_path, monkeypatch, said=f"{clock}\n")()
    with pytest.raises(UnexpectedOutput, match=r"^h2 \(there\): "):
        keeper.clock()
    (tmp_path / "next").write_text(f"{clock} {REST}")
    (tmp_path / "next").rename(tmp_path / "said")  # what is still sent stays as it was
    host = SshHost("h2", "client", "there", None, tmp_path, keeper, None)
    with pytest.raises(UnexpectedOutput, match=r"^h2: "):
        host.counters()
    keeper.close()


def changed(old: str, new: str) -> str:
    assert old in COUNTERS
    return COUNTERS.replace(old, new, 1)


ROW = next(line for line in COUNTERS.splitlines() if " vda " in line)
BAD_COUNTERS = {
    "no-cpu": CLOCK + "\n" + COUNTERS.partition("\n")[2],
    "short-cpu": f"{CLOCK} cpu 1 2\n" + COUNTERS.partition("\n")[2],
    "words": changed("cpu ", "cpu x"),
    "negative-cpu": f"{CLOCK} cpu  -99999999 0 0 0 0 0 0 0 0 0\n" + COUNTERS.partition("\n")[2],
    "huge-cpu": f"{CLOCK} cpu  {'9' * 400} 0 0 0 0 0 0 0 0 0\n" + COUNTERS.partition("\n")[2],
    "digits": f"{CLOCK} cpu  {'9' * 5000} 0 0 0 0 0 0 0 0 0\n" + COUNTERS.partition("\n")[2],
    "nan-cpu": f"{CLOCK} cpu  nan 0 0 0 0 0 0 0 0 0\n" + COUNTERS.partition("\n")[2],
    "short-disk": changed(ROW, " ".join(ROW.split()[:6])),
    "negative-disk": changed(ROW, ROW.replace(ROW.split()[9], f"-{ROW.split()[9]}")),
    "huge-disk": changed(ROW, ROW.replace(ROW.split()[5], "9" * 30)),
    "torn-disk": COUNTERS.rstrip() + "\n 254\n",
    "switches": f"{CLOCK} {REST.partition(chr(10))[0]}\nctxt x\n{REST.partition(chr(10))[2]}",
    "net": changed("eth0:", "eth0: x"),
}


@pytest.mark.parametrize("said", BAD_COUNTERS.values(), ids=BAD_COUNTERS)
def test_counters_that_are_none_are_refused(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = host_that(tmp_path, monkeypatch, said=said)()
    host = SshHost("h2", "client", "there", None, tmp_path, keeper, None)
    with pytest.raises(UnexpectedOutput, match=r"^h2: "):
        host.counters()
    keeper.close()


@pytest.mark.parametrize(
    "line",
    [
        "cores 0",
        "cores -2",
        "cores 99999999999",
        "ticks_hz 0",
        "ticks_hz -100",
        "free_bytes -1",
        f"total_bytes {'9' * 40}",
    ],
)
def test_a_probe_with_impossible_numbers_is_refused(line: str) -> None:
    name = line.split()[0]
    text = "\n".join(line if old.startswith(f"{name} ") else old for old in PROBE.splitlines())
    with pytest.raises(
        MachineError, match=r"^h2: unexpected output from the login shell: .*; check its login shell$"
    ):
        probe(text, "h2")


@pytest.mark.parametrize("number", ["2", "99", "999999999999999999"])
def test_an_answer_to_what_was_never_asked_ends_the_connection(
    number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = host_that(tmp_path, monkeypatch, running=f'printf "answer {number} 0 0 0\\n"')()
    with pytest.raises(
        TransientError, match=rf"h2 \(there\): the connection was lost \(unexpected answer: answer {number} "
    ):
        keeper.run(["true"], timeout_s=10)
    keeper.close()
