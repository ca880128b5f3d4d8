"""[[event]] tables: what they ask for, and what is refused before anything runs."""

import re
import subprocess
import tomllib

import jsonschema
import pytest

from perjoule import campaign, drivers
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import FileSystem
from perjoule.execution import readiness
from perjoule.model import Spec
from perjoule.model.errors import CampaignError
from perjoule.testbeds.virtual import requirements
from places import ROOT

TEXT = """
name = "hit"
repetitions = 2
seed = 1
{top}
[testbed]
{testbed}
[[filesystem]]
{filesystem}
[[workload]]
{workload}
{events}
"""
VIRTUAL = 'kind = "virtual"\nservers = 3\ndisk = "xfs"'
CLUSTER = """kind = "cluster"
hosts = [
    {name = "storage-[1-3]", address = "192.0.2.[1-3]", role = "storage"},
    {name = "client-1", address = "192.0.2.4", role = "client"},
]"""
MOOSEFS = 'kind = "moosefs"'
FIO = 'kind = "fio"\nsize = "1 GiB"\nduration = "30 s"'
KILL = '[[event]]\nat = "10 s"\nkind = "kill"\nhost = "storage-2"\n'
FAIL = KILL.replace("kill", "fail")
GOAL_2 = MOOSEFS + "\ngoal = 2"
BACK = '[[event]]\nat = "20 s"\nkind = "back"\nhost = "storage-2"\n'
SLOW = '[[event]]\nat = "5 s"\nkind = "slow"\nhost = "storage-1"\nfactor = 10\n'


SCRUB = '[[event]]\nat = "6 s"\nkind = "scrub"\n'
SNAPSHOT = SCRUB.replace("scrub", "snapshot")
LOSSY = '[[event]]\nat = "7 s"\nkind = "lossy"\nhost = "storage-3"\nloss = "2 %"\n'
ADD = KILL.replace("kill", "add").replace("storage-2", "storage-3")
CEPHFS = 'kind = "cephfs"'
RADOS = 'kind = "rados"'
ORANGEFS = 'kind = "orangefs"'
MIRRORED = 'kind = "glusterfs"\nlayout = "replicated"'
DISTRIBUTED = 'kind = "glusterfs"\nlayout = "distributed"'
KEYS = {"at_s", "kind", "host", "factor"}


def text(events=KILL, *, top="", testbed=VIRTUAL, filesystem=MOOSEFS, workload=FIO):
    return TEXT.format(top=top, testbed=testbed, filesystem=filesystem, workload=workload, events=events)


def test_events_are_part_of_each_trial_in_the_order_of_time():
    asked = campaign.parse(text(BACK + KILL + SLOW))
    for trial in asked.trials:
        assert [(event.text, event.at_s) for event in trial.events] == [
            ("slow storage-1 10 times", 5.0),
            ("kill storage-2", 10.0),
            ("back storage-2", 20.0),
        ]


def test_each_trial_with_events_has_a_deployment_of_its_own():
    for order in ("shuffled", "interleaved", "written"):
        top = f'order = "{order}"\nclients = [1, 2]'
        assert [len(group) for group in campaign.parse(text(top=top)).groups] == [1, 1, 1, 1]
        assert max(len(group) for group in campaign.parse(text("", top=top)).groups) > 1


def test_a_trial_with_events_is_another_trial():
    plain, hit, later = (
        {trial.id for trial in campaign.parse(text(events)).trials}
        for events in ("", KILL, KILL.replace("10 s", "11 s"))
    )
    assert not plain & hit
    assert not hit & later


@pytest.mark.parametrize(
    "kind", [kind for kind in drivers.kinds("workloads") if "duration" in fields_of("workload", kind)]
)
def test_a_load_with_a_duration_has_events_until_then(kind):
    loads = drivers.workload(Spec(kind, {"duration": "30 s"}, kind))
    assert 30 <= loads.duration_limit_s < 40  # with the rest before it


def test_rados_bench_has_events_until_its_duration_is_over():
    bench = 'kind = "rados"\nsize = "64 GiB"\nduration = "15 s"'
    (one, *_) = campaign.parse(text(filesystem=RADOS, workload=bench)).trials
    assert [event.text for event in one.events] == ["kill storage-2"]
    with pytest.raises(
        CampaignError, match='back storage-2 would happen after the end of "rados", which lasts 15 s'
    ):
        campaign.parse(text(KILL + BACK, filesystem=RADOS, workload=bench))


