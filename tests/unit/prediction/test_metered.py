"""Published watts against the power model, by hand from the figures of their files."""

import tomllib
from statistics import median
from typing import Any

import numpy as np
import pytest

from perjoule.model.errors import CampaignError
from perjoule.papers.published.metered import read, sources
from perjoule.prediction import metered
from places import SOURCES

FOLDER = SOURCES / "papers/published/watts"
R830 = "Dell PowerEdge R830"


def series(source: str, load: str) -> dict[str, Any]:
    text = (FOLDER / f"{source}.toml").read_text()
    return next(one for one in tomllib.loads(text)["series"] if one["load"] == load)


def servers() -> dict[str, list[float]]:
    """Watts at idle and each tenth of SPECpower's load, by machine."""
    written = tomllib.loads((FOLDER / "specpower.toml").read_text())["series"]
    return {one["machine"]: [*one["idle_watts"], *one["watts"]] for one in written}


@pytest.fixture(scope="module")
def points():
    return metered.points()


@pytest.fixture(scope="module")
def scores(points):
    return {one.kind: one for one in metered.kind_scores(points)}


def of(points, machine: str, kind: str) -> dict[float, metered.MeteredPoint]:
    return {one.measured_w: one for one in points if (one.machine, one.kind) == (machine, kind)}


def test_spec_is_judged_by_idle_and_the_loads_of_30_and_70_percent(points) -> None:
    """253 W at 30 % and 377 W at 70 %: 160 W at none, 73.6 W above idle, and 3.1 W a percent."""
    cpu, first = of(points, R830, "CPU"), of(points, R830, "first load")
    assert {w: round(one.predicted_w, 6) for w, one in cpu.items()} == {
        215: 222, 287: 284, 315: 315, 340: 346, 421: 408, 483: 439, 562: 470,
    }  # fmt: skip
    assert first[181].predicted_w == pytest.approx(160 + 31)
    assert first[181].line_w == pytest.approx(86.4 + (377 - 86.4) / 7)


def test_nothing_is_judged_by_what_calibrated_it(points) -> None:
    for source, kind, calibrating in (
        (R830, "CPU", {253, 377}),
        ("odroid-xu4", "CPU", {4.917, 6.562}),
        ("odroid-xu4", "supplies", {4.962, 8.966}),
    ):
        assert not calibrating & of(points, source, kind).keys()
    assert len([one for one in points if one.kind == "reads"]) == 4096 - 2
    assert len([one for one in points if one.kind == "sustained writes"]) == 899 - 10
    assert len([one for one in points if one.kind == "fresh writes"]) == 240 - 10


def test_reads_follow_the_line_through_a_third_and_two_thirds_of_the_highest_rate(scores) -> None:
    one = series("nvme-powersensor3", "reads")
    rates, watts = np.array(one["mib_per_s"]), np.array(one["watts"])
    low, high = (int(np.argmin(abs(rates - rates.max() * share))) for share in (1 / 3, 2 / 3))
    slope = (watts[high] - watts[low]) / (rates[high] - rates[low])
    rest = np.delete(np.arange(len(rates)), [low, high])
    said = watts[low] + slope * (rates[rest] - rates[low])
    idle_w = watts[low] - slope * rates[low]
    assert scores["reads"].median_ratio == pytest.approx(np.median(abs(said / watts[rest] - 1)))
    above = abs(said - watts[rest])[watts[rest] > idle_w] / (watts[rest] - idle_w)[watts[rest] > idle_w]
    assert scores["reads"].dynamic_ratio == pytest.approx(np.median(above))


def test_sustained_writes_are_those_of_its_first_ten_seconds_whatever_gets_through(scores, points) -> None:
    watts = series("nvme-powersensor3", "sustained writes")["watts"]
    said = sum(watts[:10]) / 10
    assert {round(one.predicted_w, 9) for one in points if one.kind == "sustained writes"} == {round(said, 9)}
    assert scores["sustained writes"].worst_ratio == pytest.approx(max(abs(said / w - 1) for w in watts[10:]))


def test_a_supply_takes_the_line_through_two_loads_and_a_constant_efficiency_fails_at_its_end(scores) -> None:
    one = series("odroid-xu4", "supplies")
    given, taken = one["given_watts"], one["watts"]
    low, high = (min(range(len(given)), key=lambda n: abs(given[n] - 10.268 * s)) for s in (1 / 3, 2 / 3))
    slope = (taken[high] - taken[low]) / (given[high] - given[low])
    end_w = (given[low] + given[high]) / 4
    ends = [n for n in range(len(given)) if given[n] < end_w and n not in (low, high)]
    said = {n: taken[low] + slope * (given[n] - given[low]) for n in ends}
    constant = (given[low] / taken[low] + given[high] / taken[high]) / 2
    found = scores["supplies, no-load end"]
    assert found.count == len(ends)
    assert found.median_ratio == pytest.approx(median(abs(said[n] / taken[n] - 1) for n in ends))
    assert found.line_ratio == pytest.approx(median(abs(given[n] / constant / taken[n] - 1) for n in ends))


def test_another_load_is_told_by_the_other_boards(points) -> None:
    one = series("sbc-reviews", "another load")
    at = one["names"].index("Raspberry Pi 5 model B")
    rows = list(zip(one["idle_watts"], one["stress_watts"], one["watts"], strict=True))
    others = median((w - i) / (s - i) for n, (i, s, w) in enumerate(rows) if n != at)
    found = [p for p in points if p.kind == "another load" and p.measured_w == 13.8 and p.idle_w == 2.8]
    assert [p.predicted_w for p in found] == pytest.approx([2.8 + others * (9.7 - 2.8)])


