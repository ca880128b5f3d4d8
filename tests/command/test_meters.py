"""`perjoule meters`, through the installed command."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from commanded import command
from places import EXAMPLES

PERJOULE = [sys.executable, "-m", "perjoule", "meters"]


def perjoule(*words: str, code: int = 0) -> str:
    done = command("meters", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def running(*words: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*PERJOULE, *words], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        yield process
        process.send_signal(signal.SIGTERM)  # in the background of a shell SIGINT is ignored, as under nohup
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def simulated(path: Path, *words: str) -> Generator[Path]:
    """A meter that is simulated while the block runs, and the file with the table that reads it."""
    with running("simulate", "shelly", *words) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        path.write_text("".join(lines))
        yield path


def test_a_simulated_meter_is_watched_tested_recorded_and_served(tmp_path: Path) -> None:
    with simulated(tmp_path / "plug.toml", "--waveform", "constant", "--high", "42") as plug:
        assert re.search(
            r"shelly power +total +42.00 +42.00 ",
            perjoule("watch", str(plug), "--for", "3 s", "--set", "rate=5 Hz"),
        )
        tested = perjoule("test", str(plug), "--for", "3 s", "--set", "rate=5 Hz", "--against", str(plug))
        assert "mean       42.00 W" in tested and "0.0 % failed" in tested
        assert re.search(r"against .*: (0\.9|1\.0)\d+ times its energy", tested)
        recorded = tmp_path / "plug.csv"
        assert re.search(
            r"plug.csv: \d+ samples", perjoule("record", str(plug), "--to", str(recorded), "--for", "2 s")
        )
        rows = list(csv.DictReader(recorded.read_text().splitlines()))
        assert rows and {float(row["value"]) for row in rows if row["quantity"] == "power"} == {42.0}
        assert "the file already exists" in perjoule(
            "record", str(plug), "--to", str(recorded), "--for", "1 s", code=2
        )
        with running("serve", str(plug)) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert re.search(r"perjoule_power_watts\{.*\} 42\.0", answer.read().decode())


def listening(pid: int) -> set[str]:
    """The addresses at which a process and its children listen, as the kernel writes them: hexadecimal,
    the last byte first.
    """
    links = [link for process in (pid, *children(pid)) for link in Path(f"/proc/{process}/fd").iterdir()]
    sockets = {
        str(link.readlink()).removeprefix("socket:[").rstrip("]") for link in links if link.is_symlink()
    }
    tables = [Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [line.split() for lines in tables for line in lines]
    return {row[1].partition(":")[0] for row in rows if row[9] in sockets and row[2].endswith(":0000")}


def where(*words: str) -> set[str]:
    """The addresses at which a command listens."""
    with running(*words) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return listening(process.pid)


@pytest.mark.parametrize("kind", ["shelly", "scpi", "snmp_pdu"])
def test_what_simulates_listens_on_this_machine_alone(kind: str) -> None:
    assert where("simulate", kind) == {"0100007F"}


def test_what_serves_listens_on_this_machine_alone_by_default(tmp_path: Path) -> None:
    with simulated(tmp_path / "plug.toml") as plug:
        assert where("serve", str(plug)) == {"0100007F"}
        assert where("serve", str(plug), "--address", "127.0.0.2") == {"0200007F"}


def test_what_a_meter_leaves_out_is_reported(tmp_path: Path) -> None:
    with simulated(tmp_path / "plug.toml", "--fault", "missing", "--share", "0.6", "--seed", "68") as plug:
        assert "reads failed" in perjoule("test", str(plug), "--for", "4 s", "--set", "rate=2 Hz")


def test_wrong_words_are_answered_with_the_valid_ones() -> None:
    assert 'did you mean "shelly"?' in perjoule("simulate", "shely", code=2)
    assert "unknown meter" in perjoule("watch", "shely", code=2)
    assert "has no way to show the fault" in perjoule("simulate", "rapl", "--fault", "late", code=2)
    assert "[[meter]] is missing" in perjoule("watch", str(EXAMPLES / "local.toml"), code=2)
    assert perjoule("list", "127.0.0.1:1")


def children(parent: int) -> list[int]:
    stats = [(int(path.parent.name), path.read_text()) for path in Path("/proc").glob("[0-9]*/stat")]
    return [pid for pid, stat in stats if int(stat.rpartition(")")[2].split()[1]) == parent]


def running_still(pid: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


@pytest.mark.parametrize("kind", ["snmp_pdu", "ipmi"])
def test_a_simulator_ends_with_the_command_that_is_killed(kind: str) -> None:
    process = subprocess.Popen([*PERJOULE, "simulate", kind], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout as said:
        assert said.readline()
        (server,) = children(process.pid)
        process.kill()
    until_s = time.monotonic() + 20
    while running_still(server) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert not running_still(server)
