"""Several users at once: what a campaign says of them, when they come, and the whole pipeline on the
product's own fakes.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from commanded import export
from oracle.check import apart, checked
from perjoule import campaign, drivers, report
from perjoule.drivers.protocols import Workload
from perjoule.execution import runner
from perjoule.execution.notices import Notice
from perjoule.figures import rendering
from perjoule.measures.points import points
from perjoule.model import Campaign, Outcome, Point
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.statistics.users import mixes
from perjoule.store import Results, create, open_results
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.views.performance.users import users_table
from perjoule.workloads.together import UserTable
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "together"

CAMPAIGN = """
name = "users"
clients = [2]
repetitions = 2
seed = 1
settle = "60 ms"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "40 MiB/s"
[[workload]]
label = "mix"
only = ["", "analysis", "backup"]
together = [
    {user = "analysis", kind = "simulated", operation = "read", size = "4 MiB"},
    {user = "backup", kind = "simulated", operation = "write", size = "2 MiB", clients = 2},
]
[[meter]]
kind = "simulated"
waveform = "constant"
high = "50 W"
rate = "100 Hz"
"""


def changed(old: str, new: str, text: str = CAMPAIGN) -> str:
    assert old in text
    return text.replace(old, new)


def measured(folder: Path, wanted: Campaign) -> Results:
    results = create(folder / "results", wanted.text, wanted.name, wanted.overrides)
    runner.run(wanted, results, lambda notice: None)
    return open_results(folder / "results")


def judged(results: Results) -> list[Point]:
    return [point for record in results.latest() for point in points(record, results.series(record))]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The campaign above, measured once; who changes its files does that last."""
    return measured(tmp_path_factory.mktemp("mixed"), campaign.parse(CAMPAIGN))


def together(tables: Any, **options: Any) -> Workload:
    found = drivers.build("workloads", "together", {"together": tables, **options})
    assert isinstance(found, Workload)
    return found


# When users come


def test_users_come_at_once_after_a_time_or_again_and_again() -> None:
    assert UserTable(user="a").arrivals_s(0, 1) == (0.0,)
    assert UserTable(user="a", arrival="after 2 min").arrivals_s(0, 1) == (120.0,)
    assert UserTable(user="a", arrival="every 10 s").arrivals_s(25, 1) == (0.0, 10.0, 20.0)


def test_poisson_arrivals_are_drawn_from_the_seed_and_each_user_has_its_own() -> None:
    def arrivals(name: str, seed: int) -> tuple[float, ...]:
        return UserTable(user=name, arrival="poisson 1 s").arrivals_s(900, seed)

    assert arrivals("a", 1) == arrivals("a", 1)
    assert len({arrivals("a", 1), arrivals("a", 2), arrivals("b", 1)}) == 3
    assert len(arrivals("a", 1)) == pytest.approx(900, abs=4 * 30)  # four standard deviations
    assert list(arrivals("a", 1)) == sorted(arrivals("a", 1))


@pytest.mark.parametrize(("arrival", "window_s"), [("poisson 1 h", 0.1), ("every 1 ms", 10)])
def test_no_arrival_at_all_and_far_too_many_are_refused(arrival: str, window_s: float) -> None:
    with pytest.raises(ValueError, match=r"no job of a arrives|more than 1000 jobs of a arrive"):
        UserTable(user="a", arrival=arrival).arrivals_s(window_s, 1)


# In a campaign


def test_the_kind_is_implied_and_each_user_alone_has_a_label_of_its_own() -> None:
    asked = campaign.parse(CAMPAIGN)
    assert {(t.workload.kind, t.workload.label) for t in asked.trials} == {
        ("together", "mix"),
        ("together", "mix analysis"),
        ("together", "mix backup"),
    }
    assert len({trial.id for trial in asked.trials}) == 6


def test_a_mix_moves_what_its_users_move_with_all_their_jobs() -> None:
    repeated = changed(
        "clients = 2}", 'clients = 2, arrival = "every 1 s"}', changed('label = "mix"', 'window = "3 s"')
    )
    moved = {
        t.workload.label: s.moved_bytes
        for s in campaign.plan(campaign.parse(repeated)).steps
        for t in [s.trial]
    }
    assert moved == {
        "together": (2 * 4 + 3 * 2) * MIB,
        "together analysis": 2 * 4 * MIB,
        "together backup": 3 * 2 * MIB,
    }


