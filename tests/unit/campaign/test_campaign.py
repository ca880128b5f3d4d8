import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from editor import faults
from perjoule import campaign, drivers
from perjoule.campaign.attachments import attached
from perjoule.campaign.lines import key_lines, line_of
from perjoule.campaign.passed import check_passwords
from perjoule.campaign.plan import besides_s, speed_bytes_per_s
from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import fields_of, takes_list
from perjoule.cli.tune import go_on
from perjoule.model import Campaign, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.tuning import folder as folders
from perjoule.tuning.request import Request
from places import BROKEN_CAMPAIGNS, EXAMPLES
from typed import table

TEXT = """
name = "small"
clients = [1, 2, 4]
repetitions = 3
seed = 7

[testbed]
kind = "virtual"
cluster = "odroid-hc4"
scale = 0.2

[[filesystem]]
kind = "moosefs"
goal = [1, 2]

[[filesystem]]
kind = "cephfs"

[[workload]]
kind = "fio"
operation = ["write", "read"]
size = "64 MiB"
"""


def labels(asked: Campaign, name: str) -> set[str]:
    return {getattr(trial, name).label for trial in asked.trials}


# The matrix


def test_a_list_spans_the_matrix_and_every_combination_runs_in_every_repetition() -> None:
    asked = campaign.parse(TEXT)
    combinations = Counter((t.filesystem.label, t.workload.label, t.clients_count) for t in asked.trials)
    assert len(combinations) == 3 * 2 * 3
    assert set(combinations.values()) == {3}
    assert len({trial.id for trial in asked.trials}) == 54


def test_trials_that_share_testbed_and_file_system_are_one_group() -> None:
    asked = campaign.parse(TEXT)
    assert len(asked.groups) == 3
    for group in asked.groups:
        assert len({(trial.testbed.label, trial.filesystem.label) for trial in group}) == 1


def test_within_a_group_each_repetition_is_one_shuffled_block() -> None:
    asked = campaign.parse(TEXT)
    orders: list[list[tuple[str, int]]] = []
    for group in asked.groups:
        assert [trial.repetition for trial in group] == [1] * 6 + [2] * 6 + [3] * 6
        blocks = [[(t.workload.label, t.clients_count) for t in group[n : n + 6]] for n in (0, 6, 12)]
        assert all(sorted(block) == sorted(blocks[0]) for block in blocks)
        orders += blocks
    assert len({tuple(order) for order in orders}) > 3


