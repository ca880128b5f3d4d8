"""Kill perjoule with SIGKILL at random moments of every command that writes, on simulated hosts, and count
what is lost or left.

usage: .venv/bin/python benchmarks/kills.py [500] [--seed 1] [--only tune] [--for MINUTES]   (some seconds a
kill; needs no root)

The commands: `run` with its live page and `resume`, `tune` and `resume`, `import`, `compare --report`,
`export --bundle`, `publish`, `list build`. Each kill is followed by the same command or `resume`, which may
be killed as well; in the end it finishes undisturbed. Then every trial must be there once, what was kept must
never be gone, and each file that was written must be whole: the old one or the new one. `sigkill.py` does the
same to real file systems. Journals are read without perjoule's code.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from benchmarks._left import Machine
from benchmarks.sigkill import PERJOULE, below, ended, journal
from laboratory import laboratory

ROOT = Path(__file__).parents[1]
LIMIT_S = 120.0  # for what must end by itself
GONE_S = 10.0  # for which what a killed perjoule had started may need to notice
TRIALS_COUNT = 12
MOST_FAULTS = 20  # after which there is nothing more to learn
FINISHED_RATIO = 0.3  # of the kills, after which the command is let finish
CAMPAIGN = f"""
name = "kills"
repetitions = {TRIALS_COUNT // 2}
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
operation = ["write", "read"]
size = "8 MiB"
[[meter]]
kind = "system"
rate = "20 Hz"
[[meter]]
kind = "modelled"
rate = "20 Hz"
"""
REPORTS = sorted((ROOT / "tests" / "transcripts" / "imported" / "fio").glob("s*.json"))
LOADS_COUNT = 4  # in REPORTS
DONE_BEFORE = "the list has this bundle already"  # a publisher that was killed after its last step
Kept = dict[tuple[str, str], int]  # how often the journal of a results folder has a trial


@dataclass
class Victim:
    """A command that is killed, in a folder of its own, until it is let finish."""

    name: str
    folder: Path
    first: Sequence[str]  # the command
    again: Sequence[str]  # what continues it, once there is `begun`
    begun: str  # a file in the folder
    whole: Callable[[Path], str]  # what is wrong when it has finished; "" for nothing
    kept: Kept = field(default_factory=Kept)
    whole_s: float = 0.0  # how long the command took undisturbed
    kills_count: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        """What begins it, or continues it."""
        return [PERJOULE, *(self.again if (self.folder / self.begun).exists() else self.first)]

    def look(self, doing: str) -> None:
        """Hold what lies there against what lay there before."""
        now: Kept = Counter(
            (str(path), trial)
            for path in below(self.folder, "journal.jsonl")
            for trial, _ in journal(path.parent)
        )
        self.faults += [f"{self.name}: lost {trial} ({doing})" for trial in self.kept.keys() - now.keys()]
        self.faults += [
            f"{self.name}: doubled {trial} ({doing})" for trial, count in now.items() if count > 1
        ]
        self.faults += [
            f"{self.name}: half a file {path} ({doing})" for path in _files(self.folder) if not _whole(path)
        ]
        self.kept = now

    def finish(self, environment: dict[str, str]) -> None:
        """Let it end, check what it made, and begin again."""
        began_s = time.monotonic()
        done = ended(self.command, environment, LIMIT_S)
        self.whole_s = self.whole_s or time.monotonic() - began_s
        if done.returncode and DONE_BEFORE not in done.stderr:
            self.faults.append(
                f"{self.name}: ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}"
            )
        self.look("the end")
        if wrong := self.whole(self.folder):
            self.faults.append(f"{self.name}: {wrong}")
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.kept = Kept()

    def kill(self, dice: random.Random, environment: dict[str, str]) -> bool:
        """Kill it at a random moment; False if it had ended before."""
        process = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            time.sleep(dice.uniform(0, 1.1 * self.whole_s))
            caught = process.poll() is None
        finally:
            process.kill()
            process.wait()
        self.look(" ".join(self.command[1:3]))
        self.kills_count += caught
        return caught


def _files(folder: Path) -> list[Path]:
    """All that a killed command has left, and that its children may still remove."""
    return [Path(at, name) for at, _, names in os.walk(folder) for name in names]


def _whole(path: Path) -> bool:
    """Whether a file with a name of its own is all there; what is being written has another name, or is in
    a scratch folder.
    """
    if "perjoule-site-" in str(path):
        return True
    if path.suffix == ".zip" and not path.name.startswith("."):
        return zipfile.is_zipfile(path)
    if path.suffix == ".html":
        return path.read_text().rstrip().endswith("</html>")
    if path.name in ("results.json", "tuning.json", "table.json", "record.json") and "partial-" not in str(
        path
    ):
        json.loads(path.read_text())
    return True


def _all_trials(folder: Path) -> str:
    found = [trial for path in below(folder, "journal.jsonl") for trial, _ in journal(path.parent)]
    return "" if len(set(found)) == len(found) == TRIALS_COUNT else f"{len(found)} of {TRIALS_COUNT} trials"


def _tuned(folder: Path) -> str:
    finals = journal(folder / "to" / "final")
    return (
        "" if finals and len(set(finals)) == len(finals) else f"{len(finals)} trials in the final comparison"
    )


def _made(name: str) -> Callable[[Path], str]:
    def wrong(folder: Path) -> str:
        there = sorted(path.name for path in folder.iterdir())
        return "" if there == [name] else f"left or missing: {there}, not {name} alone"

    return wrong


def _published(folder: Path) -> str:
    there = sorted(path.name for path in (folder / "to" / "bundles").iterdir())
    return (
        "" if len(there) == 1 and there[0].endswith(".zip") else f"left or missing: {there}, not one bundle"
    )


def _imported(folder: Path) -> str:
    count = len(journal(folder / "to"))
    return "" if count == LOADS_COUNT else f"{count} of {LOADS_COUNT} imports"


def victims(scratch: Path, environment: dict[str, str]) -> list[Victim]:
    """Make what some commands begin with, and time each command undisturbed."""
    (scratch / "kills.toml").write_text(CAMPAIGN)
    campaign, base, bundle, listed = (
        scratch / "kills.toml",
        scratch / "base",
        scratch / "base.zip",
        scratch / "listed",
    )
    laboratory(scratch, base)  # with power that a list takes
    for words in (
        ("export", base, "--bundle", bundle, "--license", "CC-BY-4.0", "--author", "A"),
        ("publish", bundle, "--into", listed),
    ):
        subprocess.run([PERJOULE, *map(str, words)], env=environment, check=True, capture_output=True)
    found: list[Victim] = []

    def add(
        name: str,
        whole: Callable[[Path], str],
        *first: object,
        again: Sequence[object] = (),
        begun: str = "nothing",
    ) -> None:
        (scratch / name).mkdir()
        found.append(Victim(name, scratch / name, [*map(str, first)], [*map(str, again)], begun, whole))

    run, tune, to = scratch / "run" / "to", scratch / "tune" / "to", scratch / "import" / "to"
    add(
        "run",
        _all_trials,
        "run",
        campaign,
        "--into",
        run,
        "--live",
        again=("resume", run),
        begun="to/results.json",
    )
    tuning = ("tune", ROOT / "examples" / "tune.toml", "--for", "MiB/J", "--trials", 16, "--into", tune)
    add("tune", _tuned, *tuning, again=("resume", tune), begun="to/tuning.json")
    add("import", _imported, "import", to, *REPORTS)
    add("compare", _made("page.html"), "compare", base, base, "--report", scratch / "compare" / "page.html")
    add("export", _made("out.zip"), "export", base, "--bundle", scratch / "export" / "out.zip")
    add("publish", _published, "publish", bundle, "--into", scratch / "publish" / "to")
    add("list", _made("site"), "list", "build", listed, "--to", scratch / "list" / "site")
    for victim in found:
        victim.finish(environment)
    return found


def main() -> None:
    """Kill, go on, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kills", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one command")
    parser.add_argument(
        "--for",
        dest="minutes",
        type=float,
        default=1e9,
        help="end after this many minutes, whatever the count",
    )
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made goes, too
    dice, began_s = random.Random(wanted.seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pjk-") as made:
        scratch = Path(made)
        (scratch / "tmp").mkdir()
        own = {
            "PERJOULE_WORK": str(scratch / "work"),
            "TMPDIR": str(scratch / "tmp"),
            "XDG_CACHE_HOME": str(scratch / "cache"),
        }
        own["XDG_STATE_HOME"] = str(scratch / "state")  # hosts that other runs noted are not ours to clean
        environment, machine = {**os.environ, **own}, Machine(scratch)
        chosen = [one for one in victims(scratch, environment) if wanted.only in ("", one.name)]
        count = 0
        until_s = began_s + 60 * wanted.minutes
        while (
            count < wanted.kills
            and sum(len(one.faults) for one in chosen) < MOST_FAULTS
            and time.monotonic() < until_s
        ):
            victim = chosen[count % len(chosen)]
            if not victim.kill(dice, environment) or dice.random() < FINISHED_RATIO:
                victim.finish(environment)
            count = sum(one.kills_count for one in chosen)
        for victim in chosen:
            victim.finish(environment)
        found = [fault for one in chosen for fault in one.faults]
        down = ended([PERJOULE, "down"], environment, LIMIT_S)
        found += (
            [f"down ended with {down.returncode}: {(down.stdout + down.stderr).strip()}"]
            if down.returncode
            else []
        )
        found += [f"left: {kind}: {what}" for kind, what in machine.left(GONE_S)]
        found += [f"left: {path}" for path in scratch.rglob("*.partial")]
    for victim in chosen:
        print(f"  {victim.kills_count:4} {victim.name}")
    kinds = ("lost", "doubled", "left", "half")
    words = Counter(kind for fault in found for kind in kinds if kind in fault.replace(":", "").split())
    print(
        f"{sum(one.kills_count for one in chosen)} kills in {time.monotonic() - began_s:.0f} s: "
        f"{words['lost']} trials lost, "
        f"{words['doubled']} doubled, {words['half']} files cut off, {words['left']} things left, "
        f"{len(found) - words.total()} other faults"
    )
    for fault in found:
        print(f"  {fault}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