def test_shrink_shrinks_each_users_size() -> None:
    tables = campaign.parse(CAMPAIGN, overrides=["shrink=4"]).trials[0].workload.options["together"]
    assert isinstance(tables, list)
    # whole transfers
    assert [table["size"] for table in tables if isinstance(table, dict)] == ["1 MiB", "1 MiB"]


def test_simulate_puts_simulated_loads_in_the_place_of_each_users() -> None:
    real = changed('kind = "simulated", operation = "read"', 'kind = "fio", operation = "randread"')
    tables = campaign.parse(real, overrides=["simulate=true"]).trials[0].workload.options["together"]
    assert isinstance(tables, list)
    assert [(t["user"], t["kind"], t["operation"]) for t in tables if isinstance(t, dict)] == [
        ("analysis", "simulated", "read"),
        ("backup", "simulated", "write"),
    ]


WRONG = [
    (
        'operation = "read"',
        'operatoin = "read"',
        'line 16: user with workload simulated has no option "operatoin"',
        "operation",
    ),
    ('operation = "read"', 'operation = "raed"', 'line 16: operation = "raed" is not a valid value', "read"),
    (
        'operation = "read"',
        'operation = ["read", "write"]',
        'line 16: operation = ["read", "write"] of user analysis',
        "for each",
    ),
    (
        '"backup", kind = "simulated"',
        '"backup", kind = "simulatd"',
        'line 17: unknown workload "simulatd"',
        "simulated",
    ),
    ('"backup", kind = "simulated",', '"backup",', "line 17: this workload has no kind", 'kind = "..."'),
    (
        "clients = 2}",
        "clients = 3}",
        "line 17: user backup loads from client 3, but a trial has only 2",
        "3 or more",
    ),
    ("clients = 2}", "clients = []}", "line 17: clients: [] names no client", "remove clients"),
    ("clients = 2}", "clients = 0}", "line 17: clients (number 1) = 0 is out of range", "at least 1"),
    (
        "clients = 2}",
        'arrival = "evry 5 s"}',
        'line 17: arrival: "evry 5 s" is not a valid arrival',
        '"every 10 s"',
    ),
    (
        "clients = 2}",
        'arrival = "every 0 s"}',
        'line 17: arrival: "every 0 s" has no time in it',
        '"every 10 s"',
    ),
    ("clients = 2}", 'arrival = "every 5"}', "line 17: arrival: ", "5 s"),
    (
        "clients = 2}",
        'arival = "at once"}',
        'line 17: user with workload simulated has no option "arival"',
        "arrival",
    ),
    (
        "clients = 2}",
        'arrival = "every 5 s"}',
        'line 12: workload together: arrival = "every 5 s"',
        'window = "60 s"',
    ),
    ('user = "backup"', 'user = "analysis"', 'line 17: two users are called "analysis"', "different name"),
    ('user = "backup"', 'user = "../x"', 'line 17: user: "../x" can\'t be the name of a folder', "letters"),
    ('user = "backup", ', "", 'line 17: a user lacks "user"', 'user = "..."'),
    ('"backup"]', '"bakup"]', 'line 14: only = "bakup" is not a user', "backup"),
    ("size", "siez", 'line 16: user with workload simulated has no option "siez"', "size"),
    ("together = [", 'together = "x"\nseeds = [', 'line 15: together = "x" is not a list of users', "[{user"),
]


@pytest.mark.parametrize(("old", "new", "said", "advice"), WRONG, ids=[new for _, new, _, _ in WRONG])
def test_what_is_wrong_in_a_users_table_is_reported_with_its_line(
    old: str, new: str, said: str, advice: str
) -> None:
    with pytest.raises(CampaignError) as told:
        campaign.parse(CAMPAIGN.replace(old, new, 1))
    assert str(told.value).startswith(f"campaign {said}")
    assert advice in told.value.next


def test_users_as_tables_of_their_own_are_the_same_and_a_fault_has_its_own_line() -> None:
    start = CAMPAIGN.index("together = [")
    tables = (
        '[[workload.together]]\nuser = "analysis"\nkind = "simulated"\n[[workload.together]]\nuser = '
        '"backup"\n'
    )
    text = (
        CAMPAIGN[:start]
        + tables
        + 'kind = "simulated"\nsize = "1 MiB"\n'
        + CAMPAIGN[CAMPAIGN.index("[[meter]]") :]
    )
    assert {t.workload.kind for t in campaign.parse(text).trials} == {"together"}
    with pytest.raises(
        CampaignError,
        match=r'line 21: user with workload simulated has no option "sise"; did you mean "size"',
    ):
        campaign.parse(changed("size", "sise", text))


