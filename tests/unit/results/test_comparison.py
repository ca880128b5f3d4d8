"""Two sides of a comparison: what matches what, what changed, what is refused, and limits for CI."""

from dataclasses import replace

import pytest

from perjoule.model import Clock, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.results.comparison import checked_label, compare
from perjoule.results.comparison.limits import limit
from perjoule.results.sides import Side, between, changed, matched
from perjoule.statistics.cells import cells
from perjoule.statistics.changes import undeclared
from perjoule.statistics.trends import campaign_doubts
from readings import point_of


@pytest.fixture
def side(made):
    """A side of records an hour apart per side: values by file system, in turns where `step_s` leaves room
    for another's.
    """

    def build(
        name,
        values,
        *,
        began_s=0.0,
        step_s=100.0,
        grade="wall",
        environment=None,
        facts=None,
        options=None,
        kinds=None,
    ):
        records, points = [], []
        for n, (label, own) in enumerate(values.items()):
            for repetition, value in enumerate(own, start=1):
                asked = made.trial(filesystem=label, repetition=repetition)
                kind = (kinds or {}).get(label, label)
                asked = replace(
                    asked, filesystem=Spec(kind, {"goal": 2} if options is None else options, label)
                )
                clock = Clock(0.0, began_s + repetition * step_s + 25.0 * n)
                record = made.record(
                    asked, environment={"kernel": "6.1", "git": name} if environment is None else environment
                )
                records.append(
                    replace(
                        record, clock=clock, facts={"filesystem": facts or {"version": "1.0", "run": name}}
                    )
                )
                metrics = {"throughput_bytes_per_s": value * MIB, "efficiency_bytes_per_j": value * MIB / 50}
                points.append(point_of(asked, "write", metrics, (), grade))
        return Side(name, None, tuple(records), tuple(points), cells(records, points))

    return build


BEFORE, AFTER = (100.0, 101.0, 99.0, 100.5), (90.0, 91.0, 89.5, 90.2)


def test_the_same_labels_are_compared_and_the_metrics_that_were_measured(side) -> None:
    found = compare(side("a", {"moosefs": BEFORE}), side("b", {"moosefs": AFTER}, began_s=1e5))
    assert [(row.filesystem, row.metric, row.verdict) for row in found.rows] == [
        ("moosefs", "MiB/s", "significantly worse than a"),
        ("moosefs", "MiB/J", "significantly worse than a"),
    ]
    assert found.rows[0].judged.ratio.mean == pytest.approx(0.9, rel=1e-2)
    assert any("not measured in turns" in doubt for doubt in found.doubts)


def test_labels_on_one_side_alone_match_where_only_one_can_be_meant(side) -> None:
    one, other = side("a", {"moosefs": BEFORE, "ext4": BEFORE}), side("b", {"cephfs": AFTER, "ext4": BEFORE})
    assert sorted((a[1], b[1]) for a, b in matched(one, other)) == [("ext4", "ext4"), ("moosefs", "cephfs")]
    many = side("c", {"x": AFTER, "y": AFTER})
    assert matched(one, many) == ()
    with pytest.raises(CampaignError, match="the two have no workload in common"):
        compare(one, many)


def test_variants_match_by_their_kind(side) -> None:
    one = side("a", {"m2": BEFORE, "c": BEFORE}, kinds={"m2": "moosefs", "c": "cephfs"})
    other = side("b", {"m3": AFTER, "d": AFTER}, kinds={"m3": "moosefs", "d": "cephfs"})
    assert {(a[1], b[1]) for a, b in matched(one, other)} == {("m2", "m3"), ("c", "d")}


def test_only_what_is_declared_may_differ_and_what_follows_from_it(side) -> None:
    one = side("a", {"moosefs": BEFORE}, facts={"version": "1.0", "goal": "2"})
    other = side("b", {"moosefs": AFTER}, options={"goal": 3}, facts={"version": "1.1", "goal": "3"})
    names = [change.name for change in changed(one, other, ())]
    assert names == ["facts.filesystem.goal", "facts.filesystem.version", "filesystem.goal"]
    assert [c.name for c in undeclared(changed(one, other, ["filesystem.goal"]))] == [
        "facts.filesystem.version"
    ]
    assert undeclared(changed(one, other, ["filesystem.goal", "facts.filesystem.version"])) == ()
    doubts = compare(one, other, changes=changed(one, other, ())).doubts
    assert "undeclared differences that may be the cause" in doubts[0]


def test_a_kernel_is_a_change_and_what_is_drawn_by_lot_is_none(side) -> None:
    one = side("a", {"moosefs": BEFORE})
    other = side("b", {"moosefs": AFTER}, environment={"kernel": "6.2", "git": "b", "clock": {"offset_s": 3}})
    found = changed(one, other, ["environment"])
    assert [(c.name, c.before, c.after, c.declared) for c in found] == [
        ("environment.kernel", "6.1", "6.2", True)
    ]
    assert changed(one, side("c", {"moosefs": AFTER}), ()) == ()


def test_another_file_system_is_one_change(side) -> None:
    one, other = (
        side("a", {"moosefs": BEFORE}),
        side("b", {"cephfs": AFTER}, options={"copies": 2}, facts={"fsid": "x"}),
    )
    assert undeclared(changed(one, other, ["filesystem.kind"])) == ()
    assert [c.name for c in undeclared(changed(one, other, []))] == [
        "filesystem.copies",
        "filesystem.goal",
        "filesystem.kind",
    ]


