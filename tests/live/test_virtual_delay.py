"""Disks with a latency of their own, on kernels that have dm-delay: `make kernels` boots one where this
machine's lacks it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Host, LendsDevices, Seeks, able
from perjoule.machine.mirrors import available
from perjoule.model import Disk, Json
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.testbeds import _delay
from perjoule.testbeds.virtual import Virtual, clean, runs
from typed import as_written

pytestmark = [
    pytest.mark.live,
    pytest.mark.alone,
    pytest.mark.skipif(
        not available(_delay.MODULE),
        reason="this kernel has no dm-delay (CONFIG_DM_DELAY); run `make kernels`",
    ),
]

LATENCY_S, REQUESTS_COUNT = 0.05, 20
OWNER = """
import sys
from perjoule.model import Disk
from perjoule.testbeds.virtual import Virtual
with Virtual(disk="xfs", servers=1, cpu_cap=False, disk_latency="10 ms", disk_size="400 MiB").hold(1) as hosts:
    able(hosts.clients[0], LendsDevices).device("bare", size_bytes=16 << 20)
    print("up", flush=True)
    sys.stdin.read()
"""


def bed(**options: Json) -> Virtual:
    return as_written(
        Virtual, **{"servers": 1, "cpu_cap": False, "disk": "xfs", "disk_size": "400 MiB", **options}
    )


def took_s(host: Host, path: Path, *, depth: int, way: str = "randread") -> float:
    """The time for 20 requests of 4 KiB without the page cache, by fio."""
    size = f"--size={4 * REQUESTS_COUNT}k"
    fio = [
        "fio",
        "--name=requests",
        f"--filename={path}",
        size,
        "--bs=4k",
        "--direct=1",
        "--norandommap=0",
        "--output-format=json",
    ]
    said = host.run([*fio, f"--rw={way}", "--ioengine=libaio", f"--iodepth={depth}"], timeout_s=120).stdout
    job = json.loads(said[said.index("{") :])["jobs"][0]
    return float(job["read" if "read" in way else "write"]["runtime"]) / 1e3


def mapped() -> str:
    return subprocess.run(["dmsetup", "ls"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("way", ["randread", "randwrite"])
def test_each_request_takes_the_latency_longer_and_those_in_flight_wait_side_by_side(way: str) -> None:
    with bed(disk_latency="25 ms", scale=0.5, disk_cap=False).hold(1) as hosts:
        assert hosts.facts["disk_delay_s"] == {host.name: LATENCY_S for host in hosts.all}
        server = hosts.by_role("storage")[0]
        path = server.directory / "file"
        server.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=1", "conv=fsync"], timeout_s=60)
        alone_s, together_s = (
            took_s(server, path, depth=1, way=way),
            took_s(server, path, depth=REQUESTS_COUNT, way=way),
        )
    assert alone_s >= REQUESTS_COUNT * LATENCY_S
    assert LATENCY_S <= together_s < alone_s / 3


def test_a_hard_disk_seeks_for_a_load_at_random_as_long_as_the_catalogue_says_and_an_ssd_does_not() -> None:
    scale = 0.1
    took: dict[str, list[float]] = {}
    for cluster in ("pc-hdd2", "pc-ssd2"):
        with bed(cluster=cluster, servers=None, disk="directory", disk_latency="catalogue", scale=scale).hold(
            1
        ) as hosts:
            (client,) = hosts.clients
            device = able(client, LendsDevices).device("bare", size_bytes=16 * MIB)
            took[cluster] = []
            for at_random in (False, True, False):
                able(client, Seeks).seek(at_random=at_random)
                took[cluster].append(took_s(client, device, depth=1))
            assert not client.doubts
    seeks_s = REQUESTS_COUNT * 0.016 / scale  # 12 ms and half a turn of 4.2 ms
    (before_s, seeking_s, after_s), (_, without_s, _) = took["pc-hdd2"], took["pc-ssd2"]
    assert seeking_s - without_s == pytest.approx(seeks_s, rel=0.1)
    assert max(before_s, after_s) < seeks_s / 4


def test_a_device_and_a_disk_beneath_wait_as_well_and_are_counted_and_capped() -> None:
    with bed(disk="directory", disk_latency="50 ms", scale=1).hold(1) as hosts:
        client, server = hosts.clients[0], hosts.by_role("storage")[0]
        able(client, LendsDevices).device("bare", size_bytes=16 * MIB)
        device = able(client, LendsDevices).device("bare", size_bytes=16 * MIB)  # replaces the earlier one
        assert took_s(client, device, depth=1) >= REQUESTS_COUNT * LATENCY_S
        place = server.disk("beneath", as_written(Disk, kind="ext4", size="100 MiB"))
        before = server.counters().disk_written_bytes
        server.run(
            ["dd", "if=/dev/zero", f"of={place}/file", "bs=1M", "count=16", "oflag=direct"], timeout_s=60
        )
        after = server.counters().disk_written_bytes
        assert before is not None
        assert after is not None
        assert 16 * MIB <= after - before < 20 * MIB
        with pytest.raises(CampaignError, match="mirrored disks can't be delayed"):
            server.disk("pair", as_written(Disk, kind="ext4", size="100 MiB", mirror="md"))
    assert "pj-" not in mapped()


def test_a_delayed_disk_is_no_faster_than_its_cap() -> None:
    with bed(disk_latency="1 ms", scale=0.1).hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        assert server.node is not None
        cap_bytes_per_s = sum(disk.write_bytes_per_s.value for disk in server.node.disks) * 0.1
        clock = (
            "import os, sys, time; f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY); b = time.monotonic()\n"
        )
        clock += "for _ in range(60): os.write(f, bytes(1 << 20))\nos.fsync(f); print(time.monotonic() - b)"
        written_s = float(
            server.run([sys.executable, "-c", clock, server.directory / "file"], timeout_s=120).stdout
        )
    assert 60 * MIB / written_s < 1.1 * cap_bytes_per_s


def test_a_kill_leaves_no_delayed_disk() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=-1, stdout=-1, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "up\n"
    run = next(run.id for run in runs.runs() if run.alive() and run.lock.read_text() == str(owner.pid))
    assert f"pj-{run}" in mapped()
    owner.kill()
    owner.communicate()
    assert len(clean(run=run)) == 1
    assert run not in mapped()
    assert run not in subprocess.run(["losetup", "--list"], capture_output=True, text=True, check=True).stdout
