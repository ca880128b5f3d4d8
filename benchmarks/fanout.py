"""What one controller costs many hosts over SSH: perjoule beside ClusterShell and asyncssh, in the same run.

usage: python benchmarks/fanout.py [--hosts 64] [--rounds 3] [--seconds 60] [--starts 5] [--meters 60]
[--tools PYTHON]
                                    [--default-key-exchange]

Each host is an sshd in a virtual host of its own on this machine; all of them end with this program, even if
it is killed. PYTHON is that of a venv with ClusterShell and asyncssh (`pip install ClusterShell asyncssh`);
what it lacks is named as missing. CPU seconds are those of the controller with its ssh processes; memory is
the sum of their proportional set sizes. The hosts share this machine, so wall times are theirs, too: compare
ratios. `--seconds 0` omits the campaign, `--starts 0` the common starts, `--meters 0` the sensors on the
hosts (four RAPL zones each: files that stand for the kernel's).
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from perjoule.drivers.protocols import Host
from perjoule.machine.removal import scratch
from perjoule.testbeds.local import LocalHost
from perjoule.testbeds.virtual import Virtual
from perjoule.workloads._start import Gates
from sshd import CURVE25519, Lab
from typed import as_written

STEPS = Path(__file__).with_name("_fanout.py")
COMMAND_CPU_S, CAMPAIGN_CPU_S, SPREAD_S = 0.1, 8.0, 0.005  # the goals
CONTROLLER_SHARE, HOST_SHARE = 0.05, 0.005  # of a core, for meters
ZONES = {
    "intel-rapl:0": "package-0",
    "intel-rapl:0:0": "core",
    "intel-rapl:0:1": "dram",
    "intel-rapl:1": "psys",
}
PEERS = {"clustershell": "ClusterShell", "asyncssh": "asyncssh"}


def step(
    controller: Host, python: str, name: str, options: dict[str, Any], timeout_s: float = 200.0
) -> dict[str, Any]:
    """Run a step in the controller's namespaces."""
    path = Path(options["work"]).parent / "options.json"
    path.write_text(json.dumps(options))
    return json.loads(
        controller.run([python, STEPS, name, path], timeout_s=timeout_s).stdout.splitlines()[-1]
    )


def has(python: str, module: str) -> bool:
    """Return whether an interpreter has a module."""
    return (
        subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
    )


def row(what: str, found: list[dict[str, Any]], name: str, goal: str = "") -> tuple[float, float]:
    """Print the medians of a block over all rounds; return wall and CPU seconds."""
    wall_s, cpu_s = (
        statistics.median(one for step in found for one in step[kind][name]) for kind in ("wall_s", "cpu_s")
    )
    memory = (
        f"{max(step['memory_mib'][name] for step in found):6.0f} MiB"
        if name in found[0]["memory_mib"]
        else " " * 10
    )
    print(f"{what:36} {wall_s:8.3f} s {cpu_s:8.3f} CPU s {memory}  {goal}", flush=True)
    return wall_s, cpu_s


def engines(controller: Host, options: dict[str, Any], rounds: int, tools: str) -> None:
    """Print logins and commands of perjoule and its peers, in turns."""
    peers = [peer for peer, module in PEERS.items() if tools and has(tools, module)]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ("perjoule", *peers)}
    for _ in range(rounds):
        for name, steps in found.items():
            steps.append(step(controller, sys.executable if name == "perjoule" else tools, name, options))
    for peer, module in PEERS.items():
        if peer in peers:
            login_s, _ = row(f"{module}: first login", found[peer], "first login")
            row(f"{module}: a command on all", found[peer], "command")
        else:
            print(f"{module}: missing (pip install {module} into a venv, and --tools its python)")
    ours_s = sum(
        row(f"perjoule: {name}", found["perjoule"], name)[0] for name in ("check", "hold", "release")
    )
    row("perjoule: a command on all", found["perjoule"], "command", f"goal: {COMMAND_CPU_S} CPU s")
    row("perjoule: counters of all", found["perjoule"], "counters")
    goal = ""
    if "clustershell" in peers:
        login_s = statistics.median(
            one for step in found["clustershell"] for one in step["wall_s"]["first login"]
        )
        goal = f"{ours_s / login_s:.2f} of ClusterShell's first login, goal: 1"
    print(f"perjoule: check, hold and release: {ours_s:.2f} s; {goal}", flush=True)