def test_order_as_written_is_kept() -> None:
    asked = campaign.parse(TEXT, overrides=["order=written"])
    assert [group[0].filesystem.label for group in asked.groups] == [
        "moosefs goal 1",
        "moosefs goal 2",
        "cephfs",
    ]
    assert [(t.workload.label, t.clients_count) for t in asked.groups[0][:4]] == [
        ("fio write", 1),
        ("fio write", 2),
        ("fio write", 4),
        ("fio read", 1),
    ]


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_order_whatever_python_does_to_hashes() -> None:
    program = (
        "import sys; from perjoule import campaign; print([t.id for t in "
        "campaign.parse(sys.stdin.read()).trials])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=TEXT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {f"{[trial.id for trial in campaign.parse(TEXT).trials]}\n"}


@pytest.mark.parametrize("letter", ["a", "ä", "语"])
def test_a_trial_of_a_long_label_names_a_folder_that_file_systems_take(tmp_path: Path, letter: str) -> None:
    one = campaign.parse(TEXT).trials[0]
    trial, other = (replace(one, workload=replace(one.workload, label=letter * n)) for n in (300, 301))
    (tmp_path / f"{trial.id}-attempt-1").mkdir()
    assert trial.id != other.id
    assert trial.id.endswith(one.id[-8:])


def test_another_seed_gives_another_order_of_the_same_trials() -> None:
    one, other = campaign.parse(TEXT), campaign.parse(TEXT, overrides=["seed=8"])
    assert one.groups != other.groups
    assert {trial.id for trial in one.trials} == {trial.id for trial in other.trials}


def test_a_drawn_seed_and_a_missing_name_are_recorded_so_that_the_campaign_can_be_made_again() -> None:
    text = TEXT.replace('name = "small"', "").replace("seed = 7", "")
    asked = campaign.parse(text, source="mine.toml", overrides=["repetitions=2"])
    assert asked.name == "mine"
    assert f"seed={asked.seed}" in asked.overrides
    assert campaign.parse(asked.text, source="results/x/campaign.toml", overrides=asked.overrides) == asked


def test_an_option_that_is_a_list_itself_does_not_span() -> None:
    assert takes_list(tuple[int, ...])
    assert takes_list(list[str] | None)
    assert not takes_list(str)
    assert not takes_list(int | None)


def test_a_list_in_the_testbed_gives_groups_of_their_own_with_names_that_tell_them_apart() -> None:
    asked = campaign.parse(TEXT, overrides=["testbed.disk=['ext4', 'xfs']", "filesystem.goal=1"])
    assert len(asked.groups) == 4
    assert labels(asked, "filesystem") == {
        f"{f} on virtual {d}" for f in ("moosefs", "cephfs") for d in ("ext4", "xfs")
    }


def test_a_cluster_is_metered_by_its_counters_and_by_the_model_unless_meters_are_named() -> None:
    assert [m.kind for m in campaign.parse(TEXT).trials[0].meters] == ["system", "modelled"]
    named = campaign.parse(TEXT + '[[meter]]\nkind = "system"\n')
    assert [m.kind for m in named.trials[0].meters] == ["system"]


def test_settle_is_read_in_seconds() -> None:
    assert campaign.parse(TEXT).settle_s == 1.0
    assert campaign.parse(TEXT, overrides=["settle=250 ms"]).settle_s == 0.25


# Labels


def test_labels_are_made_of_the_options_that_differ() -> None:
    asked = campaign.parse(TEXT)
    assert labels(asked, "filesystem") == {"moosefs goal 1", "moosefs goal 2", "cephfs"}
    assert labels(asked, "workload") == {"fio write", "fio read"}


def test_labels_name_the_default_of_an_option_that_only_one_table_sets() -> None:
    text = (
        TEXT
        + '[[workload]]\nkind = "fio"\noperation = "write"\nsize = "64 MiB"\ntransfer = "64 KiB"\ndirect = true\n'
    )
    assert labels(campaign.parse(text), "workload") == {
        "fio write transfer 4 MiB not direct",
        "fio read transfer 4 MiB not direct",
        "fio write transfer 64 KiB direct",
    }


def test_a_label_as_written_stays_and_is_completed_where_its_table_spans() -> None:
    text = TEXT.replace("goal = [1, 2]", 'goal = [1, 2]\nlabel = "MooseFS"').replace(
        '"cephfs"', '"cephfs"\nlabel = "CephFS"'
    )
    assert labels(campaign.parse(text), "filesystem") == {"MooseFS goal 1", "MooseFS goal 2", "CephFS"}


def test_what_an_option_says_of_a_thing_is_negated_as_such_and_a_file_under_a_label_is_not_named() -> None:
    asked = campaign.read(EXAMPLES / "duty.toml")
    assert "day" in labels(asked, "workload")
    assert labels(campaign.read(EXAMPLES / "idle.toml"), "workload") == {"idle mounted", "idle not mounted"}


def test_the_same_value_written_in_two_ways_is_the_same() -> None:
    with pytest.raises(CampaignError, match="two workloads are called"):
        campaign.parse(TEXT + '[[workload]]\nkind = "fio"\noperation = "write"\nsize = "65536 KiB"\n')


# The command line


def test_overrides_reach_every_table_of_that_name_that_has_the_option() -> None:
    asked = campaign.parse(
        TEXT, overrides=["filesystem.goal=3", "workload.size=1 GiB", "repetitions=1", "clients=2"]
    )
    assert len(asked.trials) == 4
    assert {t.filesystem.options.get("goal") for t in asked.trials} == {3, None}
    assert {t.workload.options["size"] for t in asked.trials} == {"1 GiB"}


def test_overrides_reach_the_meters_that_are_there_by_default() -> None:
    asked = campaign.parse(TEXT, overrides=["meter.rate=2 Hz"])
    assert [m.options["rate"] for m in asked.trials[0].meters] == ["2 Hz", "2 Hz"]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("goal=2", '--set goal=2: no campaign has "goal"; did you mean filesystem.goal?'),
        ("filesystem.gaol=2", 'no filesystem of this campaign has "gaol"; did you mean "goal"?'),
        (
            "filesystems.goal=2",
            'nothing in this campaign is called "filesystems"; did you mean "filesystem"?',
        ),
        (
            "repetitions",
            '--set: "repetitions" changes nothing; write it like filesystem.goal=2 or repetitions=1',
        ),
        ("workload.size=1 GB/s", '--set workload.size=1 GB/s: size: unknown unit "GB/s"'),
        ("workload.transfer=1 GiB", "--set workload.transfer=1 GiB: workload fio:"),
        ("repetitions=0", "--set repetitions=0: repetitions = 0 is out of range; it must be at least 1"),
        ("filesystem.goal=2\nx = 1", "--set filesystem.goal=2\nx = 1: goal has a control character"),
    ],
)
def test_a_wrong_override_is_answered_with_itself(override: str, sentence: str) -> None:
    with pytest.raises(CampaignError) as caught:
        campaign.parse(TEXT, overrides=[override])
    assert sentence in str(caught.value)


def test_shrink_divides_all_sizes_and_keeps_whole_transfers() -> None:
    asked = campaign.parse(TEXT, overrides=["shrink=3"])
    assert {t.workload.options["size"] for t in asked.trials} == {"24 MiB"}
    assert {t.workload.options["size"] for t in campaign.parse(TEXT, overrides=["shrink=1000"]).trials} == {
        "4 MiB"
    }
    assert labels(asked, "workload") == {"fio write", "fio read"}


def test_shrink_also_divides_a_size_that_nobody_wrote() -> None:
    asked = campaign.parse(TEXT.replace('size = "64 MiB"', ""), overrides=["shrink=16"])
    assert {t.workload.options["size"] for t in asked.trials} == {"16 MiB"}


# The plan


def test_the_plan_counts_the_bytes_of_every_trial_in_order() -> None:
    asked = campaign.parse(TEXT)
    plan = campaign.plan(asked)
    assert [step.trial for step in plan.steps] == list(asked.trials)
    assert plan.moved_bytes == 3 * 2 * 3 * (1 + 2 + 4) * 64 * 1024**2
    assert plan.duration_s > 3 * campaign.plan(replace(asked, groups=asked.groups[:1])).steps[0].duration_s


def test_the_plan_knows_that_a_slower_testbed_takes_longer() -> None:
    slow, fast = (campaign.plan(campaign.parse(TEXT, overrides=[f"testbed.scale={s}"])) for s in (0.1, 1))
    assert slow.duration_s > fast.duration_s


