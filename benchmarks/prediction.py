"""How good predictions are, from the points that the shipped profiles hold; nothing is measured.

- measured points above their bound (goal: none of 200 or more)
- points that were left out, by level: clients (goal: median <= 2 %), redundancy (median <= 5 %, 90 % of them
  <= 12 %), hardware (median <= 10 %, 90 % <= 25 %), the share of points in 90 % bands (85 to 95 %), dynamic
  power (skill >= 0.8), order (tau >= 0.9), beside simpler models; fitted again here
- the configuration that predictions would choose, of all file systems, redundancies, speeds of hardware and
  numbers of clients, each predicted by a fit that had not seen its like: how far it is from the best one
  measured (goal: <= 3 %); without directions of a profile in which a simpler model errs no more, as plans
- the configuration that `perjoule plan` would choose, by the law of the same profiles for files of 1 GiB and
  servers that keep nothing in memory: how far it is from the best one measured with as many clients, and of
  all (goal: <= 3 % of 20 or more)
- published clusters, to which no profile was fitted, as in `perjoule ledger`: the share of printed numbers inside
  bands that know the other clusters alone (goal: 80 to 95 %), and without the level "another machine"
- published watts, each point judged by a model that others of its source calibrated (goals: WATT_GOALS), and the
  share of all points in their bands (85 to 97 %), and beside it each source counting alike
- the time to predict 1e5 servers (goal: <= 1 ms)

usage: .venv/bin/python benchmarks/prediction.py
"""

import sys
import time
from itertools import product
from math import inf
from statistics import median

from scipy.stats import kendalltau

from perjoule import prediction
from perjoule.model import Flow
from perjoule.model.units import clients_text
from perjoule.planning import profiled
from perjoule.planning.outcome import FILE_BYTES
from perjoule.prediction import (
    Demand,
    Fleet,
    Profile,
    bound_shares,
    elsewhere,
    metered,
    published,
    times_s_per_byte,
)
from perjoule.prediction.observation import WAYS, Case
from perjoule.prediction.power import dynamic_w
from perjoule.prediction.queueing import Spread, Way, duration_s, job
from perjoule.prediction.scores import Score, published_score, rival, scores
from perjoule.prediction.validation import LEVELS, Test, left_out

MIB = 1024**2
GOALS = {"clients": (0.02, None), "redundancy": (0.05, 0.12), "hardware": (0.10, 0.25)}
ABOVE_RATIO = 0.01
CHOSEN_RATIO, CHOSEN_COUNT = 0.03, 20
# of |predicted / measured - 1| by kind of load: its median, its worst, its median over watts above idle
WATT_GOALS = {
    "reads": (0.03, inf, 0.10),
    "CPU": (0.03, inf, 0.10),
    "sustained writes": (0.15, 0.15, inf),
    "first load": (0.10, inf, inf),
    "supplies, no-load end": (0.10, 0.10, inf),
}
WATTS_HELD = (0.85, 0.97)
PUBLISHED_HELD = (0.80, 0.95)


def main() -> int:
    """Print all figures; return 1 if a goal is missed."""
    profiles = [prediction.shipped(name) for name in prediction.names()]
    missed = [*_bounds(profiles), *_planned(profiles), *_left_out(profiles)]
    missed += [*_published(), *_watts(), *_speed()]
    print("missed: " + ("; ".join(missed) if missed else "nothing"))
    return bool(missed)


def _bounds(profiles: list[Profile]) -> list[str]:
    shares = [share for found in profiles for share in bound_shares(found)]
    above = sum(share > 1 + ABOVE_RATIO for share in shares)
    print(
        f"points above their bound by more than {ABOVE_RATIO:.0%}: {above} of {len(shares)}; the highest is "
        f"at {max(shares):.3f}"
    )
    return [f"{above} points above their bound"] * bool(above) + [f"{len(shares)} points, not 200"] * (
        len(shares) < 200
    )


def _left_out(profiles: list[Profile]) -> list[str]:
    groups: list[list[Test]] = []
    ranked: list[tuple[str, list[Test]]] = []
    for found in profiles:
        for way in found.known:
            own = [one for one in found.points if one.case.direction == way]
            groups.append(tests := list(left_out(own, found.unit_bytes)))
            _print(f"{found.kind} {way}", scores([tests]))
            if simpler_model := rival(tests):
                print(f"{found.kind} {way} is not ranked: {simpler_model.text}")
            else:
                ranked.append((way, tests))
    whole = scores(groups)
    # throttled boards are the same boards
    (idle_w,) = {one.plant.idle_w for found in profiles for one in found.points}
    _print("all", whole)
    return [fault for one in whole for fault in _faults(one)] + _chosen(ranked, idle_w)


