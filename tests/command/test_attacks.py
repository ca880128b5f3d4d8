"""What strangers hand on and what machines run out of: one sentence, in time, and nothing lost."""

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commanded import command
from day import by_day
from measured import measured
from perjoule import report
from perjoule.machine import removal
from perjoule.model import Record
from perjoule.model.units import MIB
from perjoule.store import open_results
from perjoule.summary import summary
from places import EXAMPLES

PERJOULE = Path(sys.executable).with_name("perjoule")
LIMIT_S = 60.0
DEEP = "[" * 20_000
SMALL = """
name = "small"
repetitions = 2
seed = 1
settle = "20 ms"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "80 MiB/s"
[[workload]]
kind = "simulated"
size = "2 MiB"
[[meter]]
kind = "system"
rate = "20 Hz"
"""


# Python before 3.12.8 keeps half a module's bytecode if a limit stops it while it writes that (gh-126606).
# which is for tests
AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
WITHOUT_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}


def told(*words: object, code: int, before: Callable[[], None] | None = None, **environment: str) -> str:
    """Run the command, in a process of its own if that is to be `before` it begins: it ends with this code and
    one sentence; give the sentence.
    """
    if before:
        argv, env = [PERJOULE, *map(str, words)], {**AS_INSTALLED, **WITHOUT_BYTECODE, **environment}
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, preexec_fn=before, env=env
        )
    else:
        done = command(*words, **environment)
    assert done.returncode == code, (done.stdout[-500:], done.stderr[-2000:])
    assert "Traceback" not in done.stderr
    sentence = done.stderr.rstrip("\n").rpartition("\n")[2]
    assert sentence.startswith("perjoule: "), done.stderr
    return sentence


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = measured(tmp_path_factory.mktemp("attacked") / "results", 'repetitions = 2\nsettle = "20 ms"')
    report.write(found, found.folder / "report.html")
    return found.folder


HOSTILE = {"bytes": b"\xff\xfe\0bad", "deep": f"a = {DEEP}".encode(), "long": b" " * (17 * 1024**2)}


@pytest.mark.parametrize("content", HOSTILE)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.json", ["predict", "x.json", "--on", "odroid-hc4"]),
        ("x.toml", ["predict", "moosefs", "--on", "x.toml"]),
        ("x.json", ["ledger", "x.json", "--with", "."]),
        ("x.toml", ["papers", "x.toml"]),
        ("x.toml", ["plan", "x.toml"]),
        ("x.toml", ["tune", "x.toml", "--for", "MiB/J"]),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_a_file_that_is_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: list[str], content: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(HOSTILE[content])
    assert "x." in told(*words, code=2)


@pytest.mark.parametrize("value", [DEEP, "1" * 6000, "1\nx = 2"], ids=["deep", "long", "two"])
def test_a_value_of_the_command_line_that_is_not_toml_is_text(value: str) -> None:
    assert "goal" in told("predict", "moosefs", "--on", "odroid-hc4", "--set", f"goal={value}", code=2)
    assert "repetitions" in told(
        "check", EXAMPLES / "simulated.toml", "--set", f"repetitions={value}", code=2
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("campaign.toml", 3),
        pytest.param("journal.jsonl", 3, marks=pytest.mark.slow),
        ("record.json", 1),
        pytest.param("series.parquet", 1, marks=pytest.mark.slow),
        pytest.param("table.json", 1, marks=pytest.mark.slow),
    ],
)
def test_a_pipe_or_a_device_in_a_results_folder_is_refused_and_not_waited_for(
    results: Path, tmp_path: Path, name: str, code: int
) -> None:
    for kind in ("pipe", "device"):
        shutil.copytree(results, copy := tmp_path / kind)
        removal.remove_folder(copy / "summary", mark="")
        path = next(iter(copy.rglob(name)), copy / name)
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        done = command("verify", copy)
        assert done.returncode == code
        assert "not a file, but a pipe or a device" in done.stdout + done.stderr


