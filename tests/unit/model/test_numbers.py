"""A number with all that is known of it, and the views of numbers that files hold."""

from perjoule.model import Number, Numbers
from perjoule.model.doubts import METERS

GAIN = {"meter: gain": 0.01}
NUMBERS = Numbers(
    {
        "duration_s": Number(10.0),
        "energy_j": Number(600.0, 6.0, 5.0, GAIN, grade="wall", source="shelly power", unstated=True),
        "gross_energy_j": Number(why_not="the switch has no meter"),
        "clients_energy_j": Number(300.0, grade="BMC"),
        "cpu_client_s_per_byte": Number(why_not="counters were read too seldom"),
    },
    (METERS.doubt("a doubt"),),
)


def test_half_widths_have_keys_of_their_own_and_what_is_missing_has_none() -> None:
    assert NUMBERS.metrics == {
        "duration_s": 10.0,
        "energy_j": 600.0,
        "energy_uncertainty_j": 6.0,
        "energy_shared_uncertainty_j": 5.0,
        "clients_energy_j": 300.0,
    }


def test_what_is_known_of_an_energy_is_a_view_by_boundary() -> None:
    assert (NUMBERS.grade, NUMBERS.source, NUMBERS.unstated) == ("wall", "shelly power", ("net",))
    assert NUMBERS.grades == {"clients": "BMC"}
    assert [NUMBERS.grade_of(name) for name in ("net", "clients", "gross", "CPU package")] == [
        "wall",
        "BMC",
        "wall",
        "wall",
    ]
    assert NUMBERS.shared == {"energy_j": GAIN}


def test_a_reason_stands_under_the_boundary_or_the_metric_that_is_missing() -> None:
    seldom = "counters were read too seldom"
    assert NUMBERS.omitted == {"gross": "the switch has no meter", "cpu_client_s_per_byte": seldom}


def test_a_simulated_trial_has_no_other_grade() -> None:
    simulated = Numbers(NUMBERS.graded("simulated"))
    assert (simulated.grade, simulated.grades) == ("simulated", {"clients": "simulated"})
    assert simulated.by_key["duration_s"].grade == ""


def test_without_an_energy_there_is_no_grade() -> None:
    bare = Numbers.plain({"duration_s": 10.0})
    assert (bare.grade, bare.source, bare.grades, bare.unstated, bare.shared, bare.omitted) == (
        "",
        "",
        {},
        (),
        {},
        {},
    )