def test_a_disk_fails_on_virtual_hosts_where_redundancy_has_its_data():
    for testbed in (VIRTUAL, VIRTUAL.replace("xfs", "directory")):
        (one, *_) = campaign.parse(text(FAIL, testbed=testbed, filesystem=GOAL_2)).trials
        assert [event.text for event in one.events] == ["fail storage-2"]
    # a layout that is impossible fails by itself
    asked = campaign.parse(text(FAIL, filesystem='kind = "cephfs"\ncopies = 8'))
    assert campaign.impossible(asked)


@pytest.mark.parametrize("testbed", [VIRTUAL, CLUSTER])
@pytest.mark.parametrize("filesystem", [MOOSEFS, CEPHFS, RADOS, DISTRIBUTED])
def test_a_host_joins_and_may_be_killed_and_come_back_later(testbed, filesystem):
    later = KILL.replace("10 s", "12 s").replace("storage-2", "storage-3")
    loads = 'kind = "idle"\nduration = "30 s"'
    (one, *_) = campaign.parse(
        text(
            ADD + later + BACK.replace("storage-2", "storage-3"),
            testbed=testbed,
            filesystem=filesystem,
            workload=loads,
        )
    ).trials
    assert [event.text for event in one.events] == ["add storage-3", "kill storage-3", "back storage-3"]


def test_a_layout_has_to_fit_the_hosts_that_are_there_from_the_beginning():
    three = 'kind = "moosefs"\ngoal = 3'
    assert not campaign.impossible(campaign.parse(text(KILL, filesystem=three)))
    ((_, error),) = campaign.impossible(campaign.parse(text(ADD, filesystem=three))).items()
    assert "goal = 3 needs 3 chunk servers, but the testbed has 2 storage hosts" in str(error)


def test_as_many_hosts_join_glusterfs_as_hold_a_file_together():
    two = ADD + ADD.replace("storage-3", "storage-2")
    five = VIRTUAL.replace("servers = 3", "servers = 5")
    (one, *_) = campaign.parse(text(two, testbed=five, filesystem=MIRRORED)).trials
    assert [event.host for event in one.events] == ["storage-3", "storage-2"]


@pytest.mark.parametrize("testbed", [VIRTUAL, CLUSTER])
def test_a_scrub_and_snapshots_happen_to_the_file_system_as_a_whole(testbed):
    (one, *_) = campaign.parse(text(SNAPSHOT + SCRUB + SNAPSHOT, testbed=testbed, filesystem=CEPHFS)).trials
    assert [(event.text, event.host) for event in one.events] == [
        ("snapshot", ""),
        ("scrub", ""),
        ("snapshot", ""),
    ]


def test_a_lossy_link_has_its_share_and_only_such_trials_have_other_names():
    (one, *_) = campaign.parse(text(LOSSY)).trials
    assert [(event.text, event.options) for event in one.events] == [
        ("lossy storage-3 2 %", {"loss_ratio": 0.02})
    ]
    assert one.id != campaign.parse(text(LOSSY.replace("2 %", "3 %"))).trials[0].id
    # as it was before links could be lossy, so that earlier results are resumed
    assert one.events[0].identity().keys() - {"loss_ratio"} == KEYS
    assert campaign.parse(text()).trials[0].events[0].identity().keys() == KEYS


def test_a_lossy_link_needs_netem_where_its_hosts_are_virtual(monkeypatch):
    requirements.netem.cache_clear()
    monkeypatch.setattr(requirements, "_tried", lambda _: subprocess.CompletedProcess([], 2, "", "unknown"))
    found = {check.name: check for check in readiness.checks(campaign.parse(text(LOSSY)))}
    requirements.netem.cache_clear()
    assert (found["netem"].ok, found["netem"].needed) == (False, True)
    assert "modprobe sch_netem" in found["netem"].fix
    assert "netem" not in {check.name for check in readiness.checks(campaign.parse(text()))}


def test_the_command_line_changes_events():
    asked = campaign.parse(text(), overrides=["event.at=12 s"])
    assert {event.at_s for trial in asked.trials for event in trial.events} == {12.0}


def test_a_simulated_campaign_has_its_events_at_the_same_shares_of_the_load():
    asked = campaign.parse(text(KILL + BACK, top="simulate = true"))
    assert [event.at_s for event in asked.trials[0].events] == pytest.approx([0.4 * 10 / 30, 0.4 * 20 / 30])


