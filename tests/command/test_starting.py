"""What reads a stranger's files starts nothing that they name: every start of a program is noted while a
command reads them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from measured import measured
from perjoule import exporting, report
from perjoule.summary import summary

# Notes the words of each start of a program, by whatever way Python starts one, then runs the command as its
# user would.
WATCHED = """
import sys
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.spawn", "ctypes.dlopen"}
notes = open(sys.argv.pop(1), "w", buffering=1)
sys.addaudithook(lambda event, words: notes.write(f"{event} {words!r}\\n") if event in STARTS else None)
from perjoule.cli import main
main()
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


@pytest.mark.parametrize(
    ("words", "codes"),
    [
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
    ],
    ids=lambda words: words[0] if isinstance(words[0], str) else "",
)
def test_what_reads_a_strangers_files_starts_nothing_that_they_name(
    words: tuple[str, ...], codes: tuple[int, ...], room: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "starts"
    environment = {
        "PATH": f"{room / 'programs'}:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    argv = [sys.executable, "-c", WATCHED, str(notes), *words]
    done = subprocess.run(
        argv, cwd=room, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    assert not [line for line in notes.read_text().splitlines() if LURE in line]
    assert not (room / "programs" / f"{LURE}.ran").exists()


def test_a_start_is_noted(tmp_path: Path) -> None:
    code = WATCHED.replace(
        "from perjoule.cli import main\nmain()", "import subprocess\nsubprocess.run(['true', 'seen'])"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "starts")], check=True)
    assert "seen" in (tmp_path / "starts").read_text()
