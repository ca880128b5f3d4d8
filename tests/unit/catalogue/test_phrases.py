"""Clusters in a phrase."""

import pytest

from perjoule import catalogue
from perjoule.catalogue.phrases import EXAMPLE
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB


def test_a_phrase_has_hosts_drives_and_network_of_the_catalogue() -> None:
    found = catalogue.cluster_of(EXAMPLE)
    counts = {node.role: (node.count, [disk.name for disk in node.disks]) for node in found.nodes}
    two = ["exos-5e8", "exos-5e8"]
    assert counts == {"storage": (4, two), "metadata": (1, two), "management": (1, []), "client": (2, [])}
    storage = found.nodes[0].board
    assert storage.nic_bytes_per_s.value == 270 * MIB
    # 2.8 W at the wall behind a supply of 85 %, and the adapter's 1.2 W
    assert storage.idle_w.value == pytest.approx(2.8 * 0.85 + 1.2)
    assert found.switch_w.value == 15


def test_drives_and_network_are_the_boards_own_by_default() -> None:
    found = catalogue.cluster_of("3x raspberry-pi-5")
    assert (found.nodes[0].count, [disk.name for disk in found.nodes[0].disks]) == (3, ["m2-4tb"])
    assert found.nodes[0].board.nic_bytes_per_s.value == pytest.approx(111.34 * MIB)
    assert catalogue.cluster_of("rock-5b + m2-4tb").nodes[0].count == 4


def test_drives_of_two_kinds_may_be_in_one_host() -> None:
    found = catalogue.cluster_of("2x raspberry-pi-5 + 1x m2-4tb + 2 x exos-5e8")
    assert sorted(disk.name for disk in found.nodes[0].disks) == ["exos-5e8", "exos-5e8", "m2-4tb"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4x raspberry-pi-6", 'no board is called "raspberry-pi-6"; did you mean "raspberry-pi-5"'),
        ("4x rock-5b + 1x exos-9", 'no drive is called "exos-9"'),
        ("4x raspberry-pi-5 + 9x exos-5e8", "4 slots for exos-5e8, and 9 drives"),
        ("4x raspberry-pi-5, 10g", 'raspberry-pi-5 has no network "10g"; choose 2.5g-usb or 1g'),
        ("9x raspberry-pi-5, 2.5g", 'no switch of network "2.5g-usb" has 13 ports'),
        ("0x raspberry-pi-5", "too few or too many"),
        ("4x rock-5b + 0x m2-4tb", "too few or too many"),
        ("4x rock-5b, 2.5g, 1g", "two networks"),
        ("4x rock-5b + , 1g", "describes no cluster"),
        ("+", "describes no cluster"),
        ("4x rock 5b", "describes no cluster"),
    ],
)
def test_what_is_wrong_with_a_phrase_is_said_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(CampaignError) as refused:
        catalogue.cluster_of(text)
    assert message in str(refused.value) and str(refused.value).count("\n") == 0


@pytest.mark.parametrize("name", ["odroid-hc4", "my-boards.toml", "reference-1", "4xboard"])
def test_names_are_no_phrases(name: str) -> None:
    assert not catalogue.is_phrase(name)
