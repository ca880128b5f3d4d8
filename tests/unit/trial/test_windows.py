"""Windows of points, the share of a load in which all clients run, and what of a trial is emulated."""

from dataclasses import replace

import pytest

from perjoule.trial.load import REFUSED_RATIO, Load, overlap_ratio
from perjoule.trial.reading import Reading, emulated_scales
from perjoule.trial.windows import windows
from readings import over


def test_a_write_ends_with_its_write_back_and_a_read_with_its_last_client(made):
    record = made.record(moved=made.results((10.0, 19.0), (11.0, 20.0)), write_back_s=2.5)
    span = windows(record, record.outcome.results)
    assert (span.began_s, span.burst_s, span.ended_s, span.durable) == (10.0, 20.0, 22.5, True)
    assert (span.length_s, span.doubts) == (12.5, ())
    read = windows(record, made.results((10.0, 19.0), direction="read"))
    assert (read.began_s, read.burst_s, read.ended_s, read.durable) == (10.0, 19.0, 19.0, False)


def test_of_a_part_of_a_longer_load_the_write_back_is_not_the_end(made):
    record = made.record(write_back_s=2.5)
    part = replace(record, outcome=replace(record.outcome, sustained=True))
    assert windows(part, record.outcome.results).ended_s == 20.0
    assert not windows(part, record.outcome.results).doubts


@pytest.mark.parametrize(("later_s", "durable"), [(0.49, True), (0.51, False)])
def test_the_write_back_is_of_what_ends_with_the_load_to_a_twentieth(made, later_s, durable):
    """Writes of 10 s, and another load that ends later."""
    written = made.results((10.0, 20.0))
    moved = (*written, *made.results((10.0, 20.0 + later_s), direction="read"))
    record = made.record(moved=moved, write_back_s=2.0)
    span = windows(record, written)
    assert span.durable is durable
    assert span.ended_s == (22.0 + later_s if durable else 20.0)
    assert [doubt.id for doubt in span.doubts] == ([] if durable else ["in_flight.durable_unknown"])


def test_without_a_write_back_nobody_knows_when_it_was_durable(made):
    record = made.record(write_back_s=None)
    span = windows(record, record.outcome.results)
    assert (span.ended_s, span.durable, len(span.doubts)) == (20.0, False, 1)


def test_the_share_in_which_all_load(made):
    assert overlap_ratio(made.results((10.0, 18.0), (13.0, 20.0))) == 0.5
    assert overlap_ratio(made.results((10.0, 14.0), (15.0, 20.0))) == 0.0


@pytest.mark.parametrize(("shared_s", "together"), [(1.01, True), (0.99, False)])
def test_clients_that_share_a_tenth_of_the_window_ran_together(made, shared_s, together):
    moved = made.results((10.0, 15.0 + shared_s), (15.0, 20.0))
    assert pytest.approx(0.1) == REFUSED_RATIO
    load = Load(Reading(made.record(moved=moved), ()), "write")
    assert load.together is together
    of_users = tuple(replace(r, user="a") for r in moved)
    assert Load(Reading(made.record(moved=of_users), ()), "write").together


def test_bytes_operations_and_emulated_time_of_a_load(made):
    load = Load(Reading(made.record(scale=0.25), ()), "write")
    assert (load.moved_bytes, load.operations_count) == (2000, 20)
    assert (load.window, load.duration_s, load.idle) == ((10.0, 20.0), 2.5, False)


def test_scales_are_those_of_hosts_that_were_emulated(made):
    records = [made.record(scale=scale) for scale in (0.5, 1.0, 0.2, 0.5)]
    assert emulated_scales(records) == (0.2, 0.5)
    assert emulated_scales([replace(records[0], hosts=())]) == ()
    assert over(records[1], [], 10.0, 20.0).dilation.emulated(3.0) == 3.0


@pytest.mark.parametrize(
    ("moved_bytes", "operations_count", "loads"), [(5, 0, True), (0, 5, True), (5, 5, True), (0, 0, False)]
)
def test_a_load_moved_bytes_or_did_something(made, moved_bytes, operations_count, loads):
    moved = tuple(
        replace(r, operations_count=operations_count)
        for r in made.results((10.0, 20.0), moved_bytes=moved_bytes)
    )
    assert bool(Reading(made.record(moved=moved), ()).loads) is loads
