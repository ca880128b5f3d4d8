"""Kill perjoule with SIGKILL at random moments of short real campaigns with meters, and count what is lost,
doubled or left.

usage: sudo .venv/bin/python benchmarks/sigkill.py [--kills 500] [--seed 1] [--only cephfs ...] [--for 30]
(some 10 s a kill)

The studies take turns: a campaign on each file system; one on each in whose trials a storage host's daemons
die and come back; one that sets power states, of a folder of attributes like sysfs; one with the live page;
and a tuning. Each kill hits `run`, `tune` or `resume` while hosts come up, in a trial or after the last one
(tear-down, the report), or a `resume` or `report` that has only the report to write. A finished campaign is
verified, and started again. No trial may be lost or doubled, and nothing may remain on the machine after
`perjoule down`: no process, namespace, mount, tmpfs, loop device, device of device-mapper, cgroup or file,
and no power setting. `_left.py` counts them without perjoule's own code; other runs may go on beside it.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from benchmarks._left import Machine, told
from sysfs import Sysfs

PERJOULE = str(Path(sys.executable).with_name("perjoule"))
TRIALS_COUNT = 6
TUNED_COUNT = 10  # trials that the tuning may measure
REPORTS_COUNT = 2  # kills of what has only the report to write, in each campaign
CAMPAIGN = """
name = "sigkill"
clients = 1
repetitions = 3
seed = 1
settle = "100 ms"
quiet = "1 s"

[testbed]
{testbed}

[[filesystem]]
{filesystem}

[[workload]]
{workload}

[[meter]]
kind = "system"
rate = "5 Hz"
"""
SHORT = 'kind = "fio"\noperation = ["write", "read"]\ntransfer = "1 MiB"\nsize = "4 MiB"'
HIT = """kind = "duty"
operation = ["write", "read"]
load = "50 %"
full = "2 MiB/s"
duration = "6 s"

[[event]]
at = "1500 ms"
kind = "kill"
host = "storage-2"

[[event]]
at = "3500 ms"
kind = "back"
host = "storage-2\""""
VIRTUAL = 'kind = "virtual"\nservers = 2\ndisk = "ext4"\ndisk_size = "3 GiB"'
MODELLED = '\n[[meter]]\nkind = "modelled"\nrate = "5 Hz"\n'
MOOSEFS, GLUSTERFS = 'kind = "moosefs"\ngoal = 2', 'kind = "glusterfs"\nlayout = "replicated"\nhosts = 2'
CEPHFS = 'kind = "cephfs"\nosd_size = "1 GiB"\nplacement_groups = 8'
POWER = 'kind = "local"\n[testbed.power]\ncpu_governor = "powersave"\ncpu_deepest_idle = "C1"'


@dataclass(frozen=True)
class Plan:
    """A campaign, and how perjoule is started with it."""

    filesystem: str
    workload: str
    trial_s: float  # the longest wait before a kill in a trial
    testbed: str = VIRTUAL
    words: tuple[str, ...] = ("run",)
    resumed: tuple[str, ...] = ()  # options of `resume`
    trials_count: int | None = TRIALS_COUNT  # None: it isn't known before

    def text(self, scratch: Path) -> str:
        """The campaign; virtual hosts have modelled watts, too."""
        text = CAMPAIGN.format(filesystem=self.filesystem, workload=self.workload, testbed=self.testbed)
        return text.replace("{scratch}", str(scratch)) + (MODELLED if self.testbed == VIRTUAL else "")


STUDIES = {
    "moosefs": Plan('kind = "moosefs"', SHORT, 2.5),
    "glusterfs": Plan('kind = "glusterfs"', SHORT, 2.5),
    "cephfs": Plan(CEPHFS, SHORT, 2.5),
    "events": Plan(MOOSEFS, HIT, 10.0),
    "events-glusterfs": Plan(GLUSTERFS, HIT, 10.0),
    "events-cephfs": Plan(CEPHFS, HIT, 10.0),
    "power": Plan('kind = "directory"\npath = "{scratch}/data"', SHORT, 1.0, POWER),
    "live": Plan('kind = "moosefs"', SHORT, 2.5, words=("run", "--live"), resumed=("--live",)),
    "tune": Plan(
        'kind = "moosefs"',
        SHORT.replace('["write", "read"]', '"write"'),
        2.5,
        words=("tune", "--for", "MiB/s", "--only", "cache", "--trials", str(TUNED_COUNT)),
        trials_count=None,
    ),
}
LIMIT_S = 300.0  # for what must end by itself
GONE_S = 2.0  # after `down`, for what it has killed to be gone
MOST_FAULTS = 20  # after which there is nothing more to learn


