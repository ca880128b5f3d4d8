import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perjoule.machine.environment import clock, cpu_model, environment, packages
from typed import table


def test_the_environment_is_json_and_names_what_matters():
    found = environment()
    assert json.loads(json.dumps(found)) == found
    for key in (
        "kernel",
        "cpu_model",
        "cores_count",
        "memory_bytes",
        "distribution",
        "python",
        "modules",
        "packages",
        "git",
    ):
        assert key in found
    assert table(found["modules"])["perjoule"]
    assert isinstance(found["cores_count"], int)
    assert found["cores_count"] >= 1


@pytest.mark.skipif(not shutil.which("git"), reason="git is missing: apt install git")
def test_git_tells_the_commit_and_whether_all_is_in_it(tmp_path):
    def git(*words):
        # without hooks or signatures
        own = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        user = ("-c", "user.name=x", "-c", "user.email=x@y")
        subprocess.run(["git", "-C", tmp_path, *user, *words], env=own, check=True, capture_output=True)

    assert environment(tmp_path)["git"] is None
    git("init", "-q")
    (tmp_path / "campaign.toml").write_text("a")
    git("add", ".")
    git("commit", "-q", "-m", "a")
    clean = table(environment(tmp_path)["git"])
    assert len(str(clean["commit"])) == 40
    assert clean["dirty"] is False
    (tmp_path / "campaign.toml").write_text("b")
    assert table(environment(tmp_path)["git"])["dirty"] is True


@pytest.mark.parametrize("way", ["monitor", "hook", "filter", "included filter", "submodule", "lazy fetch"])
@pytest.mark.skipif(not shutil.which("git"), reason="git is missing: apt install git")
def test_nothing_is_run_that_the_repository_of_a_campaign_names(way: str, tmp_path: Path) -> None:
    folder, ran = tmp_path / "campaign", tmp_path / "ran"
    folder.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran > {ran}\ncat\n")
    program.chmod(0o755)

    def git(*words: str, at: Path = folder) -> None:
        own = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        user = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always")
        subprocess.run(["git", "-C", at, *user, *words], env=own, check=True, capture_output=True)

    git("init", "-q")
    (folder / "campaign.toml").write_text("a")
    (folder / ".gitattributes").write_text("*.toml filter=x\n" if "filter" in way else "")
    git("add", ".")
    git("commit", "-q", "-m", "a")
    if way == "submodule":
        shutil.copytree(folder, tmp_path / "other")
        git("submodule", "add", "-q", str(tmp_path / "other"), "below")
        git("commit", "-q", "-m", "b")
        git("config", "core.fsmonitor", str(program), at=folder / "below")
    elif way == "hook":
        (folder / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy(program, folder / ".git/hooks/post-index-change")
    elif way == "lazy fetch":
        for path in (folder / ".git/objects").glob("??/*"):
            path.unlink()
        options = {"url": str(folder), "promisor": "true", "uploadpack": str(program)}
        for name, value in options.items():
            git("config", f"remote.origin.{name}", value)
        git("config", "core.repositoryformatversion", "1")
        git("config", "extensions.partialClone", "origin")
    elif way == "included filter":
        git("config", "include.path", "more")
        git("config", "--file", str(folder / ".git/more"), "filter.x.clean", str(program))
    else:
        git("config", {"monitor": "core.fsmonitor", "filter": "filter.x.clean"}[way], str(program))
    os.utime(folder / "campaign.toml", (1, 1))  # so git looks into it
    assert not ran.exists()
    described = table(environment(folder)["git"])
    assert len(str(described["commit"])) == 40
    assert described["dirty"] is (None if "filter" in way or "fetch" in way else False)
    assert not ran.exists()


def test_what_git_can_not_compare_is_unknown_and_not_clean(tmp_path: Path) -> None:
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"]):
        user = ("-c", "user.name=x", "-c", "user.email=x@y")
        subprocess.run(["git", "-C", tmp_path, *user, *words], check=True)
    assert table(environment(tmp_path)["git"])["dirty"] is False
    for path in (tmp_path / ".git/objects").glob("??/*"):
        path.unlink()
    assert table(environment(tmp_path)["git"])["dirty"] is None


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: AMD EPYC 7443\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7443\n",
            "AMD EPYC 7443",
        ),
        ("processor\t: 0\nCPU part\t: 0xd05\n\nHardware\t: Hardkernel ODROID-HC4\n", "Hardkernel ODROID-HC4"),
        (
            "processor\t: 0\nCPU part\t: 0xd08\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n",
            "Raspberry Pi 4",
        ),
        ("processor\t: 0\nCPU part\t: 0xd03\n\nprocessor\t: 4\nCPU part\t: 0xd09\n", "0xd03"),
        ("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n", "sifive,u74-mc"),
        ("system type\t: generic\nprocessor\t: 0\nModel Name\t: Loongson-3A5000\n", "Loongson-3A5000"),
        (
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nrevision\t: 2.2\n",
            "POWER9, altivec supported",
        ),
        ("system type\t: MT7621\nprocessor\t: 0\ncpu model\t: MIPS 1004Kc V2.15\n", "MIPS 1004Kc V2.15"),
        ("", ""),
    ],
)
def test_processors_are_named_on_each_architecture(cpuinfo: str, name: str) -> None:
    assert cpu_model(cpuinfo) == name


def test_packages_that_are_known_but_not_installed_have_no_version():
    assert packages("fio\t3.33-3\nior\t\n") == {"fio": "3.33-3"}


def test_packages_that_drivers_name_are_kept_beside_the_usual_ones(monkeypatch, tmp_path):
    dpkg = tmp_path / "dpkg-query"
    dpkg.write_text('#!/bin/sh\nshift 3\nfor package; do printf "%s\\t1\\n" "$package"; done\n')
    dpkg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert {"fio", "moosefs-master"} <= table(environment(tmp_path, ["moosefs-master"])["packages"]).keys()


def test_without_any_tool_nothing_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = environment(tmp_path)
    assert (found["packages"], found["git"]) == ({}, None)


def test_the_clock_is_described_as_chrony_knows_it_or_as_systemd_does():
    local = "7F7F0101,,10,1795271033.078398249,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.0,0.0,0.0,Normal\n"
    assert table(clock(local, ""))["kept_by"] == "chrony"
    far = "C0A80101,ntp1,3,1795271033.1,-0.000120000,0.000080000,0.000090000,12.3,0.01,0.2,0.004000000,0.000500000,64.2,Normal\n"
    assert clock(far, "") == {
        "kept_by": "chrony",
        "source": "ntp1",
        "offset_s": -0.00012,
        "most_s": 0.00012 + 0.002 + 0.0005,
    }
    lost = far.replace("Normal", "Not synchronised")
    assert clock(lost, "NTPSynchronized=no\n") == {"kept_by": None}
    assert clock(f"new,{far}", "") is None  # a column more: nothing is guessed
    assert clock("506 Cannot talk to daemon", "NTPSynchronized=yes\n") == {"kept_by": "NTP"}
    assert clock("", "") is None
    for offset in ("x", "", "nan", "inf", "1e999"):  # as a host may answer that is broken or hostile
        assert clock(far.replace("-0.000120000", offset), "NTPSynchronized=yes\n") == {"kept_by": "NTP"}
