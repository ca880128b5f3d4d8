"""`perjoule measure --on`: two clients over SSH, which mount one folder of a server that only a plug knows."""

import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from commanded import command
from on_hosts import NEEDS_SSHFS, sshfs
from perjoule import simulators, store
from perjoule.model.waveform import Waveform
from sshd import NEEDS_SSHD, Lab, until

pytestmark = [pytest.mark.live, NEEDS_SSHD, NEEDS_SSHFS]

PERJOULE = [sys.executable, "-m", "perjoule"]
CLIENTS = {"n1": "127.0.0.3", "n2": "127.0.0.4"}


@pytest.fixture
def ssh_config(tmp_path: Path) -> Iterator[Path]:
    """An sshd at two addresses, as the user's own configuration of ssh knows it."""
    if os.geteuid() != 0:
        pytest.skip("only root starts this sshd")
    folder = tmp_path / "lab"
    folder.mkdir()
    lab = Lab(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", lab.server("both", port, *CLIENTS.values())],
        stderr=subprocess.DEVNULL,
    )
    try:
        scan = ["ssh-keyscan", "-p", str(port), "127.0.0.4"]
        until(lambda: subprocess.run(scan, capture_output=True, check=False).stdout != b"")
        hosts = "".join(f"Host {name}\n  HostName {address}\n" for name, address in CLIENTS.items())
        common = f"Host *\n  Port {port}\n  User root\n  IdentityFile {folder / 'key'}\n"
        config = folder / "config"
        config.write_text(f"{hosts}{common}{lab.config.read_text()}")
        yield config
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture
def nas(tmp_path: Path) -> Iterator[Path]:
    """A folder that is mounted from a server."""
    served, mounted = tmp_path / "served", tmp_path / "nas"
    served.mkdir()
    mounted.mkdir()
    subprocess.run(sshfs(served, mounted), check=True)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=True)


@pytest.fixture
def plugs() -> Iterator[dict[str, str]]:
    """Of the NAS, and of both clients together."""
    with ExitStack() as stack:
        urls: dict[str, str] = {}
        for whose, power_w in {"nas": 24.0, "clients": 80.0}.items():
            steady = simulators.Behaviour(Waveform("constant", power_w, power_w, 10.0))
            table = stack.enter_context(simulators.serve("shelly", steady))
            urls[whose] = f"{whose}=shelly://{table['address']}"
        yield urls


def measure(*words: str | Path, code: int) -> str:
    argv = [*PERJOULE, "measure", *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow  # by day: one machine: tests/command/test_measure.py; what is refused, below
@pytest.mark.alone
def test_clients_load_together_and_the_nas_alone_has_the_joules(
    nas: Path, plugs: dict[str, str], ssh_config: Path, tmp_path: Path
) -> None:
    into, by_ssh = tmp_path / "out", ("--on", "root@n[1-2]", "--ssh-config", ssh_config)
    words = (nas, *by_ssh, "--meter", plugs["nas"])
    printed = measure(
        *words, "--meter", plugs["clients"], "--seconds", "10", "--operation", "write",
        "--repetitions", "1", "--into", into, code=0,
    )  # fmt: skip
    line = re.search(
        r"  write +(\S+).* MiB/s +(\S+).* W +(\S+).* MiB/J +"
        r"\(wall; the NAS alone; 2 clients beside it: (\S+) J\)",
        printed,
    )
    assert line, printed
    rate, watts, per_j, beside_j = map(float, line.groups())
    assert watts == pytest.approx(24, rel=0.02)
    assert per_j == pytest.approx(rate / watts, rel=0.02)
    (record,) = store.open_results(into).latest()
    assert record.status == "valid"
    kept = tomllib.loads((into / "campaign.toml").read_text())
    assert kept["clients"] == [2]
    mib = int(kept["workload"][0]["size"].removesuffix(" MiB"))
    # both files together, at the rate of both, in the time for which 80 W are those joules
    assert beside_j == pytest.approx(80 * 2 * mib / rate, rel=0.1)
    assert list(nas.iterdir()) == []


def test_what_clients_cannot_share_or_a_meter_cannot_tell_is_refused(
    plugs: dict[str, str], ssh_config: Path, tmp_path: Path
) -> None:
    def refused(path: str | Path, meter: str, *, code: int) -> str:
        done = command("measure", path, "--on", "n[1-2]", "--ssh-config", ssh_config, "--meter", meter)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "of n1 itself" in refused(tmp_path, plugs["nas"], code=2)
    assert "n1: /no/such/nas is no folder" in refused("/no/such/nas", plugs["nas"], code=3)
    assert "rapl is a sensor of each host" in refused("/no/such/nas", "clients=rapl:", code=2)
