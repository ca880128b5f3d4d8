"""What `fanout.py` runs in the controller's namespaces, where all processes are the controller's.

usage: python _fanout.py perjoule|clustershell|asyncssh|campaign|start|meters LAB.json        prints JSON
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMANDS = 5
CAMPAIGN = """
name = "fanout"
repetitions = {repetitions}
settle = "1 s"
quiet = "0 s"
clients = [{clients}]
[testbed]
kind = "cluster"
{testbed}
[[filesystem]]
kind = "directory"
path = "{path}"
[[meter]]
kind = "system"
rate = "1 Hz"
[[workload]]
kind = "fio"
{fio}
"""
# At a rate that leaves this machine, which is all of the hosts, to the controller.
JOB = "[load]\nrw=write\nbs=64k\nsize=1m\nrate=256k\ntime_based=1\nruntime={seconds}\n"


def living() -> list[int]:
    """Return the processes of these namespaces but for the first, which holds them."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if path.name != "1"]


class Watch:
    """Wall and CPU seconds of blocks, by name, and the largest memory seen within them."""

    def __init__(self) -> None:
        self.wall_s: dict[str, list[float]] = {}
        self.cpu_s: dict[str, list[float]] = {}
        self.memory_mib: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Generator[None]:
        began_s, began_cpu_s = time.monotonic(), _cpu_s()
        yield
        self.wall_s.setdefault(name, []).append(time.monotonic() - began_s)
        self.cpu_s.setdefault(name, []).append(_cpu_s() - began_cpu_s)

    @contextmanager
    def memory(self, name: str, period_s: float = 0.02) -> Generator[None]:
        """Look at the memory meanwhile, in a thread whose CPU time is this process's."""
        ended, seen = threading.Event(), list[float]()

        def look() -> None:
            while not seen or not ended.wait(period_s):
                seen.append(sum(map(_memory_mib, living())))

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        self.memory_mib[name] = max(seen)


def _cpu_s() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    found_s = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in living():
        try:
            found_s += (
                int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9 if pid != os.getpid() else 0
            )
        except OSError:  # it has just ended
            continue
    return found_s


def _memory_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) / 1024
    except OSError:
        return 0.0


def perjoule(options: dict[str, Any], watch: Watch) -> None:
    """Check, hold, commands on all, release: what `perjoule run` does, in one process."""
    from perjoule.testbeds.cluster import SshCluster

    bed = SshCluster(**options)
    with watch("check"):
        bad = [check.detail for check in bed.checks() if not check.ok]
    assert not bad, bad
    there = bed.hold(len(options["hosts"]))
    with watch("hold"):
        hosts = there.__enter__()
    with ThreadPoolExecutor(32) as pool:

        def command() -> None:
            names = list(
                pool.map(lambda host: host.run(["hostname"], timeout_s=60).stdout.strip(), hosts.all)
            )
            assert names == [one["name"] for one in options["hosts"]], names

        command()
        for _ in range(COMMANDS):
            with watch("command"):
                command()
        with watch("counters"):
            assert all(host.counters().cpu_s for host in hosts.all)
        with watch.memory("command"):
            command()
    with watch("release"):
        there.__exit__(None, None, None)


def clustershell(options: dict[str, Any], watch: Watch) -> None:
    """A first login by `clush` with a fanout of all hosts, then commands over connections that OpenSSH
    keeps.
    """
    names = [one["address"] for one in options["hosts"]]
    with tempfile.TemporaryDirectory(prefix="clush-") as folder:
        kept = Path(folder, "kept.cfg")  # clush itself would replace the percent sign of ControlPath
        known = Path(os.environ["PERJOULE_SSH_CONFIG"]).read_text()
        kept.write_text(f"{known}ControlMaster auto\nControlPath {folder}/%h\nControlPersist 60\n")

        def clush(command: str, config: str | Path) -> None:
            login = f"-F {config} -i {options['identity']} -o IdentitiesOnly=yes"
            argv = [
                Path(sys.executable).with_name("clush"),
                "-S",
                "-f",
                str(len(names)),
                "-l",
                options["user"],
            ]
            subprocess.run(
                [*argv, "-o", login, "-w", ",".join(names), command], stdout=subprocess.DEVNULL, check=True
            )

        with watch("first login"):
            clush("true", os.environ["PERJOULE_SSH_CONFIG"])
        clush("true", kept)
        for _ in range(COMMANDS):
            with watch("command"):
                clush("hostname", kept)
        with watch.memory("command"):
            clush("hostname", kept)
        for name in names:
            subprocess.run(
                ["ssh", "-o", f"ControlPath={folder}/{name}", "-O", "exit", name],
                capture_output=True,
                check=False,
            )


