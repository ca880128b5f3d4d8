"""Print how late the events of three campaigns on virtual hosts are: twenty each, over MooseFS, GlusterFS and
CephFS.

usage: sudo .venv/bin/python benchmarks/events_late.py [--rounds 2] [--only cephfs]      (about a minute a
campaign)

The campaigns are those of tests/live/test_many_events.py. For each file system: the number of events, the
median and the largest delay, and which events were above 50 ms, from where a trial has a doubt; beside the
load average of the machine.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from perjoule.execution.happening import LATE_S
from perjoule.model import Happened
from tests.live.test_many_events import FILESYSTEMS, measured


def line(name: str, events: list[Happened]) -> str:
    """Say how late the events on a file system were."""
    late_ms = sorted(one.late_s * 1e3 for one in events)
    above = [
        f"{one.event.text} at {one.event.at_s:g} s: {one.late_s * 1e3:.0f} ms"
        for one in events
        if one.late_s > LATE_S
    ]
    named = f" ({'; '.join(above)})" if above else ""
    return (
        f"{name:10} {len(events):4} events: median {statistics.median(late_ms):.1f} ms, largest "
        f"{late_ms[-1]:.0f} ms, "
        f"{len(above)} above {LATE_S * 1e3:.0f} ms{named}"
    )


def main() -> None:
    """Run the campaigns and print a line for each file system."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2, help="campaigns on each file system")
    parser.add_argument(
        "--only", action="append", choices=sorted(FILESYSTEMS), help="all by default; may be given again"
    )
    asked = parser.parse_args()
    found: list[Happened] = []
    with TemporaryDirectory(prefix="perjoule-late-") as folder:
        for name in asked.only or FILESYSTEMS:
            records = [measured(Path(folder) / f"{name}-{n}", name)[1] for n in range(asked.rounds)]
            events = [event for record in records for event in record.events]
            found += events
            print(f"{line(name, events)}; load average {os.getloadavg()[0]:.1f}", flush=True)
            for reason in {record.reason for record in records if record.reason}:
                print(f"  {reason}")
    print(line("all", found))


if __name__ == "__main__":
    main()
