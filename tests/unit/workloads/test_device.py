"""A raw device as what is measured, and the load on it, on a client that answers from a script."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import campaign, drivers
from perjoule.drivers.protocols import (
    FileSystem,
    Hosts,
    LendsDevices,
    Mounted,
    OffersImages,
    Pool,
    Process,
    UnmappedImage,
    Workload,
)
from perjoule.model.errors import CampaignError, NotAble, TransientError, WorkloadError
from perjoule.model.units import MIB
from places import EXAMPLES
from scripted import ScriptedHost, ScriptedMount

DEVICE = Path("/dev/loop7")


class Started(Exception):
    """A fio would have been started."""


class Client(ScriptedHost, LendsDevices):
    def __init__(self, folder: Path, *, size_bytes: int = 64 * MIB) -> None:
        super().__init__()
        self.directory, self.size_bytes = folder, size_bytes
        self.kernel = {"dev": "7:7", "diskseq": "41", "queue/rotational": "0"}

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        self.lent = (name, size_bytes, device)
        return DEVICE

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "blockdev":
            return 0, str(self.size_bytes)
        if words[0] == "cat":
            path = Path(words[1])
            return (0, path.read_text()) if path.exists() else (1, "")
        return 0, ""

    def starts(self, words: Sequence[str], log: Path) -> Process:
        raise Started([*words])

    def put(self, content: str | bytes, path: Path, **_: Any) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(content))

    def read(self, path: Path) -> bytes:
        key = str(path.relative_to(f"/sys/block/{DEVICE.name}"))
        if key not in self.kernel:
            raise WorkloadError(f"can't read {path}")
        return f"{self.kernel[key]}\n".encode()


def filesystem(**options: Any) -> FileSystem:
    made = drivers.build("filesystems", "device", options)
    assert isinstance(made, FileSystem)
    return made


def load(**options: Any) -> Workload:
    made = drivers.build("workloads", "device", {"size": "16 MiB", "direct": True, **options})
    assert isinstance(made, Workload)
    return made


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def test_each_client_lends_a_device_whose_facts_are_the_kernels(client: Client) -> None:
    with filesystem(size="64 MiB").mount(Hosts((client,))) as mounted:
        assert client.lent == ("device", 64 * MIB, "")
        assert mounted.devices == {"client-1": DEVICE}
        facts = mounted.facts["client-1"]
        assert isinstance(facts, dict)
        assert (facts["device"], facts["path"], facts["rotational"]) == (
            "a sparse file as a loop device",
            str(DEVICE),
            "0",
        )
        assert "model" not in facts  # which a loop device has not
        assert mounted.locate(DEVICE) == ("client-1",)
        mounted.alive()


@pytest.mark.parametrize(
    ("key", "now"), [("dev", "7:8"), ("diskseq", "42"), ("dev", None), ("diskseq", None)]
)
def test_a_device_that_is_another_or_gone_is_not_alive(key: str, now: str | None, client: Client) -> None:
    with filesystem().mount(Hosts((client,))) as mounted:
        if now is None:
            del client.kernel[key]
        else:
            client.kernel[key] = now
        with pytest.raises(TransientError, match="is no longer the device that was lent"):
            mounted.alive()


def test_a_host_without_devices_says_so() -> None:
    with (
        pytest.raises(CampaignError, match="lends no block devices"),
        filesystem().mount(Hosts((ScriptedHost(),))),
    ):
        pass


def prepared(client: Client, folder: Path, workload: Workload) -> Mounted:
    with filesystem().mount(Hosts((client,))) as mounted:
        workload.prepare((client,), mounted, folder)
        return mounted


def test_nothing_is_removed_or_laid_out_before_a_write(client: Client, tmp_path: Path) -> None:
    prepared(client, tmp_path, load(operation="randwrite"))
    words = [argv[0] for argv in client.ran]
    assert "rm" not in words
    assert words.index("blockdev") < words.index("sync") < words.index("drop caches")


def test_before_the_first_read_all_of_the_size_is_written_to_the_device_once(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(Started) as started:
        prepared(client, tmp_path, load(operation="randread", transfer="32 KiB"))
    words = started.value.args[0]
    assert f"--filename={DEVICE}" in words
    assert "--rw=write" in words
    assert f"--size={16 * MIB}" in words
    client.put(str(16 * MIB), tmp_path / "device" / "laid-out-bytes")
    prepared(client, tmp_path, load(operation="randread", transfer="32 KiB"))
    with pytest.raises(Started):  # more than was laid out
        prepared(client, tmp_path, load(operation="read", size="32 MiB"))
    with pytest.raises(Started):  # checksums, over which other loads wrote
        prepared(client, tmp_path, load(operation="read", verify="crc32c"))


def test_a_device_smaller_than_the_load_is_reported_before_anything_is_written(
    client: Client, tmp_path: Path
) -> None:
    client.size_bytes = 8 * MIB
    with pytest.raises(
        WorkloadError, match="holds 8 MiB, less than the 16 MiB of this load; lower the workload's size"
    ):
        prepared(client, tmp_path, load(operation="write"))


@pytest.mark.parametrize("step", ["prepare", "run"])
def test_a_device_that_became_another_is_not_written_to(step: str, client: Client, tmp_path: Path) -> None:
    with filesystem().mount(Hosts((client,))) as mounted:
        client.kernel["diskseq"] = "42"
        client.ran.clear()
        with pytest.raises(TransientError, match="is no longer the device that was lent"):
            getattr(load(operation="write"), step)((client,), mounted, tmp_path)
        assert client.ran == []


@pytest.mark.parametrize(
    ("kinds", "which"),
    [(("device", "fio"), "workload fio needs folders"), (("local", "device"), "needs devices")],
)
def test_loads_for_files_and_devices_are_not_mixed(kinds: tuple[str, str], which: str) -> None:
    filesystem_words = 'kind = "device"' if kinds[0] == "device" else 'kind = "local"\ntype = "xfs"'
    text = (
        f'[testbed]\nkind = "virtual"\n[[filesystem]]\n{filesystem_words}\n[[workload]]\nkind = '
        f'"{kinds[1]}"\n'
    )
    with pytest.raises(CampaignError, match=which):
        campaign.parse(text)


def test_the_study_has_the_papers_96_experiments_10_times() -> None:
    study = campaign.read(EXAMPLES / "ssd-vs-hdd.toml")
    assert len(study.trials) == 960
    first = [trial for trial in study.trials if trial.repetition == 1]
    options = {
        (
            t.testbed.options["cluster"],
            t.workload.options["operation"],
            t.workload.options["transfer"],
            t.workload.options["direct"],
        )
        for t in first
    }
    assert len(first) == len(options) == 96
    assert sum(direct is False for *_, direct in options) == 8 * 4
    assert {operation for _, operation, _, direct in options if not direct} == {"write", "randwrite"}
    assert {(t.workload.options["size"], t.workload.options["duration"]) for t in first} == {
        ("20 GiB", "60 s")
    }
    assert (study.settle_s, study.quiet_s, len(study.groups)) == (20, 60, 8)
    # random order
    assert [t.workload.label for t in study.groups[0][:12]] != [
        t.workload.label for t in study.groups[0][12:24]
    ]
    labels = {t.filesystem.label for t in first}
    assert labels == {
        f"device on machine {m}-{d}" for m in ("pc", "mpsoc") for d in ("hdd1", "hdd2", "ssd1", "ssd2")
    }


class Images(ScriptedMount, OffersImages):
    """What a client reaches by Ceph's library."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.directories = {client.name: client.directory / "image"}

    def image(self, client: str) -> UnmappedImage:
        pool = Pool("lab", "client.me", Path("/etc/ceph/ceph.conf"), Path("/home/me/keyring"))
        return UnmappedImage(f"perjoule-{client}", pool, 32 * MIB)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, ["--rw=write", "--direct=1"]), ({"operation": "read"}, ["--rw=write", f"--bs={4 * MIB}"])],
    ids=["write", "layout"],
)
def test_an_image_that_no_kernel_has_mapped_is_loaded_by_its_own_library(
    options: dict[str, Any], expected: list[str], client: Client, tmp_path: Path
) -> None:
    mounted, wanted = Images(client), load(**options)
    with pytest.raises(Started) as started:
        wanted.prepare((client,), mounted, tmp_path)
        wanted.run((client,), mounted, tmp_path)
    words = started.value.args[0]
    fio = words.index("fio")
    assert {"CEPH_CONF=/etc/ceph/ceph.conf", "CEPH_KEYRING=/home/me/keyring"} <= {*words[:fio]}
    assert [word for word in words if word.startswith(("--ioengine", "--filename"))] == ["--ioengine=rbd"]
    # options of an engine must follow it
    engine = words.index("--ioengine=rbd")
    assert words[engine + 1 : engine + 4] == ["--clientname=me", "--pool=lab", "--rbdname=perjoule-client-1"]
    assert {*expected, f"--size={16 * MIB}"} <= {*words}


def test_an_image_smaller_than_the_load_is_reported_before_anything_is_written(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(WorkloadError, match="perjoule-client-1 holds 32 MiB, less than the 64 MiB"):
        load(operation="write", size="64 MiB").prepare((client,), Images(client), tmp_path)


def test_a_job_file_whose_files_would_be_on_the_clients_own_disk_is_refused() -> None:
    job = {"name": "my.fio", "text": "[write]\nrw=write\nsize=1m\n"}
    with pytest.raises(ValidationError, match="a job file loads files, which a device has not"):
        drivers.build("workloads", "device", {"job": job}, to_run=True)
    drivers.build("workloads", "fio", {"job": job}, to_run=True)


def test_a_file_system_without_devices_says_so(client: Client, tmp_path: Path) -> None:
    with pytest.raises(NotAble, match="has no block devices"):
        load().prepare((client,), ScriptedMount(client), tmp_path)
