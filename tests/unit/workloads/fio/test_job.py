"""A fio job file as it is: measured when it stays in its folder, refused with its line when it doesn't."""

import json
import random
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import campaign, drivers, store
from perjoule.drivers.protocols import Process, Workload
from perjoule.model import Json
from perjoule.model.errors import CampaignError, FolderOfOthers
from perjoule.model.units import MIB
from perjoule.summary.campaign import campaign_of
from perjoule.workloads.fio import job as file
from perjoule.workloads.fio import job_report
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

TRANSCRIPT = TRANSCRIPTS / "fio" / "job"
JOB = (TRANSCRIPT / "job.fio").read_text()
CAMPAIGN = """
seed = 1
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "/mnt"
[[workload]]
kind = "fio"
job = "my.fio"
"""


def fio(text: str = JOB, **options: Json) -> Workload:
    made = drivers.build(
        "workloads", "fio", {"job": {"name": "my.fio", "text": text}, **options}, to_run=True
    )
    assert isinstance(made, Workload)
    return made


def test_each_job_is_identified_by_its_name_and_clones_are_one() -> None:
    outcome = fio().outcome(TRANSCRIPT)
    assert [(r.host, r.user, r.direction) for r in outcome.results[:3]] == [
        ("client-1", "w", "write"),
        ("client-1", "mix", "write"),
        ("client-1", "mix", "read"),
    ]
    for host in ("client-1", "client-2"):
        assert sum(r.moved_bytes for r in outcome.results if r.host == host) == 96 * MIB


def test_a_job_behind_a_stonewall_begins_when_those_before_it_have_ended() -> None:
    written, mixed, _ = fio().outcome(TRANSCRIPT).results[:3]
    assert mixed.began_s == pytest.approx(written.ended_s, abs=0.002)
    together = job_report.results("a", [entry("one", 2000), entry("two", 1000)], (), 10.0)
    assert [(r.began_s, r.ended_s) for r in together] == [(8.0, 10.0), (8.0, 9.0)]


class Client(ScriptedHost):
    """A client on which fio leaves what the transcript holds, and its jobs note that they began an hour
    later.
    """

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.ran.append([*words])
        for left in TRANSCRIPT.glob(f"{self.name}*"):
            shutil.copy(left, log.parent)
        (log.parent / f"{self.name}.prerun.txt").write_text(f"{time.time() + 3600:.6f}\n")
        return ScriptedProcess(0)


def test_its_first_jobs_wait_for_the_common_start_and_who_begins_late_is_named(tmp_path: Path) -> None:
    clients = [Client(f"client-{number}") for number in (1, 2)]
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "prepared.json").write_text('{"doubts": []}')
    outcome = fio().run(clients, ScriptedMount(*clients), tmp_path)
    assert (
        len([doubt for doubt in outcome.doubts if re.fullmatch(r"client-[12] began 3\d{6} ms late", doubt)])
        == 2
    )
    start_s = json.loads((tmp_path / "run.json").read_text())["start_utc_s"]
    for client, late_s in zip(clients, (0.019, 0.3), strict=True):  # its second job comes 3 s later
        (tmp_path / f"{client.name}.prerun.txt").write_text(
            "".join(f"{start_s + s:.6f}\n" for s in (late_s + 3, late_s))
        )
    assert [doubt for doubt in fio().outcome(tmp_path).doubts if "late" in doubt] == [
        "client-2 began 300 ms late"
    ]
    (fio_, *_) = [words for words in clients[0].ran if "fio" in words]
    (gate,) = [word for word in fio_ if word.startswith("--exec_prerun=")]
    assert fio_.index(gate) < fio_.index(str(tmp_path / "job.fio"))
    # fio itself would note it in the measured folder
    assert gate.endswith(f" >> {tmp_path}/client-1.prerun.txt #")


def test_a_file_with_delays_of_its_own_waits_for_no_common_start(tmp_path: Path) -> None:
    """fio counts them from its own start, so a wait would shorten them."""
    client = Client("client-1")
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "prepared.json").write_text('{"doubts": []}')
    fio(f"{JOB}\nstartdelay=1\n").run([client], ScriptedMount(client), tmp_path)
    assert not [word for words in client.ran for word in words if "prerun" in word]
    assert json.loads((tmp_path / "run.json").read_text())["start_utc_s"] is None


def entry(name: str, runtime_ms: int, **more: object) -> Mapping[str, object]:
    one = {
        "io_bytes": MIB,
        "runtime": runtime_ms,
        "total_ios": 1,
        "lat_ns": {"mean": 1, "max": 1},
        "clat_ns": {"mean": 1, "max": 1},
    }
    return {"jobname": name, "job_runtime": runtime_ms, "write": one, "read": {"io_bytes": 0}, **more}


