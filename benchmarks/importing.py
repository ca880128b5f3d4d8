"""What imports cost: many reports of fio, and one long log of power that many trials share.

    python benchmarks/importing.py [--reports 2000] [--hours 24] [--channels 10] [--rate 10] [--trials 20]
    [--only reports|power]

Each import is a process of its own, whose CPU time and largest memory are printed beside the goal, with the
size of its page and of its results folder.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPORT = Path(__file__).parents[1] / "tests" / "transcripts" / "imported" / "joined" / "client-1.json"
BEGAN_S = 1_795_272_000
METER = """[[meter]]
kind = "csv"
path = "{path}"
time = ["time"]
value = "P{number}"
clock = "unix"
unit = "W"
semantics = "window mean"
window = "{window_s} s"
grade = "wall"
label = "P{number}"
covers = ["server-{number}"]
"""


def reports(folder: Path, count: int) -> list[str]:
    """Write reports of as many clients, one after another."""
    document = json.loads(REPORT.read_text())
    for number in range(count):
        document["timestamp_ms"] = (BEGAN_S + 600 + 30 * number) * 1000
        (folder / f"client-{number:04}.json").write_text(json.dumps(document))
    return [str(folder)]


def power(folder: Path, hours: float, channels_count: int, rate_hz: float, trials_count: int) -> list[str]:
    """Write trials over these hours, and the log of as many channels that they share."""
    span_s = hours * 3600
    document = json.loads(REPORT.read_text())
    for number in range(trials_count):
        document["timestamp_ms"] = round((BEGAN_S + (number + 0.5) * span_s / trials_count) * 1000)
        (folder / f"run-{number:02}.json").write_text(json.dumps(document))
    words = [f"client-1={path}" for path in sorted(folder.glob("run-*.json"))]
    log, tables = folder / "power.csv", folder / "meters.toml"
    with log.open("w") as file:
        file.write("time," + ",".join(f"P{n}" for n in range(channels_count)) + "\n")
        for row in range(round(span_s * rate_hz)):
            values = ",".join(f"{100 + n + (row * 7 + n) % 50 / 10:.1f}" for n in range(channels_count))
            file.write(f"{BEGAN_S + row / rate_hz:.1f},{values}\n")
    tables.write_text(
        "".join(METER.format(path=log, number=n, window_s=1 / rate_hz) for n in range(channels_count))
    )
    roles = [word for n in range(channels_count) for word in ("--role", f"server-{n}=storage")]
    return [*words, "--power", str(tables), *roles]


def cost(words: list[str], into: Path) -> dict[str, float]:
    """Import, and return what it cost."""
    argv = [sys.executable, "-m", "perjoule", "import", str(into), *words]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the import failed ({status})")
    files = {
        (stat.st_dev, stat.st_ino): stat.st_size
        for path in into.rglob("*")
        if path.is_file() and (stat := path.stat())
    }
    return {
        "CPU s": usage.ru_utime + usage.ru_stime,
        "MiB of memory": usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2),
        "MB of page": (into / "report.html").stat().st_size / 1e6,
        "MB of results": sum(files.values()) / 1e6,
    }


def main() -> None:
    """Print what both imports cost."""
    parser = argparse.ArgumentParser(description="What imports cost.")
    parser.add_argument("--reports", type=int, default=2000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--channels", type=int, default=10)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--only", choices=["reports", "power"])
    asked = parser.parse_args()
    goals = {"reports": (15, 400, 10, None), "power": (20, 600, None, None)}
    for name in ("reports", "power"):
        if asked.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as room:
            made = Path(room) / "made"
            made.mkdir()
            words = (
                reports(made, asked.reports)
                if name == "reports"
                else power(made, asked.hours, asked.channels, asked.rate, asked.trials)
            )
            costs = cost(words, Path(room) / "results")
        for (what, value), goal in zip(costs.items(), goals[name], strict=True):
            print(f"{name:8} {what:14} {value:9.1f}{'' if goal is None else f'   goal {goal}'}")
    print(f"(this program: {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s)")


if __name__ == "__main__":
    main()
