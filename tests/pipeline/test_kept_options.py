"""Results whose campaign would be refused today: they are read, and nothing that they name is started
again.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from measured import measured
from perjoule import campaign, drivers, store
from perjoule.cli import cli
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError
from places import ROOT

TEXT = """
name = "kept"
seed = 1
repetitions = 1
settle = "20 ms"
[testbed]
{testbed}
[[filesystem]]
{filesystem}
[[workload]]
{workload}
[[meter]]
{meter}
"""
PLAIN = {
    "testbed": 'kind = "simulated"',
    "filesystem": 'kind = "simulated"',
    "workload": 'kind = "simulated"\nsize = "8 MiB"',
    "meter": 'kind = "modelled"',
}
SAID = ROOT / "tests" / "transcripts"
JOB = (SAID / "fio" / "job" / "job.fio").read_text() + "[more]\nrw=write\nsize=1m\nexec_prerun=id\n"
# Of each kind an option that a campaign may not name, and why it is refused.
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "a program": (
        {"workload": 'kind = "ior"\nsize = "8 MiB"\ntransfer = "1 MiB"\nranks = 2\nprefix = "/home/me/ior"'},
        "may name only",
    ),
    "a program of a load of calls": (
        {"workload": 'kind = "mdtest"\nfiles = 50\nranks = 2\nprefix = "/home/me/ior"'},
        "may name only",
    ),
    "a scheduler": (
        {"workload": 'kind = "hep"\nscheduler_file = "/home/me/scheduler.json"'},
        "may name only",
    ),
    "a job file": ({"workload": 'kind = "fio"\njob = "my.fio"'}, "exec_prerun runs a command"),
    "a server's programs": (
        {"filesystem": 'kind = "orangefs"\nprefix = "/home/me/orangefs"'},
        "may name only",
    ),
    "words of mkfs": (
        {"filesystem": 'kind = "local"\ntype = "xfs"\nmake = ["-L", "mine"]'},
        "is not permitted",
    ),
    "mount options": (
        {"filesystem": 'kind = "local"\ntype = "ext4"\noptions = ["resuid=1"]'},
        "is not permitted",
    ),
    "words of a disk beneath": (
        {"filesystem": 'kind = "moosefs"\nbeneath = {kind = "ext4", make = ["-L", "mine"]}'},
        "is not permitted",
    ),
    "mount options of nfs": ({"filesystem": 'kind = "nfs"\noptions = ["sec=krb5"]'}, "is not permitted"),
    "options of Ceph": (
        {"filesystem": 'kind = "cephfs"\nconf = {"osd op num shards" = "5"}'},
        "several spellings",
    ),
    "options of a volume": (
        {"filesystem": 'kind = "glusterfs"\nvolume = {"diagnostics.brick-log-level" = "DEBUG"}'},
        "only tunes",
    ),
    "arguments of salloc": (
        {"testbed": 'kind = "slurm"\nnodes = 2\narguments = ["--mail-user=me"]'},
        "is not permitted",
    ),
    "a control character": (
        {"filesystem": 'kind = "directory"\npath = "/mnt/a\\u0085b"'},
        "control character",
    ),
    "a meter's program": ({"meter": 'kind = "ipmi"\ntool = "/home/me/ipmitool"'}, "may name only"),
    "a serial line": (
        {"meter": 'kind = "powersensor3"\naddress = "COM3"\ndrives = {"0" = "storage-1/nvme0"}'},
        "not a serial line",
    ),
    "an instrument": ({"meter": 'kind = "scpi"\naddress = "loop://"'}, "is not an address"),
    "a channel": ({"meter": 'kind = "scpi"\naddress = "192.0.2.5"\nchannel = "1;*RST"'}, "is not permitted"),
    "a topic": ({"meter": 'kind = "tasmota"\naddress = "192.0.2.5"\ntopic = "#"'}, "is not permitted"),
    "a chassis": (
        {"meter": 'kind = "redfish"\naddress = "https://192.0.2.5"\nchassis = "../1"'},
        "is not permitted",
    ),
}
# What the tools of loads wrote, which `verify` reads again.
RAW = {
    "a program": SAID / "ior" / "write",
    "a program of a load of calls": SAID / "mdtest" / "create",
    "a scheduler": SAID / "hep" / "local",
    "a job file": SAID / "fio" / "job",
}


def perjoule(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [*map(str, words)])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    return measured(tmp_path_factory.mktemp("simulated") / "results", 'settle = "20 ms"')


def kept(simulated: store.Results, asked: Campaign, folder: Path, raw: Path | None) -> store.Results:
    """Results of a campaign that was run while all of its options were permitted, from what was simulated."""
    record, (trial,) = simulated.latest()[0], asked.trials
    results = store.create(folder, asked.text, asked.name, asked.overrides, asked.files)
    with results.hold(), results.attempt(trial) as attempt:
        shutil.copytree(raw or simulated.folder_of(record) / "raw", attempt.raw, dirs_exist_ok=True)
        outcome = drivers.workload(trial.workload).outcome(attempt.raw) if raw else record.outcome
        assert outcome is not None
        for series in outcome.series if raw else simulated.series(record):
            attempt.sink.extend(series)
        attempt.keep(
            replace(record, trial=trial, attempt=attempt.number, outcome=replace(outcome, series=()))
        )
    return results


@pytest.mark.parametrize("name", REFUSED)
def test_results_are_read_whatever_their_campaign_names_and_not_run_again(
    name: str, simulated: store.Results, tmp_path: Path
) -> None:
    tables, why = REFUSED[name]
    file, folder = tmp_path / "kept.toml", tmp_path / "results"
    file.write_text(TEXT.format(**{**PLAIN, **tables}))
    (tmp_path / "my.fio").write_text(JOB)
    kept(simulated, campaign.parse(file.read_text(), folder=tmp_path, of_results=True), folder, RAW.get(name))
    for verb, *more in (
        ["report"],
        ["verify"],
        ["show"],
        ["export", "--csv", tmp_path / "rows.csv"],
        ["compare", folder],
    ):
        read = perjoule(verb, folder, *more)
        assert read.exit_code == 0, (verb, read.output, read.exception)
    (folder / "trials").rename(tmp_path / "trials")  # so that all is missing
    (folder / "trials").mkdir()
    (folder / "journal.jsonl").write_text("")
    for words in (
        ["check", file],
        ["doctor", file],
        ["run", file, "--into", tmp_path / "out"],
        ["resume", folder],
    ):
        refused = perjoule(*words)
        assert isinstance(refused.exception, CampaignError), (words, refused.output)
        assert why in str(refused.exception), words
    assert not (tmp_path / "out").exists()
