"""What `perjoule doctor` prints for a host's administrator: sudoers takes it, and it grants no more than
it says.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perjoule import campaign
from perjoule.cli import cli
from perjoule.execution import grants
from perjoule.execution.footprint import TOOLS
from perjoule.model.errors import CampaignError
from perjoule.testbeds import cluster

NEEDS_VISUDO = pytest.mark.skipif(not shutil.which("visudo"), reason="visudo is missing: apt install sudo")
HOSTS = [("storage-1", "storage"), ("storage-2", "storage"), ("client-1", "client")]


def lab(
    folder: Path, filesystem: str = 'kind = "moosefs"', workload: str = 'kind = "mdtest"', **options: Any
) -> Path:
    options = {"user": "alice", "sudo": True, "work": "/var/lib/perjoule", **options}
    hosts = ", ".join(
        f'{{name = "{name}", address = "192.0.2.{n}", role = "{role}"}}'
        for n, (name, role) in enumerate(HOSTS, 11)
    )
    lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    text = f'name = "lab"\nclients = [1]\n[testbed]\nkind = "cluster"\nhosts = [{hosts}]\n' + "\n".join(lines)
    file = folder / "lab.toml"
    file.write_text(f"{text}\n[[filesystem]]\n{filesystem}\n[[workload]]\n{workload}\n")
    return file


def read(folder: Path, *words: str, **options: Any) -> Any:
    return campaign.read(lab(folder, *words, **options))


def rules(text: str) -> list[str]:
    lines = (
        "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
        .replace("\\\n", " ")
        .splitlines()
    )
    return [" ".join(line.split()) for line in lines]


@NEEDS_VISUDO
@pytest.mark.parametrize(
    "filesystem",
    ['kind = "moosefs"', 'kind = "glusterfs"', 'kind = "cephfs"', 'kind = "directory"\npath = "/mnt/x"'],
)
def test_sudoers_takes_the_file(tmp_path: Path, filesystem: str) -> None:
    file = tmp_path / "perjoule"
    file.write_text(grants.sudoers(read(tmp_path, filesystem)))
    done = subprocess.run(["visudo", "-c", "-s", "-f", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_command_is_granted_whole_without_a_wildcard_or_a_shell(tmp_path: Path) -> None:
    default, rule = rules(grants.sudoers(read(tmp_path)))
    assert default == f"Defaults!{cluster.HELPER} env_reset, !requiretty"
    head, _, commands = rule.partition(" NOPASSWD: ")
    assert head == "alice ALL = (root) NOSETENV:"
    wanted = [
        f"{cluster.HELPER} {verb} /var/lib/perjoule {name}"
        for name, _ in HOSTS
        for verb in ("keep", "launch", "report")
    ]
    assert commands.split(", ") == [f"{cluster.HELPER} drop-caches", *wanted]
    assert not set("*?[]!") & set(commands)


def test_what_is_mounted_already_needs_no_root_but_to_drop_caches(tmp_path: Path) -> None:
    asked = read(tmp_path, 'kind = "directory"\npath = "/mnt/x"', sudo=False)
    text = grants.sudoers(asked)
    assert rules(text)[1] == f"alice ALL = (root) NOSETENV: NOPASSWD: {cluster.HELPER} drop-caches"
    assert "AS GOOD AS ROOT" not in text
    with pytest.raises(CampaignError, match="the helper needs no such file to drop caches"):
        grants.permitted(asked)


def test_programs_with_a_users_files_are_called_as_good_as_root_by_name(tmp_path: Path) -> None:
    asked = read(tmp_path)
    text, permitted = grants.sudoers(asked), grants.permitted(asked)
    assert "AS GOOD AS ROOT" in text
    for name in ("mfsmaster", "mfschunkserver", "mfsmount"):
        assert name in text
        assert f"program {name} # as good as root" in permitted
    assert "program mfsmaster" not in permitted.partition("# On client-1:")[2]


@pytest.mark.parametrize("user", ["ALL", "Defaults", "User_Alias", "Root", "a.b", "1000", ""])
def test_a_user_whose_name_says_something_else_to_sudoers_is_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(CampaignError, match=r"sudoers takes|does not name its user"):
        grants.sudoers(read(tmp_path, user=user))


def test_where_perjoule_is_root_nothing_is_granted(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="perjoule acts as root on the hosts of lab, or on none"):
        grants.sudoers(read(tmp_path, user="root"))


def test_the_judge_knows_each_tool_of_the_systems_own_but_these_which_it_refuses() -> None:
    unjudged = "chmod chown cp exportfs grep head hostname mv ps python python3 setsid ss tar timeout"
    assert " ".join(sorted({*TOOLS.split()} - cluster.JUDGED)) == unjudged


def test_doctor_prints_the_three_files_and_contacts_nobody(tmp_path: Path) -> None:
    file = lab(tmp_path)
    said = {
        word: CliRunner().invoke(cli, ["doctor", *rest])
        for word, rest in {
            "helper": ["--helper"],
            "sudoers": [str(file), "--sudoers"],
            "permitted": [str(file), "--permitted"],
        }.items()
    }
    assert {word: one.exit_code for word, one in said.items()} == dict.fromkeys(said, 0)
    assert said["helper"].stdout == cluster.helper_text()
    assert said["helper"].stdout.startswith("#!/bin/bash -p\n")
    assert said["sudoers"].stdout == grants.sudoers(campaign.read(file))
    assert said["permitted"].stdout == grants.permitted(campaign.read(file))
    refused = CliRunner().invoke(cli, ["doctor", "--sudoers"])
    assert refused.exit_code != 0
