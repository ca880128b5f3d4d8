"""What reads a stranger's files starts nothing that they name: every start of a program is noted while a
command reads them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import drawing
from measured import measured
from perjoule import exporting, report
from perjoule.summary import summary

# Notes the words of each start of a program, by whatever way Python starts one, then runs the commands as their
# user would, each in a child: an interpreter that starts and imports takes longer than most commands.
WATCHED = """
import json, os, sys
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.spawn", "ctypes.dlopen"}
folder = sys.argv[1]
notes = open(f"{folder}/imports.starts", "w", buffering=1)
sys.addaudithook(lambda event, words: notes.write(f"{event} {words!r}\\n") if event in STARTS else None)
from perjoule import report
from perjoule.cli import main
for number, words in json.loads(sys.argv[2]).items():
    if not (child := os.fork()):
        sys.argv[1:] = words
        notes = open(f"{folder}/{number}.starts", "w", buffering=1)
        os.dup2(os.open(f"{folder}/{number}.errors", os.O_CREAT | os.O_WRONLY), 2)
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr)
"""
LURE = "perjoule_lure"
CAMPAIGN = f"""
name = "lured"
[testbed]
kind = "cluster"
hosts = ["127.0.0.1"]
storage = ["127.0.0.1"]
clients = ["127.0.0.1"]
work = "/tmp/{LURE}"
[[filesystem]]
kind = "nfs"
[[workload]]
kind = "fio"
job = "{{job}}"
[[meter]]
kind = "ipmi"
address = "{LURE}.invalid"
host = "127.0.0.1"
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder, its bundle, a list with it and a campaign, with lures in all that names things."""
    room = tmp_path_factory.mktemp("lures")
    results = measured(
        room / "results", f'repetitions = 2\nsettle = "20 ms"\ndescription = "$({LURE}) `{LURE}`"'
    )
    report.write(results, results.folder / "report.html")
    table = exporting.csv_text(list(exporting.rows(results, summary(results).cells)))
    (room / "list" / "bundles").mkdir(parents=True)
    exporting.write_bundle(
        results,
        room / "list" / "bundles" / f"$({LURE}).zip",
        table,
        exporting.Description(f"|{LURE}", "", "", ()),
    )
    (room / "lured.fio").write_text(f"[{LURE}]\nrw=write\nsize=1m\nexec_prerun={LURE}\n")
    (room / "lured.toml").write_text(CAMPAIGN.format(job=room / "lured.fio"))
    (room / "programs").mkdir()
    (room / "programs" / LURE).write_text('#!/bin/sh\n: > "$0.ran"\n')
    (room / "programs" / LURE).chmod(0o755)
    return room


COMMANDS: list[tuple[tuple[str, ...], tuple[int, ...]]] = [
    (("check", "lured.toml"), (2,)),
    (("check", "results/campaign.toml"), (0, 1, 2, 3)),
    (("show", "results"), (0,)),
    (("verify", "results"), (0,)),
    (("verify", f"list/bundles/$({LURE}).zip"), (0,)),
    (("report", "results"), (0,)),
    (("compare", "results", "results"), (0, 1, 2)),
    (("history", "results", "--to", "history.html"), (0, 1, 2)),
    (("watch", "results", "--once"), (0, 1, 2)),
    (("import", "results", "--to", "imported"), (0, 1, 2)),
    (("predict", "results", "--on", "odroid-hc4"), (0, 1, 2)),
    (("ledger", "results/campaign.toml", "--with", "results"), (0, 1, 2)),
    (("plan", "results"), (0, 1, 2)),
    (("publish", f"list/bundles/$({LURE}).zip", "--into", "other"), (2,)),
    (("list", "build", "list", "--to", "site"), (0, 1, 2)),
    (("export", "results", "--csv", "table.csv"), (0,)),
]

# These compute for long with what the others read, too.
BY_NIGHT = ("check results/campaign.toml", "compare", "history", "predict", "ledger", "plan", "export")
DAY, NIGHT = (
    [number for number, (words, _) in enumerate(COMMANDS) if " ".join(words).startswith(BY_NIGHT) is night]
    for night in (False, True)
)
Ran = tuple[Path, dict[int, int]]
"""A folder with what each command started and said, by its number, and their codes."""


def watched(numbers: list[int], room: Path, folder: Path) -> Ran:
    """Run these commands."""
    drawing.prepare(folder)
    environment = {
        "PATH": f"{room / 'programs'}:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    words = {number: COMMANDS[number][0] for number in numbers}
    argv = [sys.executable, "-c", WATCHED, str(folder), json.dumps(words)]
    done = subprocess.run(
        argv, cwd=room, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return folder, dict(zip(numbers, map(int, done.stderr.split()), strict=True))


@pytest.fixture(scope="module")
def ran(room: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return watched(DAY, room, tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="module")
def ran_by_night(room: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return watched(NIGHT, room, tmp_path_factory.mktemp("watched"))


def require_nothing_started(number: int, ran: Ran, room: Path) -> None:
    folder, codes = ran
    said = (folder / f"{number}.errors").read_text()
    assert codes[number] in COMMANDS[number][1], said
    assert "Traceback" not in said
    noted = (folder / f"{number}.starts").read_text() + (folder / "imports.starts").read_text()
    assert LURE not in noted
    assert not (room / "programs" / f"{LURE}.ran").exists()


def typed(number: int) -> str:
    return " ".join(COMMANDS[number][0])


@pytest.mark.parametrize("number", DAY, ids=typed)
def test_what_reads_a_strangers_files_starts_nothing_that_they_name(
    number: int, ran: Ran, room: Path
) -> None:
    require_nothing_started(number, ran, room)


@pytest.mark.slow  # by day: those that read the same, above
@pytest.mark.parametrize("number", NIGHT, ids=typed)
def test_what_computes_with_a_strangers_files_starts_nothing_that_they_name(
    number: int, ran_by_night: Ran, room: Path
) -> None:
    require_nothing_started(number, ran_by_night, room)


def test_a_start_is_noted(tmp_path: Path) -> None:
    code = WATCHED.replace("main()", "import subprocess; subprocess.run(['true', 'seen'])")
    subprocess.run([sys.executable, "-c", code, str(tmp_path), '{"0": ["check"]}'], check=True)
    assert "seen" in (tmp_path / "0.starts").read_text()
