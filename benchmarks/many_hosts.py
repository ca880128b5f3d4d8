"""The cost of many hosts: CPU time and memory of each command on simulated campaigns of 10 to 1000 hosts.

usage: .venv/bin/python benchmarks/many_hosts.py [--hosts 10,300,1000]

Half of the hosts are clients. What a command costs without hosts and trials (its start) is that of the smallest campaign. The
exponent says how the rest (at least 0.1 s) grows from the second to the third number of hosts: 1 is linear. Exit code
1 if a command needs 1 GiB, or grows faster than with the power 1.2.
"""

import argparse
import math
import sys
import tempfile
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
        text = CAMPAIGN.format(clients=hosts_count - servers_count - 2, servers=servers_count, repetitions=trials_count)
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="10,300,1000", help="three numbers of hosts")
    hosts = [int(word) for word in parser.parse_args().hosts.split(",")]
    found = {(count, trials): campaign(count, trials) for trials in (2, 8) for count in hosts}
    print(f"{'':8} {'trials':>6} " + " ".join(f"{f'{count} hosts':>12}" for count in hosts) + f" {'memory':>9} {'exponent':>9}")
    met = True
    for name in COMMANDS:
        for trials in (2, 8):
            row = [found[count, trials][name] for count in hosts]
            memory_bytes = max(one.memory_bytes for one in row)
            start, middle, last = (one.cpu_s for one in row)
            power = math.log(max(0.1, last - start) / max(0.1, middle - start)) / math.log(
                (hosts[2] - hosts[0]) / (hosts[1] - hosts[0])
            )
            good = memory_bytes < MOST_BYTES and power <= MOST_POWER
            met &= good
            times = " ".join(f"{one.cpu_s:10.2f} s" for one in row)
            print(
                f"{name:8} {trials:6} {times} {memory_bytes / MIB:5.0f} MiB {power:9.2f}{'' if good else '  <-- missed'}",
                flush=True,
            )
    sys.exit(not met)


if __name__ == "__main__":
    main()
