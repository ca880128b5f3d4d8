"""Network interfaces that pass on each other's bytes under names of hardware, which only what they moved
can tell.
"""

import pytest

from perjoule.importing.devices import DISKS, NETWORKS, counting

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
