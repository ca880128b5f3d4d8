"""`perjoule measure` of a disk: loop devices of these tests' own, with a stable ID, and a simulated plug."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from commanded import command
from perjoule import simulators, store
from perjoule.drivers.protocols import Meter
from perjoule.execution.sizing import MeterSpeed
from perjoule.model.waveform import Waveform
from perjoule.monitoring import asking

# another test's losetup opens every loop device for a moment, which refuses it
pytestmark = [pytest.mark.live, pytest.mark.alone]

GIB = 1024**3
PERJOULE = [sys.executable, "-m", "perjoule"]
IDS = Path("/dev/disk/by-id")


def run(*argv: str | Path) -> str:
    return subprocess.run([*map(str, argv)], capture_output=True, text=True, check=True, timeout=30).stdout


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Path]]:
    """Two empty disks."""
    if os.geteuid() != 0:
        pytest.skip("only root makes loop devices")
    made: list[Path] = []
    try:
        for name in ("one", "other"):
            with (tmp_path / name).open("wb") as file:
                file.truncate(64 * GIB)  # sparse: what is written of it is freed with the test
            made.append(Path(run("losetup", "--find", "--show", tmp_path / name).strip()))
        yield made
    finally:
        for node in made:
            run("losetup", "--detach", node)
        for name in ("one", "other"):
            (tmp_path / name).unlink(missing_ok=True)


@pytest.fixture
def disk(nodes: list[Path]) -> Iterator[Path]:
    """The stable ID of the first."""
    made = [path for path in (IDS.parent, IDS) if not path.exists()]
    IDS.mkdir(parents=True, exist_ok=True)
    link = IDS / f"perjoule-measured-{os.getpid()}"
    link.symlink_to(nodes[0])
    try:
        yield link
    finally:
        link.unlink()
        for path in reversed(made):
            path.rmdir()


@pytest.fixture
def plug() -> Iterator[str]:
    steady = simulators.Behaviour(Waveform("constant", 24.0, 24.0, 10.0))
    with simulators.serve("shelly", steady) as table:
        yield f"shelly://{table['address']}"


def perjoule(*words: str | Path, code: int) -> str:
    argv = [*PERJOULE, *map(str, words)]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=280, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def is_empty(node: Path) -> bool:
    with node.open("rb") as file:
        return not any(file.read(1 << 20))


@pytest.mark.slow  # by day: a folder: tests/command/test_measure.py; campaigns of devices: test_overwrite.py
def test_a_disk_gives_mib_per_joule_once_it_is_named_and_a_campaign_that_asks_again(
    disk: Path, nodes: list[Path], plug: str, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    words = ("measure", disk, "--meter", plug, "--seconds", "10", "--operation", "write", "--into", into)
    refused = perjoule(*words, code=2)
    assert f"{disk} -> {nodes[0]}" in refused
    assert f"add --overwrite {disk.name}" in refused
    run("mkfs.ext4", "-q", "-L", "photos", nodes[0])
    assert f"erase it: wipefs --all {disk}" in perjoule(*words, "--overwrite", disk.name, code=2)
    assert run("wipefs", "--noheadings", "--output", "TYPE", nodes[0]).split() == ["ext4"]
    run("wipefs", "--all", "--quiet", nodes[0])
    printed = perjoule(*words, "--overwrite", disk.name, "--repetitions", "1", code=0)
    line = re.search(
        r"  write +(\S+).* MiB/s +(\S+).* W +(\S+).* MiB/J +\(wall; this machine with its disks\)", printed
    )
    assert line, printed
    rate, watts, per_j = map(float, line.groups())
    assert watts == pytest.approx(24, rel=0.02)
    assert per_j == pytest.approx(rate / watts, rel=0.02)
    assert not is_empty(nodes[0])
    assert is_empty(nodes[1])
    kept = into / "campaign.toml"
    assert tomllib.loads(kept.read_text())["overwrite"] == [str(disk)]
    (record,) = store.open_results(into).latest()
    assert record.status == "valid"
    assert "not been confirmed" in perjoule("run", kept, "--into", tmp_path / "again", code=2)


def test_an_id_that_leads_to_another_disk_after_it_was_shown_is_refused(
    disk: Path, nodes: list[Path], plug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = asking.asked

    def swapped(meters: Mapping[str, Meter], _idle_s: float) -> dict[str, MeterSpeed]:
        disk.unlink()
        disk.symlink_to(nodes[1])
        return read(meters, 1.0)

    monkeypatch.setattr(asking, "asked", swapped)
    done = command("measure", disk, "--meter", plug, "--overwrite", disk.name, "--into", tmp_path / "out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"{disk} -> {nodes[0]}\n")
    assert re.search(r"is another device \(.*\) than the one shown and confirmed", done.stderr)
    assert is_empty(nodes[0])
    assert is_empty(nodes[1])


@pytest.mark.parametrize("named", ["node", "link of one's own"])
def test_a_name_that_may_be_another_disk_tomorrow_gets_its_id(
    named: str, disk: Path, nodes: list[Path], plug: str, tmp_path: Path
) -> None:
    path = nodes[0]
    if named != "node":
        path = tmp_path / "mine"
        path.symlink_to(nodes[0])
    done = command("measure", path, "--meter", plug, "--overwrite", path.name)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"name it by its ID: {disk}" in done.stderr
    assert is_empty(nodes[0])
