"""Block devices on Ceph for real: images of a cluster on virtual hosts, mapped by this machine's kernel."""

import os
import signal
import subprocess
import sys
import time
from math import inf
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import campaign, drivers, store
from perjoule.drivers.protocols import Host, TellsHealth, able
from perjoule.execution import runner
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.filesystems.rbd import Rbd
from perjoule.machine.mounts import in_kernel
from perjoule.model import Json, healthy_since
from perjoule.model.errors import MachineError
from perjoule.model.units import MIB
from perjoule.results.verification import verify

pytestmark = pytest.mark.live

PERJOULE = Path(sys.executable).with_name("perjoule")
SIZE_BYTES = 4 * MIB
LAID_BYTES = 9 * MIB  # what the first trial and the first write have written
OPTIONS: dict[str, Json] = {"placement_groups": 8, "size": "64 MiB", "patience": "300 s"}
CAMPAIGN = """
name = "images"
repetitions = 1
settle = "50 ms"
quiet = 0
order = "written"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
servers = 2
[[filesystem]]
kind = "rbd"
placement_groups = 8
size = "64 MiB"
patience = "300 s"
[[workload]]
kind = "device"
operation = "write"
verify = "crc32c"
transfer = "1 MiB"
size = "8 MiB"
[[workload]]
kind = "device"
label = "long"
operation = "randwrite"
transfer = "4 KiB"
size = "64 MiB"
"""
needs_rbd = pytest.mark.skipif(
    not in_kernel("rbd"),
    reason="this kernel has no RADOS block devices (CONFIG_BLK_DEV_RBD); run `make kernels`",
)


def rbd() -> Rbd:
    made = drivers.build("filesystems", "rbd", OPTIONS)
    assert isinstance(made, Rbd)
    return made


def images() -> list[str]:
    """What this kernel has mapped, found by other means than perjoule uses."""
    argv = ["sh", "-c", "cat /sys/bus/rbd/devices/*/name"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20).stdout.split()


def verified(client: Host, device: Path, rw: str) -> None:
    """Have fio write its own checksums in every block of a device, or read and check them."""
    fio = [
        "fio",
        "--name=verify",
        f"--filename={device}",
        f"--size={SIZE_BYTES}",
        "--bs=1M",
        "--verify=crc32c",
        f"--rw={rw}",
    ]
    client.run(
        [*fio, *(["--do_verify=0", "--end_fsync=1"] if rw == "write" else ["--verify_fatal=1"])],
        timeout_s=300,
    )


def start(client: Host, device: Path) -> str:
    """Return the checksum of the first MiB."""
    return client.run(
        ["sh", "-c", 'head -c 1048576 "$1" | sha256sum', "start", device], timeout_s=120
    ).stdout.split()[0]


@needs_rbd
def test_a_client_reads_from_its_device_what_it_wrote_after_mapping_it_again_and_without_an_osds_host() -> (
    None
):
    others = images()
    with hosts_of(servers=2).hold(1) as hosts:
        client = hosts.clients[0]
        with rbd().mount(hosts) as mounted:
            assert len(images()) == len(others) + 1
            verified(client, mounted.devices[client.name], "write")
            written = start(client, mounted.devices[client.name])
            assert set(mounted.locate(mounted.devices[client.name])) == {"storage-1", "storage-2"}
            with mounted.unmounted():
                assert images() == others
            mounted.drop_caches()
            client.drop_caches()
            assert start(client, mounted.devices[client.name]) == written
            verified(client, mounted.devices[client.name], "read")
            mounted.alive()
            mounted.hit = True
            mounted.kill(hosts.by_role("storage")[0])
            client.drop_caches()
            verified(client, mounted.devices[client.name], "read")
            verified(client, mounted.devices[client.name], "write")
            mounted.alive()
            assert able(mounted, TellsHealth).absent()
        assert images() == others
        assert not any((host.directory / "ceph").exists() for host in hosts.all)