@dataclass
class Study:
    """The campaigns of one kind, one after the other, and what has been seen."""

    name: str
    scratch: Path
    environment: dict[str, str]
    round: int = 0
    kept: list[tuple[str, int]] = field(default_factory=list)
    bring_up_s: float = 6.0  # the longest wait before a kill that waits for no trial
    report_kills_count: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """What is run."""
        return STUDIES[self.name]

    @property
    def folder(self) -> Path:
        """Of the results of this round."""
        return self.scratch / f"{self.name}-{self.round}"

    @property
    def done(self) -> bool:
        """Whether only the report is left to write, or what a tuning found."""
        if self.plan.trials_count is None:
            return (self.folder / "tuned.toml").exists()
        return len(self.kept) == self.plan.trials_count

    def command(self) -> list[str]:
        """What begins the campaign, or continues it."""
        if any((self.folder / name).exists() for name in ("results.json", "tuning.json")):
            return [PERJOULE, "resume", str(self.folder), *self.plan.resumed]
        command, *options = self.plan.words
        return [
            PERJOULE,
            command,
            str(self.scratch / f"{self.name}.toml"),
            *options,
            "--into",
            str(self.folder),
        ]

    def kill(self, dice: random.Random, machine: Machine) -> str:
        """Kill one perjoule, and say what it was doing; "" when it ended before that."""
        command, was_done = self.command(), self.done
        if was_done and self.plan.trials_count is not None and dice.random() < 0.5:
            command = [PERJOULE, "report", str(self.folder)]
        before_count = len(self.kept)
        wait_s = dice.uniform(0.2, 2.5) if was_done else dice.uniform(0.2, self.bring_up_s)
        last_count = self.plan.trials_count or TUNED_COUNT
        wanted_count = (
            before_count
            if was_done
            else dice.choice([before_count] * 2 + [before_count + 1] * 4 + [last_count])
        )
        with (self.scratch / "errors").open("w+") as errors:
            began_s = time.monotonic()
            process = subprocess.Popen(
                command, env=self.environment, stdout=subprocess.DEVNULL, stderr=errors
            )
            while (
                len(journals(self.folder)) < wanted_count
                and process.poll() is None
                and time.monotonic() < began_s + LIMIT_S
            ):
                time.sleep(0.005)
            if wanted_count > before_count:
                wait_s = dice.uniform(0, self.plan.trial_s)
            until_s = time.monotonic() + wait_s
            while time.monotonic() < until_s and process.poll() is None:
                time.sleep(min(0.02, max(0.0, until_s - time.monotonic())))
            ended = process.poll()
            process.kill()
            process.wait()
            machine.look()
            errors.seek(0)
            said = errors.read()
        self.look()
        if ended is not None:
            if ended != 0:
                self.faults.append(
                    f"{self.folder.name}: ended by itself with {ended}: {said.strip().splitlines()[-1:]}"
                )
            return ""
        if was_done:
            return f"{command[1]}, only the report left"
        if self.done:
            return f"{command[1]}, after the last trial"
        up = len(self.kept) > before_count or " is up on " in said
        return f"{command[1]}, {'in the trials' if up else 'bringing up'}"

    def look(self) -> None:
        """Hold the journals against what they held before, and against what lies there."""
        now = journals(self.folder)
        self.faults += [f"{self.folder.name}: lost {trial}" for trial, _ in set(self.kept) - set(now)]
        self.faults += [
            f"{self.folder.name}: doubled {trial}" for trial, n in Counter(t for t, _ in now).items() if n > 1
        ]
        for trial, attempt in now:
            if not (self.folder / trial / f"attempt-{attempt}" / "record.json").exists():
                self.faults.append(f"{self.folder.name}: no record of {trial}")
        for report in below(self.folder, "report.html"):
            if not report.read_text().rstrip().endswith("</html>"):
                self.faults.append(f"{self.folder.name}: half a report")
        for table in below(self.folder, "table.json"):
            json.loads(table.read_text())
        self.kept = now

    def conclude(self) -> int:
        """End a campaign undisturbed and verify it; give how many attempts were set aside, and begin
        again.
        """
        self.end(self.command())
        for results in below(self.folder, "results.json"):
            self.end([PERJOULE, "verify", str(results.parent)])
        self.look()
        wanted_count = self.plan.trials_count
        if wanted_count is not None and len(self.kept) != wanted_count:
            self.faults.append(f"{self.folder.name}: {len(self.kept)} of {wanted_count} trials")
        kept = {f"{trial}/attempt-{attempt}" for trial, attempt in self.kept}
        there = {str(path.relative_to(self.folder)) for path in self.folder.rglob("trials/*/*")}
        self.faults += [f"{self.folder.name}: {name} was left" for name in there - kept]
        aside_count = len(list(self.folder.rglob("set-aside/*")))
        self.round, self.kept, self.report_kills_count = self.round + 1, [], 0
        return aside_count

    def end(self, command: list[str]) -> None:
        """Run a command undisturbed to its end."""
        done = ended(command, self.environment, LIMIT_S)
        if done.returncode:
            words = (done.stdout + done.stderr).strip().splitlines()[-3:]
            self.faults.append(f"{self.folder.name}: {command[1]} ended with {done.returncode}: {words}")