def test_the_plan_writes_no_files_for_reads_that_find_those_of_their_own_write() -> None:
    behind, apart = (
        campaign.plan(campaign.parse(f'order = "{order}"\n{TEXT}')) for order in ("shuffled", "written")
    )
    assert {step.trial.id for step in behind.steps} == {step.trial.id for step in apart.steps}
    # with as many bytes per second, a file is written in the time in which it is read
    reads = [step for step in apart.steps if step.trial.workload.options["operation"] == "read"]
    assert len(reads) == len(apart.steps) / 2
    assert apart.duration_s - behind.duration_s == pytest.approx(sum(step.loading_s for step in reads))


def test_the_plan_lays_a_device_out_once_in_each_deployment_wholly() -> None:
    text = """
repetitions = 3
[testbed]
kind = "virtual"
cluster = ["pc-hdd1", "pc-ssd1"]
disk = "directory"
[[filesystem]]
kind = "device"
[[workload]]
kind = "device"
operation = ["read", "randread"]
size = "1 GiB"
duration = "1 s"
"""
    plan = campaign.plan(campaign.parse(text))
    for index in (0, 1):
        steps = [step for step in plan.steps if step.group_index == index]
        laying_s = 2**30 / speed_bytes_per_s(steps[0].trial.testbed, 1)
        besides_s = [step.duration_s - step.loading_s for step in steps]
        assert besides_s[1:] == pytest.approx([besides_s[1]] * 5)
        # longer than the load, which ends after a second
        assert besides_s[0] - besides_s[1] == pytest.approx(laying_s)


def test_the_plan_writes_beforehand_only_what_a_load_reads_and_does_not_write_itself() -> None:
    def besides_s(workload: str, filesystem: str = "moosefs") -> float:
        """How long a trial takes besides its load."""
        text = (
            'clients = 1\nrepetitions = 1\n[testbed]\nkind = "virtual"\n[[filesystem]]\nkind = '
            f'"{filesystem}"\n[[workload]]\n{workload}\n'
        )
        (step,) = campaign.plan(campaign.parse(text)).steps
        return step.duration_s - step.loading_s

    write, read = (
        f'kind = "fio"\noperation = "{operation}"\nsize = "64 MiB"' for operation in ("write", "read")
    )
    users = "\n".join(
        f'[[workload.together]]\nuser = "{user}"\n{load}' for user, load in (("a", write), ("b", read))
    )
    assert besides_s(read) > besides_s(write)
    assert besides_s(f'kind = "together"\n{users}') == pytest.approx(besides_s(read))
    cache = 'kind = "kv_cache"\nmodel = "tiny-1b"\nshare = "1 %"\nusers = 8\nrequests = 24'
    assert besides_s(cache) == pytest.approx(besides_s(write))
    procedure, put = (
        besides_s(f'kind = "rados"\noperation = "{operation}"', "rados")
        for operation in ("procedure", "write")
    )
    assert procedure > put  # which makes no pools


def test_the_plan_lays_out_all_that_files_hold_and_no_more() -> None:
    def before_s(workload: str) -> float:
        """How long a trial takes besides its load, with nothing that is computed for it."""
        text = (
            'clients = 2\nrepetitions = 1\nsettle = "1 s"\n[testbed]\nkind = "virtual"\n[[filesystem]]\n'
            f'kind = "moosefs"\n[[workload]]\n{workload}\n'
        )
        (step,) = campaign.plan(campaign.parse(text)).steps
        return step.duration_s - step.loading_s - besides_s(step.trial)

    speed = speed_bytes_per_s(Spec("virtual", {}), 2)
    training = 'kind = "training"\nfiles = 100\nsamples_per_file = 3\nsample = "1 MiB"\nepochs = {}'
    for epochs in (1, 3):  # each reads the same files
        assert before_s(training.format(epochs)) == pytest.approx(2 + 300 * MIB / speed)
    # some columns of each file are read
    assert before_s('kind = "hep"\nsize = "600 MiB"') == pytest.approx(2 + 600 * MIB / speed)
    assert before_s('kind = "idle"\ndata = "60 MiB"') == pytest.approx(2 + 2 * 60 * MIB / speed)
    idle = drivers.workload(Spec("idle", {"data": "60 MiB", "duration": "50 s", "rest": "5 s"}))
    assert idle.loading_s(2, speed) == 50 + 5  # they are written before


# Faults


def test_faults_are_reported_in_one_sentence_with_place_and_advice_and_exit_code_2() -> None:
    text = (BROKEN_CAMPAIGNS / "expected.txt").read_text()
    for part in drivers.PROTOCOLS:  # drivers are added: the file says {filesystems}
        text = text.replace(f"{{{part}}}", ", ".join(drivers.kinds(part)))
    said: list[str] = []
    for path in sorted(BROKEN_CAMPAIGNS.glob("*.toml")):
        with pytest.raises(CampaignError) as caught:
            campaign.read(path)
        assert caught.value.exit_code == 2
        said.append(str(caught.value).replace(f"{BROKEN_CAMPAIGNS}/", ""))
    assert len(said) >= 30
    assert said == text.splitlines()


