"""What the axes of figures bound, and the fit of the Odroid HC4: from the published file alone, not by the
code of the audit.
"""

import tomllib
from dataclasses import replace
from importlib.resources import files
from math import sqrt

import pytest

from perjoule import catalogue
from perjoule.model.errors import CampaignError
from perjoule.papers import published
from perjoule.papers.audit import audit, axes
from typed import present

TEXT = files("perjoule.papers.published").joinpath("green-storage.toml").read_text("utf-8")
RAW = tomllib.loads(TEXT)


def printed(id: str) -> float:
    """A number of the published file by its id, in the unit that it is printed with."""
    row = next(row for table in RAW["table"] for row in table.get("number", []) if row["id"] == id)
    return float(row["printed"].lstrip("~").split()[0].replace(",", ""))


def written_mib_per_s(configuration: str) -> float:
    table = next(table for table in RAW["table"] if table["place"] == "Table II")
    return float(next(row[1] for row in table["rows"] if row[0] == configuration))


def last_tick(place: str) -> float:
    return float(
        next(figure for figure in RAW["figure"] if figure["place"] == place)["axis"]["last"].split()[0]
    )


def test_the_mean_of_the_load_lies_between_what_the_axes_and_the_gain_over_reference_2_leave():
    """365.57 MiB/s stay below 8 MiB/J, and are 174 % more per joule than 2322.47 MiB/s at no more than
    1057 W.
    """
    rate = written_mib_per_s("arm-moosefs")
    low_w = max(printed("arm_idle"), rate / last_tick("Figure 3"))
    reference = written_mib_per_s("reference-2") / printed("ref2_peak")
    by_gain_w = rate / (reference * (1 + printed("write_efficiency_gain") / 100))
    high_w = min(last_tick("Figure 5"), printed("arm_peak"), by_gain_w)
    assert (low_w, high_w) == (pytest.approx(45.696, abs=1e-3), pytest.approx(60.722, abs=1e-3))
    load = catalogue.cluster("odroid-hc4").load_w
    assert load is not None and load.low is not None and load.high is not None
    idle_w = printed("arm_idle")
    assert (idle_w + load.low, idle_w + load.high) == (
        pytest.approx(low_w, abs=0.01),
        pytest.approx(high_w, abs=0.01),
    )
    assert load.value == pytest.approx((low_w + high_w) / 2 - idle_w, abs=0.01)
    assert load.sigma == pytest.approx((high_w - low_w) / sqrt(12), abs=0.01)


def test_a_gain_over_a_cluster_whose_highest_power_is_not_printed_bounds_nothing():
    was = '"ref2_peak", quantity = "power", printed = "1,057 W", statistic = "maximum", state = "peak"'
    assert TEXT.count(was) == 1
    highs_w = []
    for text in (TEXT, TEXT.replace(was, was.replace('"peak"', '"busy"'))):
        paper = published.read(text, "mine")
        bounds = present(axes.load_bounds(paper.number("arm_peak"), paper))
        assert bounds.low_w == pytest.approx(45.696, abs=1e-3)
        highs_w.append(bounds.high_w)
    assert highs_w == [pytest.approx(60.722, abs=1e-3), last_tick("Figure 5")]


def test_an_axis_of_another_quantity_bounds_no_power():
    """Of Figure 4, in multiples of the best."""
    was = 'quantity = "ratio", first = "1", last = "1000"'
    assert TEXT.count(was) == 1
    paper = published.read(TEXT.replace(was, was.replace("1000", "10")), "mine")
    bounds = present(axes.load_bounds(paper.number("arm_peak"), paper))
    assert (bounds.low_w, bounds.high_w) == (pytest.approx(45.696, abs=1e-3), pytest.approx(60.722, abs=1e-3))


def test_the_highest_sample_is_without_the_switch():
    """Samples with the switch could not begin at 40 W, and samples without it could not end at 62 W were
    it in the peak.
    """
    first = float(
        next(figure for figure in RAW["figure"] if figure["place"] == "Figure 5")["axis"]["first"].split()[0]
    )
    step = 2
    assert first - step < printed("arm_idle") < printed("arm_idle_with_switch") - 5 * step
    assert (
        printed("arm_peak") - printed("switch_idle")
        < last_tick("Figure 5") - step
        < printed("arm_peak")
        < last_tick("Figure 5") + step
    )
    highest = catalogue.cluster("odroid-hc4").highest_w
    assert highest is not None
    assert (highest.value, highest.sigma) == (printed("arm_peak"), printed("switch_idle_sd"))


def test_the_audit_finds_the_fit_within_the_bounds():
    found = [v for v in audit(published.paper("green-storage")) if v.place == "catalogue"]
    assert [(v.kind, v.what.split(" (")[0], v.recomputed) for v in found] == [
        ("agrees", "least mean power of the load", "45.70 W"),
        ("agrees", "most mean power of the load", "60.72 W"),
        ("agrees", "highest sample", "63.68 W"),
        ("agrees", "power with storage nodes fully used, no less than the peak", "63.68 W"),
    ]
    assert [v.printed for v in found[:3]] == ["45.70 W", "60.72 W", "63.68 W"]
    assert "8 MiB/J (Figure 3)" in found[0].of