def meters(controller: Host, options: dict[str, Any], seconds: int) -> None:
    """Print what it costs to read four sensors five times a second on each host."""
    root = Path(options["work"]).parent / "powercap"
    for zone, name in ZONES.items():
        (root / zone).mkdir(parents=True)
        for file, text in {
            "name": name,
            "max_energy_range_uj": "262143328850",
            "energy_uj": "1234567890",
        }.items():
            (root / zone / file).write_text(f"{text}\n")
    more = {**options, "seconds": seconds, "root": str(root)}
    found = step(controller, sys.executable, "meters", more, timeout_s=seconds + 170)
    said, used_s = found["said"], {name: one[0] for name, one in found["cpu_s"].items()}
    share, hosts = sum(used_s.values()) / seconds, sorted(said["shares"])
    ends = f"{used_s['begin']:.2f} CPU s to begin, {used_s['end']:.2f} to end"
    kept = f"{said['samples']} samples of {said['channels']} channels"
    print(f"sensors of {len(hosts)} hosts for {seconds} s at 5 Hz: {kept};", end=" ")
    print(f"the controller used {share:.1%} of a core ({ends}), goal: {CONTROLLER_SHARE:.0%};", end=" ")
    print(
        f"each host {statistics.median(hosts):.2%} (median), {hosts[-1]:.2%} (most), goal: {HOST_SHARE:.1%}"
    )
    print(f"{len(said['doubts'])} doubts:", *said["doubts"][:2], sep="\n  ", flush=True)


def alone(count: int, rounds: int, folder: Path) -> list[float]:
    """Return the spreads, in s, of as many loads that wait in the same way on this machine itself: its
    scheduler's own.
    """
    host, spreads_s = LocalHost(folder), list[float]()
    for number in range(rounds):
        names = [f"load-{n}" for n in range(count)]
        gates = Gates(dict.fromkeys(names, host))
        running = {
            name: host.spawn(["sh", "-c", gates.command(name)], log=folder / f"{name}.{number}.log")
            for name in names
        }
        gates.open(running, {host.name: 0.0}, until_s=time.monotonic() + 60)
        for process in running.values():
            process.wait(timeout_s=60)
        began_s = [float(process.output()) for process in running.values()]
        spreads_s.append(max(began_s) - min(began_s))
    host.stop()
    return spreads_s


def main() -> None:
    parser = argparse.ArgumentParser(description="What one controller costs many hosts over SSH.")
    parser.add_argument("--hosts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60, help="of the campaign's load")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument(
        "--meters", type=int, default=60, help="seconds for which sensors on the hosts are read"
    )
    parser.add_argument("--tools", default="", help="python of a venv with ClusterShell and asyncssh")
    parser.add_argument(
        "--default-key-exchange", action="store_true", help="OpenSSH's; five times the CPU time"
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    testbed = as_written(Virtual, disk="directory", cpu_cap=False, disk_cap=False, servers=1)
    with scratch("pj-fanout-") as folder, testbed.hold(asked.hosts) as hosts:
        folder.chmod(0o755)
        lab = Lab(folder, key_exchange="" if asked.default_key_exchange else CURVE25519)
        options = lab.options(lab.serve(hosts.clients), 22)
        controller = hosts.management
        if asked.rounds:
            engines(controller, options, asked.rounds, asked.tools)
        if asked.seconds:
            more = {**options, "seconds": asked.seconds}
            found = step(controller, sys.executable, "campaign", more, timeout_s=asked.seconds + 170)
            row(
                f"perjoule: a fio campaign of {asked.seconds} s",
                [found],
                "campaign",
                f"goal: {CAMPAIGN_CPU_S:g} CPU s",
            )
            print("doubts:", "; ".join(found["said"]) or "none")
        if asked.meters:
            meters(controller, options, asked.meters)
        if asked.starts:
            late_s = step(controller, sys.executable, "start", {**options, "repetitions": asked.starts})[
                "said"
            ]
            spreads_s = [max(one) - min(one) for one in late_s]
            largest, usual, late = (
                1e3 * one for one in (max(spreads_s), statistics.median(spreads_s), max(map(max, late_s)))
            )
            print(
                f"a common start on {asked.hosts} hosts, {len(late_s)} times: at most {late:.1f} ms late "
                "by its own clock;",
                end=" ",
            )
            print(
                f"spread {usual:.1f} ms (median), {largest:.1f} ms (largest), goal: {SPREAD_S * 1e3:g} ms "
                "on 16"
            )
            bare_s = alone(asked.hosts, asked.starts, folder / "alone")
            print(
                "as many that wait on this machine itself, without ssh: spread "
                f"{statistics.median(bare_s) * 1e3:.1f} ms (median)"
            )


if __name__ == "__main__":
    main()
