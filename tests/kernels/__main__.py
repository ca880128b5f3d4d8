"""Run live tests on other kernels and releases than this machine's.

On Debian's stock kernel, in a virtual machine: QEMU's emulation, 10 to 20 times slower than a real one. What
runs there works; how fast it is says nothing. Or with a release's packages on this machine's own kernel, at
its speed. A root is made once (2 to 5 minutes, 2 GB in ~/.cache/perjoule) and kept until setup/ changes.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.kernels import machine, outcomes, root
from tests.kernels.image import PROCESSORS, RELEASES, ROOT, Processor, image, lacking, runs
from tests.kernels.parts import PARTS, Part

EXAMPLES = """\
examples:
  make kernels                                        NFS, CephFS by the kernel, mirrors, f2fs
  sudo .venv/bin/python -m tests.kernels --list
  make kernels KERNELS=ci                             of these what fits into 15 minutes, as CI runs it
  sudo .venv/bin/python -m tests.kernels nfs --debian 13
  sudo .venv/bin/python -m tests.kernels moosefs glusterfs --debian 13 --on root
  sudo .venv/bin/python -m tests.kernels simulated trials --arch arm64
  sudo .venv/bin/python -m tests.kernels live --on here --keep     and its column of the table of platforms
  .venv/bin/python -m tests.kernels --read build/tests/*.xml       that column from the reports of `make test`
"""
PLACES = {
    "vm": "a virtual machine with that Debian's kernel",
    "root": "that Debian's packages on this machine's kernel",
    "here": "this machine as it is",
}
PACKAGES = ("fio", "moosefs-master", "glusterfs-server", "ceph-osd", "nfs-ganesha")
# What is tested, in lines: kernel, architecture, system, Python, the packages that matter.
ABOUT = """\
{{ uname -r; uname -m; . /etc/os-release; echo "$PRETTY_NAME"; {python} --version; }} > {into}/about
dpkg-query -W -f '${{Package}} ${{Version}}\\n' {packages} >> {into}/about 2> /dev/null
"""
TIMED_OUT, END_S = (124, 137), 60.0  # exit codes of timeout(1); for pytest to end after it was interrupted
# Parts share what Python has compiled.
TASK = """\
export PYTHONPYCACHEPREFIX={into}/compiled HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis
exec {python} -u -m pytest -v --tb=short -p no:cacheprovider --timeout 900 --junit-xml {into}/{name}.xml -m 'not slow' {words}
"""


@dataclass(frozen=True)
class Run:
    """Where parts run, as the command line asks for it."""

    place: str
    debian: str
    processor: Processor
    patience: float  # times the minutes of a part

    @property
    def platform(self) -> str:
        """Its name in outcomes.json, as in "debian-13-vm" or "debian-12-vm-arm64"."""
        other = "" if self.processor.here else f"-{self.processor.debian}"
        return "here" if self.place == "here" else f"debian-{self.debian}-{self.place}{other}"

    def limit_s(self, part: Part) -> float:
        """Return how long a part may take."""
        return 60.0 * part.minutes * self.patience

    def lacks(self) -> str:
        """Say what this machine lacks for it, and what fixes that; "" if nothing."""
        if self.place == "here":
            return ""
        tools = ["mmdebstrap", "mke2fs", *([self.processor.emulator] if self.place == "vm" else [])]
        section = "kernels" if self.processor.here else "kernels elsewhere"
        if lack := lacking([*tools, *([] if self.processor.here else ["arch-test", "update-binfmts"])]):
            return f"{', '.join(lack)} missing: run setup/install {section}"
        if not runs(self.processor):
            what = (
                f"this machine can't run programs for {self.processor.debian}, which its packages do to be "
                "installed"
            )
            return f"{what}: run update-binfmts --enable qemu-{self.processor.wheels}"
        return ""


def main() -> int:
    """Return 0 if every test of every part ran and passed, 1 if not, 3 if this machine lacks what it
    needs.
    """
    parser = argparse.ArgumentParser(
        "tests.kernels",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="which tests; those that need another kernel by default"
    )
    parser.add_argument(
        "--on",
        choices=PLACES,
        default="vm",
        help="; ".join(f"{name}: {what}" for name, what in PLACES.items()),
    )
    parser.add_argument(
        "--debian", choices=RELEASES, default="12", help="whose kernel and packages (default: 12)"
    )
    parser.add_argument(
        "--arch", choices=PROCESSORS, default="amd64", help="the processor that is emulated (default: amd64)"
    )
    parser.add_argument("--into", type=Path, metavar="DIR", help="keep reports and output there")
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="N", help="allow N times the time, on a busy machine"
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the outcomes, of which tests.kernels.table makes tables"
    )
    parser.add_argument(
        "--list", action="store_true", help="show the parts and how long each may take, and run nothing"
    )
    parser.add_argument(
        "--read",
        type=Path,
        nargs="+",
        metavar="XML",
        help="run nothing: keep what these reports of pytest say of this machine",
    )
    asked = parser.parse_args()
    if asked.list:
        for name, part in PARTS.items():
            print(f"{name:16} {part.minutes:3} min  {part.about}{' (default)' if part.default else ''}")
        return 0
    if unknown := [name for name in asked.parts if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if asked.read:
        return _read(asked.read)
    where = Run(asked.on, asked.debian, PROCESSORS[asked.arch], asked.patience)
    if where.place != "vm" and not where.processor.here:
        parser.error(f"--arch {asked.arch} needs --on vm")
    if lack := where.lacks():
        print(lack, file=sys.stderr)
        return 3
    if os.geteuid():
        print("only root can make Debian's root: run it with sudo", file=sys.stderr)
        return 3
    names = asked.parts or [name for name, part in PARTS.items() if part.default]
    with tempfile.TemporaryDirectory(prefix="perjoule-kernels-", dir="/var/tmp") as scratch:
        return _all(names, where, (asked.into or Path(scratch)).resolve(), keep=asked.keep)


def _read(reports: list[Path]) -> int:
    """Keep what tests of this machine came to, instead of all that was kept of it; 1 if a report is
    missing or a test failed.
    """
    found = outcomes.outcome(*reports)
    if not found.counts:
        print("\n".join(found.reasons) or f"no test in {', '.join(map(str, reports))}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="perjoule-kernels-", dir="/var/tmp") as scratch:
        about = ABOUT.format(into=scratch, python=sys.executable, packages=" ".join(PACKAGES))
        subprocess.run(["sh", "-c", about], check=False)
        outcomes.keep("here", (Path(scratch) / "about").read_text().splitlines(), "all", found, alone=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(found.counts.items())))
    return 0 if found.passed(whole=False) else 1


def _all(names: list[str], where: Run, into: Path, *, keep: bool) -> int:
    into.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began_s:5.0f} s  {words}", flush=True)

    run = _runner(where, into, say)
    broken: list[str] = []
    for name in names:
        part = PARTS[name]
        say(f"== {name}: {part.about}, on {where.platform}")
        for left in (into / f"{name}.xml", into / "about"):
            left.unlink(missing_ok=True)
        try:
            run(name, part)
            found = outcomes.outcome(into / f"{name}.xml")
        except machine.Gone as gone:
            found = outcomes.Outcome(reasons=[str(gone)])
        said = ", ".join(f"{count} {what}" for what, count in sorted(found.counts.items())) or "no test ran"
        say("\n".join([f"{name}: {said}", *(f"         {one}" for one in found.reasons)]))
        if not found.passed(whole=part.whole and where.place == "vm"):
            broken.append(name)
        if keep and found.counts:
            outcomes.keep(where.platform, (into / "about").read_text().splitlines(), name, found)
    say(
        f"{len(names) - len(broken)} of {len(names)} parts passed"
        + (f"; not: {', '.join(broken)}" if broken else "")
    )
    return 1 if broken else 0


def _runner(where: Run, into: Path, say: Callable[[str], object]) -> Callable[[str, Part], object]:
    """Return what runs a part there."""

    def task(name: str, part: Part, into: str, python: str) -> str:
        words, into, packages = shlex.join(part.words), shlex.quote(into), " ".join(PACKAGES)
        return (ABOUT + TASK).format(name=name, words=words, into=into, python=python, packages=packages)

    if where.place == "here":
        return lambda name, part: run_here(task(name, part, str(into), sys.executable), where.limit_s(part))
    runs = machine.run if where.place == "vm" else root.run
    return lambda name, part: runs(
        image(where.debian, where.processor, say, part.more),
        task(name, part, "/share", "/venv/bin/python"),
        into,
        within_s=where.limit_s(part),
        show=say,
    )


def run_here(script: str, within_s: float) -> None:
    """Run it on this machine; if it takes too long, pytest is interrupted, so that what it started is
    taken down. Raises Gone.
    """
    limited = ["timeout", "--foreground", "--signal=INT", f"--kill-after={END_S:g}", f"{within_s:g}"]
    if subprocess.run([*limited, "sh", "-c", script], cwd=ROOT, check=False).returncode in TIMED_OUT:
        raise machine.Gone(f"it did not end within {within_s / 60:g} minutes")


if __name__ == "__main__":
    sys.exit(main())
