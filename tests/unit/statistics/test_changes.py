"""What counts as a difference between two campaigns, by its name on either side."""

from dataclasses import replace

import pytest

from perjoule.model import Campaign, Spec
from perjoule.model.campaign import StopRule
from perjoule.statistics.changes import changes, undeclared


def found(pairs, declared=(), campaigns=(None, None)):
    return {one.name: (one.before, one.after) for one in changes(pairs, campaigns, declared)}


@pytest.fixture
def pair(made):
    """Records of either side that differ in what they are given: facts, environment, or options of the
    file system.
    """

    def build(before, after, *, root="facts", kinds=("moosefs", "moosefs")):
        def record(told, kind):
            one = made.record(
                replace(made.trial(kind), filesystem=Spec(kind, told if root == "options" else {}, kind))
            )
            return replace(
                one, facts=told if root == "facts" else {}, environment=told if root == "environment" else {}
            )

        return record(before, kinds[0]), record(after, kinds[1])

    return build


def test_what_differs_is_named_by_where_it_stands(pair):
    before = {"filesystem": {"goal": 2, "list": [1, {"x": True}], "same": 1, "gone": None}}
    after = {"filesystem": {"goal": 3, "list": [1, {"x": False}], "same": 1, "gone": "no"}}
    assert found([pair(before, after)]) == {
        "facts.filesystem.goal": ("2", "3"),
        "facts.filesystem.list.2.x": ("True", "False"),
        "facts.filesystem.gone": ("", "no"),
    }


def test_what_differs_from_trial_to_trial_by_itself_is_not_a_change_and_an_option_is(pair):
    one, two, three = ({"filesystem": {"load": n}} for n in (1, 2, 3))
    assert found([pair(one, three)]) == {"facts.filesystem.load": ("1", "3")}
    for pairs in ([pair(one, three), pair(two, three)], [pair(three, one), pair(three, two)]):
        assert found(pairs) == {}
    options = [pair({"goal": 1}, {"goal": 3}, root="options"), pair({"goal": 2}, {"goal": 3}, root="options")]
    assert found(options) == {"filesystem.goal": ("1, 2", "3")}
    kernels = [
        pair({"kernel": "6.1"}, {"kernel": "6.2"}, root="environment"),
        pair({"kernel": "6.0"}, {"kernel": "6.2"}, root="environment"),
    ]
    assert found(kernels) == {"environment.kernel": ("6.0, 6.1", "6.2")}


def test_the_id_that_a_testbed_draws_for_a_run_is_not_a_circumstance_where_a_mount_point_bears_it(pair):
    def facts(run, *, point="mnt"):
        return {
            "testbed": {"run": run},
            "filesystem": {"mounts": {"client-1": {"target": f"/var/tmp/pj-{run}/{point}"}}},
        }

    assert found([pair(facts("dded6cac"), facts("64974467"))]) == {}
    moved = found([pair(facts("dded6cac"), facts("64974467", point="other"))])
    assert moved == {
        "facts.filesystem.mounts.client-1.target": ("/var/tmp/pj-RUN/mnt", "/var/tmp/pj-RUN/other")
    }


def test_the_cpu_caps_of_virtual_hosts_are_named_by_the_rating_that_they_follow_from(pair):
    def facts(mips):
        caps = {"storage-1": 4000 / mips, "storage-2": 4000 / mips}
        return {
            "testbed": {
                "machine_mips_per_core": mips,
                "cpu_cap_cores": caps,
                "cpu_demand_ratio": 16000 / mips,
            }
        }

    assert found([pair(facts(2551), facts(2562))]) == {
        "facts.testbed.machine_mips_per_core": ("2551", "2562")
    }


@pytest.mark.parametrize(
    "name", ["run", "job", "address", "fsid", "uuid", "pid", "port", "used_bytes", "total_bytes"]
)
def test_what_daemons_count_or_draw_by_lot_is_not_a_circumstance(pair, name):
    assert found([pair({"filesystem": {name: 1}}, {"filesystem": {name: 2}})]) == {}