def test_a_change_that_nothing_is_called_is_refused(side) -> None:
    one = side("a", {"moosefs": BEFORE})
    with pytest.raises(CampaignError, match='nothing is called "kernel"'):
        changed(one, one, ["kernel"])


def test_energies_of_different_grades_are_not_compared_unless_asked(side) -> None:
    one, other = side("a", {"moosefs": BEFORE}), side("b", {"moosefs": AFTER}, grade="modelled")
    rows = compare(one, other).rows
    assert rows[0].verdict == "significantly worse than a"
    assert rows[1].verdict == "not compared with a: power is of different grades (modelled, wall)"
    across = compare(one, other, across_grades=True)
    assert across.rows[1].verdict == "significantly worse than a"
    assert any("across grades" in doubt for doubt in across.doubts)


def test_file_systems_of_one_folder_are_compared_with_each_other(side) -> None:
    one, other = between(side("a", {"moosefs": BEFORE, "cephfs": AFTER}), ("moosefs", "cephfs"))
    found = compare(one, other, ["MiB/s"])
    assert [(row.filesystem, row.verdict) for row in found.rows] == [
        ("moosefs -> cephfs", "significantly worse than moosefs")
    ]
    assert not any("turns" in doubt for doubt in found.doubts)
    with pytest.raises(CampaignError, match='no file system is called "nfs"'):
        between(side("a", {"moosefs": BEFORE}), ("moosefs", "nfs"))


def test_a_drift_is_reported_and_what_it_may_explain_is_not_a_verdict(side) -> None:
    def drifting(level):
        return tuple(level * (1 + 0.01 * n + 0.001 * (n % 2)) for n in range(10))

    found = compare(
        side("a", {"moosefs": drifting(100.0)}),
        side("b", {"moosefs": drifting(104.0)}, began_s=1e6),
        ["MiB/s"],
    )
    assert sum("MiB/s drifts by +" in doubt for doubt in found.doubts) == 2
    assert (
        found.rows[0].verdict == "not significantly different from a: drift over the campaign may explain it"
    )


def test_outliers_are_shown_and_kept(side) -> None:
    found = compare(side("a", {"moosefs": (*BEFORE, 40.0)}), side("b", {"moosefs": AFTER}), ["MiB/s"])
    assert found.outliers == (
        "a: moosefs, write 4 MiB, 2 clients, repetition 5: 40.00 MiB/s where 100.0 is typical",
    )
    assert found.rows[0].before.values[-1] == 40 * MIB
    systems = {"moosefs": (*BEFORE, 40.0), "cephfs": AFTER}
    (own,) = compare(*between(side("a", systems), ("moosefs", "cephfs")), ["MiB/s"]).outliers
    assert own.startswith("moosefs, write 4 MiB, 2 clients, repetition 5: 40.00 MiB/s")


def test_a_limit_is_broken_only_by_the_whole_interval(side) -> None:
    one, other = side("a", {"moosefs": BEFORE}), side("b", {"moosefs": AFTER}, began_s=1e5)
    row = compare(one, other, ["MiB/J"]).rows[0]
    assert limit("MiB/J < -5 %").judge(row) == "broken"
    assert limit("MiB/J < -10%").judge(row) == "can't tell"
    assert limit("MiB/J < -20 %").judge(row) == "kept"
    assert limit("MiB/J > 5 %").judge(row) == "kept"
    assert limit("gross MiB/J > -20 %").metric == "gross MiB/J"
    lone = compare(side("a", {"moosefs": (100.0,)}), side("b", {"moosefs": (50.0,)}), ["MiB/J"]).rows[0]
    assert limit("MiB/J < -5 %").judge(lone) == "can't tell"


@pytest.mark.parametrize("text", ["MiB/J", "MiB/J < five", "MiB/J < -5"])
def test_what_is_not_a_limit_is_refused(text: str) -> None:
    with pytest.raises(CampaignError, match="is not a limit"):
        limit(text)


def test_metrics_have_the_names_that_people_use() -> None:
    assert checked_label("MiB/J") == "MiB/J"
    with pytest.raises(CampaignError, match="no metric is called"):
        checked_label("joules")


def test_a_drift_is_a_doubt_of_the_campaign_by_itself(side) -> None:
    one = side("a", {"moosefs": tuple(100.0 + n + 0.3 * (n % 2) for n in range(12))})
    told = campaign_doubts(one.cells)
    assert any(line.startswith("MiB/s drifts by +") for line in told)
    assert campaign_doubts([replace(one.cells[0], ran=one.cells[0].ran[:3])]) == ()


def test_errors_of_two_meters_of_one_name_do_not_cancel_between_folders(side) -> None:
    def metered(of: Side, address: str) -> Side:
        meters = (Spec("shelly", {"address": address}, "shelly"),)
        records = tuple(replace(r, trial=replace(r.trial, meters=meters)) for r in of.records)
        points = tuple(replace(p, trial=replace(p.trial, meters=meters)) for p in of.points)
        shared = {"efficiency_bytes_per_j": {"shelly: gain": 0.05}}
        cells = tuple(replace(cell, shared=shared) for cell in of.cells)
        return replace(of, records=records, points=points, cells=cells)

    one, other = side("a", {"moosefs": BEFORE}), side("b", {"moosefs": AFTER}, began_s=1e5)
    rows = [compare(metered(one, "10.0.0.1"), metered(other, f"10.0.0.{n}")).rows[1] for n in (1, 2)]
    assert [row.verdict for row in rows] == [
        "significantly worse than a",
        "not significantly different from a: within the uncertainty of b: shelly: gain",
    ]
