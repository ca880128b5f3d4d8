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


def shape_without(machine: str) -> tuple[float, float]:
    """Median shares of step and bend, by the normal equations, of machines of other makers and years."""
    names = {"HPE": "HP", "FusionServer": "Huawei", "ASUSTeK": "Asus", "QuantaGrid": "Quanta"}
    written = tomllib.loads((FOLDER / "specpower.toml").read_text())["series"]
    makers = {one["machine"]: names.get(first := one["machine"].split()[0], first) for one in written}
    years = {one["machine"]: one["what"].split(" of ")[1][:4] for one in written}
    assert [(one["maker"], str(one["year"])) for one in written] == [
        (makers[one["machine"]], years[one["machine"]]) for one in written
    ]
    load = np.arange(1, 11) / 10
    terms = np.array([load**0, load, load**3])
    shapes: list[tuple[float, float]] = []
    for other, watts in servers().items():
        if makers[other] != makers[machine] and years[other] != years[machine]:
            step, straight, cube = np.linalg.solve(terms @ terms.T, terms @ (np.array(watts[1:]) - watts[0]))
            shapes.append((step / (step + straight + cube), cube / (straight + cube)))
    steps, bends = zip(*shapes, strict=True)
    return median(steps), median(bends)


def test_spec_is_judged_by_idle_and_the_loads_of_30_and_70_percent_and_the_bend_of_others(points) -> None:
    """253 W at 30 % and 377 W at 70 % are 124 W, of 0.4 straight and 0.343 - 0.027 of the cube."""
    cpu, first = of(points, R830, "CPU"), of(points, R830, "first load")
    _, bend = shape_without(R830)
    assert 0.25 < bend < 0.38
    all_w = (377 - 253) / (0.4 * (1 - bend) + 0.316 * bend)
    at_rest_w = 253 - all_w * (0.3 * (1 - bend) + 0.027 * bend)
    loads = {215: 0.2, 287: 0.4, 315: 0.5, 340: 0.6, 421: 0.8, 483: 0.9, 562: 1.0}
    assert cpu.keys() == loads.keys()
    for measured_w, load in loads.items():
        by_hand_w = at_rest_w + all_w * ((1 - bend) * load + bend * load**3)
        assert cpu[measured_w].predicted_w == pytest.approx(by_hand_w)
    assert first[181].predicted_w == pytest.approx(at_rest_w + all_w * ((1 - bend) * 0.1 + bend * 0.001))
    assert first[181].line_w == pytest.approx(86.4 + (377 - 86.4) / 7)


def test_by_a_data_sheet_a_server_has_step_and_bend_of_others_between_idle_and_all_load(points) -> None:
    step, bend = shape_without(R830)
    said = of(points, R830, "CPU, data sheet")
    assert said.keys() == {*servers()[R830][1:-1]}
    for place, measured_w in enumerate(servers()[R830][1:-1], start=1):
        load = place / 10
        share = step + (1 - step) * ((1 - bend) * load + bend * load**3)
        assert said[measured_w].predicted_w == pytest.approx(86.4 + share * (562 - 86.4))
        assert said[measured_w].line_w == pytest.approx(86.4 + load * (562 - 86.4))


def test_no_maker_or_year_of_a_machine_shapes_it() -> None:
    """A machine that only machines of its maker and its year stand beside is a line."""
    source = sources()["specpower"]
    one = next(one for one in source.series if one.machine == "Dell PowerEdge R620")
    family = [other for other in source.series if other.maker == one.maker or other.year == one.year]
    alone = source.model_copy(update={"series": tuple(family)})
    stranger = next(other for other in source.series if other.maker != one.maker and other.year != one.year)
    pair = source.model_copy(update={"series": (one, stranger)})
    judged = {
        of_name: {point.kind for point in metered.judged("x", of) if point.machine == one.machine}
        for of_name, of in (("alone", alone), ("pair", pair))
    }
    assert judged == {"alone": {"CPU", "first load"}, "pair": {"CPU", "first load", "CPU, data sheet"}}


def test_a_board_beside_which_no_curve_stands_has_no_bend(points) -> None:
    """An XU4's watts by cores: 4.917 W at one core of four are at 0.25, and 6.562 at three quarters."""
    one = series("odroid-xu4", "CPU")
    low, high = (
        min(range(len(one["share"])), key=lambda n: abs(one["share"][n] - s)) for s in (1 / 3, 2 / 3)
    )
    slope = (one["watts"][high] - one["watts"][low]) / (one["share"][high] - one["share"][low])
    judged = of(points, "odroid-xu4", "CPU") | of(points, "odroid-xu4", "first load")
    for share, measured_w in zip(one["share"], one["watts"], strict=True):
        if measured_w in judged:
            by_hand_w = one["watts"][low] + slope * (share - one["share"][low])
            assert judged[measured_w].predicted_w == pytest.approx(by_hand_w)


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


def test_a_server_without_a_step_goes_from_idle_nearest_to_both_loads(points) -> None:
    """An R240 draws 20.0 W, 32.3 at 30 % and 55.9 at 70 %: through both, it would begin below 20 W."""
    idle_w, low_w, high_w = (servers()["Dell PowerEdge R240"][place] for place in (0, 3, 7))
    _, bend = shape_without("Dell PowerEdge R240")
    shares = np.array([[(1 - bend) * load + bend * load**3] for load in (0.3, 0.7)])
    assert low_w - (high_w - low_w) / (shares[1, 0] - shares[0, 0]) * shares[0, 0] < idle_w
    all_w = np.linalg.lstsq(shares, np.array([low_w - idle_w, high_w - idle_w]))[0][0]
    (first,) = of(points, "Dell PowerEdge R240", "first load").values()
    assert first.predicted_w == pytest.approx(idle_w + ((1 - bend) * 0.1 + bend * 0.001) * all_w)


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


def test_goals_of_the_published_watts_are_met(scores, points) -> None:
    """CPUs without a bend are off by 3.3 %."""
    assert scores["reads"].median_ratio < 0.03 and scores["reads"].dynamic_ratio < 0.10
    assert scores["CPU"].median_ratio < 0.025 and scores["CPU"].dynamic_ratio < 0.055
    assert scores["CPU, data sheet"].median_ratio < 0.055 < 0.065 < scores["CPU, data sheet"].line_ratio
    assert scores["sustained writes"].worst_ratio < 0.15 < scores["sustained writes"].line_ratio
    assert scores["first load"].median_ratio < 0.05 < scores["first load"].line_ratio
    assert of(points, R830, "first load")[181].error < 0.12  # 0.06 without a bend
    assert scores["supplies, no-load end"].worst_ratio < 0.10 < scores["supplies, no-load end"].line_ratio
    assert 0.85 <= metered.whole_held_ratio(points) <= 0.97
    assert 0.85 <= metered.source_held_ratio(points) <= 0.97
    for kind in ("CPU", "CPU, data sheet", "first load", "reads", "sustained writes"):
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