@pytest.mark.parametrize(
    ("tables", "options", "said"),
    [
        ([{"user": "a", "kind": "no_such"}], {}, 'unknown workload "no_such"'),
        (
            [{"user": "a", "kind": "together", "together": [{"user": "b", "kind": "simulated"}]}],
            {},
            "can't be used for one of several",
        ),
        ([{"user": "a", "kind": "rados"}], {}, "can't be used for one of several"),
        ([{"user": "a", "kind": "simulated"}], {"only": "b"}, "only = .b. is not a user"),
        ([{"user": "a", "kind": "simulated"}] * 2, {}, "two users are called a"),
    ],
)
def test_the_driver_by_itself_refuses_what_can_t_be(
    tables: list[dict[str, Any]], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        together(tables, **options)


# What fio left when two users ran it on MooseFS


def recorded() -> Outcome:
    tables = [
        {"user": "reader", "kind": "fio", "operation": "read", "size": "48 MiB", "clients": [1, 2]},
        {"user": "writer", "kind": "fio", "operation": "write", "size": "48 MiB", "clients": [2]},
    ]
    return together(tables).outcome(SAID / "mixed")


def test_each_result_names_its_user() -> None:
    found = recorded()
    assert found.engine == "fio-3.33"
    assert [(r.user, r.host, r.direction, r.moved_bytes) for r in found.results] == [
        ("reader", "client-1", "read", 48 * MIB),
        ("reader", "client-2", "read", 48 * MIB),
        ("writer", "client-2", "write", 48 * MIB),
    ]


def test_goodput_on_a_client_that_users_share_is_distinguished() -> None:
    channels = [series.channel for series in recorded().series]
    assert len(set(channels)) == len(channels) == 3
    assert {(c.host, c.component) for c in channels} == {
        ("client-1", "user reader"),
        ("client-2", "user reader"),
        ("client-2", "user writer"),
    }


# The whole pipeline


def test_all_together_are_one_point_with_each_users_own_numbers(mixed: Results) -> None:
    found = {(p.trial.workload.label, p.trial.repetition): p for p in judged(mixed)}
    assert len(found) == 6
    mix = found["mix", 1]
    assert mix.direction == "mixed"
    assert found["mix analysis", 1].direction == "read"
    assert found["mix backup", 1].direction == "write"
    # analysis moves 4 MiB from each of two clients at 40 MiB/s, in 0.1 s; backup 2 MiB from one of them, in
    # 0.05 s
    assert mix.metrics["user/analysis/throughput_bytes_per_s"] == pytest.approx(80 * MIB, rel=0.02)
    assert mix.metrics["user/backup/throughput_bytes_per_s"] == pytest.approx(40 * MIB, rel=0.02)
    assert mix.metrics["user/analysis/share_ratio"] == pytest.approx(0.8)
    assert mix.metrics["throughput_bytes_per_s"] == pytest.approx(10 * MIB / mix.metrics["duration_s"])
    assert 0 <= mix.metrics["together_ratio"] <= 0.51
    # fair shares: a client and a half against half a client
    assert mix.metrics["fairness_ratio"] == pytest.approx(
        (80 / 1.5 + 40 / 0.5) ** 2 / (2 * ((80 / 1.5) ** 2 + 80**2)), rel=0.02
    )
    assert mix.metrics["energy_j"] == pytest.approx(50 * mix.metrics["duration_s"])
    assert not [d for p in found.values() for d in p.doubts if "together" in d or "apart" in d]


def test_percentiles_of_a_mix_are_of_all_calls_also_in_the_second_calculation(tmp_path: Path) -> None:
    """Of 128 calls of 64 KiB at 40 MiB/s and two of 1 MiB, the 65th and the 129th."""
    text = changed('operation = "read", size', 'operation = "read", transfer = "64 KiB", size')
    results = measured(tmp_path, campaign.parse(changed('only = ["", "analysis", "backup"]\n', "", text)))
    for point in judged(results):
        assert point.metrics["latency_p50_s"] == pytest.approx(1 / 640)
        assert point.metrics["latency_p99_s"] == pytest.approx(1 / 40)
    found = checked(results.folder, export)
    latencies = found[found["metric"].isin(["latency_p50_s", "latency_p99_s"])]
    assert {*latencies["direction"]} == {"mixed"}
    assert apart(latencies).values.tolist() == []


def test_a_mix_is_joined_with_each_user_alone(mixed: Results) -> None:
    (mix,) = mixes(judged(mixed))
    assert [user.name for user in mix.users] == ["analysis", "backup"]
    for user in mix.users:
        assert user.slowdown is not None
        assert user.slowdown.values == pytest.approx([1, 1], rel=0.02)
    assert mix.progress_fairness is not None
    assert mix.progress_fairness.mean == pytest.approx(1, abs=1e-3)
    laid = users_table(Content(mixed).mixes)
    assert [row[3] for row in laid.rows] == ["all", "analysis", "backup"]


def test_the_report_has_a_section_and_a_figure_of_users_and_verifies(
    mixed: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "javascript", str)  # what draws in a browser takes seconds to gather
    assert [cell.direction for cell in summary(mixed).cells if cell.workload == "mix"] == ["mixed"]
    page = report.write(mixed, tmp_path / "report.html").read_text()
    assert "Users together and alone" in page
    assert "mix, 2 clients: fair" in page
    assert verify(mixed).differences == ()


def test_a_campaign_of_users_that_was_interrupted_continues(tmp_path: Path) -> None:
    wanted = campaign.parse(CAMPAIGN, overrides=["repetitions=1"])
    results = create(tmp_path / "results", wanted.text, wanted.name, wanted.overrides)

    def interrupt(notice: Notice) -> None:
        if notice.kind == "kept":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, results, interrupt)
    assert len(results.records()) == 1
    runner.run(wanted, results, lambda notice: None)
    assert [record.status for record in results.records()] == ["valid"] * 3
    assert verify(results).differences == ()