@pytest.mark.parametrize(
    ("name", "told"), [("volumes", False), ("hop_ratios", False), ("volume_bytes", True)]
)
def test_where_chance_placed_what_is_stored_is_not_a_circumstance(pair, name, told):
    before, after = ({"filesystem": {name: {"storage-1": count}}} for count in (4, 3))
    assert bool(found([pair(before, after)])) == told


@pytest.mark.parametrize(
    ("name", "told"), [("clock", False), ("git", False), ("gitea", True), ("kernel", True)]
)
def test_time_and_our_own_version_are_no_circumstance(pair, name, told):
    assert bool(found([pair({name: "a"}, {name: "b"}, root="environment")])) == told
    assert bool(found([pair({name: {"of": "a"}}, {name: {"of": "b"}}, root="environment")])) == told


def test_facts_of_another_file_system_are_its_own(pair):
    facts = (
        {"filesystem": {"version": "3"}, "workload": {"version": "1"}},
        {"filesystem": {"version": "4"}, "workload": {"version": "2"}},
    )
    assert found([pair(*facts, kinds=("moosefs", "cephfs"))]) == {
        "filesystem.kind": ("moosefs", "cephfs"),
        "facts.workload.version": ("1", "2"),
    }


def test_an_option_that_one_side_lacks_is_nothing_there(pair):
    assert found([pair({"goal": 2}, {}, root="options")]) == {"filesystem.goal": ("2", "")}
    assert found([pair({}, {"goal": 2}, root="options")]) == {"filesystem.goal": ("", "2")}


@pytest.mark.parametrize(
    ("declared", "left"),
    [
        (
            (),
            [
                "facts.filesystem.mounts",
                "facts.filesystem.version",
                "facts.workload.jobs",
                "filesystem.goal",
                "filesystem.goals",
            ],
        ),
        (("filesystem.goal",), ["facts.filesystem.version", "facts.workload.jobs", "filesystem.goals"]),
        (("filesystem",), ["facts.filesystem.version", "facts.workload.jobs"]),
        (("filesystem.kind",), ["facts.filesystem.version", "facts.workload.jobs"]),
        (
            ("facts.workload",),
            ["facts.filesystem.mounts", "facts.filesystem.version", "filesystem.goal", "filesystem.goals"],
        ),
        (("filesystem", "facts"), []),
    ],
)
def test_a_declaration_covers_what_is_below_it_and_what_daemons_report_of_it_but_no_version(
    pair, declared, left
):
    def facts(n):
        return {"filesystem": {"mounts": n, "version": n}, "workload": {"jobs": n}}

    one, other = pair({"goal": {"of": 1}, "goals": 1}, {"goal": {"of": 2}, "goals": 2}, root="options")
    whole = changes([(replace(one, facts=facts(1)), replace(other, facts=facts(2)))], (None, None), declared)
    assert [name.removesuffix(".of") for name in (c.name for c in undeclared(whole))] == left


def campaign(**words):
    return Campaign("name", "", 1, (), "", **words)


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ({"settle_s": 2.5}, {"settle": ("1 s", "2.5 s")}),
        ({"quiet_s": 0.0}, {"quiet": ("30 s", "0 s")}),
        ({"align_s": 10.0}, {"align": ("0 s", "10 s")}),
        ({"edp_weight": 2}, {"edp_weight": ("1", "2")}),
        ({"seed": 2}, {}),
    ],
)
def test_headers_differ_where_both_can_be_read(words, change):
    one, other = campaign(), replace(campaign(), **words)
    assert found([], (), (one, other)) == change
    assert found([], (), (None, other)) == found([], (), (one, None)) == {}


def test_a_stop_rule_is_one_circumstance():
    rule = StopRule("MiB/s", 0.05, 8)
    assert found([], (), (campaign(), campaign(until=rule))) == {"until": ("", "MiB/s 0.05")}