def test_a_list_of_percentiles_is_read_as_the_job_asks() -> None:
    mixed = fio().outcome(TRANSCRIPT).results[1]
    assert list(mixed.latency_s) == ["mean", "p50", "p99.5", "max"]


def test_errors_that_fio_skipped_and_short_windows_are_doubts() -> None:
    jobs = [entry("a", 60_000, total_err=3)]
    assert job_report.doubts("client-1", jobs, job_report.results("client-1", jobs, (), 100.0)) == (
        "client-1: fio continued after 3 errors",
    )
    assert "starts of a job file's jobs are computed" in fio().outcome(TRANSCRIPT).doubts[0]


def test_what_a_file_asks_for_is_known_before_it_runs() -> None:
    load = fio()
    assert load.directions == ("mixed",)
    assert fio("[a]\nrw=randrw\n[global]\n").directions == ("write", "read")
    assert load.moved_bytes(2) == 2 * 96 * MIB
    assert file.moves("[a]\nsize=1m") == ("read",)
    assert fio("[a]\nrw=randwrite:4\nsize=50%").moved_bytes(1) == 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("filename=/dev/sda", "absolute path"),
        ("filename=a:/dev/sda", "absolute path"),
        ("filename= a\\:/b", "absolute path"),
        ("FILENAME=/dev/sda", "absolute path"),
        ("directory=../other", "points outside"),
        ("directory=a/../../b", "points outside"),
        ("filename=-", "is not a file"),
        ("filename=a#:/dev/sda", "absolute path"),
        ("[b", "is in no section"),
        ("exec_prerun=rm -rf x", "runs a command"),
        ("exec_postrun=reboot", "runs a command"),
        ("ioengine=external:/tmp/e.so", "may access more than"),
        ("ioengine=net", "may access more than"),
        ("ioengine=sg", "may access more than"),
        ("read_iolog=log", "replays"),
        ("write_bw_log=/var/x", "absolute path"),
        ("buffer_pattern='/etc/shadow'", "absolute path"),
        ("buffer_pattern=0xde'/etc/shadow'", "absolute path"),
        ("verify_pattern=\"ab\"%o'../shadow'", "points outside"),
        ("size=${SIZE}", "computed by the machine"),
        ("size=$ncpus;touch x", "computed by the machine"),
        ("filename_format=$jobname.$mb_memory", "computed by the machine"),
        ("bs=`id`", "computed by the machine"),
        ("ioscheduler=noop", "scheduler"),
        ("write_iolog=log", "writes a file"),
        ("opendir=.", "takes files"),
        ("fill_device=1", "fills the whole file system"),
        ("name=sub/x", "renames a job"),
        ("profile=tiobench", "is not an option"),
        ("trigger=reboot", "is not an option"),
        ("trigger-file=x", "is not an option"),
        ("aux-path=/etc", "is not an option"),
        ("output=x", "is not an option"),
        ("server=1", "is not an option"),
        ("mmapfile=x", "is not an option"),
        ("verify_state_load=1", "is not an option"),
        ("replay_scale=2", "is not an option"),
        ("merge_blktrace_iters=2", "is not an option"),
        ("cgroup_weight=100", "is not an option"),
        ("zonerange=1m", "is not an option"),
        ("script=x", "is not an option"),
        ("hostname=10.0.0.1", "is not an option"),
        ("--exec_prerun=x", "is not an option"),
        ("exec-prerun=x", "is not an option"),
        ("exec_prerun\t=x", "runs a command"),
        ("exec_pre=x", "is not an option"),
        ("bs=4k\rexec_prerun=x", "control character"),
        ("bs=4k\vexec_prerun=x", "control character"),
        ("bs=4k\u2028exec_prerun=x", "control character"),
        ("bs=4k\x85/etc/passwd", "control character"),
        ("filename=a\x00b", "control character"),
        ("mem=mmap:/etc/passwd", "absolute path"),
        ("directory=~/x", "absolute path"),
        ("write_lat_log=../x", "points outside"),
        ("lockfile=exclusive\nexec_postrun=x", "runs a command"),
        ("rw=trim", "neither reads nor writes"),
        ("include other.fio", "is in no section"),
    ],
)
def test_a_file_that_reaches_outside_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=rf"my.fio line [45]: .*{reason}"):
        fio(f"[global]\nsize=1m\n[a]\n{line}\n")


