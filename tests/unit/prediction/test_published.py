"""Clusters of papers, predicted by hand."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import log

import pytest

from perjoule.papers import published as papers
from perjoule.prediction import names
from perjoule.prediction.published import UNPREDICTED, Published, compared
from perjoule.prediction.scores import published_score
from perjoule.results.published import published_remarks, published_table

pytestmark = pytest.mark.heavy

GIB = 1024**3


@cache
def _found() -> tuple[Published, ...]:
    return compared()


def _of(paper: str, direction: str) -> list[Published]:
    return [one for one in _found() if one.paper == paper and one.direction == direction]


def test_a_code_is_predicted_from_copies_on_the_same_servers() -> None:
    (read,), (write,) = _of("ceph-1tib", "read"), _of("ceph-1tib", "write")
    assert (read.value_bytes_per_s, read.printed_bytes_per_s) == (
        pytest.approx(1025 * GIB / (1 + 5 / 6)),  # 5 of 6 parts come from other servers
        547 * GIB,
    )
    # 7 of 8 parts go to other servers
    assert write.value_bytes_per_s == pytest.approx(270 * GIB * 3 / (1 + 7 / 6))
    assert write.printed_bytes_per_s == 387 * GIB
    assert (read.error, write.error) == (
        pytest.approx(log(1.022), abs=1e-3),
        pytest.approx(log(0.966), abs=1e-3),
    )
    assert read.held is None


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_the_cubieboards_reads_and_writes_follow_the_law(count: int) -> None:
    """12 boards of 94.1 Mb/s, 16 transfers of each client in flight: C m / (m + 11); of two copies a board
    receives two bytes.
    """
    by_hand = 12 * 94.1e6 / 8 * 16 * count / (16 * count + 11)
    read = next(one for one in _of("cubieboard", "read") if one.clients == str(count))
    write = next(one for one in _of("cubieboard", "write") if one.clients == str(count))
    assert read.value_bytes_per_s == pytest.approx(by_hand, rel=1e-3)
    assert abs(by_hand / read.printed_bytes_per_s - 1) < 0.05
    assert write.value_bytes_per_s is None
    assert write.range_bytes_per_s == (pytest.approx(by_hand / 2, rel=1e-3), pytest.approx(by_hand, rel=1e-3))
    assert write.held


def test_every_maximum_of_green_storage_is_predicted() -> None:
    printed = {
        one.id: one.value for one in papers.paper("green-storage").numbers if one.id.startswith("max_")
    }
    found = [one for one in _found() if one.paper == "green-storage"]
    assert len(found) == len(printed) == 12
    assert {one.printed_bytes_per_s for one in found} == set(printed.values())
    assert {one.filesystem for one in found} == {"cephfs", "glusterfs", "moosefs", "orangefs"} < set(names())
    boards = {one.filesystem: one.redundancy for one in found if one.cluster == "odroid-hc4"}
    assert boards["orangefs"] == "1 copy, mirrored disks"  # by ZFS, as the paper says


def test_a_ceph_cluster_of_nvme_servers_stays_below_its_networks() -> None:
    """Reference 2 has three copies on four servers of 11.64 GiB/s, and four clients: nothing writes more
    than 4 x 11.64 / 3.
    """
    write, read = (
        next(o for o in _of("green-storage", way) if o.cluster == "reference-2") for way in ("write", "read")
    )
    assert write.redundancy == "3 copies"
    assert (write.value_bytes_per_s or 0) < 4 * 11.64 * GIB / 3
    assert (read.value_bytes_per_s or 0) < 4 * 11.64 * GIB
    assert write.printed_bytes_per_s == pytest.approx(2322.47 * 1024**2)
    assert (write.emulated_held, read.emulated_held) == (False, False)  # CPUs that the paper does not name
    assert (write.held, read.held) == (False, True)


def test_the_score_is_of_what_profiles_said() -> None:
    """Errors of 10 %, 20 % and 50 %; one of three bands holds; a range counts for the bands alone."""
    one = replace(_found()[0], basis="profile", printed_bytes_per_s=100.0, range_bytes_per_s=(105.0, 150.0))
    three = [
        replace(one, value_bytes_per_s=110.0, range_bytes_per_s=(99.0, 120.0)),
        replace(one, value_bytes_per_s=120.0),
        replace(one, value_bytes_per_s=150.0),
    ]
    law = replace(one, basis="law", value_bytes_per_s=900.0)
    score = published_score([*three, law])
    assert (score.level, score.count, score.median_ratio, score.held_ratio) == (
        "published",
        3,
        pytest.approx(0.2),
        1 / 3,
    )
    assert published_score([*three, replace(one, value_bytes_per_s=None)]).held_ratio == 1 / 4


def test_the_table_has_no_value_where_the_paper_leaves_a_range() -> None:
    rows: Mapping[tuple[str, ...], tuple[str, ...]] = {
        row[:7]: row[7:] for row in published_table(_found()).rows
    }
    value, low_high, _, error, held = rows[
        "cubieboard", "cubieboard2", "rados", "1 or 2 copies", "write", "1", "law"
    ]
    assert (value, error, held) == ("–", "–", "yes")
    assert " to " in low_high
    said = list(published_remarks(_found(), UNPREDICTED))
    assert any(line.startswith("not predicted: ssd-vs-hdd, ") for line in said)
    assert any(line.startswith("not scored: another host") for line in said)