def written_bytes() -> int:
    """How much this kernel has written to the device to which fio of the long load writes; 0 before."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0] == "fio" and "--rw=randwrite" in words:
            device = next(word.rpartition("/")[2] for word in words if word.startswith("--filename=/dev/rbd"))
            return int(Path(f"/sys/block/{device}/stat").read_text().split()[6]) * 512
    return 0


@needs_rbd
def test_a_campaign_measures_a_device_and_leaves_none_even_if_it_is_killed_while_it_writes(
    work: Path, tmp_path: Path
) -> None:
    others = images()
    (tmp_path / "images.toml").write_text(CAMPAIGN)
    results = tmp_path / "results"
    with subprocess.Popen(
        [PERJOULE, "run", tmp_path / "images.toml", "--into", results], start_new_session=True
    ) as process:
        until_s = time.monotonic() + 900
        while written_bytes() <= LAID_BYTES:  # by now pages are dirty, and requests on their way
            assert process.poll() is None, "it ended before its last trial"
            assert time.monotonic() < until_s
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)
    mapped = [image for image in images() if image not in others]
    assert len(mapped) == 1, mapped
    assert mapped[0].replace("%2F", "/").startswith(f"{work}/pj-")
    [record] = store.open_results(results).records()
    assert record.status == "valid", record.reason
    assert isinstance(facts := record.facts["filesystem"], dict)
    assert isinstance(found := facts["images"], dict)
    assert isinstance(image := found["client-1"], dict)
    assert image["size_bytes"] == 64 * MIB
    said: list[str] = []
    until_s = time.monotonic() + 300  # requests on their way have 120 s
    while not said or "run `perjoule down` again" in said[-1]:
        assert time.monotonic() < until_s, said
        down = subprocess.run([PERJOULE, "down"], capture_output=True, text=True, timeout=200, check=False)
        said.append(f"{down.stdout}{down.stderr} {down.returncode}")
    assert said[-1].endswith(" 0"), said
    assert images() == others, said
    assert list(work.glob("pj-*")) == [], said


EVENTS = """
name = "hit"
repetitions = 1
settle = "500 ms"
quiet = "900 s"
[testbed]
kind = "virtual"
disk = "xfs"
disk_size = "4 GiB"
cpu_cap = false
servers = 3
[[filesystem]]
kind = "rbd"
placement_groups = 8
osd_size = "2 GiB"
size = "256 MiB"
patience = "600 s"
[[workload]]
kind = "device"
operation = "randwrite"
transfer = "64 KiB"
rate = "512 KiB/s"
size = "256 MiB"
duration = "240 s"
time_limit = "900 s"
""" + "".join(
    f'[[event]]\nat = "{at} s"\nkind = "{kind}"\nhost = "storage-2"\n{more}'
    for at, kind, more in (
        (20, "kill", ""),
        (60, "back", ""),
        (100, "cut", ""),
        (110, "slow", "factor = 4\n"),
        (140, "back", ""),
        (170, "fail", ""),
        (200, "back", ""),
    )
)


@needs_rbd
# four minutes of load, but where a CPU is emulated Ceph takes ten to come up and to heal
@pytest.mark.timeout(2400)
def test_a_device_is_written_whatever_happens_to_its_cluster_which_is_healthy_again(
    work: Path, tmp_path: Path
) -> None:
    others = images()
    wanted = campaign.parse(EVENTS)
    runner.run(wanted, store.create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = store.open_results(tmp_path / "results")
    (record,) = results.records()
    print(
        {one.words: round(one.answered_s - record.events[-1].ended_s, 1) for one in record.health},
        record.doubts,
    )
    assert record.reason == ""
    assert [one.event.kind for one in record.events] == [
        "kill",
        "back",
        "cut",
        "slow",
        "back",
        "fail",
        "back",
    ]
    # Where a CPU is emulated, a disk is still being taken out when the next should come: its cluster heals
    # after that.
    for bad, until_s in ((0, record.events[1].began_s), (2, record.events[4].began_s), (5, inf)):
        ended_s = record.events[bad].ended_s
        assert any(one.words for one in record.health if ended_s < one.asked_s < until_s), record.events[
            bad
        ].event.text
    assert record.events[5].lost_bytes
    assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(results).differences == ()
    assert images() == others
    assert list(work.glob("pj-*")) == []


def test_each_client_has_an_image_that_it_may_use_without_a_key_to_anything_else() -> None:
    with hosts_of(servers=2).hold(2) as hosts:
        with rbd().serve(hosts) as cluster:  # all that needs no kernel
            for client in hosts.clients:
                user = ["-c", client.directory / "ceph" / "ceph.conf", "-n", f"client.{client.name}"]
                image = f"rbd/{str(client.directory).replace('/', '%2F')}"
                said = client.run(["rbd", *user, "info", "--format", "json", image], timeout_s=60).stdout
                objects = answers.image(said).objects
                # in user space
                bench = ["--io-type", "write", "--io-size", "1M", "--io-total", "8M", "--io-threads", "1"]
                client.run(["rbd", *user, "bench", *bench, image], timeout_s=120)
                written = client.run(["rados", *user, "-p", "rbd", "ls"], timeout_s=60).stdout.split()
                assert {name for name in written if name.startswith(objects[0].rpartition(".")[0])} == {
                    *objects[:2]
                }
                assert isinstance(cluster, CephCluster)
                assert set(cluster.holders("rbd", objects)) == {"storage-1", "storage-2"}
                refused = client.run(
                    ["ceph", *user, "osd", "pool", "create", "mine"], timeout_s=60, check=False
                )
                assert "access denied" in refused.stderr
        assert not any((host.directory / "ceph").exists() for host in hosts.all)


@pytest.mark.skipif(in_kernel("rbd"), reason="this kernel has RADOS block devices")
def test_a_kernel_without_them_is_refused_before_anything_starts() -> None:
    with (
        hosts_of(servers=2).hold(1) as hosts,
        pytest.raises(MachineError, match="client-1: the kernel has no RADOS block devices; modprobe rbd"),
        rbd().mount(hosts),
    ):
        pass
