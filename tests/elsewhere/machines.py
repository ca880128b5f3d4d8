"""What may differ from machine to machine and says nothing about perjoule: what a test asks of it is a
fault of the test.
"""

import ast
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from perjoule import drivers

Environment = dict[str, str | None]
"""What variables are set to; None removes one."""

TESTED = ("unit", "repository", "pipeline")
DECOY = '#!/bin/sh\necho "${0##*/} $*" >> "$DECOYS_RAN"\nexit 97\n'
GIT = """
[user]
    name = Ada Lovelace
    email = ada@example.org
[commit]
    gpgsign = true
[tag]
    gpgsign = true
[init]
    defaultBranch = trunk
[core]
    hooksPath = {hooks}
    autocrlf = true
    quotePath = false
[color]
    ui = always
[log]
    decorate = full
[diff]
    noprefix = true
[status]
    short = true
"""


# What perjoule and its tests start besides the programs that file systems declare.
PROGRAMS = """
    7zz Rscript arch-test beegfs beegfs-ctl blockdev btrfs cc ceph ceph-fuse chattr chromedriver chronyc dmsetup dumpe2fs
    elbencho exportfs findmnt fio flock ganesha.nfsd git groff hdparm ior ip ipmitool kill lsblk lvcreate lvm mdadm
    mdtest mfscreatesclass mfsfileinfo mfsgetsclass mfsgettrashtime mfsmakesnapshot mfssetsclass mfssettrashtime
    mke2fs mkfs mkfs.btrfs mkfs.ext4 mkfs.f2fs mkfs.xfs mkswap mmdebstrap modprobe mosquitto mount.ceph mount.nfs
    mountpoint mpirun munged nfs-cp nfs-ls nsenter nvme openssl orted parted perl pgrep pkill ps pvfs2fuse python3
    rados rpc.mountd rpc.nfsd rpcbind salloc sbatch scancel scontrol setpriv setsid sinfo slurmctld slurmd snmpget
    squeue srun ss ssh ssh-keygen ssh-keyscan sshd sshfs sstat sudo swapoff swapon tc timedatectl unshare vgcreate
    vgremove wipefs xfs_info zpool
"""


def words(folder: Path) -> Iterator[str]:
    """The words that tests have as strings, each of which could be the name of a program."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from (
                    word for word in node.value.split() if word.replace("-", "").isalnum() and word.isascii()
                )


def expected() -> set[str]:
    """The programs that perjoule and its tests look for; another one by that name is a broken
    installation.
    """
    runs = (
        getattr(drivers.driver_class("filesystems", kind), "runs", {})
        for kind in drivers.kinds("filesystems")
    )
    return {
        *PROGRAMS.split(),
        *(name for of in runs for by in of.values() for name in by),
    }


def decoys(folder: Path) -> Environment:
    """Programs by all words that tests use, unless this machine has them; each notes that it was run."""
    programs = folder / "decoys"
    programs.mkdir()
    (programs / "HEAD").write_text(DECOY)
    (programs / "HEAD").chmod(0o755)
    tests = Path(__file__).parents[1]
    names = {"project", "main"}.union(*(words(tests / part) for part in TESTED)) - expected() - {"HEAD"}
    for name in names:
        # a test of what is missing asks for something like no-such-program
        if not name.startswith(("-", "no-")) and len(name) < 40 and not shutil.which(name):
            (programs / name).symlink_to("HEAD")
    return {"PATH": f"{programs}:{os.environ['PATH']}", "DECOYS_RAN": str(folder / "ran")}


def a_locale(name: str) -> Callable[[Path], Environment]:
    """The words, numbers and letters of a language, compiled for this run."""

    def compiled(folder: Path) -> Environment:
        subprocess.run(["localedef", "-i", name, "-f", "UTF-8", folder / f"{name}.UTF-8"], check=True)
        return {
            "LOCPATH": str(folder),
            "LC_ALL": f"{name}.UTF-8",
            "LANG": f"{name}.UTF-8",
            "LANGUAGE": name[:2],
        }

    return compiled


def home(folder: Path) -> Environment:
    """A home with a name that shells and URLs would take apart, and with a user's own configuration of
    git.
    """
    place, hooks = folder / "Ada's $HOME; 100 % (ä)", folder / "hooks"
    place.mkdir()
    hooks.mkdir()
    for hook in ("pre-commit", "commit-msg", "post-checkout"):
        (hooks / hook).write_text("#!/bin/sh\nexit 1\n")
        (hooks / hook).chmod(0o755)
    (place / ".gitconfig").write_text(GIT.format(hooks=hooks))
    return {"HOME": str(place)}


def temporary(folder: Path) -> Environment:
    place = folder / "a b"
    place.mkdir()
    place.chmod(0o1777)
    return {"TMPDIR": str(place)}


def variables(**values: str | None) -> Callable[[Path], Environment]:
    return lambda folder: dict(values)


# NumPy's, beyond its baseline
NUMBERS = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
PROXY = "http://127.0.0.1:9"  # where nobody answers
DIFFERENCES: dict[str, Callable[[Path], Environment]] = {
    "decoys": decoys,
    "c": variables(LC_ALL="C", LANG="C"),
    "german": a_locale("de_DE"),
    "turkish": a_locale("tr_TR"),
    "apia": variables(TZ="Pacific/Apia"),
    "kathmandu": variables(TZ="Asia/Kathmandu"),
    "home": home,
    "homeless": variables(
        HOME=None, XDG_CONFIG_HOME=None, XDG_STATE_HOME=None, XDG_CACHE_HOME=None, USER=None, LOGNAME=None
    ),
    "temporary": temporary,
    "numbers": variables(NPY_DISABLE_CPU_FEATURES=NUMBERS, OPENBLAS_CORETYPE="Prescott"),
    "seed 0": variables(PYTHONHASHSEED="0"),
    "seed 4321": variables(PYTHONHASHSEED="4321"),
    "no bytecode": variables(PYTHONDONTWRITEBYTECODE="1"),
    "dumb": variables(TERM="dumb", NO_COLOR="1", COLUMNS="40", LINES="10"),
    "colors": variables(TERM="xterm-256color", FORCE_COLOR="1", CLICOLOR_FORCE="1", COLUMNS="300"),
    "proxy": variables(
        http_proxy=PROXY, https_proxy=PROXY, HTTP_PROXY=PROXY, HTTPS_PROXY=PROXY, ALL_PROXY=PROXY
    ),
    "options": variables(PYTEST_ADDOPTS="--verbose --color=yes --durations=3"),
    "umask 077": variables(),
    "umask 000": variables(),
    "read-only": variables(),
}
MACHINES = {
    "first": ("decoys", "c", "apia", "home", "temporary", "seed 0", "dumb", "proxy", "umask 077"),
    "second": (
        "turkish",
        "kathmandu",
        "homeless",
        "numbers",
        "seed 4321",
        "no bytecode",
        "colors",
        "options",
        "umask 000",
        "read-only",
    ),
}
