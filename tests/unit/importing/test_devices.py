"""Network interfaces that pass on each other's bytes under names of hardware, which only what they moved
can tell.
"""

import json
from pathlib import Path

import pytest

from perjoule.importing.counters import counters
from perjoule.importing.devices import DISKS, NETWORKS, counting, require_few
from perjoule.importing.sources import sources
from perjoule.model.errors import WorkloadError

LOAD = [2e3, 9.1e7, 1.12e8, 1.09e8, 8.7e7, 1e3]


def shifted(ratio: float) -> list[float]:
    return [ratio * rate for rate in LOAD]


ALIKE = {
    "the same to the byte": LOAD,
    "headers of a tunnel apart": shifted(1.008),
    "idle moments apart, by broadcasts": [9e3, *shifted(0.995)[1:-1], 4e3],
}
APART = {
    "two per cent apart": shifted(1.02),
    "idle": [1e3] * 6,
    "another load": LOAD[::-1][:2] + LOAD[:4],
    "two busy moments alike": [2e3, 9.1e7, 1.12e8, 5e7, 6e7, 1e3],
}


@pytest.mark.parametrize("other", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("names", [("eth1", "eth2"), ("eth0", "enp1s0")])
def test_interfaces_that_always_move_the_same_are_named_in_a_doubt(
    other: list[float], names: tuple[str, str]
) -> None:
    """Azure's virtual function may be called eth2 beside its synthetic eth1, and both count each byte."""
    found = counting(NETWORKS, {names[0]: LOAD, names[1]: other, "lo": [0.0] * 6})
    assert found.names == set(names)
    assert all(f'"{name}"' in found.doubt for name in names)
    assert "count twice" in found.doubt
    assert "--iface" in found.doubt


@pytest.mark.parametrize("other", APART.values(), ids=APART)
def test_interfaces_with_bytes_of_their_own_are_not_doubted(other: list[float]) -> None:
    assert counting(NETWORKS, {"eth1": LOAD, "eth2": other}).doubt == ""


def test_a_function_whose_name_says_so_does_not_count_and_is_not_doubted() -> None:
    assert counting(NETWORKS, {"eth0": LOAD, "enP30832s1": LOAD}).names == {"eth0"}


def test_disks_of_a_mirror_write_the_same_and_are_two() -> None:
    found = counting(DISKS, {"sda": LOAD, "sdb": LOAD, "md0": LOAD})
    assert (found.names, found.doubt) == ({"sda", "sdb"}, "")


@pytest.mark.timeout(60)
def test_interfaces_that_are_too_many_to_compare_are_refused() -> None:
    with pytest.raises(ValueError, match="1000 network interfaces, too many to compare"):
        counting(NETWORKS, {f"eth{number}": [2e5] * 500 for number in range(1000)})


@pytest.mark.timeout(60)
def test_a_name_that_no_device_has_is_refused() -> None:
    """A form of names takes the square of the length of such a one in time."""
    with pytest.raises(ValueError, match="too long for one of the network interfaces"):
        require_few(NETWORKS, ["eth0", "." * 100_000 + "\n"], 1)


def test_more_devices_than_fit_into_the_memory_are_refused(tmp_path: Path) -> None:
    """As of a stranger who gives each interval an interface of its own."""
    stamp = {"date": "2026-11-29", "time": "13:00:00", "utc": 1, "interval": 1}
    statistics = [
        {"timestamp": stamp, "network": {"net-dev": [{"iface": f"x{number}", "rxkB": 0, "txkB": 0}]}}
        for number in range(8000)
    ]
    host = {"nodename": "n1", "number-of-cpus": 1, "statistics": statistics}
    (tmp_path / "sar.json").write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    ((source,), _) = sources([str(tmp_path / "sar.json")], "UTC")
    with pytest.raises(WorkloadError, match="it has 8000 network interfaces at 8000 times: split it"):
        counters(source)
