import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.machine.untrusted import from_json
from perjoule.model import Cell, Interval, Pattern, Traits
from perjoule.model.doubts import CACHE
from perjoule.store.records import record_from, record_text, to_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def test_a_record_comes_back_as_it_was(made):
    for record in (made.record(scale=0.2), made.record(status="failed")):
        assert record_from(record_text(record)) == record


def test_a_record_whose_outcome_has_no_results_is_damaged(made):
    """A number of nothing would be computed of it."""
    fields = json.loads(record_text(made.record()))
    fields["outcome"]["results"] = []
    with pytest.raises(ValueError, match=r"^its outcome has no results$"):
        record_from(json.dumps(fields))


@pytest.mark.heavy
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_any_facts_come_back_as_they_were(facts):
    again = from_json_text(facts)
    assert again == facts
    assert repr(again) == repr(facts)  # 1 is not 1.0


def from_json_text(facts):
    from perjoule.model import Record

    hint = Record.__dataclass_fields__["facts"].type
    return from_json(hint, json.loads(json.dumps(to_json(facts), allow_nan=False)))


def test_what_is_no_number_comes_back_as_no_number(made):
    record = replace(made.record(), environment={"x": float("nan"), "y": [float("-inf")]})
    again = record_from(record_text(record)).environment
    assert str(again) == "{'x': nan, 'y': [-inf]}"


def test_the_text_is_json_that_every_reader_takes(made):
    constants = []  # NaN and Infinity, which are not JSON
    json.loads(record_text(made.record()), parse_constant=constants.append)
    assert constants == []


def test_cells_come_back_with_infinite_intervals():
    cell = Cell(
        "moosefs",
        "write",
        "write",
        2,
        {"energy_j": Interval(1.0, float("-inf"), float("inf"), (1.0,))},
        1,
        (CACHE.doubt("doubt"),),
    )
    assert from_json(Cell, json.loads(json.dumps(to_json(cell), allow_nan=False))) == cell


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 4}, "format version 4"),
        ({"colour": "red"}, 'no field "colour"'),
        ({"status": "great"}, "Record.status"),
        ({"scale": "fast"}, "Record.scale: expected a valid number"),
        ({"hosts": [{"name": "a"}]}, "missing"),
        ({"phases": None}, "Record.phases"),
    ],
)
def test_a_damaged_record_is_refused_with_the_place(made, change, words):
    data = json.loads(record_text(made.record())) | change
    with pytest.raises(ValueError, match=words):
        record_from(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 1}'])
def test_what_is_not_a_record_is_refused(text):
    with pytest.raises(ValueError):
        record_from(text)


def test_a_field_that_an_older_file_lacks_takes_its_default(made):
    data = json.loads(record_text(made.record()))
    del data["doubts"]
    assert record_from(json.dumps(data)).doubts == ()


def test_a_record_without_traits_takes_those_of_its_drivers_of_today():
    golden = (Path(__file__).parent / "record-without-traits.json").read_text("utf-8")
    old = record_from(golden)
    assert old.traits == Traits("emulated", ("read",), Pattern(64 * 1024, "random", direct=True), "xfs", 4096)
    assert (old.status, old.redundancy and old.redundancy.text) == ("valid", "4+1")
    for gone in ("glusterfs", "randread"):
        golden = golden.replace(gone, "gone")
    assert record_from(golden).traits == Traits("emulated")


def test_a_record_keeps_the_traits_that_it_was_measured_with(made):
    kept = replace(made.record(), traits=Traits("simulated", ("mixed",), Pattern(4096)))
    assert record_from(record_text(kept)) == kept