def _chosen(groups: list[tuple[str, list[Test]]], idle_w: float) -> list[str]:
    """Compare what predictions would choose with the best that was measured, by direction and metric."""
    missed: list[str] = []
    for way, level, metric in product(("write", "read"), LEVELS, ("MiB/s", "MiB/J")):
        over_w = idle_w if metric == "MiB/J" else None
        tests = [test for of, group in groups for test in group if (of, test.level) == (way, level)]
        tests = [test for test in tests if over_w is None or test.measured_dynamic_w is not None]
        if not tests:
            continue
        told = [_per(test.measured_bytes_per_s, test.measured_dynamic_w, over_w) for test in tests]
        said = [_per(test.predicted_bytes_per_s, test.predicted_dynamic_w, over_w) for test in tests]
        lost = 1 - told[said.index(max(said))] / max(told)
        text = (
            f"{metric} {way}, {level} left out: the chosen one is {lost:.1%} below the best of {len(tests)} "
            "configurations"
        )
        print(text)
        missed += [text] * (lost > CHOSEN_RATIO or len(tests) < CHOSEN_COUNT)
    return missed


def _planned(profiles: list[Profile]) -> list[str]:
    """Rank what was measured as a plan does, with the CPU work and the law that it takes from the same
    profiles.
    """
    missed: list[str] = []
    for way, metric in product(WAYS, ("MiB/s", "MiB/J")):
        found: dict[tuple[str, Case], list[tuple[float, float]]] = {}
        for profile in profiles:
            if profiled.rival(profile.kind, way):
                continue
            cpu = profiled.server_cpu(profile.kind, way)
            assert cpu is not None
            for one in (
                one for one in profile.points if one.case.direction == way and one.mean_w is not None
            ):
                idle_w, flow = (one.plant.idle_w if metric == "MiB/J" else None), one.case.flow
                demand = Demand(flow, 0.0, cpu.value * (flow.disk_read_ratio + flow.disk_written_ratio))
                law = profiled.law(profile.kind, way, one.case.redundancy)
                assert law is not None
                at_once = profiled.at_once(profile.kind, way).value
                served_s = float(law.served_s_per_byte(demand, one.case.fleet, FILE_BYTES, at_once))
                rate = 1 / max(served_s, float(times_s_per_byte(demand, one.case.fleet)["client network"]))
                said = _per(rate, float(dynamic_w(one.plant, demand, rate)), idle_w)
                told = _per(one.throughput_bytes_per_s, (one.mean_w or 0.0) - one.plant.idle_w, idle_w)
                found.setdefault((profile.kind, one.case), []).append((said, told))
        counts = sorted({float(case.fleet.clients_count) for _, case in found})
        for count in (*counts, None):
            some = [of for (_, case), of in found.items() if count in (None, case.fleet.clients_count)]
            said, told = [of[0][0] for of in some], [median(measured for _, measured in of) for of in some]
            # may be several
            first = [one for one, rate in zip(told, said, strict=True) if rate > max(said) * (1 - 1e-9)]
            lost = 1 - min(first) / max(told)
            clients = "all clients" if count is None else clients_text(int(count))
            text = (
                f"{metric} {way}, {clients}: the planned one is {lost:.1%} below the best of {len(some)} "
                "configurations"
            )
            equals = f", the worst of {len(first)} of equal rank" if len(first) > 1 else ""
            tau = f"tau {kendalltau(said, told).statistic:.2f}" if len(set(said)) > 1 else "all of equal rank"
            print(f"{text}{equals}; {tau}")
            missed += [text] * (count is None and lost > CHOSEN_RATIO)
    return missed


def _per(bytes_per_s: float, dynamic_w: float | None, idle_w: float | None) -> float:
    return bytes_per_s if idle_w is None or dynamic_w is None else bytes_per_s / (idle_w + dynamic_w)


def _print(name: str, found: tuple[Score, ...]) -> None:
    for one in found:
        simpler = ", ".join(f"{model} {error:.1%}" for model, error in one.simpler.items())
        watts = "–" if one.power_skill_ratio is None else f"{one.power_skill_ratio:.2f}"
        tau = "–" if one.order_tau is None else f"{one.order_tau:.2f}"
        print(
            f"{name}, {one.level} left out: {one.count} points, median {one.median_ratio:.1%}, 90 % "
            f"{one.p90_ratio:.1%}, "
            f"bands hold {one.held_ratio:.0%}, skill {watts}, tau {tau}; {simpler}"
        )


