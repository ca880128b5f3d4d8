"""Trials whose servers were hit, with a truth that is known."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.measures.events import stages
from perjoule.measures.points import points
from perjoule.model import Happened, Health, Outcome, TrialEvent
from perjoule.summary.trial import trial_summary
from perjoule.trial.logs import loading, stalls_s

SERVERS = ("storage-1", "storage-2", "metadata-1")
HEALTHY_S = 17.5


def happened(kind: str = "kill", began_s=12.0, ended_s=12.02, planned_s=11.99):
    return Happened(TrialEvent(planned_s - 10.0, kind, "storage-2"), planned_s, began_s, ended_s)


KILL, BACK = happened(), happened("back", 14.0, 14.03, 13.99)
SAID = ["gone", "gone", "healing", "healing", "healing", "", "", "", "", ""]
ANSWERS = tuple(Health(12.1 + n, 12.5 + n, said) for n, said in enumerate(SAID))


def log(made, host, rates, *, began_s=10.0, step_s=0.5, fsync_s=0.5):
    """A client's log: these rates by half second, and then its closing fsync, in which the last bytes
    arrive.
    """
    ends_s = began_s + step_s * np.arange(1, len(rates) + 1)
    t_s, value = np.append(ends_s, ends_s[-1] + fsync_s), np.append(rates, 10.0)
    return made.series(
        made.channel(host, "all", "goodput", "window mean", "counter", "fio"),
        t_s,
        value,
        np.diff(t_s, prepend=began_s),
    )


def trial(made, *, events=(KILL, BACK), health=ANSWERS, scale=1.0, direction="write"):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction=direction)
    return replace(made.record(moved=moved, scale=scale), events=events, health=health)


def rates(before=100.0, during=0.0, after=50.0):
    """19 half seconds from 10 s to 19.5 s: fast, nothing from 12 s to 14 s, then slower."""
    return np.array([before] * 4 + [during] * 4 + [after] * 11)


def watts(made, power_w=10.0):
    return [made.steady(host, power_w, grade="simulated") for host in SERVERS]


def test_each_stage_has_its_rate_and_its_watts(made):
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(trial(made), [*logs, *watts(made)])
    found = point.metrics
    assert found["event_before_bytes_per_s"] == pytest.approx(200)
    # 30 ms of the half second after
    assert found["event_during_bytes_per_s"] == pytest.approx(2 * 0.03 * 50 / 2.03)
    assert found["event_healing_bytes_per_s"] == pytest.approx(100)
    assert found["event_after_bytes_per_s"] == pytest.approx(100)
    assert [found[f"event_{stage}_w"] for stage in ("before", "during", "healing", "after")] == pytest.approx(
        [30] * 4
    )
    assert found["event_healing_s"] == pytest.approx(HEALTHY_S - 14.03)
    assert found["event_healing_j"] == pytest.approx(30 * (HEALTHY_S - 14.03))
    assert found["event_stalled_s"] == pytest.approx(2.0)
    assert found["event_longest_stall_s"] == pytest.approx(2.0)
    assert found["event_late_s"] == pytest.approx(0.04)


def test_seconds_and_joules_are_emulated_and_watts_and_lateness_are_not(made):
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    plain, dilated = (points(trial(made, scale=scale), [*logs, *watts(made)])[0] for scale in (1.0, 0.5))
    for metric, factor in {
        "event_before_bytes_per_s": 2,
        "event_before_w": 1,
        "event_healing_s": 0.5,
        "event_healing_j": 0.5,
        "event_stalled_s": 0.5,
        "event_longest_stall_s": 0.5,
        "event_late_s": 1,
    }.items():
        assert dilated.metrics[metric] == pytest.approx(factor * plain.metrics[metric]), metric
    said = "timeouts of daemons keep their own time"
    assert any(said in doubt for doubt in dilated.doubts)
    assert not any(said in doubt for doubt in plain.doubts)


def test_joules_until_healthy_go_on_after_the_load_and_the_stages_do_not(made):
    longer = (Health(17.2 + n, 17.3 + n, "healing") for n in range(8))
    longer = (Health(17.2 + n, 17.3 + n, "healing") for n in range(8))
    late = (*ANSWERS[:5], *longer, *(Health(25.2 + n, 25.4 + n) for n in range(5)))
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(trial(made, health=late), [*logs, *watts(made)])
    assert point.metrics["event_healing_s"] == pytest.approx(25.4 - 14.03)
    assert point.metrics["event_healing_j"] == pytest.approx(30 * (25.4 - 14.03))
    assert point.metrics["event_healing_bytes_per_s"] == pytest.approx(100)
    assert "event_after_bytes_per_s" not in point.metrics
    assert stages(trial(made, health=late), 10.0, 19.5)["healing"] == (14.03, 19.5)


def test_one_event_has_nothing_between_the_first_and_the_last(made):
    found = stages(trial(made, events=(KILL,)), 10.0, 19.5)
    assert found == {"before": (10.0, 12.0), "healing": (12.02, HEALTHY_S), "after": (HEALTHY_S, 19.5)}


def test_a_stage_shorter_than_two_samples_has_no_rate(made):
    assert stages(trial(made, events=(happened(began_s=10.5, ended_s=17.0),)), 10.0, 19.5) == {
        "after": (HEALTHY_S, 19.5)
    }


@pytest.mark.parametrize(("length_s", "told"), [(0.98, False), (1.02, True)])
def test_a_stage_of_a_second_counts(made, length_s, told):
    events = (happened(began_s=10 + length_s, ended_s=HEALTHY_S - length_s),)
    found = stages(trial(made, events=events), 10.0, HEALTHY_S + length_s)
    assert found.keys() == ({"before", "healing", "after"} if told else set())


@pytest.mark.parametrize(("still_count", "told"), [(19, False), (21, True)])
def test_pauses_of_a_twentieth_of_the_time_before_the_event_are_the_loads_own(made, still_count, told):
    """Of two clients for 2 s, in hundredths of a second."""
    of_first = np.full(950, 100.0)
    of_first[1 : 2 * still_count : 2] = 0.0
    logs = [
        log(made, host, own, step_s=0.01)
        for host, own in (("client-1", of_first), ("client-2", of_first * 0 + 50))
    ]
    (point,) = points(trial(made), [*logs, *watts(made)])
    assert any("pauses by itself" in doubt for doubt in point.doubts) == told


def test_health_that_is_not_reached_gives_no_joules_and_a_doubt(made):
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(trial(made, health=ANSWERS[:-1]), [*logs, *watts(made)])
    assert not {"event_healing_s", "event_healing_j", "event_after_w"} & point.metrics.keys()
    assert any(
        "not healthy by the end of the trial" in doubt and doubt.endswith("healing") for doubt in point.doubts
    )
    assert point.metrics["event_healing_bytes_per_s"] == pytest.approx(100)  # until the load's end


def test_the_closing_fsync_is_not_a_stall_and_in_no_stage(made):
    slow = [log(made, "client-1", rates(), fsync_s=20.0)]
    found = made.results((10.0, 39.5))
    assert loading(found, slow) == (10.0, 19.5)
    assert loading(found, []) == (10.0, 39.5)
    record = replace(trial(made), outcome=Outcome("fio-3.33", found))
    (point,) = points(record, [*slow, *watts(made)])
    assert point.metrics["event_stalled_s"] == pytest.approx(2.0)
    assert point.metrics["event_after_bytes_per_s"] == pytest.approx(50)


def test_stalls_of_clients_are_averaged_and_the_longest_is_of_one(made):
    logs = [log(made, "client-1", rates()), log(made, "client-2", rates(during=5.0))]
    (point,) = points(trial(made), [*logs, *watts(made)])
    assert point.metrics["event_stalled_s"] == pytest.approx(1.0)
    assert point.metrics["event_longest_stall_s"] == pytest.approx(2.0)


def test_neighbouring_samples_without_bytes_are_one_stall(made):
    own = log(made, "client-1", np.array([0, 0, 10, 0, 10, 0, 0, 0.0]))
    assert stalls_s(own, 10.0, 14.0) == pytest.approx([1.0, 0.5, 1.5])
    assert stalls_s(own, 10.25, 13.0) == pytest.approx([0.75, 0.5, 0.5])


def test_a_load_that_pauses_by_itself_is_a_doubt(made):
    pausing = np.array([100.0, 0.0] * 9 + [100.0])
    (point,) = points(trial(made), [log(made, f"client-{n}", pausing) for n in (1, 2)] + watts(made))
    assert any("pauses by itself" in doubt for doubt in point.doubts)
    (point,) = points(trial(made), [log(made, f"client-{n}", rates()) for n in (1, 2)] + watts(made))
    assert not any("pauses by itself" in doubt for doubt in point.doubts)


def test_without_logs_there_are_watts_and_no_rates(made):
    (point,) = points(trial(made), watts(made))
    assert point.metrics["event_before_w"] == pytest.approx(30)
    assert not {
        name
        for name in point.metrics
        if name.startswith("event_") and name.endswith(("bytes_per_s", "stalled_s"))
    }


def both(made, user=""):
    """Each client writes and reads at once: its log has the bytes of both."""
    found = (
        *made.results((10.0, 20.0), (10.0, 20.0)),
        *made.results((10.0, 20.0), (10.0, 20.0), direction="read"),
    )
    return replace(
        trial(made),
        outcome=Outcome("fio-3.33", tuple(replace(one, user=user and one.direction) for one in found)),
    )


def test_bytes_of_reads_and_writes_at_once_are_in_no_row_of_one_of_them(made):
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    found = points(both(made), [*logs, *watts(made)])
    assert [point.direction for point in found] == ["write", "read"]
    for point in found:
        names = {name for name in point.metrics if name.startswith("event_")}
        assert not {name for name in names if name.endswith(("bytes_per_s", "stalled_s", "stall_s"))}
        assert point.metrics["event_after_w"] == pytest.approx(30)
        assert (
            "rates and stalls are left out: clients read and wrote at once, and their logs have the bytes "
            "of both" in point.doubts
        )


def test_stages_end_with_the_logs_where_clients_read_and_write_at_once(made):
    """It is healthy at 18.7 s, the last call returns at 19.5 s, and the clients end at 20 s, with their
    closing fsync.
    """
    late = tuple(replace(one, asked_s=one.asked_s + 1.2, answered_s=one.answered_s + 1.2) for one in ANSWERS)
    record = replace(both(made), health=late)
    (point, _) = points(record, [*(log(made, f"client-{n}", rates()) for n in (1, 2)), *watts(made)])
    assert "event_after_w" not in point.metrics  # [18.7, 19.5] is shorter than a second, [18.7, 20] is not


def test_users_that_read_and_write_have_one_row_with_the_bytes_of_all(made):
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(both(made, user="some"), [*logs, *watts(made)])
    assert point.direction == "mixed"
    assert point.metrics["event_before_bytes_per_s"] == pytest.approx(200)
    assert point.metrics["event_stalled_s"] == pytest.approx(2.0)


def took(made, host, *rows, direction="write"):
    """A client's log of latencies: rows of the end of a window, a latency, and how many calls took as
    long.
    """
    t_s, latency_s, count = np.array(rows).T
    logs = (("latency", latency_s), ("calls", count))
    return [
        made.series(made.channel(host, direction, kind, "window mean", "counter", "fio"), t_s, value)
        for kind, value in logs
    ]


# by client: 200 and 100 calls before the kill at 12 s, few and late ones until the server is back, then 100
# again
LATE = (
    (
        (11.0, 0.01, 99),
        (11.0, 0.02, 1),
        (11.9, 0.01, 99),
        (11.9, 0.03, 1),
        (13.9, 2.0, 1),
        (18.0, 0.01, 50),
        (19.8, 0.4, 1),
    ),
    ((11.0, 0.04, 97), (11.9, 0.07, 3), (12.2, 0.05, 3), (13.9, 0.06, 2), (18.0, 0.02, 50), (19.8, 0.5, 1)),
)


def latencies(made, *rows):
    return [one for n, own in enumerate(rows, start=1) for one in took(made, f"client-{n}", *own)]


def test_each_stage_has_the_percentiles_of_the_calls_that_returned_in_it(made):
    """Of 300 calls, the 150th and the 297th; of 6, the third and the last; of 102, the 51st and the 101st."""
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    for scale in (1.0, 0.5):
        (point,) = points(trial(made, scale=scale), [*logs, *watts(made), *latencies(made, *LATE)])
        found = {
            key: value / scale
            for key, value in point.metrics.items()
            if key.startswith("event_") and "latency" in key
        }
        assert found == pytest.approx(
            {
                "event_before_latency_p50_s": 0.01,
                "event_before_latency_p99_s": 0.04,
                "event_during_latency_p50_s": 0.05,
                "event_during_latency_p99_s": 2.0,
                "event_after_latency_p50_s": 0.02,
                # returned at 19.8 s, after the last whole sample of the logs
                "event_after_latency_p99_s": 0.4,
            }
        )


def test_a_window_over_a_border_is_of_the_stage_in_which_it_ends(made):
    for end_s, stage in (
        (12.0, "before"),
        (12.01, "during"),
        (14.03, "during"),
        (14.04, "healing"),
        (19.9, "after"),
    ):
        rows = latencies(made, ((end_s, 0.1, 5),), ((end_s, 0.1, 5),))
        (point,) = points(trial(made), [*watts(made), *rows])
        found = {key for key in point.metrics if key.startswith("event_") and "latency" in key}
        assert found == {f"event_{stage}_latency_p{percent}_s" for percent in (50, 99)}, end_s


def test_latencies_that_a_log_cannot_tell_are_left_out_with_a_doubt(made):
    rows = latencies(made, ((11.0, 0.1, 9), (13.0, np.inf, 1), (13.0, 0.2, 9)), ((11.0, 0.1, 9),))
    (point,) = points(trial(made), [*watts(made), *rows])
    assert point.metrics["event_during_latency_p50_s"] == pytest.approx(0.2)
    assert "event_during_latency_p99_s" not in point.metrics
    said = (
        "calls took longer than the load generator's log of latencies can tell, so these are left out: p99 "
        "during"
    )
    assert said in point.doubts


def test_stages_have_no_latencies_unless_all_clients_logged_theirs(made):
    for rows in ([], latencies(made, LATE[0]), [*latencies(made, LATE[0]), latencies(made, *LATE)[-1]]):
        (point,) = points(trial(made), [*watts(made), *rows])
        assert not any("latency" in key for key in point.metrics if key.startswith("event_"))


def test_latencies_of_reads_and_writes_at_once_are_each_in_their_own_row(made):
    rows = [
        one
        for n in (1, 2)
        for direction, latency_s in (("write", 0.2), ("read", 0.1))
        for one in took(made, f"client-{n}", (11.0, latency_s, 9), direction=direction)
    ]
    found = points(both(made), [*watts(made), *rows])
    assert {one.direction: one.metrics["event_before_latency_p99_s"] for one in found} == pytest.approx(
        {"write": 0.2, "read": 0.1}
    )


def test_a_trial_without_events_has_none_of_their_numbers(made):
    (point,) = points(trial(made, events=(), health=()), watts(made))
    assert not any(name.startswith("event_") for name in point.metrics)


def test_the_timeline_marks_what_happened(made):
    twice = (KILL, BACK, happened("kill", 15.0, 15.02, 15.0))
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    line = trial_summary(trial(made, events=twice), [*logs, *watts(made)]).timeline
    assert line is not None
    marks = {name: t_s for name, t_s in line.marks.items() if "storage" in name or name == "healthy"}
    assert marks == {"kill storage-2": 2.0, "back storage-2": 4.0, "kill storage-2 (2)": 5.0, "healthy": 7.5}


def test_the_watts_of_all_stages_are_of_the_row_s_grade(made):
    """A BMC's averages are refused where power jumps: in the window, and not in the stage before the
    event.
    """
    t_s = np.arange(0.5, 30.25, 0.5)
    jumping_w = np.where(t_s <= 13, 10.0, np.where(t_s % 2 < 1, 10.0, 40.0))
    bmc = [
        made.series(made.channel(host, semantics="average", grade="BMC", meter="ipmi"), t_s, jumping_w)
        for host in SERVERS
    ]
    modelled = [made.steady(host, 5.0, grade="modelled", meter="modelled") for host in SERVERS]
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(trial(made), [*logs, *bmc, *modelled])
    assert point.grade == "modelled"
    assert [
        point.metrics[f"event_{stage}_w"] for stage in ("before", "during", "healing", "after")
    ] == pytest.approx([15] * 4)
    assert point.metrics["event_healing_j"] == pytest.approx(15 * (HEALTHY_S - 14.03))
    refused = "ipmi:storage-1/all/power: averages over an unknown time give no energy unless they are steady"
    assert f"{refused}; modelled watts count instead" in point.doubts


def test_watts_that_the_row_s_grade_lacks_in_a_stage_are_left_out(made):
    """A plug that was not heard for half a second still covers the window, and not the stage of 2 s in
    which that was.
    """
    wall = [made.steady(host, 10.0, meter="plug") for host in SERVERS]
    kept = [one.t_s != 11.0 for one in wall]
    wall = [made.series(one.channel, one.t_s[keep], 10.0, 0.5) for one, keep in zip(wall, kept, strict=True)]
    modelled = [made.steady(host, 5.0, grade="modelled", meter="modelled") for host in SERVERS]
    logs = [log(made, f"client-{n}", rates()) for n in (1, 2)]
    (point,) = points(trial(made), [*logs, *wall, *modelled])
    watts_of = {
        key: value for key, value in point.metrics.items() if key.startswith("event_") and key.endswith("_w")
    }
    assert point.grade == "wall"
    assert watts_of == pytest.approx({f"event_{stage}_w": 30 for stage in ("during", "healing", "after")})
