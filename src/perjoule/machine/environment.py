"""The environment of a measurement: machine, kernel, software, and the git state of the campaign's folder."""

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path

from perjoule.model import Json

# Debian packages whose version can change a result, beside those that drivers name.
PACKAGES = ("fio", "ior", "iproute2", "xfsprogs", "btrfs-progs", "e2fsprogs", "7zip", "p7zip-full")
MODULES = ("perjoule", "numpy", "pyarrow", "scipy", "pydantic")
_NAMES_NOTHING = ("-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
# An object that a repository lacks is fetched, by the program that it names, where any protocol is allowed.
_FETCHES_NOTHING = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
# how /proc/cpuinfo names a processor, its board or its cores: x86 and old ARM, LoongArch, Raspberry Pi (whose "Hardware"
# is BCM2835 on all), other boards, MIPS, POWER, RISC-V, ARM
_NAMES = ("model name", "Model Name", "Model", "Hardware", "cpu model", "cpu", "uarch", "CPU part")
# Of a repository's own configuration: what git itself and its users write there, and with the above runs nothing.
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|symlinks|ignorecase|precomposeunicode)"
    r"|core\.(autocrlf|eol|fsmonitor|hookspath)|remote\..*\.(url|pushurl|fetch)|branch\..*\.(remote|merge|rebase)"
    r"|(user|submodule|pull|push|init)\..*"
)


def environment(
    campaign_folder: Path | None = None,
    drivers_packages: Sequence[str] = (),
    of_others: Mapping[str, Json] | None = None,
) -> Mapping[str, Json]:
    """Describe this machine; unknown values are None. Never fails.

    Args:
        campaign_folder: the campaign file's folder, for its git commit and whether it has uncommitted
            changes.
        of_others: drivers and measures that are not perjoule's, each with its package.
    """
    query = [
        "dpkg-query",
        "--show",
        "--showformat",
        "${Package}\t${Version}\n",
        *dict.fromkeys([*PACKAGES, *drivers_packages]),
    ]
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "distribution": _distribution(),
        "cpu_model": cpu_model(_text("/proc/cpuinfo")) or None,
        "cores_count": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cpu_governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        "clock": clock(
            _output(["chronyc", "-c", "tracking"]),
            _output(["timedatectl", "show", "--property=NTPSynchronized"]),
        ),
        "python": platform.python_version(),
        "modules": {name: _module(name) for name in MODULES},
        "packages": packages(_output(query)),
        **({"entry_points": of_others} if of_others else {}),
        "git": _git(campaign_folder or Path.cwd()),
    }


def cpu_model(cpuinfo: str) -> str:
    """Find the processor's name in /proc/cpuinfo, or else that of the board or of its cores; "" if it has none."""
    entries = [line.partition(":") for line in cpuinfo.splitlines()]
    values = {key.strip(): value.strip() for key, _, value in reversed(entries)}
    return next((values[key] for key in _NAMES if values.get(key)), "")


def clock(tracking: str, timedatectl: str) -> Json:
    """Read the possible offset of this machine's clock: chrony's "tracking" as CSV, or else whether it is
    synchronised.

    chrony estimates the offset and limits its error to root delay / 2 + root dispersion:
    https://chrony-project.org/doc/4.3/chronyc.html
    """
    columns = tracking.strip().split(",")
    if len(columns) == 14 and columns[-1] != "Not synchronised":
        with suppress(ValueError):  # hosts may say anything
            offset_s, delay_s, dispersion_s = (float(columns[n]) for n in (4, 10, 11))
            most_s = abs(offset_s) + delay_s / 2 + dispersion_s
            if isfinite(most_s):
                return {"kept_by": "chrony", "source": columns[1], "offset_s": offset_s, "most_s": most_s}
    synchronized = timedatectl.strip().partition("=")[2]
    return (
        {"kept_by": "NTP"} if synchronized == "yes" else {"kept_by": None} if synchronized == "no" else None
    )


def packages(listing: str) -> Mapping[str, Json]:
    """Read dpkg-query's lines of name, tab, version; a package that is known but not installed has no
    version.
    """
    pairs = (line.partition("\t") for line in listing.splitlines())
    return {name: number for name, _, number in pairs if number}


def _git(folder: Path) -> Json:
    """Return the commit, and whether it lacks anything ("dirty"); None for that where git might run what the
    repository names, or could not compare.

    Whoever hands over a folder with a repository in it has also written that one's configuration and hooks.
    """
    git = ["git", "--no-optional-locks", *_NAMES_NOTHING, "-C", str(folder)]
    commit = _output([*git, "rev-parse", "HEAD"]).strip()
    if not commit:
        return None
    listed = _output([*git, "config", "--list", "--show-scope", "--name-only"]).splitlines()
    options = (line.partition("\t") for line in listed)
    own = [name for scope, _, name in options if scope in ("local", "worktree")]
    if not own or not all(map(_HARMLESS.fullmatch, own)):
        return {"commit": commit, "dirty": None}
    status = _output(
        [*git, "status", "--porcelain", "--branch", "--no-ahead-behind", "--ignore-submodules=all", "--", "."]
    )
    first, *changes = status.splitlines() or [""]  # the branch, unless git failed
    return {"commit": commit, "dirty": bool(changes) if first.startswith("##") else None}


def _distribution() -> Json:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _module(name: str) -> Json:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _output(argv: list[str]) -> str:
    # The exit code says nothing: dpkg-query fails when one of many packages is unknown, and prints the
    # others.
    try:
        variables = {**os.environ, **_FETCHES_NOTHING}
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=10, check=False, env=variables
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