def test_editors_know_events():
    valid = jsonschema.Draft202012Validator(campaign.schema())
    assert not list(valid.iter_errors(tomllib.loads(text(KILL + SLOW))))
    assert list(valid.iter_errors(tomllib.loads(text(KILL.replace("kill", "crash")))))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            text(KILL.replace("storage-2", "storage-4")),
            r'no server is called "storage-4"; did you mean "storage-',
        ),
        (
            text(KILL.replace("storage-2", "client-1")),
            "client-1 is a client, and events happen to servers; servers are storage-1",
        ),
        (
            text(KILL.replace("10 s", "30 s")),
            r'kill storage-2 would happen after the end of "fio", which lasts 30 s',
        ),
        (
            text(workload='kind = "fio"'),
            'events need a load that ends at a known time, and "fio" has no duration',
        ),
        (
            text(filesystem='kind = "nfs"'),
            "nfs was not seen to get healthy again.*; use filesystem cephfs or glusterfs or moosefs or "
            "orangefs or rados or rbd or rgw or seaweed_s3 or seaweedfs$",
        ),
        (
            text(
                ADD, filesystem='kind = "rbd"', workload='kind = "device"\nsize = "1 GiB"\nduration = "30 s"'
            ),
            'no add can happen to filesystem "rbd": no mapped image was seen through it; use filesystem ',
        ),
        (
            text("", workload=f"{FIO}\ntolerate_errors = true"),
            '"fio" tolerates errors, and no event of this campaign would cause any; add an .*, or remove '
            "tolerate_errors",
        ),
        (text(ADD, filesystem=ORANGEFS), "no add can happen .*read at their start which servers there are"),
        (text(FAIL, filesystem=ORANGEFS), "would lose data: disks of storage-2 fail, and it keeps 1 copy"),
        (
            text(SLOW, testbed=VIRTUAL.replace("xfs", "directory")),
            "slow storage-1 10 times can't happen on this testbed virtual",
        ),
        (
            text(SLOW, testbed=CLUSTER),
            "slow storage-1 10 times can't happen on this testbed cluster: the disks of this host can't be "
            "slowed ",
        ),
        (
            text(testbed='kind = "local"'),
            "no event can happen to the hosts of testbed local; use testbed virtual or cluster",
        ),
        (
            text(FAIL + KILL.replace("10 s", "11 s"), filesystem=GOAL_2),
            "kill storage-2: its daemons have already ended",
        ),
        (
            text(FAIL),
            '"moosefs" would lose data: disks of storage-2 fail, and it keeps 1 copy; choose a layout with '
            "more",
        ),
        (
            text(FAIL + FAIL.replace("storage-2", "storage-1"), filesystem=GOAL_2),
            "would lose data: disks of storage-1, storage-2 fail, and it keeps 2 copies",
        ),
        (
            text(FAIL.replace("storage-2", "metadata-1"), filesystem=GOAL_2),
            "fail metadata-1 can't happen: only disks of storage hosts fail",
        ),
        (
            text(LOSSY, testbed=CLUSTER),
            "lossy storage-3 2 % can't happen on this testbed cluster: .*lose packets; use testbed "
            "virtual, or kill",
        ),
        (text(LOSSY.replace('loss = "2 %"', "")), 'lossy lacks "loss"; loss = "1 %"'),
        (text(LOSSY.replace("2 %", "100 %")), "loss = .* is out of range"),
        (text(KILL + 'loss = "1 %"'), 'line .*: "kill" has no loss; only lossy has one; remove loss'),
        (
            text(SCRUB + 'host = "storage-1"', filesystem=CEPHFS),
            "line .*: a scrub is of the whole file system; remove host",
        ),
        (
            text(SCRUB + SCRUB, filesystem=CEPHFS),
            "a trial has one scrub, which may last longer than the load; remove the oth",
        ),
        (
            text(SCRUB),
            'no scrub can happen to filesystem "moosefs": its chunk servers test chunks all the time, and '
            "no command begins a round; use filesystem cephfs or rados or rgw, or remove",
        ),
        (
            text(SNAPSHOT, filesystem='kind = "glusterfs"'),
            'no snapshot can happen to filesystem "glusterfs": its snapshots need bricks on thin LVM '
            "volumes; use filesystem ce",
        ),
        (text(SCRUB, filesystem='kind = "glusterfs"'), "checks only files that bitrot detection has signed"),
        (
            text(KILL.replace('host = "storage-2"', "")),
            'line .*: an event needs "host"; write host = "storage-2"',
        ),
        (
            text(ADD.replace("storage-3", "metadata-1")),
            "add metadata-1 can't happen: only storage hosts join",
        ),
        (text(ADD + ADD.replace("10 s", "11 s")), "add storage-3: it has already joined; add each host once"),
        (
            text(ADD + KILL.replace("10 s", "9 s").replace("-2", "-3")),
            "kill storage-3: it joins only later; let it",
        ),
        (
            text(ADD + BACK.replace("storage-2", "storage-3")),
            "nothing has happened to storage-3 from which it could be back",
        ),
        (
            text(ADD, filesystem=MIRRORED, testbed=VIRTUAL.replace("servers = 3", "servers = 4")),
            'no host can join "glusterfs": its bricks are added by groups of 2 hosts, and the number of '
            "hosts that join is 1; ",
        ),
        (text(BACK), "nothing has happened to storage-2 from which it could be back"),
        (text(KILL + KILL), "kill storage-2: that has already happened to it"),
        (text(KILL.replace("kill", "crash")), 'kind = "crash" is not a valid value'),
        (text(KILL.replace("at =", "when =")), 'an event needs "at"|an event has no option "when"'),
        (text(KILL.replace('"10 s"', "10")), "10 has no unit"),
        (text(KILL + "factor = 2"), 'line .*: "kill" has no factor; only slow has one; remove factor'),
        (text(SLOW.replace("factor = 10", "")), 'slow lacks "factor"; factor = 10'),
        (text(SLOW.replace("= 10", "= 0.5")), "factor = 0.5 is out of range"),
        (
            text("[event]\nat = 1"),
            r"a campaign can have several events; write it as \[\[event\]\], in double brackets",
        ),
    ],
)
def test_what_can_not_happen_is_refused_with_a_sentence(asked, said):
    with pytest.raises(CampaignError, match=said) as caught:
        campaign.parse(asked)
    assert "campaign" in caught.value.where


