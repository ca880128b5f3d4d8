"""`python -m tests.fuzzing --inputs 100000 --seed 1`: draw inputs, and print what came of them; `--help` for more."""

import argparse
import collections
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from types import FrameType

MOST_S = 5.0
MOST_BYTES = 500 * 2**20
SHOWN = 20  # findings with their tracebacks


class Hang(BaseException):
    """An input took too long."""


class _Clock:
    """Time since an input was begun, without that in which this process was ready and other programs had the CPUs."""

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


def _late(number: int, frame: FrameType | None) -> None:
    if _Clock.passed_s() >= MOST_S:
        raise Hang
    signal.setitimer(signal.ITIMER_REAL, 0.5)


def main() -> int:
    """Draw inputs until there are enough or the time is over; 1 if any made something else than an error of perjoule's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input: to see one again")
    parser.add_argument("--only", default="", help="one target")
    asked = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perjoule-fuzzing-") as folder:
        return _watched(asked, Path(folder), began_s)


def _watched(asked: argparse.Namespace, folder: Path, began_s: float) -> int:
    """Run in a child, so that a crash of a library tells its input, too."""
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
    counts, slowest = collections.Counter[str](), (0.0, -1, "")
    findings: dict[str, str] = {}
    expected = collections.Counter[str]()
    signal.signal(signal.SIGALRM, _late)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"seed {asked.seed}, from input {asked.first}", flush=True)
    with last.open("r+b", buffering=0) as note:
        for number in range(asked.first, asked.first + asked.inputs):
            if time.monotonic() - began_s > asked.seconds:
                break
            dice = Random(f"{asked.seed}/{number}")
            name = dice.choices(names, weights)[0]
            note.seek(0)
            note.write(f"{number} ({name})          ".encode())
            counts[name] += 1
            _Clock.begin()
            try:
                targets[name][1](dice)
                expected["nothing"] += 1
            except PerjouleError as error:
                expected[type(error).__name__] += 1
            except (OSError, ValueError) as error:
                if not name.endswith("_meter"):  # of a meter both are a gap
                    _found(findings, name, number, error)
            except Hang as error:
                _found(findings, name, number, error)
            except Exception as error:
                _found(findings, name, number, error)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            slowest = max(slowest, (_Clock.passed_s(), number, name))
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if now - before > MOST_BYTES:
                findings[f"memory in {name}"] = f"input {number} ({name}) took {(now - before) / 2**20:.0f} MiB"
                before = now
    print(f"{sum(counts.values())} inputs: {dict(counts)}; {dict(expected)}")
    print(f"slowest {slowest[0]:.2f} s: input {slowest[1]} ({slowest[2]}); {len(findings)} findings")
    for found in list(findings.values())[:SHOWN]:
        print(found)
    return 1 if findings else 0


def _found(findings: dict[str, str], name: str, number: int, error: BaseException) -> None:
    """Keep one finding for each place in the code."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "/perjoule/" in f.filename and "/fuzzing/" not in f.filename
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    key = f"{type(error).__name__} at {place}"
    if key not in findings:
        whole = "".join(traceback.format_exception(error)[-8:])
        findings[key] = f"--- {key}, input {number} ({name})\n{whole}"


sys.exit(main())