@pytest.mark.parametrize(
    "line", ["filename_format=$jobname.$jobnum", "bssplit=4k/50:8k/50", "directory=sub", "rw=read:8 ; see /x"]
)
def test_what_stays_inside_is_taken(line: str) -> None:
    assert fio(f"# a comment of /dev/sda\n[a]\nsize=1m\n{line}\n").directions == ("read",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("size=1m", "line 1"), ("[../x]\nrw=read", "line 1"), ("[global]\nrw=read", "no job")],
)
def test_what_is_not_a_job_file_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        file.check(text, to_run=True)


def test_nothing_at_random_runs_a_command_or_leaves_the_folder() -> None:
    drawn, passed, permitted = random.Random(1), 0, {*file.OPTIONS, "", "[x]"}
    keys = [
        *sorted(file.OPTIONS)[::7],
        *file.OUTSIDE,
        "include",
        "[x]",
        "filename",
        "directory",
        "ioengine",
        "write_bw_log",
        "mem",
    ]
    values = [
        "4k",
        "1",
        "/dev/sda",
        "../x",
        "a/../../b",
        "$x",
        "`id`",
        "$(id)",
        "a:/b",
        "mmap:/x",
        "libaio",
        "external:/x",
        "-",
        "~",
    ]
    marks = [
        "",
        "",
        "",
        " ",
        "\t",
        "\r",
        "\v",
        "\x00",
        "#",
        ";",
        "\\",
        "'",
        '"',
        "\u2028",
        "\n",
        "\x85",
        "/",
        ":",
        ",",
    ]
    for _ in range(20_000):
        line = "".join(
            drawn.choice(marks) + word
            for word in (drawn.choice(keys), "=", drawn.choice(values), drawn.choice(values))
        )
        try:
            file.check(f"[a]\nrw=read\nsize=1m\n{line}{drawn.choice(marks)}\n", to_run=True)
        except ValueError:
            continue
        passed += 1
        for real in line.split("\n"):  # as fio reads it: comments go, what is before "=" is the key
            key, _, value = re.split("[#;]", real, maxsplit=1)[0].partition("=")
            assert key.strip(" \t") in permitted, line
            outside = r"(^|[:,|])[ \t'\"\\]*[/~]|(^|/)\.\.(/|$)|[$`\r\v\x00]"
            assert not re.search(outside, value.strip(" \t")), line
    assert passed > 100


def test_a_job_takes_no_other_option() -> None:
    with pytest.raises(ValidationError, match=r"run as it is \(remove size\)"):
        fio(size="1 MiB")
    fio(time_limit="10 s")


def test_the_files_text_is_the_request_and_goes_with_the_results(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    (tmp_path / "my.fio").write_text(JOB)
    asked = campaign.read(tmp_path / "c.toml")
    assert asked.files == {"my.fio": JOB}
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides, asked.files)
    moved = results.folder.rename(tmp_path / "elsewhere")
    (tmp_path / "my.fio").write_text(JOB.replace("numjobs=2", "numjobs=3"))
    again = campaign_of(store.open_results(moved))
    assert again is not None
    assert again.trials == asked.trials
    other = campaign.read(tmp_path / "c.toml")
    assert {t.id for t in other.trials}.isdisjoint(t.id for t in asked.trials)
    with pytest.raises(FolderOfOthers):
        store.create(moved, other.text, asked.name, asked.overrides, other.files)


@pytest.mark.parametrize("name", ["/etc/passwd", "../my.fio", "trials/my.fio", "", "none.fio"])
def test_a_file_elsewhere_or_nowhere_is_refused_at_its_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN.replace("my.fio", name))
    with pytest.raises(CampaignError, match=r"c.toml line 10: job = .*(is not a file in|no such file)"):
        campaign.read(tmp_path / "c.toml")


def test_a_fault_in_the_file_is_reported_with_both_lines(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    (tmp_path / "my.fio").write_text("[a]\nfilename=/dev/sda\n")
    with pytest.raises(
        CampaignError,
        match=r"c.toml line \d+: workload fio: my.fio line 2: filename = /dev/sda is an absolute path",
    ):
        campaign.read(tmp_path / "c.toml")


def test_several_files_span_the_matrix_and_name_their_rows(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN.replace('"my.fio"', '["one.fio", "two.fio"]'))
    for name in ("one", "two"):
        (tmp_path / f"{name}.fio").write_text(f"[{name}]\nrw=write\nsize=1m\n")
    assert {t.workload.label for t in campaign.read(tmp_path / "c.toml").trials} == {
        "fio one.fio",
        "fio two.fio",
    }


def test_clones_that_fio_reports_as_a_group_did_not_run_one_after_the_other() -> None:
    # seen with numjobs=2
    job = {"jobname": "j", "job_runtime": 8208, "read": {"runtime": 4199}, "write": {"runtime": 4104}}
    assert job_report.began_s([job], (), 100.0) == [100.0 - 4.199]