def asyncssh(options: dict[str, Any], watch: Watch) -> None:
    """First logins by one event loop, and commands over them."""
    import asyncssh as library  # pyright: ignore[reportMissingImports]  # of the Python that --tools names

    known = Path(os.environ["PERJOULE_SSH_CONFIG"]).with_suffix("")

    async def main() -> None:
        keys = {
            "username": options["user"],
            "client_keys": [options["identity"]],
            "known_hosts": str(known),
            "config": [],
        }
        with watch("first login"):
            there = await asyncio.gather(
                *(library.connect(one["address"], **keys) for one in options["hosts"])
            )

        async def command() -> None:
            await asyncio.gather(*(one.run("hostname", check=True) for one in there))

        await command()
        for _ in range(COMMANDS):
            with watch("command"):
                await command()
        with watch.memory("command"):
            await command()
        for one in there:
            one.close()
        await asyncio.gather(*(one.wait_closed() for one in there))

    asyncio.run(main())


def _run(options: dict[str, Any], fio: str, repetitions: int, folder: Path) -> list[Any]:
    """Run a campaign on all hosts; return its records."""
    from perjoule.store import open_results

    hosts = [
        "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in host.items()) + "}"
        for host in options["hosts"]
    ]
    rest = [f"{key} = {json.dumps(value)}" for key, value in options.items() if key != "hosts"]
    words = {"clients": len(hosts), "repetitions": repetitions, "fio": fio, "path": options["work"]}
    (folder / "fanout.toml").write_text(
        CAMPAIGN.format(testbed="\n".join([*rest, f"hosts = [{', '.join(hosts)}]"]), **words)
    )
    argv = [
        Path(sys.executable).with_name("perjoule"),
        "run",
        folder / "fanout.toml",
        "--into",
        folder / "results",
    ]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, "XDG_STATE_HOME": str(folder)}
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return list(open_results(folder / "results").latest())


def campaign(options: dict[str, Any], watch: Watch) -> list[str]:
    """A fio campaign of one trial on all hosts; returns its doubts."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "load.fio").write_text(JOB.format(seconds=options.pop("seconds")))
        with watch.memory("campaign", period_s=1.0):
            before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            records = _run(options, 'job = "load.fio"', 1, Path(folder))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        watch.wall_s["campaign"] = [time.monotonic() - began_s]
        watch.cpu_s["campaign"] = [after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime]
        return [doubt for record in records for doubt in (record.reason, *record.doubts) if doubt]


def start(options: dict[str, Any], _watch: Watch) -> list[list[float]]:
    """Loads that start together; returns by how many seconds each was late by its own clock, for each
    trial.
    """
    with tempfile.TemporaryDirectory() as folder:
        _run(options, 'transfer = "64 KiB"\nsize = "64 KiB"', options.pop("repetitions"), Path(folder))
        found: list[list[float]] = []
        for path in Path(folder, "results").rglob("run.json"):
            ran = json.loads(path.read_text())
            began_s = {
                name: float((path.parent / f"{name}.prerun.txt").read_text()) for name in ran["clients"]
            }
            found.append(
                [began - ran["start_utc_s"] - ran["ahead_s"][name][0] for name, began in began_s.items()]
            )
        return found


def meters(options: dict[str, Any], watch: Watch) -> dict[str, Any]:
    """Sensors that are read on all hosts; returns each host's own share of a core, the number of samples,
    and the doubts.
    """
    from perjoule import drivers
    from perjoule.drivers.protocols import Host, Meter
    from perjoule.machine.each import each
    from perjoule.store.samples import ParquetSink, read_series
    from perjoule.testbeds.cluster import SshCluster

    seconds, root = options.pop("seconds"), options.pop("root")
    meter = drivers.build("meters", "rapl", {"on": ["clients"], "rate": "5 Hz", "root": root})
    assert isinstance(meter, Meter)

    def used_s(host: Host) -> float:
        said = host.run(["bash", "-c", "cat /proc/[0-9]*/schedstat"], timeout_s=60, check=False).stdout
        return sum(int(line.split()[0]) for line in said.splitlines()) / 1e9

    with tempfile.TemporaryDirectory() as folder, SshCluster(**options).hold(len(options["hosts"])) as hosts:
        path = Path(folder, "samples.parquet")
        sink = ParquetSink(path)
        recording = meter.record(hosts, sink)
        with watch("begin"):
            doubts = recording.__enter__()
        before_s, began_s = each(hosts.all, used_s), time.monotonic()
        with watch("sample"):
            time.sleep(seconds)
        after_s, took_s = each(hosts.all, used_s), time.monotonic() - began_s
        with watch("end"):
            recording.__exit__(None, None, None)
            sink.close()
        series = read_series(path)
    shares = [(after - before) / took_s for before, after in zip(before_s, after_s, strict=True)]
    return {
        "shares": shares,
        "samples": sum(len(one.t_s) for one in series),
        "channels": len(series),
        "doubts": doubts,
    }


def main() -> None:
    watch = Watch()
    said = globals()[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()), watch)
    print(
        json.dumps(
            {"wall_s": watch.wall_s, "cpu_s": watch.cpu_s, "memory_mib": watch.memory_mib, "said": said}
        )
    )


if __name__ == "__main__":
    main()