def _faults(one: Score) -> list[str]:
    middle, outer = GOALS.get(one.level, (inf, None))
    found = [f"{one.level}: median {one.median_ratio:.1%}"] * (one.median_ratio > middle)
    found += [f"{one.level}: 90 % at {one.p90_ratio:.1%}"] * (outer is not None and one.p90_ratio > outer)
    found += [f"{one.level}: bands hold {one.held_ratio:.0%}"] * (not 0.85 <= one.held_ratio <= 0.95)
    found += [f"{one.level}: skill {one.power_skill_ratio:.2f}"] * (
        one.power_skill_ratio is not None and one.power_skill_ratio < 0.8
    )
    return found + [f"{one.level}: tau {one.order_tau:.2f}"] * (
        one.order_tau is not None and one.order_tau < 0.9
    )


def _published() -> list[str]:
    """Print what papers print beside what is predicted of it."""
    compared = published.compared()
    for one in compared:
        value, low_high = one.value_bytes_per_s, one.range_bytes_per_s
        said = "a range" if value is None else f"{value / MIB:.0f} MiB/s"
        said += "" if low_high is None else f" ({low_high[0] / MIB:.0f} to {low_high[1] / MIB:.0f})"
        off = "" if value is None else f", {value / one.printed_bytes_per_s - 1:+.1%}"
        what = (
            f"{one.paper}, {one.filesystem} {one.redundancy} on {one.cluster}, {one.direction}, clients "
            f"{one.clients}"
        )
        print(
            f"published, {what}: predicted by {one.basis} {said}, printed "
            f"{one.printed_bytes_per_s / MIB:.0f}{off}"
        )
    for paper, what, why in published.UNPREDICTED:
        print(f"published, {paper}, {what}: not predicted, {why}")
    score = published_score(compared)
    simpler = ", ".join(f"{model} {error:.1%}" for model, error in score.simpler.items())
    text = f"published: bands hold {score.held_ratio:.0%} of {score.count} printed numbers"
    print(
        f"{text}, without another machine's level {score.emulated_held_ratio:.0%}; it is a factor of "
        f"{elsewhere.band_factor():.2f}; median error {score.median_ratio:.1%}, {simpler}"
    )
    return [text] * (not PUBLISHED_HELD[0] <= score.held_ratio <= PUBLISHED_HELD[1])


def _watts() -> list[str]:
    """Print errors of published watts by kind of load."""
    judged, missed = metered.points(), list[str]()
    for one in metered.kind_scores(judged):
        above = 0.0 if one.dynamic_ratio is None else one.dynamic_ratio
        text = (
            f"watts, {one.kind}: {one.count} points, median {one.median_ratio:.1%}, worst {one.worst_ratio:.1%}, "
            f"above idle {above:.1%}, bands hold {one.held_ratio:.0%}; constant {one.constant_ratio:.1%}, line "
            f"{one.line_ratio:.1%}"
        )
        print(text)
        goals = WATT_GOALS.get(one.kind, (inf, inf, inf))
        errors = (one.median_ratio, one.worst_ratio, above)
        missed += [text] * any(error > goal for error, goal in zip(errors, goals, strict=True))
    held = metered.whole_held_ratio(judged)
    alike = metered.source_held_ratio(judged)
    print(f"watts: bands hold {held:.1%} of {len(judged)} points; each source counting alike, {alike:.1%}")
    return missed + [f"watts: bands hold {held:.1%}"] * (not WATTS_HELD[0] <= held <= WATTS_HELD[1])


def _speed() -> list[str]:
    """Time one prediction for 1e5 servers: hosts of a role are one station, so their number costs nothing."""
    fleet = Fleet(1e5, 1e9, 1e5, 1e9, 1e9, 1e5, 1e9, 1e5)
    demand = Demand(Flow(client_sent_ratio=1, storage_received_ratio=1, disk_written_ratio=1), 1e-5, 1e-5)
    way = Way(4.0, 5.0, 0.5, 0.01)
    times_s: list[float] = []
    for _ in range(200):
        began_s = time.perf_counter()
        duration_s(way, job(demand, fleet, Spread(2), 1e9))
        times_s.append(time.perf_counter() - began_s)
    print(f"1e5 servers and clients: {median(times_s) * 1e3:.2f} ms, the median of {len(times_s)}")
    return [f"{median(times_s) * 1e3:.2f} ms for 1e5 servers"] * (median(times_s) > 1e-3)


if __name__ == "__main__":
    sys.exit(main())