def test_disks_are_additive_and_a_scrub_takes_more_than_their_step(points, scores) -> None:
    assert of(points, "microserver-gen8", "idle")[27.4].predicted_w == pytest.approx(21.0 + 2 * 3.5)
    assert {one.predicted_w for one in points if one.kind == "scrub"} == {31.6}
    assert not scores["scrub"].holds
    verdicts = {name: score.verdict for name, score in scores.items()}
    assert verdicts["scrub"] == verdicts["idle"] == "too few points"
    assert verdicts["fresh writes"] == "as a constant"  # 5.5 % both
    assert verdicts["another load"] == "fails"
    assert verdicts["reads"] == verdicts["sustained writes"] == verdicts["first load"] == "holds"


def test_no_point_is_in_the_errors_of_its_own_band(points) -> None:
    """Of 230 fresh writes each half of 115 has the 105th smallest error, ceil(0.9 x 116), of the other."""
    fresh = [one for one in points if one.kind == "fresh writes"]
    bands = sorted({one.band_ratio for one in fresh})
    halves = [[abs(one.error) for one in fresh if one.band_ratio == band] for band in bands]
    assert [len(half) for half in halves] == [115, 115]
    for band, other in zip(bands, halves[::-1], strict=True):
        assert np.log(band) == pytest.approx(sorted(other)[104])


def test_a_server_without_a_step_is_the_line_from_idle_nearest_to_both_loads(points) -> None:
    """An R240 draws 20.0 W, 32.3 at 30 % and 55.9 at 70 %: its line would begin at 14.6 W."""
    idle_w, low_w, high_w = (servers()["Dell PowerEdge R240"][place] for place in (0, 3, 7))
    each_w = np.linalg.lstsq(np.array([[0.3], [0.7]]), np.array([low_w - idle_w, high_w - idle_w]))[0][0]
    (first,) = of(points, "Dell PowerEdge R240", "first load").values()
    assert first.predicted_w == pytest.approx(idle_w + 0.1 * each_w)


def test_a_machines_band_is_from_all_others_of_its_kind(points) -> None:
    """Of 45 first loads each has the 41st smallest error of the other 44: ceil(0.9 x 45)."""
    first = [point for point in points if point.kind == "first load"]
    assert len(first) == len(servers()) == 45
    for point in first:
        others = sorted(abs(other.error) for other in first if other.machine != point.machine)
        assert np.log(point.band_ratio) == pytest.approx(others[40])
    (board,) = [point for point in points if point.kind == "another load" and point.machine == "MacBook Neo"]
    boards = [point for point in points if point.kind == "another load" and point.machine != "MacBook Neo"]
    assert np.log(board.band_ratio) == pytest.approx(
        sorted(abs(other.error) for other in boards)[35 - 1]
    )  # ceil(0.9 x 38)


def test_sources_count_alike_beside_points(points) -> None:
    by_source: dict[str, list[bool]] = {}
    for point in points:
        by_source.setdefault(point.source, []).append(point.held)
    shares = [sum(held) / len(held) for held in by_source.values()]
    assert len(shares) == 5
    assert metered.source_held_ratio(points) == pytest.approx(sum(shares) / 5)


def test_published_curves_rise_with_the_load() -> None:
    assert all(np.all(np.diff(watts) > 0) for watts in servers().values())


def test_goals_of_the_published_watts_are_met_but_one(scores, points) -> None:
    """CPUs are off by 3.3 %, not 3: what servers draw bends upwards above 70 % of their load."""
    assert scores["reads"].median_ratio < 0.03 and scores["reads"].dynamic_ratio < 0.10
    assert 0.03 < scores["CPU"].median_ratio < 0.034 and scores["CPU"].dynamic_ratio < 0.10
    assert scores["sustained writes"].worst_ratio < 0.15 < scores["sustained writes"].line_ratio
    assert scores["first load"].median_ratio < 0.05 < scores["first load"].line_ratio
    assert of(points, R830, "first load")[181].error < 0.06
    assert scores["supplies, no-load end"].worst_ratio < 0.10 < scores["supplies, no-load end"].line_ratio
    assert 0.85 <= metered.whole_held_ratio(points) <= 0.97
    assert 0.85 <= metered.source_held_ratio(points) <= 0.97
    for kind in ("CPU", "first load", "reads", "sustained writes"):
        assert 0.85 <= scores[kind].held_ratio <= 0.97


def test_each_source_states_boundary_grade_and_license() -> None:
    assert {one.grade for one in sources().values()} == {"metered"}
    assert all(one.boundary and one.license and one.reference for one in sources().values())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = ", "x.toml: not TOML"),
        ("title = 'x'", "x.toml: reference: Field required"),
        (
            "title='x'\nreference='x'\nboundary='wall'\ngrade='metered'\nlicense='x'\n[[series]]\nload='CPU'\n"
            "what='x'\nshare=[0.1]\nwatts=[1,2]",
            "CPU: share has 1 values, not 2",
        ),
    ],
)
def test_a_wrong_source_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CampaignError, match=complaint):
        read(text, "x.toml")
