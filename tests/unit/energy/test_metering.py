"""The channels of a trial are chosen once, by its headline window, and every other window adds up the
same.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from perjoule.energy.choosing import Chooser
from perjoule.energy.metering import Metering
from perjoule.measures.points import points
from perjoule.model import Happened, Health, Phase, Specification, TrialEvent
from perjoule.summary.trial import trial_summary
from perjoule.trial.live import boundaries, roles
from perjoule.trial.reading import Dilation

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")
HIT = Happened(TrialEvent(2.0, "kill", "storage-2"), 11.9, 12.0, 12.02)
HEALTHY = tuple(Health(12.1 + n, 12.5 + n, "" if n > 2 else "healing") for n in range(10))


def counted_and_sampled(made):
    """A counter in joules, of 10 W, is good for half a minute and not for two seconds, in which power that
    reads 12 W is.
    """
    t_s = np.arange(0.0, 61.0, 0.2)
    for host in SERVERS:
        counter = made.series(made.channel(host, "all", "energy", "counter"), t_s, np.floor(10 * t_s))
        yield replace(counter, channel=replace(counter.channel, specification=Specification(resolution=1.0)))
        yield made.series(made.channel(host, "all", "power", "instantaneous"), t_s, 12 + 0.01 * np.sin(t_s))


def durable(made, **words):
    """Two seconds of writing until the clients' fsync, half a minute until the disks hold it, and a tail
    of two seconds.
    """
    return made.record(moved=made.results((10.0, 12.0), (10.0, 12.0)), write_back_s=30.0, tail_s=2.0, **words)


def test_burst_and_tail_are_of_the_channels_of_the_headline_though_others_are_better_in_them(made):
    (point,) = points(durable(made), list(counted_and_sampled(made)))
    assert point.source == "meter energy"
    assert point.metrics["mean_w"] == pytest.approx(30, rel=0.01)
    assert point.metrics["burst_mean_w"] == pytest.approx(30, rel=0.05)  # of the other meter it would be 36
    assert point.metrics["tail_energy_j"] == pytest.approx(2 * 30, rel=0.05)


def test_clients_are_by_the_same_meter_in_all_windows(made):
    """Their wall meter fails in the burst: there they have no energy, rather than the BMC's beside the
    headline's.
    """
    t_s = np.arange(0.0, 61.0, 0.5)
    lost = np.where((t_s > 10.5) & (t_s < 11.6), np.nan, 20.0)
    series = [made.steady(host, 10.0, ended_s=60.0) for host in SERVERS]
    series += [made.series(made.channel(h, semantics="window mean"), t_s, lost, 0.5) for h in CLIENTS]
    series += [made.steady(host, 15.0, grade="BMC", meter="bmc", ended_s=60.0) for host in CLIENTS]
    (point,) = points(durable(made), series)
    assert point.grades["clients"] == "wall"
    assert point.metrics["clients_mean_w"] == pytest.approx(40)
    assert "burst_clients_energy_j" not in point.metrics


def test_stages_of_events_are_of_the_channels_of_the_headline(made):
    record = replace(
        made.record(moved=made.results((10.0, 40.0)), write_back_s=None), events=(HIT,), health=HEALTHY
    )
    (point,) = points(record, list(counted_and_sampled(made)))
    watts = {
        key: value for key, value in point.metrics.items() if key.startswith("event_") and key.endswith("_w")
    }
    assert watts == {
        f"event_{stage}_w": pytest.approx(30, rel=0.05) for stage in ("before", "healing", "after")
    }


def test_two_directions_are_of_one_meter_that_of_the_longer_one(made):
    """The wall meter fails while the clients read: these joules are refused with the reason, and no other
    meter's stand there.
    """
    moved = made.results((10.0, 40.0)) + made.results((41.0, 46.0), direction="read")
    t_s = np.arange(0.0, 61.0, 0.5)
    lost = np.where((t_s > 42) & (t_s < 45), np.nan, 10.0)
    series = [made.series(made.channel(h, semantics="window mean"), t_s, lost, 0.5) for h in SERVERS]
    series += [made.steady(host, 9.0, grade="BMC", meter="bmc", ended_s=60.0) for host in SERVERS]
    write, read = points(made.record(moved=moved, write_back_s=None), series)
    assert (write.grade, write.metrics["mean_w"]) == ("wall", pytest.approx(30))
    assert "energy_j" not in read.metrics
    assert any("meter:storage-1/all/power: samples cover only" in doubt for doubt in read.doubts)


def everything(made):
    """A trial with every kind of window: headline, burst, stages of an event, tail, timeline, parts."""
    record = replace(durable(made), events=(HIT,), health=HEALTHY)
    series = [*counted_and_sampled(made), *(made.steady(host, 20.0, ended_s=60.0) for host in CLIENTS)]
    series += [
        made.steady(host, 3.0, component="disks", meter="hall", grade="component", ended_s=60.0)
        for host in SERVERS
    ]
    return record, series


@pytest.mark.parametrize("idle", [False, True])
def test_channels_are_chosen_once_for_a_trial_with_all_its_windows(made, monkeypatch, idle):
    record, series = everything(made)
    if idle:
        results = tuple(replace(one, direction="idle", moved_bytes=0) for one in record.outcome.results)
        record = replace(record, outcome=replace(record.outcome, results=results))
    visits, searched = Counter(), Counter()
    of, best = Metering.of, Chooser.best

    def seen_of(roles, channels, headline=None):
        visits[headline is not None] += 1
        return of(roles, channels, headline)

    def seen_best(self, hosts, only=None):
        searched[hosts, only] += 1
        return best(self, hosts, only)

    monkeypatch.setattr(Metering, "of", seen_of)
    monkeypatch.setattr(Chooser, "best", seen_best)
    found = trial_summary(record, series)
    assert found.metered
    assert found.timeline
    assert {"energy_j", "tail_energy_j", "clients_energy_j"} <= found.points[0].metrics.keys()
    assert visits == {True: 1}
    sides = {hosts for hosts, only in searched if only is None}
    assert sides == {frozenset(SERVERS), frozenset(CLIENTS)}
    assert {searched[hosts, None] for hosts in sides} == {1}


def test_what_is_shown_while_a_trial_runs_is_what_its_table_will_have(made):
    """Of three meters one covers some servers, one is a model; the wall's covers all and fails in the
    burst.
    """
    t_s = np.arange(0.0, 61.0, 0.5)
    lost = np.where((t_s > 10.5) & (t_s < 11.6), np.nan, 10.0)
    series = [
        made.series(made.channel(h, semantics="window mean"), t_s, lost, 0.5) for h in (*SERVERS, "client-1")
    ]
    series += [made.steady(host, 8.0, grade="PDU", meter="strip", ended_s=60.0) for host in SERVERS[:2]]
    series += [
        made.steady(h, 9.0, grade="modelled", meter="model", component="board", ended_s=60.0)
        for h in (*SERVERS, *CLIENTS)
    ]
    record = durable(made)
    (point,) = points(record, series)
    of = roles(SERVERS, CLIENTS, {host.name: host.role for host in record.hosts}, Dilation())
    found = boundaries([one.channel for one in series], of)
    grades = {name: one.grade for name, one in found.items() if name != "gross"}
    assert (
        grades
        == {"net": point.grade, **point.grades}
        == {"net": "wall", "clients": "modelled", "all": "modelled"}
    )
    now = {one.channel: float(one.value[-1]) for one in series}
    watts = {name: one.watts(now) for name, one in found.items() if name != "gross"}
    names = {"net": "mean_w", "clients": "clients_mean_w", "all": "all_mean_w"}
    assert watts == {name: pytest.approx(point.metrics[names[name]], rel=1e-6) for name in watts}


def test_a_tail_without_its_meter_has_no_energy(made):
    t_s = np.arange(0.0, 41.0, 0.5)
    series = [made.series(made.channel(h, semantics="window mean"), t_s, 10.0, 0.5) for h in SERVERS]
    series += [made.steady(host, 9.0, grade="wall", meter="zz", ended_s=60.0) for host in SERVERS]
    record = replace(durable(made), phases=(*durable(made).phases[:-1], Phase("tail", 42.0, 50.0)))
    (point,) = points(record, series)
    assert (point.source, point.metrics["tail_s"]) == ("meter power", 8.0)
    assert "tail_energy_j" not in point.metrics