def test_a_missing_file_is_answered_with_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "demo.toml").touch()
    with pytest.raises(CampaignError, match=r'no such file; did you mean "demo.toml"\?'):
        campaign.read(tmp_path / "dmeo.toml")
    # all that is alike is .toml
    with pytest.raises(CampaignError, match="no such file; `perjoule new` lists campaigns to start from"):
        campaign.read(tmp_path / "x.toml")
    with pytest.raises(CampaignError, match="no such file; `perjoule new` lists campaigns to start from"):
        campaign.read(tmp_path / "nowhere" / "demo.toml")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "demo.toml").touch()
    with pytest.raises(CampaignError, match=f'no such file; did you mean "{tmp_path}/examples/demo.toml"'):
        campaign.read(tmp_path / "example" / "demo.toml")


def test_a_folder_is_not_a_campaign(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="this is a folder"):
        campaign.read(tmp_path)


def test_an_endless_file_does_not_fill_the_memory() -> None:
    with pytest.raises(CampaignError, match="larger than 1 MiB"):
        campaign.read(Path("/dev/zero"))


def test_a_file_that_can_not_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)  # unreadable for root, too
    with pytest.raises(CampaignError, match=r"loop\.toml: can't be read \(Too many levels"):
        campaign.read(loop)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_campaign_of_another_user_names_no_file_of_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have any secret of one line sent to a server that it names, too."""
    meter = '[[meter]]\nkind = "shelly"\naddress = "192.0.2.7"\n'
    (path := tmp_path / "theirs.toml").write_text(f'{TEXT}{meter}password_file = "~/.token"\n')
    assert campaign.read(path).trials
    os.chown(path, 65534, 65534)
    fault = r"theirs\.toml line \d+: theirs\.toml belongs to another user \(uid 65534\).*; copy it"
    with pytest.raises(CampaignError, match=fault):
        campaign.read(path)
    monkeypatch.setenv("SUDO_UID", "65534")  # who has called us
    assert campaign.read(path).trials
    monkeypatch.delenv("SUDO_UID")
    path.write_text(TEXT + meter)
    assert campaign.read(path).trials
    mounted = '[[filesystem]]\nkind = "directory"\npath = "/mnt"\nbeegfs = {management = "192.0.2.8:8010"}\n'
    path.write_text(TEXT + mounted)
    assert campaign.read(path).trials
    path.write_text(TEXT + mounted.replace("}", ', secret = "/home/me/.token"}'))
    with pytest.raises(CampaignError, match=fault):  # of which the tool sends a digest
        campaign.read(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("option", ["community_file", "authentication_file", "privacy_file"])
def test_a_file_of_meters_of_another_user_names_no_file_of_passwords(option: str, tmp_path: Path) -> None:
    meter = '[[meter]]\nkind = "snmp_pdu"\nmodel = "apc"\noutlet = 3\naddress = "192.0.2.7"\n'
    (path := tmp_path / "theirs.toml").write_text(f'{meter}{option} = "/home/me/.token"\n')
    os.chown(path, 65534, 65534)
    with pytest.raises(CampaignError, match="belongs to another user"):
        campaign.meters([str(path)])
    path.write_text(meter)
    assert campaign.meters([str(path)])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_tuning_of_another_user_names_no_file_of_passwords(tmp_path: Path) -> None:
    secret = '[[meter]]\nkind = "shelly"\naddress = "192.0.2.7"\npassword_file = "/home/me/.token"\n'
    begun = folders.Begun(Request("MiB/J", 9), TEXT + secret, (), {})
    folders.begin(tmp_path / "theirs", begun, {})
    os.chown(tmp_path / "theirs/campaign.toml", 65534, 65534)
    with pytest.raises(CampaignError, match="belongs to another user"):
        go_on(tmp_path / "theirs", ())


def test_every_option_that_names_a_secret_is_known_as_one() -> None:
    clue = re.compile("_file$|secret|password|passphrase|credential|token")
    options = {
        (name, kind, option)
        for name in ("testbed", "filesystem", "workload", "meter", "event")
        for kind in drivers.usable(f"{name}s")
        for option, (_, info) in fields_of(name, kind).items()
        if clue.search(option) and "Path" in str(info.annotation)
    }
    assert ("meter", "snmp_pdu", "community_file") in options
    theirs = CampaignSource("theirs.toml", {}, owner=65534)
    for name, kind, option in options:
        with pytest.raises(CampaignError, match="belongs to another user"):
            check_passwords({name: [{"kind": kind, option: "/home/me/.token"}]}, theirs)


def test_a_file_beside_a_campaign_is_not_one_elsewhere_by_a_link(tmp_path: Path) -> None:
    """It would be kept with the results, and published, for whoever made the link."""
    (secret := tmp_path / "secret").write_text("theirs")
    (folder := tmp_path / "campaign").mkdir()
    (folder / "ours.fio").write_text("ours")
    for name, target in (("out.fio", secret), ("up", tmp_path), ("in.fio", folder / "ours.fio")):
        (folder / name).symlink_to(target)
    place = CampaignSource("campaign", {}, folder=folder)
    for name in ("out.fio", "up/secret"):
        with pytest.raises(CampaignError, match=f"a link leads out of {folder}") as caught:
            attached(("workload", 0), "job", name, place)
        assert "theirs" not in str(caught.value)
    assert attached(("workload", 0), "job", "in.fio", place)["text"] == "ours"


def test_a_byte_order_mark_and_line_ends_of_windows_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert len(campaign.read(path).trials) == 54
    path.write_bytes(path.read_bytes().replace(b"goal", b"gaol"))
    with pytest.raises(CampaignError, match=r"windows\.toml line 14:"):
        campaign.read(path)


# Whatever people may write instead of a value: a campaign or a sentence, never a traceback.
WORDS = st.one_of(
    st.text(max_size=8).map(repr),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            "true",
            "[]",
            "[[1]]",
            "{}",
            "{ a = 1 }",
            "07:32:00",
            "1979-05-27",
            '"4 MiB"',
            '"-1 s"',
            '["4 MiB", 3]',
            "nan",
        ]
    ),
)
KEYS = st.one_of(
    st.sampled_from(["clients", "seed", "name", "order", "settle", "shrink", "x.y"]),
    st.sampled_from(["testbed.scale", "testbed.disk", "testbed.kind", "testbed.label"]),
    st.sampled_from(["filesystem.goal", "filesystem.kind", "filesystem.label"]),
    st.sampled_from(["workload.size", "workload.operation", "workload.direct"]),
)


@pytest.mark.heavy
@settings(max_examples=150)
@given(KEYS, WORDS)
def test_any_value_for_any_key_gives_a_campaign_or_a_sentence(key: str, value: str) -> None:
    try:
        assert campaign.parse(TEXT, overrides=["repetitions=1", f"{key}={value}"]).trials
    except CampaignError as error:
        assert error.where
        assert "pydantic" not in str(error)


# Lines


LAB = """
[testbed]
kind = "cluster"
hosts = [
    {name = "alpha", address = "10.0.0.1", role = "storage", node = "odroid-hc4/A"},
    {name = "client-1", address = "10.0.0.2", role = "client"},
]

