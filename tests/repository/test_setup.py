"""What `make demo` and `make test` install, while others install theirs, too, by Debian's own Python."""

import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from places import ROOT

# Instead of the machine's own: nothing is installed, no package is there, and nobody is root, so that all
# goes through sudo.
FAKES = {
    "apt-cache": "",
    "dpkg-query": "",
    "id": "echo 1000",
    "sleep": "",
    # who writes to it must not be cut off
    "sudo": 'case "$1" in env) shift; exec env "$@" ;; tee) cat > /dev/null ;; esac',
    "apt-get": """
echo "$*" >> calls
[ "$(grep -c -- "${!#}" calls)" -gt "${LOCKED:-0}" ] || { echo "E: $REASON" >&2; exit 100; }
""",
}
LOCK = "Could not get lock /var/lib/apt/lists/lock. It is held by process 314 (unattended-upgr)"


def install(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    for name, script in FAKES.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
    argv, paths = [ROOT / "setup" / "install", "base"], f"{folder / 'bin'}:/usr/bin:/bin"
    return subprocess.run(
        argv, cwd=folder, env={"PATH": paths, **environment}, capture_output=True, text=True, check=False
    )


def test_another_program_that_installs_is_waited_for_and_named_once(tmp_path: Path) -> None:
    done = install(tmp_path, LOCKED="3", REASON=LOCK)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert (
        done.stderr.strip()
        == f"setup/install: another program is installing packages ({LOCK}); waiting up to 15 minutes"
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([call for call in calls if call.endswith("update")]) == 4
    assert "install" in calls[-1]


def test_what_is_not_a_lock_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    done = install(tmp_path, LOCKED="1", REASON="Unable to locate package fio")
    assert (done.returncode, done.stderr) == (100, "E: Unable to locate package fio\n")
    assert (tmp_path / "calls").read_text().count("\n") == 1


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-development.txt", "requirements-extras.txt"]
)
@pytest.mark.parametrize("python", ["3.11.2", "3.13.5"])
def test_debians_own_python_can_install_what_is_pinned(name: str, python: str) -> None:
    """Debian 12's and 13's; a patch release counts: soupsieve 4.1 wants 3.11.5."""
    lines = (ROOT / "setup" / name).read_text().splitlines()
    pinned = [line.partition("==") for line in lines if "==" in line]
    assert pinned
    for package, _, version in pinned:
        found = metadata.metadata(package.partition("[")[0].strip())
        assert found["Version"] == version.partition(";")[0].strip(), (
            f"{package}: run `make check`, which installs what is pinned"
        )
        wants = str(found.json.get("requires_python", ""))  # which axe-core-python doesn't say
        assert python in SpecifierSet(wants), f"{package} {version} wants {wants}"
