"""Draw inputs, watch what they cost, and tell what came of them, for each parser."""

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

MOST_S = 5.0
MOST_BYTES = 500 * 2**20
MIB = 2**20
MEMORY = Path("/dev/shm")
SHOWN = 20  # findings with their tracebacks


class Hang(BaseException):
    """An input took too long."""


@dataclass
class Tally:
    """What came of the inputs of one parser."""

    refused_count: int = 0  # with an error of perjoule's own
    accepted_count: int = 0
    slowest: tuple[float, int] = (0.0, -1)  # seconds, and the number of the input
    most: tuple[int, int] = (0, -1)  # bytes of memory above those before it, and the number of the input
    findings_count: int = 0

    @property
    def inputs_count(self) -> int:
        return self.refused_count + self.accepted_count + self.findings_count


class _Clock:
    """Time since an input was begun, without that in which this process was ready and other programs had
    the CPUs.
    """

    began_s = waited_s = 0.0

    @classmethod
    def begin(cls) -> None:
        cls.began_s, cls.waited_s = time.monotonic(), cls._waited_s()
        signal.setitimer(signal.ITIMER_REAL, MOST_S)

    @classmethod
    def passed_s(cls) -> float:
        return time.monotonic() - cls.began_s - (cls._waited_s() - cls.waited_s)

    @staticmethod
    def _waited_s() -> float:
        """https://docs.kernel.org/scheduler/sched-stats.html"""
        try:
            return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
        except (OSError, LookupError, ValueError):
            return 0.0


class _Memory:
    """The most memory of this process since an input was begun
    (https://docs.kernel.org/filesystems/proc.html, clear_refs).
    """

    before_bytes = 0

    @classmethod
    def begin(cls) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:  # the peak then never falls, and only what exceeds all before it is seen
            cls.before_bytes = cls._most_bytes()
        else:
            cls.before_bytes = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    @classmethod
    def grown_bytes(cls) -> int:
        return max(0, cls._most_bytes() - cls.before_bytes)

    @staticmethod
    def _most_bytes() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _late(number: int, frame: FrameType | None) -> None:
    if _Clock.passed_s() >= MOST_S:
        raise Hang
    signal.setitimer(signal.ITIMER_REAL, 0.5)


def main(description: str) -> int:
    """Draw inputs until there are enough or the time is over; 1 if any made something else than an error
    of perjoule's own.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("inputs", type=int, nargs="?", default=10**6, help="how many; 1e6 by default")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long, whatever the count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input: to see one again")
    parser.add_argument("--only", default="", help="one parser")
    asked = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perjoule-fuzzing-", dir=_fast()) as folder:
        return _watched(asked, Path(folder), began_s)


def _fast() -> Path | None:
    """A place in memory, unless TMPDIR names another: each input has files, and on a disk they take a
    third of the time.
    """
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MOST_BYTES
    return MEMORY if roomy and not os.environ.get("TMPDIR") else None


def _watched(asked: argparse.Namespace, folder: Path, began_s: float) -> int:
    """Run in a child, so that a crash of a library reports its input, too."""
    last = folder / "last"
    last.write_text("none")
    child = os.fork()
    if not child:
        code = 1
        try:
            code = _drawn(asked, folder, began_s, last)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child ends
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        print(f"killed by signal {os.WTERMSIG(status)} at input {last.read_text()} of seed {asked.seed}")
        return 1
    return os.waitstatus_to_exitcode(status)


def _drawn(asked: argparse.Namespace, folder: Path, began_s: float, last: Path) -> int:
    from .targets import PerjouleError, Targets

    warnings.simplefilter("ignore")  # random inputs make libraries warn; only errors count
    targets = Targets(folder).targets()
    names = [asked.only] if asked.only else sorted(targets)
    weights = [targets[name][0] for name in names]
    tallies = defaultdict[str, Tally](Tally)
    findings: dict[str, str] = {}
    signal.signal(signal.SIGALRM, _late)
    for stop in (signal.SIGINT, signal.SIGTERM):  # no further input, but the counts
        signal.signal(stop, lambda *_: setattr(asked, "seconds", 0))
    print(f"seed {asked.seed}, from input {asked.first}", flush=True)
    with last.open("r+b", buffering=0) as note:
        for number in range(asked.first, asked.first + asked.inputs):
            if time.monotonic() - began_s > asked.seconds:
                break
            dice = Random(f"{asked.seed}/{number}")
            # first, one of each
            name = names[number] if number < len(names) else dice.choices(names, weights)[0]
            tally = tallies[name]
            note.seek(0)
            note.write(f"{number} ({name})          ".encode())
            _Memory.begin()
            _Clock.begin()
            fault: BaseException | None = None
            try:
                targets[name][1](dice)
                tally.accepted_count += 1
            except PerjouleError:
                tally.refused_count += 1
            except (OSError, ValueError) as error:
                if name.endswith("_meter"):  # of a meter both are a gap
                    tally.refused_count += 1
                else:
                    fault = error
            except (Hang, Exception) as error:
                fault = error
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if fault is not None:
                tally.findings_count += 1
                _found(findings, name, number, fault)
            tally.slowest = max(tally.slowest, (_Clock.passed_s(), number))
            tally.most = max(tally.most, (grown_bytes := _Memory.grown_bytes(), number))
            if grown_bytes > MOST_BYTES:
                findings[f"memory in {name}"] = f"input {number} ({name}) took {grown_bytes / MIB:.0f} MiB"
    _tell(tallies, findings, asked.seed)
    return 1 if findings else 0


def _tell(tallies: dict[str, Tally], findings: dict[str, str], seed: int) -> None:
    print(
        f"{'parser':16}{'inputs':>9}{'refused':>9}{'accepted':>9}{'slowest s':>11}{'most MiB':>10}{'failed':>8}"
    )
    for name, tally in sorted(tallies.items()):
        print(
            f"{name:16}{tally.inputs_count:9}{tally.refused_count:9}{tally.accepted_count:9}"
            f"{tally.slowest[0]:11.2f}{tally.most[0] / MIB:10.0f}{tally.findings_count:8}"
        )
    print(
        f"{sum(tally.inputs_count for tally in tallies.values())} inputs of seed {seed}: {len(findings)} "
        "different findings"
    )
    for found in list(findings.values())[:SHOWN]:
        print(found)


def _found(findings: dict[str, str], name: str, number: int, error: BaseException) -> None:
    """Keep one finding for each place in the code."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "/perjoule/" in f.filename and "/fuzzing/" not in f.filename
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    key = f"{type(error).__name__} at {place}"
    if key not in findings:
        whole = "".join(traceback.format_exception(error)[-8:])
        findings[key] = f"--- {key}, input {number} ({name})\n{whole}"