[[filesystem]]
kind = "moosefs"

[[workload]]
kind = "fio"
size = "64 MiB"

[[meter]]
kind = "ipmi"
address = "10.0.0.3"
covers = ["alpha"]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        (
            "hc4/A",
            "hc5/A",
            'lab line 5: hosts (number 1).node: the catalogue has no cluster "odroid-hc5"; did you mean '
            '"odroid-hc4"?',
        ),
        (
            "hc4/A",
            "hc4/a",
            'lab line 5: hosts (number 1).node: odroid-hc4 has no node "a"; did you mean "odroid-hc4/A"?',
        ),
        ("hc4/A", "hc4/Z", 'odroid-hc4 has no node "Z"; known: odroid-hc4/A, odroid-hc4/C, '),
        (
            "0.0.2",
            "0.0.300",
            'lab line 6: hosts (number 2).address: "10.0.0.300" is not an IPv4 address; write four numbers',
        ),
        ("0.0.2", "0.0.02", '"10.0.0.02" is not an IPv4 address; '),
    ],
)
def test_hosts_that_there_can_not_be_are_refused(right: str, wrong: str, sentence: str) -> None:
    with pytest.raises(CampaignError) as refused:
        campaign.parse(LAB.replace(right, wrong), source="lab")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (
            'covers = ["storage-9"]',
            'lab line 19: covers: no host is called "storage-9"; known: servers, clients, switch, alpha, '
            "client-1",
        ),
        ('covers = ["server"]', 'lab line 19: covers: no host is called "server"; did you mean "servers"?'),
        ('on = ["servers", "alhpa"]', 'lab line 18: on: no host is called "alhpa"; did you mean "alpha"?'),
    ],
)
def test_a_meter_of_no_host_is_refused(written: str, sentence: str) -> None:
    lab = LAB.replace('covers = ["alpha"]', written)
    with pytest.raises(CampaignError) as refused:
        campaign.parse(lab.replace('address = "10.0.0.3"\n', "") if "on = " in written else lab, source="lab")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("powersensor3", 'drives = { "0" = "storage-9/nvme0" }\naddress = "/dev/ttyACM0"'),
        ("smartpower3", 'outputs = { 0 = "storage-9" }\naddress = "192.0.2.27"'),
        ("smartpower3", 'input = "storage-9"\naddress = "/dev/ttyUSB0"'),
        ("plugwise", 'circles = { "000D6F0001A2B3C4" = "storage-9" }\naddress = "/dev/ttyUSB0"'),
    ],
)
def test_a_probe_of_no_host_is_refused(kind: str, option: str) -> None:
    meter = f'[[meter]]\nkind = "{kind}"\n{option}\n'
    with pytest.raises(CampaignError, match='no host is called "storage-9"'):
        campaign.parse(TEXT + meter)
    campaign.parse(TEXT + meter.replace("storage-9", "storage-4"))


def test_the_names_of_nodes_that_a_batch_system_will_choose_are_not_known() -> None:
    slurm = LAB[LAB.index("[[filesystem]]") :].replace("moosefs", 'directory"\npath = "/mnt')
    assert campaign.parse('[testbed]\nkind = "slurm"\nnodes = 2\n' + slurm).trials


@pytest.mark.parametrize(
    ("hosts", "covers", "sentence"),
    [
        (
            '[{role = "client"}]',
            "servers",
            'covers: the testbed has no servers; give a host the role "storage", or name the hosts',
        ),
        (
            '[{role = "client", name = "n[1-2]"}]',
            "n3",
            'covers: no host is called "n3"; known: servers, clients, switch, n1, n2',
        ),
        ('[{role = "storage", count = 1}, {role = "client"}]', "servers", ""),
        ('[{role = "storage", name = "n1"}, {role = "client"}]', "n3", ""),  # Slurm may choose it
        ('[{role = "client", name = "n[1-2]"}]', "n2", ""),
    ],
)
def test_what_is_known_of_nodes_before_a_batch_system_chooses_them_is_checked(
    hosts: str, covers: str, sentence: str
) -> None:
    meter = (
        LAB[LAB.index("[[filesystem]]") :]
        .replace("moosefs", 'directory"\npath = "/mnt')
        .replace("alpha", covers)
    )
    slurm = f'clients = 2\n[testbed]\nkind = "slurm"\nnodes = 3\nhosts = {hosts}\n{meter}'
    if not sentence:
        assert campaign.parse(slurm).trials
        return
    with pytest.raises(CampaignError) as refused:
        campaign.parse(slurm)
    assert f"line 17: {sentence}" in str(refused.value)