def test_storage_nodes_at_work_take_idle_power_and_what_their_boards_and_disks_add():
    """40.9 W, and four nodes of a board (3.61 W more) and two disks (0.85 to 2.66 W) behind supplies of
    80 %.
    """
    at_work_w = 40.9 + 4 * (3.61 + 2 * (2.66 - 0.85)) / 0.8
    *_, at_work = axes.fit(published.paper("green-storage"))
    assert at_work.what.startswith("power with storage nodes fully used")
    assert float(at_work.printed.removesuffix(" W")) == pytest.approx(at_work_w, abs=0.051)


@pytest.mark.parametrize(
    ("field", "wrong", "what"),
    [
        ("load_w", {"low": 0.0}, "least mean power of the load"),
        ("load_w", {"high": 7.32}, "most mean power of the load"),
        ("highest_w", {"value": 48.22}, "highest sample"),
        ("highest_w", {"value": 90.0}, "highest sample"),
    ],
)
def test_the_audit_finds_a_fit_that_the_paper_contradicts(
    field: str, wrong: dict[str, float], what: str, monkeypatch
):
    own = catalogue.cluster("odroid-hc4")
    off = replace(own, **{field: replace(getattr(own, field), **wrong)})
    monkeypatch.setattr(catalogue, "cluster", lambda _name: off)
    against = [v.what for v in axes.fit(published.paper("green-storage")) if v.kind == "disagrees"]
    assert [words.split(" (")[0] for words in against] == [what]


@pytest.mark.parametrize(
    ("was", "wrong", "rule"),
    [
        (
            'printed = "63.68 W"',
            'printed = "48.22 W"',
            "no axis continues beyond the highest sample (Figure 5)",
        ),
        ('printed = "63.68 W"', 'printed = "79.14 W"', "at most the last tick of Figure 5 and a step"),
        ('"365.57", "82.08"', '"3655.7", "82.08"', "throughput <= highest power x the last tick of Figure 3"),
        ('"0.066 TiB/W", cluster', '"0.66 TiB/W", cluster', "at most the last tick of Figure 6 and a step"),
        ('"95.22", "21.38"', '"9.522", "21.38"', "at least the first tick of Figure 2, less a step"),
    ],
)
def test_a_number_that_its_figure_cannot_show_disagrees(was: str, wrong: str, rule: str):
    assert TEXT.count(was) == 1
    found = audit(published.read(TEXT.replace(was, wrong), "mine"))
    assert rule in {v.rule for v in found if v.kind == "disagrees"}


@pytest.mark.parametrize(
    ("peak_w", "rules"),
    [
        (37.5, ["at least the first tick of Figure 5, less a step"]),
        (38.5, []),
        (63.5, []),
        (64.5, ["at most the last tick of Figure 5 and a step"]),
    ],
)
def test_a_figure_may_show_what_lies_within_a_step_of_its_ticks(peak_w: float, rules: list[str]):
    """From 40 to 62 W, by 2 W."""
    text = TEXT.replace('printed = "63.68 W"', f'printed = "{peak_w} W"')
    against = {v.rule for v in audit(published.read(text, "mine")) if v.kind == "disagrees"}
    assert [rule for rule in against if "tick of Figure 5" in rule and "step" in rule] == rules


def test_a_claim_without_numbers_says_which_axis_bounds_it():
    causes = {v.cause for v in audit(published.paper("green-storage")) if v.kind == "unchecked"}
    assert "the paper prints no numbers for it; bounds: Figure 5 shows 40 to 62 W" in causes
    assert "the paper prints no numbers for it; bounds: Figure 3 shows 0 to 8 MiB/J" in causes


@pytest.mark.parametrize(
    ("was", "wrong", "complaint"),
    [
        (
            'first = "40 W", last = "62 W"',
            'first = "62 W", last = "40 W"',
            'an axis from "62 W" to "40 W" does not rise',
        ),
        (
            'first = "40 W", last = "62 W"',
            'first = "40 W", last = "62 J"',
            "an axis of power has one unit at both ends",
        ),
        ('first = "10 MiB/s"', 'first = "0 MiB/s"', "does not rise"),
        (
            'scale = "log", status = "bound"',
            'scale = "log", status = "measured"',
            '"measured" is not a valid value; known: bound',
        ),
        ('axis = { quantity = "power"', 'axis = { quantity = "watts"', 'unknown quantity "watts"'),
    ],
)
def test_an_axis_with_a_fault_is_refused(was: str, wrong: str, complaint: str):
    assert was in TEXT
    with pytest.raises(CampaignError) as refusal:
        published.read(TEXT.replace(was, wrong), "mine")
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("ratio", "kind"), [(1.95e-3, "agrees"), (2.05e-3, "disagrees")])
def test_the_catalogue_states_bounds_to_three_digits(sign: int, ratio: float, kind: str, monkeypatch):
    """The least mean of the load, with idle power, may be off by two in a thousand."""
    own = catalogue.cluster("odroid-hc4")
    paper = published.paper("green-storage")
    bound_w = present(axes.load_bounds(paper.number("arm_peak"), paper)).low_w
    # of the larger of the two
    stated_w = bound_w / (1 - ratio) if sign > 0 else bound_w * (1 - ratio)
    load = replace(present(own.load_w), low=stated_w - catalogue.idle_w(own, switch=False))
    monkeypatch.setattr(catalogue, "cluster", lambda _name: replace(own, load_w=load))
    least, *_ = axes.fit(paper)
    assert (least.what.split(" (")[0], least.kind) == ("least mean power of the load", kind)