def test_jobs_have_folders_of_their_own_and_one_that_is_due_too_early_waits(tmp_path: Path) -> None:
    text = changed('label = "mix"', 'label = "mix"\nwindow = "0.15 s"')
    text = changed(
        "clients = 2}", 'arrival = "every 50 ms"}', changed('size = "2 MiB"', 'size = "4 MiB"', text)
    )
    wanted = campaign.parse(
        changed('only = ["", "analysis", "backup"]', 'only = "backup"', text), overrides=["repetitions=1"]
    )
    results = measured(tmp_path, wanted)
    (record,) = results.records()
    assert record.outcome is not None
    assert "backup: 2 of 3 jobs waited for the one before them" in record.doubts
    windows = sorted({(r.began_s, r.ended_s) for r in record.outcome.results})
    assert len(windows) == 3
    assert all(before[1] <= after[0] for before, after in pairwise(windows))
    assert {p.name for p in (results.folder_of(record) / "raw/backup").iterdir()} == {
        "job-1",
        "job-2",
        "job-3",
    }
    (point,) = judged(results)
    assert point.metrics["user/backup/jobs_count"] == 3
    assert point.metrics["user/backup/throughput_bytes_per_s"] == pytest.approx(80 * MIB, rel=0.02)


def test_a_user_whose_job_fails_fails_the_trial_by_name_and_nobody_begins_another(tmp_path: Path) -> None:
    text = changed('label = "mix"', 'label = "mix"\nwindow = "10 s"')
    text = changed("clients = 2}", "clients = 2, fail_at = 1}", text)
    text = changed('size = "4 MiB"}', 'size = "4 MiB", arrival = "every 5 s"}', text)
    wanted = campaign.parse(
        changed('only = ["", "analysis", "backup"]', "", text), overrides=["repetitions=1"]
    )
    results = measured(tmp_path, wanted)
    (record,) = results.records()
    assert record.status == "failed"
    assert record.reason == "user backup, client-2: the simulated load fails in its run 1, as configured"
    jobs = results.folder_of(record) / "raw/analysis"  # whose second one is due after the failure
    assert {job.name: bool(list(job.iterdir())) for job in jobs.iterdir()} == {"job-1": True, "job-2": False}


def test_the_figure_is_drawn_where_alone_was_not_measured_and_with_one_repetition(tmp_path: Path) -> None:
    text = changed('only = ["", "analysis", "backup"]', "")
    results = measured(tmp_path, campaign.parse(text, overrides=["repetitions=1"]))
    (mix,) = mixes(judged(results))
    assert mix.progress_fairness is None
    assert {user.slowdown for user in mix.users} == {None}
    assert "analysis" in rendering.svg(dict(report.drawings(Content(results)))["users"])


def test_what_is_changed_in_a_users_raw_output_is_reported(mixed: Results) -> None:
    raw = next(mixed.folder.glob("trials/*-mix-2c-*/attempt-1/raw/backup/job-1/simulated.json"))
    raw.write_text(raw.read_text().replace("2097152", "2097153"))
    assert any("does not give the stored outcome" in one for one in verify(mixed).differences)
    raw.unlink()
    assert any("user backup" in one for one in verify(mixed).differences)