def ended(
    command: list[str], environment: dict[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; one that takes longer is ended, and says so."""
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"did not end within {limit_s:g} s")


def faults(studies: Sequence[Study]) -> list[str]:
    """All that went wrong so far."""
    return [fault for study in studies for fault in study.faults]


def below(folder: Path, name: str) -> list[Path]:
    """Find files of this name, while a killed run's children may still remove others."""
    return sorted(Path(at, name) for at, _, names in os.walk(folder) if name in names)


def journal(folder: Path) -> list[tuple[str, int]]:
    """Whole lines of the journal, read without perjoule's own code."""
    path = folder / "journal.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [(entry["trial"], entry["attempt"]) for entry in map(json.loads, lines)]


def journals(folder: Path) -> list[tuple[str, int]]:
    """The folder of each trial below a results folder, or below all rounds of a tuning, and its attempt."""
    found = [
        (path.parent, entry) for path in below(folder, "journal.jsonl") for entry in journal(path.parent)
    ]
    return [
        (str((results / "trials" / trial).relative_to(folder)), attempt)
        for results, (trial, attempt) in found
    ]


def main() -> None:
    """Kill, resume, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", action="append", choices=sorted(STUDIES), help="all by default; may be given again"
    )
    parser.add_argument(
        "--for",
        dest="minutes",
        type=float,
        default=1e9,
        help="end after this many minutes, whatever the count",
    )
    wanted = parser.parse_args()
    dice, hit, remaining, set_aside_count = random.Random(wanted.seed), Counter[str](), Counter[str](), 0
    began_s = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made goes, too
    with tempfile.TemporaryDirectory(prefix="pjk-", dir="/var/tmp") as made, ExitStack() as stack:
        scratch = Path(made)
        scratch.chmod(0o711)  # daemons that are other users have to pass
        (scratch / "tmp").mkdir()
        environment = {**os.environ, "PERJOULE_WORK": str(scratch / "work"), "TMPDIR": str(scratch / "tmp")}
        # hosts that other runs noted are not ours to clean
        environment["XDG_STATE_HOME"] = str(scratch / "state")
        stack.callback(
            subprocess.run, [PERJOULE, "down"], env=environment, check=False, stdout=subprocess.DEVNULL
        )
        (scratch / "data").mkdir()
        states = Sysfs(scratch)  # of power
        environment["PERJOULE_SYSFS"] = str(states.root)
        machine = Machine(scratch)
        stack.enter_context(machine.watched())
        studies = [Study(name, scratch, environment) for name in wanted.only or STUDIES]
        for study in studies:
            (scratch / f"{study.name}.toml").write_text(study.plan.text(scratch))

        def conclude(study: Study) -> int:
            aside_count = study.conclude()
            subprocess.run([PERJOULE, "down"], env=environment, check=True, stdout=subprocess.DEVNULL)
            left = machine.left(GONE_S) + [
                ("power settings", f"{path} is {now}") for path, now in states.changed().items()
            ]
            left += [("files", str(one)) for one in (scratch / "data").iterdir()]
            remaining.update(kind for kind, _ in left)
            study.faults += [f"left after {study.name}: {kind}: {what}" for kind, what in left]
            return aside_count

        while (
            hit.total() < wanted.kills
            and len(faults(studies)) < MOST_FAULTS
            and time.monotonic() < began_s + 60 * wanted.minutes
        ):
            study = studies[hit.total() % len(studies)]
            if study.done and study.report_kills_count >= REPORTS_COUNT:
                set_aside_count += conclude(study)
            was_done = study.done
            doing = study.kill(dice, machine)
            study.report_kills_count += was_done
            if doing:
                hit[f"{study.name}: {doing}"] += 1
                took_s = (time.monotonic() - began_s) / hit.total()
                print(
                    f"kill {hit.total()}: {study.name}, {doing}; {len(study.kept)} trials kept "
                    f"({took_s:.1f} s a kill)",
                    flush=True,
                )
        for study in studies:
            set_aside_count += conclude(study)
    found = faults(studies)
    for doing, count in sorted(hit.items()):
        print(f"  {count:4} {doing}")
    counts = Counter(
        word
        for fault in found
        for word in ("lost", "doubled", "left")
        if word in fault.replace(":", "").split()
    )
    others_count = len(found) - counts.total()
    campaigns_count = sum(study.round for study in studies)
    print(
        f"{hit.total()} kills, {campaigns_count} campaigns: {counts['lost']} lost, {counts['doubled']} "
        "doubled, "
        f"{counts['left']} left behind, {others_count} other faults; {set_aside_count} attempts were set "
        "aside"
    )
    print(
        f"left behind: {told(remaining)}; {len(machine.processes)} processes and {len(machine.spaces)} "
        "namespaces were seen"
    )
    for fault in found:
        print(f"  {fault}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
