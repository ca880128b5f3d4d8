"""A load of a trial: its amounts, its window, and whether its clients ran together."""

from dataclasses import replace

import pytest

from perjoule.model import Direction, Number, Numbers
from perjoule.trial.load import Load, overlap_ratio
from perjoule.trial.reading import Reading
from typed import present


def load(made, moved, direction: Direction = "write", **words):
    return Load(Reading(made.record(moved=moved, **words)), direction)


def test_amounts_are_those_of_all_clients_in_its_direction(made):
    reads = made.results((10.0, 30.0), direction="read", moved_bytes=7)
    writes = made.results((10.0, 20.0), (12.0, 22.0), moved_bytes=500)
    of_writes, of_reads = load(made, (*reads, *writes)), load(made, (*reads, *writes), "read")
    assert (of_writes.moved_bytes, of_writes.operations_count) == (1000, 20)
    assert (of_reads.moved_bytes, of_reads.operations_count) == (7, 10)
    assert (of_writes.window, of_reads.window) == ((10.0, 22.0), (10.0, 30.0))
    assert not of_writes.idle and not of_reads.idle
    assert load(made, made.results((10.0, 20.0), direction="idle"), "idle").idle


def test_a_duration_is_in_emulated_time(made):
    fifth = load(made, made.results((10.0, 20.0)), scale=0.2)
    assert (fifth.duration_s, fifth.emulated(30.0)) == pytest.approx((2.0, 6.0))


@pytest.mark.parametrize(
    ("second", "ratio"),
    [((10.0, 20.0), 1.0), ((12.0, 20.0), 0.8), ((5.0, 30.0), 0.4), ((20.0, 30.0), 0.0), ((25.0, 30.0), 0.0)],
)
def test_all_load_together_from_the_last_start_to_the_first_end(made, second, ratio):
    assert overlap_ratio(made.results((10.0, 20.0), second)) == pytest.approx(ratio)


@pytest.mark.parametrize(("began_s", "together"), [(18.0, True), (18.9, True), (19.1, False), (21.0, False)])
def test_a_rate_of_all_clients_takes_a_tenth_of_their_time_in_common(made, began_s, together):
    """Both have ended at 20 s."""
    apart = made.results((10.0, 20.0), (began_s, max(20.0, began_s + 1)))
    assert load(made, apart).together == together
    assert load(made, tuple(replace(result, user="a") for result in apart)).together


def test_what_the_workload_measured_is_there_by_its_names(made):
    plain = load(made, made.results((10.0, 20.0)))
    assert plain.workload_numbers == {}
    measured = replace(present(plain.record.outcome), measured={"epochs": 3.0})
    assert Load(Reading(replace(plain.record, outcome=measured)), "write").workload_numbers == {"epochs": 3.0}


def test_numbers_of_a_measure_are_computed_once(made):
    one, asked = load(made, made.results((10.0, 20.0))), []

    def measure(of):
        asked.append(of)
        return Numbers({"some_s": Number(1.0)})

    assert one.numbers(measure) is one.numbers(measure)
    assert asked == [one]
