"""Kill perjoule with SIGKILL at random moments of campaigns on clusters that others run, and count what is left.

usage: sudo .venv/bin/python benchmarks/sigkill_attached.py [--kills 20] [--seed 1] [--only image ...] [--for 12]
(some 15 s a kill)

The clusters stand on virtual hosts, each brought up once; perjoule is a user without root on their client. Kinds
share the kills: a folder in a CephFS, a pool, images in a pool, a bucket, and folders in a GlusterFS and a
MooseFS. The next run, which may be killed, too, removes what a killed one left. Then the answers to `ceph auth
ls`, `osd dump` and `config dump`, the objects of the pool by name or in number, what the folder contains, and
the user's programs and files of runs are what they were.
"""

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from attached import Production, ceph_folder, other_folder, store

SHORT = 'operation = "write"\nsize = "8 MiB"\nduration = "2 s"'
FILES = f'kind = "fio"\ntransfer = "64 KiB"\nrate = "4 MiB/s"\n{SHORT}'
LATE_S = 10.0  # for which a campaign waits at its end for what a Ceph counts
WAITING_RATIO = 0.2  # of the kills, that may come in that time
CLEANED_RATIO = 0.5  # of the kills, after which the next run is let finish
SETTLED_S = 20.0  # for which what was told to end may take to be gone


class Kind(NamedTuple):
    """A way to attach."""

    standing: Callable[[], AbstractContextManager[Production]]
    workload: str
    late_s: float = LATE_S


KINDS = {
    "folder": Kind(ceph_folder, FILES),
    "pool": Kind(partial(store, "pool"), f'kind = "rados"\nobject = "64 KiB"\n{SHORT}'),
    "image": Kind(partial(store, "image"), FILES.replace('"fio"', '"device"')),
    "bucket": Kind(
        partial(store, "bucket"),
        'kind = "s3"\noperation = "put"\nsize = "8 MiB"\nobject = "64 KiB"',
    ),
    "glusterfs": Kind(
        partial(other_folder, "glusterfs", {}, {"volume": "perjoule", "heal_unknown": True}),
        FILES,
        late_s=0.0,
    ),
    "moosefs": Kind(partial(other_folder, "moosefs", {"goal": 2}, {}), FILES, late_s=0.0),
}


class Killed:
    """What is killed on one cluster, and what has been seen."""

    def __init__(self, name: str, there: Production) -> None:
        self.name, self.kind, self._there = name, KINDS[name], there
        self.kills_count, self.cleaned_count, self._runs_count = 0, 0, 0
        self.left: list[str] = []
        self.is_clean = True  # whether nothing was killed since perjoule cleaned up
        self._before = there.administered()
        began_s = time.monotonic()
        self._finish()
        self.whole_s = time.monotonic() - began_s
        self._look()

    def kill(self, dice: random.Random) -> str:
        """Kill one perjoule, and say when; "" if it had ended before that."""
        until_s = self.whole_s if dice.random() < WAITING_RATIO else self.whole_s - self.kind.late_s
        wait_s = dice.uniform(0, until_s)
        name = self._next()
        process = self._there.started(name, self._there.campaign(name, self.kind.workload))
        time.sleep(wait_s)
        if process.returncode is not None:
            if process.returncode:
                self._note(f"{name} ended by itself with {process.returncode}: {process.output()[-300:]}")
            return ""
        self._there.kill(name, process)
        self.kills_count, self.is_clean = self.kills_count + 1, False
        return f"after {wait_s:.1f} of {self.whole_s:.1f} s"

    def clean(self) -> None:
        """Have the next run clean up, and hold what is there against what was there before."""
        self._finish()
        self.cleaned_count, self.is_clean = self.cleaned_count + 1, True
        self._look()

    def _look(self) -> None:
        until_s = time.monotonic() + SETTLED_S
        while (found := self._found()) and time.monotonic() < until_s:
            time.sleep(0.5)
        for what in found:
            self._note(what)

    def _found(self) -> list[str]:
        now = self._there.administered()
        differing = [changed(name, was, now[name]) for name, was in self._before.items() if now[name] != was]
        return [*differing, *self._there.behind()]

    def _finish(self) -> None:
        name = self._next()
        try:
            self._there.ran(name, self._there.campaign(name, self.kind.workload))
        except AssertionError as error:
            self._note(f"{name} did not end well: {str(error)[:500]}")

    def _note(self, what: str) -> None:
        self.left.append(f"{self.name}: {what}")
        print(f"  {self.left[-1]}", flush=True)

    def _next(self) -> str:
        self._runs_count += 1
        return f"{self.name}-{self._runs_count}"


def changed(name: str, was: Any, now: Any) -> str:
    """Say what differs: of lists the entries, of texts the words around the first difference."""
    if isinstance(was, list) and isinstance(now, list):
        return f"{name}: gone {sorted({*was} - {*now})}, new {sorted({*now} - {*was})}"
    was_text, now_text = str(was), str(now)
    pairs = enumerate(zip(was_text, now_text, strict=False))
    same_count = next((number for number, (a, b) in pairs if a != b), min(len(was_text), len(now_text)))
    begin = max(0, same_count - 60)
    return f"{name}: {was_text[begin : begin + 160]!r} became {now_text[begin : begin + 160]!r}"


def main() -> None:
    """Kill, clean up, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=KINDS, help="all by default; may be given again")
    parser.add_argument("--for", dest="minutes", type=float, default=1e9, help="end after this many minutes")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made goes, too
    dice, began_s = random.Random(wanted.seed), time.monotonic()
    names = wanted.only or [*KINDS]
    kills, cleanings, left = Counter[str](), Counter[str](), list[str]()
    for number, name in enumerate(names):
        share_count = (wanted.kills - kills.total()) // (len(names) - number)
        share_until_s = began_s + 60 * wanted.minutes * (number + 1) / len(names)
        with KINDS[name].standing() as there:
            killed = Killed(name, there)
            while killed.kills_count < share_count and time.monotonic() < share_until_s:
                moment = killed.kill(dice)
                if dice.random() < CLEANED_RATIO:
                    killed.clean()
                print(f"{time.monotonic() - began_s:5.0f} s: {name}, {moment or 'had ended'}", flush=True)
            if not killed.is_clean:
                killed.clean()
        kills[name], cleanings[name] = killed.kills_count, killed.cleaned_count
        left += killed.left
    for name, count in kills.items():
        print(f"  {count:4} {name}, cleaned up {cleanings[name]} times")
    print(f"{kills.total()} kills in {time.monotonic() - began_s:.0f} s: {len(left)} things left behind")
    for what in left:
        print(f"  {what}")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
