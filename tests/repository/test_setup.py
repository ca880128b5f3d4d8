"""What `make demo` and `make test` install: a package for every program that is started, while others install theirs, too."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from perjoule import drivers
from places import ROOT
from tests.kernels.image import packages
from tests.kernels.image import sections as all_sections

HEAD = r'(?:[\[({]\s*(?=")|(?="[^"]+": ))"([\w.+/-]+)"'  # of a list, tuple or call; a key
SHELL = r" && | \|\| |; do\b|\$\("
COMMAND = r"(?m)(?:^|[;|&({]|\b(?:do|then|else|if|while|until|exec)\b)\s*([a-z][\w.+-]*)"

# Packages of setup/debian-packages and the programs that come with them or with what they depend on, beyond those that file
# systems declare (tests/unit/drivers/test_listed.py compares these with the list).
LISTED = {
    "7zip": "7zz",
    "arch-test": "arch-test",
    "btrfs-progs": "btrfs mkfs.btrfs",
    "ca-certificates": "openssl",
    "ceph-common": "ceph mount.ceph rados",
    "ceph-fuse": "ceph-fuse",
    "chromium-driver": "chromedriver",
    "e2fsprogs": "chattr dumpe2fs mke2fs mkfs mkfs.ext4",
    "fio": "fio",
    "gcc": "cc",
    "git": "git",
    "groff-base": "groff",
    "ipmitool": "ipmitool",
    "iproute2": "ip ss tc",
    "kmod": "modprobe",
    "libnfs-utils": "nfs-cp nfs-ls",
    "mmdebstrap": "mmdebstrap",
    "moosefs-client": "mfscreatesclass mfsfileinfo mfsgetsclass mfsgettrashtime mfsmakesnapshot mfssetsclass mfssettrashtime",
    "mosquitto": "mosquitto",
    "munge": "munged",
    "nfs-common": "mount.nfs",
    "nfs-ganesha": "ganesha.nfsd",
    "nvme-cli": "nvme",
    "openmpi-bin": "mpirun",
    "nfs-kernel-server": "rpc.mountd rpc.nfsd",
    "openssh-client": "ssh ssh-keygen ssh-keyscan",
    "openssh-server": "sshd",
    "parted": "parted",
    "procps": "kill pgrep pkill ps",
    "python3": "python3",
    "r-base-core": "Rscript",
    "rpcbind": "rpcbind",
    "slurm-wlm": "slurmctld slurmd",
    "snmp": "snmpget",
    "sshfs": "sshfs",
    "sudo": "sudo",
    "util-linux": "blockdev findmnt flock lsblk mkswap mountpoint nsenter setpriv setsid swapoff swapon unshare wipefs",
    "xfsprogs": "mkfs.xfs xfs_info",
}
# On every Debian and Ubuntu.
ALWAYS = "bash bsdutils coreutils dash diffutils dpkg findutils grep hostname libc-bin login mount passwd sed tar util-linux"
# Used where they are; a driver's check says what is lost without, a test that wants one is skipped.
OPTIONAL = """
    beegfs beegfs-ctl chronyc dmsetup exportfs git hdparm ior lvcreate lvm mdadm mdtest mkfs.f2fs mpirun nvme orted perl
    pvfs2fuse salloc sbatch scancel scontrol sinfo squeue srun sstat sudo timedatectl vgcreate vgremove zpool
"""


@cache
def always() -> set[str]:
    """The programs that every Debian and Ubuntu has, as this one's dpkg knows them."""
    lists = [Path("/var/lib/dpkg/info", f"{package}.list") for package in ALWAYS.split()]
    return {word for one in lists if one.exists() for word in re.findall(r"(?m)^/(?:usr/)?s?bin/(.+)$", one.read_text())}


@cache
def declared() -> set[str]:
    """The programs that file systems declare, each with its package."""
    found = (getattr(drivers.driver_class("filesystems", kind), "runs", {}) for kind in drivers.kinds("filesystems"))
    return {program for runs in found for by in runs.values() for program in by}


@cache
def starts(folder: str) -> dict[str, str]:
    """What may be a program and a file that has it: the first word of each list and call, keys, the commands of shell scripts."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path != Path(__file__):
            text = path.read_text()
            words = [*re.findall(HEAD, text), *(commands(text) if re.search(SHELL, text) else ())]
            found |= dict.fromkeys((word.rpartition("/")[2] for word in words), str(path.relative_to(ROOT)))
    return found


def commands(code: str) -> Iterator[str]:
    """The commands of the shell scripts in Python's strings."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(SHELL, node.value):
            yield from re.findall(COMMAND, node.value)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is missing: the list is of packages of Debian and Ubuntu")
@pytest.mark.parametrize(
    ("folder", "sections"),
    [("src", ["base", "filesystems"]), ("tests", ["base", "filesystems", "tests", "kernels", "elsewhere", "inside"])],
    ids=["src", "tests"],
)
def test_every_program_that_is_started_is_brought_by_a_package_of_the_list(folder: str, sections: list[str]) -> None:
    listed = set(packages(*sections))
    brought = {program: package for package, programs in LISTED.items() for program in programs.split()}
    apart, unlisted = always() | declared() | set(OPTIONAL.split()), dict[str, str]()
    for program, where in starts(folder).items():
        if program in brought and program not in apart and brought[program] not in listed:
            unlisted[program] = f"{where}: add {brought[program]}, which brings {program}, to setup/debian-packages"
    assert not unlisted, "\n".join(unlisted.values())


def test_the_packages_named_here_are_on_the_list_and_their_programs_in_the_code() -> None:
    started = starts("src") | starts("tests")
    assert LISTED.keys() <= {package for section in all_sections().values() for package in section}
    assert {program for programs in LISTED.values() for program in programs.split()} <= started.keys()


# Instead of the machine's own: nothing is installed, no package is there, and nobody is root, so that all goes through sudo.
FAKES = {
    "apt-cache": "",
    "dpkg-query": "",
    "id": "echo 1000",
    "sleep": "",
    "sudo": 'case "$1" in env) shift; exec env "$@" ;; tee) cat > /dev/null ;; esac',  # who writes to it must not be cut off
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
    return subprocess.run(argv, cwd=folder, env={"PATH": paths, **environment}, capture_output=True, text=True, check=False)


def test_another_program_that_installs_is_waited_for_and_named_once(tmp_path: Path) -> None:
    done = install(tmp_path, LOCKED="3", REASON=LOCK)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.strip() == f"setup/install: another program is installing packages ({LOCK}); waiting up to 15 minutes"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([call for call in calls if call.endswith("update")]) == 4
    assert "install" in calls[-1]


def test_what_is_not_a_lock_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    done = install(tmp_path, LOCKED="1", REASON="Unable to locate package fio")
    assert (done.returncode, done.stderr) == (100, "E: Unable to locate package fio\n")
    assert (tmp_path / "calls").read_text().count("\n") == 1


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-development.txt", "requirements-extras.txt"])
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
