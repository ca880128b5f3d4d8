import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from perjoule.model.units import (
    BYTES,
    HERTZ,
    OF_SUFFIX,
    RATES,
    SECONDS,
    WATTS,
    Bytes,
    Seconds,
    bytes_text,
    exact_text,
    quantity,
    seconds,
    seconds_text,
    spaced_percents,
)

byte_counts = st.integers(min_value=1, max_value=2**53)


@given(byte_counts)
def test_a_byte_count_printed_exactly_reads_back_exactly(count: int) -> None:
    assert TypeAdapter(Bytes).validate_python(exact_text(count, BYTES)) == count


@given(st.sampled_from(list(OF_SUFFIX.values())), st.floats(min_value=1e-9, max_value=1e18))
def test_any_number_printed_exactly_reads_back_exactly(units: dict[str, float], value: float) -> None:
    assert quantity(exact_text(value, units), units) == value


@given(byte_counts)
def test_a_printed_byte_count_reads_back_to_the_digits_shown(count: int) -> None:
    assert quantity(bytes_text(count), BYTES) == pytest.approx(count, rel=1e-3)


@given(st.floats(min_value=1e-6, max_value=1e8))
def test_a_printed_duration_reads_back_to_what_is_shown(duration_s: float) -> None:
    shown_s = seconds(seconds_text(duration_s))
    step_s = 30 if duration_s >= 3600 else 0.51
    assert shown_s == pytest.approx(
        duration_s, rel=0.051 if duration_s < 10 else 0, abs=step_s if duration_s >= 9.95 else 0
    )


@given(st.text(max_size=20))
def test_no_text_at_all_makes_reading_fail_otherwise_than_by_a_sentence(text: str) -> None:
    for adapter in (TypeAdapter(Bytes), TypeAdapter(Seconds)):
        try:
            assert math.isfinite(adapter.validate_python(text))
        except ValidationError as error:
            assert error.error_count() == 1


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("4 MiB", BYTES, 4 * 1024**2),
        ("4MB", BYTES, 4e6),
        ("1e3 B", BYTES, 1000),
        (" 20  Hz ", HERTZ, 20),
        ("-1.5 kW", WATTS, -1500),
        ("1 Gbit/s", RATES, 125e6),
        ("5 ms", SECONDS, 0.005),
    ],
)
def test_quantities_are_read_as_people_write_them(text: str, units: dict[str, float], value: float) -> None:
    assert quantity(text, units) == pytest.approx(value)


def test_a_duration_may_have_several_terms() -> None:
    assert seconds("2 h 5 min") == 7500
    assert seconds("3min20s") == 200


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4", 'write "4 MiB"'),
        (4, 'write "4 MiB"'),
        ("4 Mib", "MiB"),
        ("four MiB", "not a number"),
        ("1e999 B", "is too large"),
        (True, "not a number"),
        (None, "not a number"),
        ("", "not a number"),
        (10**400, "too large"),
        ("1" + "0" * 400, "too large"),
        ("1e999 MiB", "too large"),
    ],
)
def test_what_is_not_a_quantity_is_answered_with_what_to_write(text: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        quantity(text, BYTES)


@pytest.mark.parametrize("text", ["0 B", "-4 MiB", "2 EiB", "1e30 B", "0.2 B"])
def test_impossible_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Bytes).validate_python(text)


@pytest.mark.parametrize("read", [lambda text: quantity(text, BYTES), seconds])
@pytest.mark.parametrize("text", ["", f"{'1' * 10**6} a b", f"1.{'0' * 10**6}e", " " * 10**6])
def test_a_text_of_any_length_is_refused_in_a_short_sentence_before_the_time_limit(read, text: str) -> None:
    with pytest.raises(ValueError, match="is not a number with a unit") as refused:
        read(text)
    assert len(str(refused.value)) < 100


def test_an_editor_knows_what_a_size_looks_like() -> None:
    schema = TypeAdapter(Bytes).json_schema()
    assert schema["type"] == "string"
    assert schema["examples"] == ["4 MiB"]


def test_a_percentage_has_a_space_and_what_is_none_stays() -> None:
    assert spaced_percents("5% to 95 %, +0.3%; 100%") == "5 % to 95 %, +0.3 %; 100 %"
    for text in ("the 95 % interval", "%d", "results/a1%20b", "CPU, %", ""):
        assert spaced_percents(text) == text


def test_short_durations_are_printed_short() -> None:
    assert [seconds_text(s) for s in (0.0012, 0.8, 9.99, 42, 59.7, 200, 3599.7, 7500)] == [
        "1.2 ms",
        "0.8 s",
        "10 s",
        "42 s",
        "1 min 0 s",
        "3 min 20 s",
        "1 h 0 min",
        "2 h 5 min",
    ]


@pytest.mark.parametrize(
    ("written", "offered"),
    [
        (4194304, "4 MiB"),  # and not 4194304 MiB, which are 4 TiB
        ("4194304", "4 MiB"),
        (4096, "4 KiB"),
        (1_000_000, "1 MB"),
        (4_194_305, "4194305 B"),
        (64, "64 MiB"),
    ],
)
def test_a_number_of_bytes_without_a_unit_is_answered_with_what_it_counts(written, offered):
    with pytest.raises(ValueError, match=rf'has no unit \(write "{offered}"\)'):
        quantity(written, BYTES)
    with pytest.raises(ValueError, match=rf'has no unit \(write "{offered}/s"\)'):
        quantity(written, RATES)