def test_the_documents_say_for_each_file_system_what_can_happen_to_it():
    page = (ROOT / "docs" / "how-to" / "events.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in page if "| `" in line]
    head = next(row for row in rows if row[0] == "`kill`, `cut`, `slow`, `lossy`, `back`")
    by_kind = {
        kind: row[1:] for row in rows if len(row) == len(head) + 1 for kind in re.findall("`(.+?)`", row[0])
    }
    kinds = {kind for kind in drivers.kinds("filesystems") if kind != "simulated"}
    assert by_kind.keys() <= kinds
    nothing = ["no"] * len(head)  # can happen to one that the page leaves out
    for kind in kinds:
        cls = drivers.driver_class("filesystems", kind)
        assert issubclass(cls, FileSystem)
        refused = {
            events
            for events, said in zip(head, by_kind.get(kind, nothing), strict=True)
            if said.split(":")[0] == "no"
        }
        declares = (
            f"docs/how-to/events.md: make the row of `{kind}` what its driver declares (`heals`, `unable`)"
        )
        assert ("`kill`, `cut`, `slow`, `lossy`, `back`" not in refused) == cls.heals, declares
        for event in ("add", "scrub", "snapshot"):
            assert (f"`{event}`" in refused) == (not cls.heals or event in cls.unable), f"{declares}: {event}"


FIRST = SLOW.replace("5 s", "1 s")  # an event before the wrong one with which nothing is wrong


@pytest.mark.parametrize(
    ("wrong", "key", "options"),
    [
        (KILL.replace("storage-2", "storage-4"), "host", {}),
        (KILL.replace("storage-2", "client-1"), "host", {}),
        (KILL.replace("10 s", "40 s"), "at", {}),
        (SCRUB, "[[event]]", {}),
        (FAIL, "[[event]]", {}),
        (
            FAIL + FAIL.replace("storage-2", "storage-1").replace("10 s", "9 s"),
            "[[event]]",
            {"filesystem": GOAL_2},
        ),
        (ADD.replace("storage-3", "metadata-1"), "host", {}),
        (
            ADD,
            "[[event]]",
            {"filesystem": MIRRORED, "testbed": VIRTUAL.replace("servers = 3", "servers = 4")},
        ),
    ],
)
def test_a_refusal_names_the_line_of_its_own_table(wrong, key, options):
    asked = text(FIRST + wrong, **options)
    expected = next(
        n
        for n, line in enumerate(asked.splitlines(), 1)
        if n > asked[: asked.index(wrong)].count("\n") and key in line
    )
    with pytest.raises(CampaignError) as caught:
        campaign.parse(asked)
    assert caught.value.where == f"campaign line {expected}"
