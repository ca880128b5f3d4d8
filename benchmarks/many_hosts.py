"""The cost of many hosts and trials: CPU time and memory of each command on simulated campaigns.

usage: .venv/bin/python benchmarks/many_hosts.py [--hosts 10,300,1000] [--trials 2,8,32]

The first table has each number of hosts, with the first and the second number of trials; the second has each
number of trials, on the first number of hosts. Half of the hosts are clients. What a command costs without
hosts and trials (its start) is that of the smallest campaign of its row. The exponent says how the rest (at
least 0.1 s) grows from the second to the third number: 1 is linear. Exit code 1 if a command needs 1 GiB, or
grows faster than with the power 1.2.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from reading import MIB, PERJOULE, Used, used

COMMANDS = ("check", "run", "show", "report", "verify", "export")
MOST_BYTES, MOST_POWER = 1024 * MIB, 1.2
CAMPAIGN = """
name = "many"
clients = [{clients}]
repetitions = {repetitions}
settle = "20 ms"
quiet = 0
[testbed]
kind = "simulated"
servers = {servers}
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
[[meter]]
kind = "simulated"
rate = "50 Hz"
"""


def campaign(hosts_count: int, trials_count: int) -> dict[str, Used]:
    """Run all commands on one campaign, and return what each used."""
    servers_count = max(1, hosts_count // 2 - 2)  # two more are the metadata and the management host
    with tempfile.TemporaryDirectory() as folder:
        asked, results = Path(folder) / "many.toml", Path(folder) / "results"
        text = CAMPAIGN.format(
            clients=hosts_count - servers_count - 2, servers=servers_count, repetitions=trials_count
        )
        asked.write_text(text)
        words = {
            "check": [asked],
            "run": [asked, "--into", results],
            "show": [results],
            "report": [results],
            "verify": [results],
            "export": [results, "--csv", Path(folder) / "many.csv"],
        }
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder}
        return {name: used([PERJOULE, name, *map(str, words[name])], environment) for name in COMMANDS}


def exponent(counts: Sequence[int], cpu_s: Sequence[float]) -> float:
    """Return the power with which the cost above that of the first count grows, from the second to the
    third.
    """
    (least, middle, most), (start_s, middle_s, most_s) = counts, cpu_s
    return math.log(max(0.1, most_s - start_s) / max(0.1, middle_s - start_s)) / math.log(
        (most - least) / (middle - least)
    )


def table(
    what: str, beside: str, counts: Sequence[int], found: Mapping[int, Sequence[Mapping[str, Used]]]
) -> bool:
    """Print what each command used, and return whether all meet the goals.

    Args:
        what: that there are three counts of.
        beside: that `found` is by the number of.
        counts: the three.
        found: what commands used, for each of the three.
    """
    print(
        f"{'':8} {beside:>6} "
        + " ".join(f"{f'{count} {what}':>12}" for count in counts)
        + f" {'memory':>9} {'exponent':>9}"
    )
    met = True
    for name in COMMANDS:
        for number, of_counts in found.items():
            row = [of[name] for of in of_counts]
            memory_bytes, power = (
                max(one.memory_bytes for one in row),
                exponent(counts, [one.cpu_s for one in row]),
            )
            good = memory_bytes < MOST_BYTES and power <= MOST_POWER
            met &= good
            times = " ".join(f"{one.cpu_s:10.2f} s" for one in row)
            missed = "" if good else "  <-- missed"
            print(
                f"{name:8} {number:6} {times} {memory_bytes / MIB:5.0f} MiB {power:9.2f}{missed}", flush=True
            )
    return met


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", default="10,300,1000", help="three numbers of hosts")
    parser.add_argument("--trials", default="2,8,32", help="three numbers of trials")
    asked = parser.parse_args()
    hosts, trials = ([int(word) for word in words.split(",")] for words in (asked.hosts, asked.trials))
    sizes = [*((count, number) for number in trials[:2] for count in hosts), (hosts[0], trials[2])]
    found = {size: campaign(*size) for size in sizes}
    met = table(
        "hosts", "trials", hosts, {number: [found[count, number] for count in hosts] for number in trials[:2]}
    )
    print()
    met &= table("trials", "hosts", trials, {hosts[0]: [found[hosts[0], number] for number in trials]})
    sys.exit(not met)


if __name__ == "__main__":
    main()
