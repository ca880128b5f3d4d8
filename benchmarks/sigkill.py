"""Kill perjoule with SIGKILL at random moments of a short real campaign, resume each time, and count what was lost or left.

usage: .venv/bin/python benchmarks/sigkill.py [--kills 100] [--seed 1]      (root; about ten minutes)

Prints how many finished trials were lost or doubled, and what is left on the machine at the end: both must be nothing.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PERJOULE = [str(Path(sys.executable).with_name("perjoule"))]
CAMPAIGN = """
name = "sigkill"
clients = [1, 2]
repetitions = 40
seed = 1
settle = "100 ms"

[testbed]
kind = "virtual"
scale = 0.5
disk = "ext4"
disk_size = "1 GiB"

[[filesystem]]
kind = "moosefs"

[[workload]]
kind = "fio"
operation = ["write", "read"]
transfer = "1 MiB"
size = "4 MiB"
"""


def journal(folder: Path) -> list[tuple[str, int]]:
    """Whole lines of the journal, read without perjoule's own code."""
    path = folder / "journal.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [(entry["trial"], entry["attempt"]) for entry in map(json.loads, lines)]


def leftovers() -> list[str]:
    """What bears our mark on this machine, looked for without perjoule's own code."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "/perjoule/" in command and "sigkill.py" not in command:
            found.append(f"process {process.name}: {command[:80]}")
    commands = [["losetup", "--noheadings", "--output", "NAME,BACK-FILE"], ["ip", "-o", "link"], ["ip", "netns", "list"]]
    for command in [*commands, ["cat", "/proc/mounts"]]:
        listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found += [line for line in listing.splitlines() if "perjoule" in line]
    found += [str(p) for p in Path("/sys/fs/cgroup").glob("**/perjoule*") if p.is_dir()]
    return found


def main() -> None:
    """Kill, resume, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    dice = random.Random(wanted.seed)
    lost = doubled = 0
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Path(scratch) / "sigkill.toml"
        campaign.write_text(CAMPAIGN)
        folder = Path(scratch) / "results"
        kept: list[tuple[str, int]] = []
        for kill in range(1, wanted.kills + 1):
            command = (
                ["resume", str(folder)] if (folder / "results.json").exists() else ["run", str(campaign), "--into", str(folder)]
            )
            process = subprocess.Popen([*PERJOULE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(dice.uniform(0.2, 9))
            ended = process.poll()
            process.kill()
            words = process.communicate()[1]
            if ended not in (None, 0):
                print(f"kill {kill}: perjoule had ended by itself with {ended}: {words.strip().splitlines()[-1:]}")
            now = journal(folder)
            lost += len(set(kept) - set(now))
            doubled += len(now) - len(set(now)) + len(now) - len({trial for trial, _ in now})
            kept = now
            print(f"kill {kill}: {len(kept)} finished trials", flush=True)
        alive = len(leftovers())
        print(f"after the last kill {alive} things of ours were alive; then `perjoule down`:")
        subprocess.run([*PERJOULE, "down"], check=True)
        verified = subprocess.run([*PERJOULE, "verify", str(folder)], capture_output=True, text=True, check=False)
        print(verified.stdout.strip().splitlines()[-1:])
    left = leftovers()
    print(f"{wanted.kills} kills: {len(kept)} finished trials, {lost} lost, {doubled} doubled, {len(left)} things left behind")
    for line in left:
        print(f"  {line}")
    sys.exit(bool(lost or doubled or left or verified.returncode))


if __name__ == "__main__":
    main()