def test_a_meter_of_servers_is_refused_where_all_hosts_are_clients() -> None:
    mounted = LAB.replace("moosefs", 'directory"\npath = "/mnt').replace("alpha", "servers")
    campaign.parse(mounted)
    alone = mounted.replace("storage", "client")
    with pytest.raises(CampaignError, match="covers: the testbed has no servers; give a host"):
        campaign.parse("clients = 2\n" + alone)
    campaign.parse("clients = 1\n" + alone)  # one machine is both


def test_a_meter_may_name_a_host_that_only_some_deployments_have() -> None:
    meter = '[[meter]]\nkind = "ipmi"\naddress = "10.0.0.3"\ncovers = ["client-4", "servers"]\n'
    campaign.parse(TEXT + meter)
    with pytest.raises(CampaignError, match='no host is called "client-4"'):
        campaign.parse((TEXT + meter).replace("clients = [1, 2, 4]", "clients = [1, 2]"))


def test_the_line_of_a_key_is_found_past_everything_that_looks_like_one() -> None:
    text = '''a = """
goal = 1
[filesystem]
""" # ] [
b = \'\'\'
x = 2\'\'\'
[[filesystem]]
  "go al" . x = [ # [
    "]", # "
    {goal = 2}]
[ filesystem . "sub" ]
c = 1
[[filesystem]]
goal = 3'''
    assert tomllib.loads(text)["filesystem"][1]["goal"] == 3
    lines = key_lines(text)
    assert lines["b",] == 5
    assert lines["filesystem", 0, "go al", "x"] == 8
    assert lines["filesystem", 0, "sub", "c"] == 12
    assert lines["filesystem", 1, "goal"] == 14
    assert line_of(("filesystem", 1, "absent"), lines) == 13
    assert line_of(("absent",), lines) is None


@given(st.lists(st.text(alphabet="ab\"'\\#[]{}=.\n ", max_size=6), max_size=5))
def test_the_line_of_a_key_is_right_after_any_texts(texts: list[str]) -> None:
    quoted = [
        f'{"before"}{n} = "{t.translate({34: chr(92) + chr(34), 92: chr(92) * 2, 10: chr(92) + "n"})}"'
        for n, t in enumerate(texts)
    ]
    text = "\n".join([*quoted, "[t]", "key = 1"])
    assert key_lines(text)["t", "key"] == len(text.split("\n"))


# The schema


BENEATH = TEXT.replace('kind = "moosefs"', 'kind = "moosefs"\nbeneath = {kind = "xfs", block = "4 KiB"}')


def test_a_list_of_tables_spans_the_matrix_and_each_is_named_in_few_words() -> None:
    several = (
        '[{kind = "xfs", block = "4 KiB", size = "1 GiB"}, {kind = "ext4", block = "1 KiB", size = "1 GiB"}]'
    )
    asked = campaign.parse(BENEATH.replace('{kind = "xfs", block = "4 KiB"}', several).replace("[1, 2]", "2"))
    assert labels(asked, "filesystem") == {
        "moosefs beneath xfs 4 KiB",
        "moosefs beneath ext4 1 KiB",
        "cephfs",
    }


def test_a_table_is_named_with_all_in_which_it_differs_from_others_and_with_no_if_it_has_none() -> None:
    more = (
        '[[filesystem]]\nkind = "moosefs"\nbeneath = {kind = "xfs", block = "4 KiB", make = ["-m", '
        '"crc=0"]}\n'
    )
    asked = campaign.parse(BENEATH.replace("[1, 2]", "1") + more + '[[filesystem]]\nkind = "moosefs"\n')
    expected = {
        "moosefs beneath xfs 4 KiB",
        "moosefs beneath xfs 4 KiB make -m+crc=0",
        "moosefs no beneath",
        "cephfs",
    }
    assert labels(asked, "filesystem") == expected


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(campaign.schema())


def valid(validator: jsonschema.Draft202012Validator, text: str) -> bool:
    return validator.is_valid(tomllib.loads(text))


@pytest.mark.heavy
def test_the_schema_is_one_and_takes_a_campaign_with_lists_that_span(
    validator: jsonschema.Draft202012Validator,
) -> None:
    validator.check_schema(validator.schema)
    assert valid(validator, TEXT)
    assert valid(validator, BENEATH)
    assert valid(validator, BENEATH.replace("beneath = {", "beneath = [{").replace("}", "}]"))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("goal", "gaol"),
        ('"moosefs"', '"mosefs"'),
        ('"64 MiB"', "64"),
        ('"64 MiB"', '"64 mib"'),
        ("[1, 2, 4]", "[0]"),
        ('"read"', '"red"'),
        ('{kind = "xfs"', '{kind = "xsf"'),
        ('block = "4 KiB"', "block = 4096"),
        ("block =", "blok ="),
    ],
)
def test_the_schema_refuses_what_the_campaign_refuses(
    validator: jsonschema.Draft202012Validator, right: str, wrong: str
) -> None:
    assert right in BENEATH
    assert not valid(validator, BENEATH.replace(right, wrong))