def test_without_memory_it_is_one_sentence(tmp_path: Path) -> None:
    """Programs and libraries take 190 MiB of addresses with one thread, the file 120 MiB more."""
    (tmp_path / "x.json").write_bytes(b"[" + b"1.5," * (4 * 1024**2 - 1) + b"1]")
    words = ["predict", tmp_path / "x.json", "--on", "odroid-hc4"]
    assert "not enough memory" in told(*words, code=3, before=limited(resource.RLIMIT_AS, 280 * 1024**2))


@pytest.mark.parametrize(
    ("limit", "most_mib"),
    [
        (resource.RLIMIT_AS, 20),
        (resource.RLIMIT_AS, 160),
        (resource.RLIMIT_DATA, 20),
        (resource.RLIMIT_DATA, 50),
    ],
)
def test_with_less_memory_than_libraries_need_it_is_one_sentence(
    limit: int, most_mib: int, results: Path
) -> None:
    assert "not enough memory" in told("show", results, code=3, before=limited(limit, most_mib * 1024**2))


WRITING: dict[str, list[str | Path]] = {
    "plan.html": ["plan", EXAMPLES / "needs" / "archive.toml", "--page"],
    "page.html": ["compare", "results", "results", "--report"],
    "all.csv": ["export", "results", "--csv"],
}


@pytest.mark.parametrize("name", by_day(WRITING, "all.csv"))
def test_a_file_that_was_there_stays_when_the_disk_is_full(name: str, results: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_text("what was there")
    told(
        *(results if word == "results" else word for word in WRITING[name]),
        tmp_path / name,
        code=3,
        before=limited(resource.RLIMIT_FSIZE, 2048),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert (tmp_path / name).read_text() == "what was there"
    assert {path.name for path in tmp_path.iterdir()} <= {name, "cache"}


def test_a_pledge_that_could_not_be_written_can_be_written_later(tmp_path: Path) -> None:
    words = ["predict", "moosefs", "--on", "odroid-hc4", "--pledge", tmp_path / "p.json"]
    told(*words, code=3, before=limited(resource.RLIMIT_FSIZE, 2048))
    assert list(tmp_path.iterdir()) == []
    assert command(*words).returncode == 0
    assert json.loads((tmp_path / "p.json").read_text())["format"] == "perjoule pledge"


def test_no_device_is_replaced_by_a_bundle(results: Path) -> None:
    assert "a pipe or a device" in told("export", results, "--bundle", "/proc/self/fd/0", code=3)


@pytest.mark.slow  # by day: a run that is interrupted: test_cli.py; a killed tuning: pipeline/test_tuning.py
@pytest.mark.parametrize(
    "numbers", [[signal.SIGHUP], [signal.SIGINT] * 3, [signal.SIGSTOP, signal.SIGCONT]], ids=str
)
def test_a_tuning_that_is_stopped_loses_and_doubles_nothing(
    tmp_path: Path, numbers: list[signal.Signals]
) -> None:
    folder = tmp_path / "tuned"
    argv = [PERJOULE, "tune", EXAMPLES / "tune.toml", "--for", "MiB/J", "--trials", "12", "--into", folder]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until_s = time.monotonic() + LIMIT_S
        while not kept(folder) and time.monotonic() < until_s:
            time.sleep(0.01)
        before = kept(folder)
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.1)
        _, said = process.communicate(timeout=LIMIT_S)
    assert before
    if signal.SIGCONT not in numbers:
        assert (process.returncode, said.rstrip().rpartition("; ")[2]) == (
            5,
            f"continue with: perjoule resume {folder}",
        )
        assert len(kept(folder)) < 12
        assert command("resume", folder).returncode == 0
    now = kept(folder)
    assert before <= now
    assert max(now.values()) == 1


def test_no_module_is_taken_from_the_folder_that_perjoule_is_called_in(tmp_path: Path) -> None:
    for name in ("perjoule", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("open(f'{__file__}.ran', 'w').close()\n")
    (tmp_path / "small.toml").write_text(SMALL)
    argv = [PERJOULE, "run", "small.toml", "--into", "results", "--live"]
    done = subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    assert [*tmp_path.glob("*/*.ran")] == []
    assert "live page: http://127.0.0.1:" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="a user's umask is the user's word")
def test_nobody_else_may_write_to_what_root_makes_whatever_the_umask_is(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    argv = [PERJOULE, "run", tmp_path / "small.toml", "--into", tmp_path / "results"]
    subprocess.run(argv, umask=0, check=True, capture_output=True, timeout=LIMIT_S)
    made = [tmp_path / "results", *(tmp_path / "results").rglob("*")]
    assert [path.name for path in made if path.lstat().st_mode & 0o022] == []


def kept(folder: Path) -> Counter[tuple[str, str]]:
    """How often each trial of each round is in its journal."""
    journals = sorted(folder.glob("*/journal.jsonl"))
    return Counter(
        (path.parent.name, json.loads(line)["trial"])
        for path in journals
        for line in path.read_text().splitlines()
    )


# CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: https://man7.org/linux/man-pages/man7/capabilities.7.html
CAN_READ_ALL = (1, 2)
DROP_FROM_BOUND = 24  # PR_CAPBSET_DROP


def without_privileges() -> None:
    """Let the permissions of files hold for root, too."""
    for capability in CAN_READ_ALL:
        ctypes.CDLL(None).prctl(DROP_FROM_BOUND, capability, 0, 0, 0)


STACK_BYTES = 8 * 1024**3


def with_large_stacks() -> None:
    """Have each thread ask for this much memory."""
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES))


