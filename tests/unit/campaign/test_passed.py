"""What holds for every table of a campaign: no control characters, and no program of a stranger's."""

from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.model import options
from perjoule.model.errors import CampaignError
from perjoule.model.options import PROGRAMS as PROGRAMS_OF_THE_USER

BASE = """
name = "passed"
[testbed]
kind = "simulated"
[[filesystem]]
{filesystem}
[[workload]]
{workload}
[[meter]]
{meter}
"""
PLAIN = {"filesystem": 'kind = "simulated"', "workload": 'kind = "simulated"', "meter": 'kind = "modelled"'}
# Each names a program, or what one loads, from a folder that anybody could have filled.
PROGRAMS = [
    {"workload": 'kind = "ior"\nprefix = "/home/them/ior"'},
    {"workload": 'kind = "ior"\nprefix = "ior"'},
    {"workload": 'kind = "ior"\nprefix = "."'},
    {"workload": 'kind = "ior"\nprefix = ["", "/opt/../home/them"]'},
    {"workload": 'kind = "mdtest"\nprefix = "/tmp/mdtest"'},
    {"workload": 'kind = "hep"\nscheduler_file = "/tmp/scheduler.json"'},
    {"workload": 'together = [{user = "a", kind = "ior", prefix = "/tmp/ior"}, {user = "b", kind = "ior"}]'},
    {"filesystem": 'kind = "orangefs"\nprefix = "/var/tmp/orangefs"'},
    {"filesystem": 'kind = "beegfs"\nprefix = "~/beegfs"'},
    {"meter": 'kind = "nvme"\ntool = "/tmp/nvme"'},
    {"meter": 'kind = "nvme"\ntool = "./nvme"'},
    {"meter": 'kind = "nvme"\ntool = "bash"'},
    {"meter": 'kind = "nvme"\ntool = "/usr/sbin/reboot"'},
    {"meter": 'kind = "ipmi"\ntool = "/home/them/ipmitool"'},
    {"meter": 'kind = "nvml"\non = ["clients"]\ntool = "/opt/../tmp/nvidia-smi"'},
]


def read(**tables: str) -> campaign.Campaign:
    return campaign.parse(BASE.format(**{**PLAIN, **tables}))


@pytest.mark.parametrize("tables", PROGRAMS)
def test_a_campaign_does_not_choose_a_program_of_a_strangers(
    tables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROGRAMS_OF_THE_USER)
    with pytest.raises(CampaignError, match=r"a campaign may name only those below|is not (nvme|nvidia-smi)"):
        read(**tables)


def test_a_link_among_what_root_installs_leads_to_no_program_that_anybody_could_have_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On some systems /usr/tmp is /var/tmp."""
    monkeypatch.delenv(PROGRAMS_OF_THE_USER)
    monkeypatch.setattr(options, "_INSTALLED", (str(tmp_path / "usr"),))
    for place in ("usr/ior/bin", "shared/ior"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "usr/tmp").symlink_to(tmp_path / "shared")
    (tmp_path / "shared").chmod(0o1777)
    read(workload=f'kind = "ior"\nprefix = "{tmp_path}/usr/ior"')
    for place in ("usr/tmp/ior", "usr/tmp", "usr/tmp/absent"):
        with pytest.raises(CampaignError, match=f"all users may write to {tmp_path}/shared"):
            read(workload=f'kind = "ior"\nprefix = "{tmp_path}/{place}"')
    monkeypatch.setenv(PROGRAMS_OF_THE_USER, f"{tmp_path}/usr/tmp/ior")
    read(workload=f'kind = "ior"\nprefix = "{tmp_path}/usr/tmp/ior"')


def test_a_program_that_root_installed_or_the_user_trusts_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRAMS_OF_THE_USER, "/home/me/sw:/scratch/")
    for prefix in ("/usr", "/usr/local", "/opt/ior", "/home/me/sw", "/home/me/sw/ior", "/scratch/x"):
        read(workload=f'kind = "ior"\nprefix = "{prefix}"')
    for prefix in (
        "/",
        "/home/me/software",
        "/home/me",
        "/opt/../etc",
        "/scratch/../tmp",
        "/optional",
        "opt/x",
    ):
        with pytest.raises(CampaignError, match="a campaign may name only those below"):
            read(workload=f'kind = "ior"\nprefix = "{prefix}"')


@pytest.mark.parametrize(
    "tables",
    [
        {"filesystem": 'kind = "rados"\nconf = {"osd_op_num_shards" = "1\\nkeyring = /x"}'},
        {"filesystem": 'kind = "rados"\nconf = {"osd_op_num_shards\\n" = "1"}'},
        {"filesystem": 'kind = "glusterfs"\nvolume = {"performance.io-cache" = "on\\u0000"}'},
        {"filesystem": 'kind = "local"\ntype = "xfs"\nmake = ["-K\\t"]'},
        {"filesystem": 'kind = "directory"\npath = "/a\\u0085b"'},
        {"meter": 'kind = "ipmi"\naddress = "a\\u202eb"'},
        {
            "meter": 'kind = "prometheus"\naddress = "http://a"\nmetric = "a\\rb"\nsemantics = "average"\ngrade = "wall"'
        },
        {
            "workload": 'together = [{user = "a", kind = "ior", prefix = "/opt/\\u001b"}, {user = "b", kind = "fio"}]'
        },
    ],
)
def test_a_control_character_is_refused_wherever_it_stands(tables: dict[str, str]) -> None:
    with pytest.raises(CampaignError, match="has a control character") as refused:
        read(**tables)
    assert "line" in refused.value.where