def test_the_schema_describes_every_driver_there_is(validator: jsonschema.Draft202012Validator) -> None:
    definitions = table(campaign.schema()["$defs"])
    for name in ("testbed", "filesystem", "workload", "meter"):
        for kind in drivers.kinds(f"{name}s"):
            assert f"{name}-{kind}" in definitions


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", []),
        ("goal = [1, 2]", "gaol = [1, 2]", ["'gaol' was unexpected"]),
        ('"moosefs"', '"mosefs"', ['"mosefs" is not one of']),
        ('"read"', '"red"', ["is not valid under any of the schemas listed in the 'anyOf' keyword"]),
    ],
)
def test_an_editor_reports_one_fault_for_a_typo(
    tmp_path: Path, right: str, wrong: str, said: list[str]
) -> None:
    text = "#:schema ./campaign.schema.json\n" + BENEATH.replace(right, wrong, 1)
    found = faults(tmp_path, "campaign.schema.json", campaign.schema(), text)
    assert len(found) == len(said), found
    assert all(words in fault for words, fault in zip(said, found, strict=True)), found


def test_each_example_names_the_schema_beside_it_which_is_that_of_this_version() -> None:
    written = json.loads((EXAMPLES / "campaign.schema.json").read_text())
    assert written == json.loads(json.dumps(campaign.schema())), (
        "perjoule drivers --schema > examples/campaign.schema.json"
    )
    first = {path.name: path.read_text().partition("\n")[0] for path in EXAMPLES.glob("*.toml")}
    assert set(first.values()) == {"#:schema ./campaign.schema.json"}, first


# In the terms of other tools


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ('bs = "4k"', 'write transfer = "4 KiB"'),
        ("bs = 1048576", 'write transfer = "1 MiB"'),
        ('rw = "randread"', 'write operation = "randread"'),
        ("iodepth = 16", "write in_flight = 16"),
        ("runtime = 60", 'write duration = "60 s"'),
        ('runtime = "5m"', 'write duration = "5 min"'),
        ("rwmixread = 70", 'write read_share = "70 %"'),
        ("numjobs = 4", "write clients = 4 above the first table"),
        ('ioengine = "libaio"', "write in_flight = 16"),
        ("time_based = 1", 'write duration = "60 s" and a size that takes longer'),
        ("ramp_time = 5", 'write round = "5 s"'),
        ("fsync = 1", 'write job = "my.fio"'),
        ('size = "4g"', 'write "4 GiB"'),
    ],
)
def test_an_option_of_fio_is_answered_with_the_line_to_write(option: str, advice: str) -> None:
    text = TEXT.replace('operation = ["write", "read"]\nsize = "64 MiB"', option)
    with pytest.raises(CampaignError) as caught:
        campaign.parse(text)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "option", "advice"),
    [
        ("ior", 'transferSize = "1m"', 'write transfer = "1 MiB"'),
        ("mdtest", "n = 100", "write files = 100"),
        ("elbencho", 'block = "1m"', 'write transfer = "1 MiB"'),
        ("rados", "seconds = 30", 'write duration = "30 s"'),
        ("rados", "t = 8", "write in_flight = 8"),
    ],
)
def test_an_option_of_another_engine_is_answered_likewise(kind: str, option: str, advice: str) -> None:
    text = (
        '[testbed]\nkind = "simulated"\n[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = '
        f'"{kind}"\n{option}\n'
    )
    with pytest.raises(CampaignError) as caught:
        campaign.parse(text)
    assert advice in str(caught.value)


def test_each_word_of_another_tool_stands_for_an_option_that_there_is() -> None:
    for kind in drivers.kinds("workloads"):
        for line in vars(drivers.driver_class("workloads", kind)).get("also_called", {}).values():
            option = line.partition(" ")[0]
            unknown = {option} - {*fields_of("workload", kind), "clients", "repetitions"}
            assert not unknown


# Drivers without a campaign


def test_a_playground_takes_options_of_the_file_system_without_its_name() -> None:
    bed, filesystem = campaign.playground("moosefs", "odroid-hc4", ["goal=2", "testbed.scale=0.1"])
    assert bed.scale_ratio == 0.1
    assert vars(filesystem)["goal"] == 2
    assert campaign.playground(None, "odroid-hc4")[1] is None


@pytest.mark.parametrize(
    ("kind", "cluster", "override", "sentence"),
    [
        ("mosefs", "odroid-hc4", "goal=2", 'unknown filesystem "mosefs"; did you mean "moosefs"'),
        (
            "Lustre",
            "odroid-hc4",
            "goal=2",
            'Lustre is measured where it is mounted, not deployed; write kind = "directory"',
        ),
        ("moosefs", "odroid-hc5", "goal=2", 'no cluster "odroid-hc5"; did you mean "odroid-hc4"'),
        ("moosefs", "odroid-hc4", "gaol=2", 'did you mean "goal"'),
        (None, "odroid-hc4", "testbed.scal=2", 'did you mean "scale"'),
    ],
)
def test_a_wrong_playground_is_answered_with_what_was_meant(
    kind: str | None, cluster: str, override: str, sentence: str
) -> None:
    with pytest.raises(CampaignError) as caught:
        campaign.playground(kind, cluster, [override])
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "overrides", "sentence"),
    [
        ("rappl", [], 'unknown meter "rappl"; did you mean "rapl"?'),
        ("shelly", [], 'meter shelly lacks "address"; add --set address=...'),
        (
            "csv",
            ["path=a.csv", "unit=W", "grade=wall"],
            "--set meter.path=a.csv --set meter.unit=W --set meter.grade=wall: meter csv lacks "
            '"semantics", "value"; add --set semantics=...; add --set value=...',
        ),
        ("shelly", ["adress=x"], '--set meter.adress=x: no meter here has "adress"; did you mean "address"?'),
        ("nowhere.toml", [], "nowhere.toml: no such file; `perjoule new` lists campaigns to start from"),
    ],
)
def test_a_wrong_meter_is_answered_for_the_command_line(
    name: str, overrides: list[str], sentence: str
) -> None:
    with pytest.raises(CampaignError) as caught:
        campaign.meters([name], overrides)
    assert str(caught.value) == sentence