def without_threads() -> None:
    """Have each thread ask for a stack that is larger than all memory of the program."""
    with_large_stacks()
    resource.setrlimit(resource.RLIMIT_AS, (3 * 1024**3, 3 * 1024**3))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_without_files_to_open_a_run_is_one_sentence_and_continues_later(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    said = told("run", small, "--into", folder, code=3, before=limited(resource.RLIMIT_NOFILE, 7))
    assert "too many open files" in said
    assert "ulimit -n" in said
    finished(folder)


def test_without_threads_a_run_is_one_sentence_and_continues_later(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    said = told("run", small, "--into", folder, code=3, before=without_threads)
    assert "no more threads or processes can be started" in said
    assert not folder.exists()  # meters are polled, side by side, before a run begins
    argv = [PERJOULE, "run", small, "--into", folder]
    with subprocess.Popen(
        argv, stderr=subprocess.PIPE, text=True, preexec_fn=with_large_stacks, env=AS_INSTALLED
    ) as process:
        until_s = time.monotonic() + LIMIT_S
        while not progress(folder) and process.poll() is None and time.monotonic() < until_s:
            time.sleep(0.001)
        most_bytes = addresses_bytes(process.pid) + STACK_BYTES // 2
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most_bytes, most_bytes))
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3
    assert "no more threads or processes can be started" in said.rstrip("\n").rpartition("\n")[2]
    assert "Traceback" not in said
    finished(folder)


def test_results_are_read_without_threads(results: Path) -> None:
    """Arrow's threads write into memory that is no longer theirs if only some of them can be started."""
    argv = [PERJOULE, "verify", results]
    read = subprocess.run(
        argv, capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=without_threads, env=AS_INSTALLED
    )
    assert (read.returncode, read.stdout.rstrip()[-8:]) == (0, "0 differ"), read.stderr


