"""The pieces that tables share: headings with units, and what stands for a missing value."""

import pytest

from perjoule.model import Interval
from perjoule.results.table import heading, value_text


@pytest.mark.parametrize(
    ("key", "less", "text"),
    [
        ("longest_gap_storage_s", "storage ", "longest gap, s"),  # not the "s" of a word
        ("latency_p99_s", "", "p99, ms"),
        ("idle_switches_storage_hz", "storage ", "context switches, 1/s"),
        ("event_healing_s", "", "s until healthy"),
        ("event_errors_count", "", "errors"),
        ("rebuild_added_per_byte_j", "rebuild ", "kJ/TiB added"),
        ("rebuild_disk_read_servers_bytes", "servers rebuild ", "disk read, MiB"),
    ],
)
def test_a_heading_has_the_unit_once(key: str, less: str, text: str) -> None:
    assert heading(key, less) == text


def test_a_value_is_in_the_unit_of_its_metric_and_a_missing_one_a_dash() -> None:
    assert value_text(Interval(4 * 2**20, 3.5 * 2**20, 4.5 * 2**20, (1.0, 2.0)), "tail_disk_read_bytes") == "4.00 ± 0.50"
    assert value_text(None, "tail_disk_read_bytes") == "–"