def test_a_file_system_that_no_driver_deploys_is_described_as_a_mounted_one() -> None:
    with pytest.raises(
        CampaignError, match='lustre is measured where it is mounted, not deployed; write kind = "directory"'
    ):
        list(campaign.describe("lustre"))


def test_drivers_are_described_with_their_options_and_an_example() -> None:
    text = "\n".join(campaign.describe("fio"))
    assert "https://fio.readthedocs.io" in text
    assert 'transfer = "4 MiB"' in text
    assert '"write" | "read"' in text
    assert all(kind in "\n".join(campaign.describe()) for kind in drivers.kinds("filesystems"))


def test_the_table_that_an_option_takes_is_described_with_its_own_options() -> None:
    text = "\n".join(campaign.describe("moosefs"))
    assert "  beneath = (none)    a table" in text
    assert '      kind = ...    "ext4" | "xfs" | "btrfs" | "f2fs"' in text
    assert '      size = "4 GiB"' in text


def test_a_driver_that_is_not_there_is_answered_with_its_neighbour() -> None:
    with pytest.raises(CampaignError, match='unknown driver "fioo"; did you mean "fio"'):
        list(campaign.describe("fioo"))


@pytest.mark.parametrize(
    ("unknown", "advice"),
    [
        ("mqtt", "perhaps tasmota (Plugs with the Tasmota firmware, over HTTP or MQTT)?"),
        ("Raritan", "perhaps snmp_pdu ("),
        ("nvidia", "perhaps nvml ("),
        ("ceph", 'did you mean "cephfs"?'),  # a name first
        ("wattsup", "known: "),
    ],
)
def test_a_driver_is_found_by_a_word_of_its_description(unknown: str, advice: str) -> None:
    with pytest.raises(CampaignError) as refused:
        list(campaign.describe(unknown))
    assert refused.value.next and refused.value.next.startswith(advice)


LOCAL = """
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "/mnt/nas"
[[workload]]
kind = "%s"
"""


def test_the_time_of_loads_on_hardware_that_is_not_known_is_called_a_guess() -> None:
    assert campaign.plan(campaign.parse(LOCAL % "fio")).guess == "at 100 MB/s of all clients, a guess"
    assert campaign.plan(campaign.parse(LOCAL % "idle")).guess == ""  # it moves nothing
    assert campaign.plan(campaign.parse(TEXT)).guess == ""


@pytest.mark.parametrize("part", drivers.PROTOCOLS)
def test_a_list_of_drivers_ends_no_line_within_a_sentence(part: str) -> None:
    for kind in drivers.kinds(part):
        paragraph = " ".join((drivers.module_of(part, kind).__doc__ or "").partition("\n\n")[0].split())
        line = campaign.headline(part.removesuffix("s"), kind)
        assert line and paragraph.startswith(line), kind
        assert re.match(r"\.?$|[,:.]? *https?://|\. ", paragraph.removeprefix(line)), kind


def test_interleaved_file_systems_take_turns_in_each_repetition() -> None:
    text = """
order = "interleaved"
repetitions = 4
clients = [1, 2]
seed = 3
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
label = "one"
[[filesystem]]
kind = "simulated"
label = "two"
throughput = "50 MiB/s"
[[workload]]
kind = "simulated"
"""
    asked = campaign.parse(text)
    assert [len(group) for group in asked.groups] == [2] * 8
    turns = [(group[0].repetition, group[0].filesystem.label) for group in asked.groups]
    assert [repetition for repetition, _ in turns] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert all({turns[n][1], turns[n + 1][1]} == {"one", "two"} for n in range(0, 8, 2))
    assert len({turns[n][1] for n in range(0, 8, 2)}) == 2  # which of them comes first changes
    assert {trial.id for trial in asked.trials} == {
        t.id for t in campaign.parse(text.replace("interleaved", "written")).trials
    }


def test_a_simulated_campaign_says_before_its_description_that_nothing_was_measured() -> None:
    described = f'description = "Boards of a lab."\n{TEXT}'
    assert campaign.parse(described).description == "Boards of a lab."
    first, own = campaign.parse(described, overrides=["simulate=true"]).description.split("\n\n")
    assert first.startswith("Nothing here was measured")
    assert own == "Boards of a lab."
    assert campaign.parse(TEXT, overrides=["simulate=true"]).description == ""


def test_load_patterns_for_clocks_take_time_before_and_after_each_deployment() -> None:
    plain, aligned = (campaign.parse(f"{top}\n{TEXT}") for top in ("", 'align = "30 s"'))
    assert len(aligned.groups) > 1
    assert campaign.plan(aligned).duration_s - campaign.plan(plain).duration_s == pytest.approx(
        60 * len(aligned.groups)
    )