def finished(folder: Path) -> None:
    """Resume, and find each trial once."""
    assert command("resume", folder).returncode == 0
    trials = [json.loads(line)["trial"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert len(set(trials)) == len(trials) == 2
    assert command("verify", folder).returncode == 0


@pytest.mark.slow  # by day: one that can't be read, below
def test_a_folder_that_can_not_be_written_is_one_sentence(small: Path, results: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    shutil.copytree(results, closed / "results")
    for path in (closed / "results").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in (closed / "results", closed):
        path.chmod(0o555)
    assert "permission" in told("run", small, "--into", closed / "new", code=3, before=without_privileges)
    assert "permission" in told("report", closed / "results", code=3, before=without_privileges)
    argv = [PERJOULE, "verify", closed / "results"]
    read = subprocess.run(
        argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, preexec_fn=without_privileges
    )
    assert (read.returncode, read.stdout.rstrip()[-8:]) == (0, "0 differ")


@pytest.mark.parametrize("verb", ["show", "verify", "report", "resume"])
def test_a_folder_that_can_not_be_read_is_one_sentence(verb: str, results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "results")
    (tmp_path / "results").chmod(0)
    assert "is not readable" in told(verb, tmp_path / "results", code=2, before=without_privileges)


# perjoule with a clock that is ahead by as many seconds as a file says. Python sleeps by the other clock,
# which nobody sets.
AHEAD = """
import sys, time
ahead, real = sys.argv.pop(1), time.time
time.time = lambda: real() + float(open(ahead).read())
from perjoule.__main__ import main
main()
"""
DAY_S = 86400


@pytest.mark.slow  # by day: a clock that is set once, below
def test_a_machine_whose_clock_goes_back_and_forth_loses_and_doubles_nothing(
    small: Path, tmp_path: Path
) -> None:
    folder, ahead = tmp_path / "results", tmp_path / "ahead"
    began = ["run", small, "--set", "repetitions=6", "--into", folder]
    for words, days in ((began, -40), (["resume", folder], 400), (["resume", folder], -3000)):
        ahead.write_text(str(days * DAY_S))
        argv = [sys.executable, "-c", AHEAD, ahead, *words]
        with subprocess.Popen([*map(str, argv)], stderr=subprocess.PIPE) as process:
            before, until_s = lines(folder), time.monotonic() + LIMIT_S
            while lines(folder) == before and process.poll() is None and time.monotonic() < until_s:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT_S)
        assert lines(folder)[: len(before)] == before != lines(folder)
    assert command("resume", folder).returncode == 0
    assert len(lines(folder)) == len(set(lines(folder))) == 6
    assert command("verify", folder).returncode == 0


def lines(folder: Path) -> list[str]:
    """The trials in a journal, in order."""
    journal = folder / "journal.jsonl"
    return (
        [json.loads(line)["trial"] for line in journal.read_text().splitlines()] if journal.exists() else []
    )


WATCHED = """
name = "watched"
repetitions = 1
seed = 1
settle = "20 ms"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "20 MiB/s"
[[workload]]
kind = "simulated"
size = "100 MiB"
[[meter]]
kind = "system"
rate = "20 Hz"
[[meter]]
kind = "simulated"
waveform = "constant"
high = "50 W"
rate = "20 Hz"
"""


@contextmanager
def measuring(folder: Path, *argv: object) -> Generator[subprocess.Popen[str]]:
    """A run of the campaign WATCHED that is one second into its measured window; it ends with the block."""
    path = folder.parent / "watched.toml"
    path.write_text(WATCHED)
    words = [*map(str, argv), "run", str(path), "--into", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until_s = time.monotonic() + LIMIT_S
        while (
            '"phase":"measure"' not in progress(folder)
            and process.poll() is None
            and time.monotonic() < until_s
        ):
            time.sleep(0.01)
        time.sleep(1)
        assert process.poll() is None
        yield process


def addresses_bytes(pid: int) -> int:
    """Return how much memory a process has requested."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


def progress(folder: Path) -> str:
    found = folder / "progress.jsonl"
    return found.read_text() if found.exists() else ""


def the_trial(folder: Path) -> Record:
    """The only one, with the load and the power that the hosts had."""
    results = open_results(folder)
    (record,) = results.latest()
    assert record.status == "valid"
    assert record.outcome is not None
    (load,) = record.outcome.results
    assert (load.moved_bytes, load.ended_s - load.began_s) == (100 * MIB, pytest.approx(5.0))
    (cell,) = summary(results).cells
    assert cell.metrics["mean_w"].mean == pytest.approx(50.0, rel=0.001)
    assert command("verify", folder).returncode == 0
    return record


@pytest.mark.slow  # by day: over SSH: live/test_pauses.py
def test_a_run_that_stood_still_while_it_measured_says_which_samples_it_lacks(tmp_path: Path) -> None:
    record = stopped(tmp_path / "results", 1.5)
    assert record.attempt == 1
    doubts = record.doubts
    for meter in ("system", "simulated"):
        (count,) = [
            int(text.split()[1])
            for text in doubts
            if text.startswith(f"{meter}: ") and "samples left out" in text
        ]
        assert count >= 20  # of 30 in 1.5 s at 20 Hz


@pytest.mark.slow  # by day: over SSH: live/test_pauses.py
@pytest.mark.alone  # a busy machine makes it stand still once more
def test_what_stood_still_for_longer_is_measured_again(tmp_path: Path) -> None:
    record = stopped(tmp_path / "results", 3)
    assert record.attempt == 2
    assert not any("stood still" in text or "samples left out" in text for text in record.doubts)
    (first,) = (tmp_path / "results").glob("trials/*/attempt-1/record.json")
    assert "stood still" in json.loads(first.read_text())["reason"]


def stopped(folder: Path, pause_s: float) -> Record:
    """Stop perjoule for a while as it measures; give its trial."""
    with measuring(folder, PERJOULE) as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(pause_s)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    return the_trial(folder)


@pytest.mark.parametrize("step_s", [pytest.param(3600, marks=pytest.mark.slow), -3600])
def test_a_clock_that_is_set_while_it_measures_changes_no_number(step_s: int, tmp_path: Path) -> None:
    (tmp_path / "ahead").write_text("0")
    with measuring(tmp_path / "results", sys.executable, "-c", AHEAD, tmp_path / "ahead") as process:
        (tmp_path / "ahead").write_text(str(step_s))
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    record = the_trial(tmp_path / "results")
    (written,) = (tmp_path / "results").rglob("record.json")
    hours = (record.clock.utc_s - written.stat().st_mtime) / 3600  # that file has the kernel's time
    assert round(hours) == step_s // 3600


def refused(process: subprocess.Popen[str], results: Path, reason: str) -> None:
    """A run that lost something in its trial says so in its last line, keeps no trial, and can be resumed."""
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3
    assert reason in said.rstrip("\n").rpartition("\n")[2]
    assert "Traceback" not in said
    assert lines(results) == []
    assert command("resume", results).returncode == 0
    the_trial(results)


@pytest.mark.slow  # by day: threads in the middle of a trial, and files before it, above
def test_without_files_to_open_in_the_middle_of_a_trial_it_is_one_sentence(tmp_path: Path) -> None:
    with measuring(tmp_path / "results", PERJOULE) as process:
        count = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (count, count))
        refused(
            process, tmp_path / "results", "too many open files; raise the limit of open files (ulimit -n)"
        )


@pytest.mark.slow  # by day: before a trial, and threads in the middle of one, above
@pytest.mark.parametrize("more_mib", [0, 1, 16])
def test_without_memory_in_the_middle_of_a_trial_it_is_one_sentence(more_mib: int, tmp_path: Path) -> None:
    with measuring(tmp_path / "results", PERJOULE) as process:
        most_bytes = addresses_bytes(process.pid) + more_mib * MIB
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most_bytes, most_bytes))
        refused(process, tmp_path / "results", "not enough memory")


def test_a_campaign_names_no_configuration_of_ssh_because_that_runs_programs_here(tmp_path: Path) -> None:
    ran, matched = tmp_path / "ran", tmp_path / "matched"
    theirs = tmp_path / "their_ssh_config"
    theirs.write_text(f'Match exec "touch {matched}"\n  User root\nHost *\n  ProxyCommand touch {ran}\n')
    theirs.chmod(0o600)
    bed = 'kind = "cluster"\nhosts = [{name = "c", address = "127.0.0.9", role = "client"}]'
    text = SMALL.replace('kind = "simulated"\n[[filesystem]]', f"{bed}\n[[filesystem]]", 1)
    text = text.replace('kind = "simulated"\nthroughput = "80 MiB/s"', 'kind = "directory"\npath = "/tmp"')
    campaign, clean = tmp_path / "theirs.toml", tmp_path / "clean.toml"
    clean.write_text(text)
    commands = (["check"], ["check", "--connect"], ["doctor"], ["run", "--into", tmp_path / "results"])
    for value in (f'"{theirs}"', '"their_ssh_config"', '"~/.ssh/config"'):
        campaign.write_text(text.replace(bed, f"{bed}\nconfig = {value}"))
        for verb, *more in commands:
            assert "--ssh-config" in told(verb, campaign, *more, code=2)
            assert not ran.exists()
            assert not matched.exists()
    told("doctor", clean, "--ssh-config", theirs, code=3)  # the user's own word
    assert ran.exists()
    assert matched.exists()


@pytest.mark.parametrize(
    "where", by_day(["theirs", "{here}/theirs", "/usr/../{here}/theirs"], "theirs", "{here}/theirs")
)
def test_a_campaign_names_no_programs_but_those_that_root_has_installed(where: str, tmp_path: Path) -> None:
    place = where.format(here=tmp_path)
    (tmp_path / "theirs" / "bin").mkdir(parents=True)
    ran = tmp_path / "ran"
    for name in ("ior", "mdtest", "ipmitool"):
        program = tmp_path / "theirs" / "bin" / name
        program.write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        program.chmod(0o755)
    load = f'kind = "ior"\napi = "MPIIO"\nsize = "4 MiB"\nprefix = "{place}"'
    local = 'kind = "local"\n[[filesystem]]\nkind = "directory"\npath = "/tmp"\n[[workload]]\n'
    begin = SMALL.partition("[testbed]\n")[0]
    by_load = f"{begin}[testbed]\n{local}{load}\n"
    meter = f'[[meter]]\nkind = "ipmi"\naddress = "127.0.0.9"\ntool = "{place}/bin/ipmitool"\n'
    by_meter = SMALL.partition("[[meter]]")[0] + meter
    for text in (by_load, by_meter, by_meter.replace(f"{place}/bin/ipmitool", "touch")):
        (tmp_path / "theirs.toml").write_text(text)
        for verb, *more in (["check"], ["run", "--into", tmp_path / "results"]):
            sentence = told(verb, tmp_path / "theirs.toml", *more, code=2, PERJOULE_PROGRAMS="")
            assert "/opt" in sentence
            assert not ran.exists(), ran.read_text()


def test_a_dry_run_names_programs_ports_and_paths_of_each_host_and_contacts_nobody(tmp_path: Path) -> None:
    hosts = (
        '{name = "s[1-2]", address = "127.0.0.[8-9]", role = "storage"}, {name = "c", address = '
        '"127.0.0.7", role = "client"}'
    )
    (tmp_path / "lab.toml").write_text(
        f'[testbed]\nkind = "cluster"\nuser = "bench"\nsudo = true\nwork = "/srv/pj"\nhosts = [{hosts}]\n'
        '[[filesystem]]\nkind = "moosefs"\n[[workload]]\nkind = "fio"\nsize = "8 MiB"\n'
    )
    argv = [PERJOULE, "check", tmp_path / "lab.toml", "--hosts"]
    refusing = tmp_path / "ssh"
    refusing.write_text(f"#!/bin/sh\ntouch {tmp_path}/contacted\n")
    refusing.chmod(0o755)
    env = {**AS_INSTALLED, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=True)
    paragraphs = {text.partition(":")[0]: text for text in done.stdout.split("\n\n")}
    assert "as bench, by sudo as root" in paragraphs["s2"]
    assert "9422 mfschunkserver" in paragraphs["s2"]
    assert "9421 mfsmaster" in paragraphs["s1"]
    assert "9421" not in paragraphs["s2"]
    assert "mfsmount" in paragraphs["c"]
    assert "ports" not in paragraphs["c"]
    assert all("writes: /srv/pj/cluster" in paragraphs[name] for name in ("s1", "s2", "c"))
    found = json.loads(
        subprocess.run([*argv, "--json"], capture_output=True, text=True, env=env, check=True).stdout
    )["hosts"]
    assert [one["host"] for one in found] == ["s1", "s2", "c"]
    assert not (tmp_path / "contacted").exists()
