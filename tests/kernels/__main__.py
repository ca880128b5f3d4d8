"""Run live tests that need another kernel than this machine's in a virtual machine with Debian's stock kernel.

The machine is QEMU's emulation, 10 to 20 times slower than a real one: what runs there works, and how fast it is says nothing.
Its root is made once (2 to 4 minutes, 1.5 GB in ~/.cache/perjoule) and kept until setup/ changes.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.kernels.image import RELEASES, image, lacking
from tests.kernels.machine import Gone, run
from tests.kernels.parts import PARTS, Outcome, outcome

EXAMPLES = """\
examples:
  make kernels                                        what CI runs
  sudo .venv/bin/python -m tests.kernels --list
  sudo .venv/bin/python -m tests.kernels nfs --debian 13
  sudo .venv/bin/python -m tests.kernels --all
"""
TASK = """\
export PYTHONPYCACHEPREFIX=/tmp/compiled HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis
uname -r
words="-v --tb=short -p no:cacheprovider --timeout 900 --junit-xml /share/{name}.xml"
/venv/bin/python -u -m pytest $words -m 'not slow' {words}
"""


def main() -> int:
    """Return 0 if every test of every part ran and passed, 1 if not, 3 if this machine lacks what it needs."""
    parser = argparse.ArgumentParser(
        "tests.kernels", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="which tests; those for CI by default")
    parser.add_argument("--all", action="store_true", help="all parts")
    parser.add_argument("--debian", choices=RELEASES, default="12", help="whose kernel and packages (default: 12)")
    parser.add_argument("--into", type=Path, metavar="DIR", help="keep reports and output there")
    parser.add_argument("--list", action="store_true", help="show the parts, and run nothing")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{name:14} {part.about}{'' if part.in_ci else ' (not in CI)'}" for name, part in PARTS.items()))
        return 0
    if unknown := [name for name in asked.parts if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if lack := lacking(["qemu-system-x86_64", "mmdebstrap", "mke2fs"]):
        print(f"{', '.join(lack)} missing: run setup/install kernels", file=sys.stderr)
        return 3
    if os.geteuid():
        print("only root can make Debian's root: run it with sudo", file=sys.stderr)
        return 3
    names = asked.parts or [name for name, part in PARTS.items() if asked.all or part.in_ci]
    with tempfile.TemporaryDirectory(prefix="perjoule-kernels-") as scratch:
        return _all(names, asked.debian, (asked.into or Path(scratch)).resolve())


def _all(names: list[str], debian: str, into: Path) -> int:
    into.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began_s:5.0f} s  {words}", flush=True)

    booted = image(debian, say)
    broken = []
    for name in names:
        part = PARTS[name]
        say(f"== {name}: {part.about}, on Linux {booted.version}")
        try:
            run(booted, TASK.format(name=name, words=" ".join(part.words)), into, within_s=60.0 * part.minutes, show=say)
            found = outcome(into / f"{name}.xml")
        except Gone as gone:
            found = Outcome(reasons=[str(gone)])
        said = ", ".join(f"{count} {what}" for what, count in sorted(found.counts.items())) or "no test ran"
        say("\n".join([f"{name} on Linux {booted.version}: {said}", *(f"         {one}" for one in found.reasons)]))
        if not found.whole:
            broken.append(name)
    say(f"{len(names) - len(broken)} of {len(names)} parts passed" + (f"; not: {', '.join(broken)}" if broken else ""))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
