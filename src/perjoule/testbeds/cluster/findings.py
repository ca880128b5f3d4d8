"""What hosts have and lack, as checks: one line for all hosts with the same finding."""

import re
from collections.abc import Sequence
from dataclasses import replace

from perjoule.drivers.names import fold
from perjoule.drivers.protocols import Check
from perjoule.machine.environment import clock
from perjoule.machine.ports import listener_text
from perjoule.model.units import bytes_text
from perjoule.testbeds.cluster.facts import Probe
from perjoule.testbeds.cluster.scripts import HELPER

LEAST_FREE_BYTES = 512 * 1024**2
_INSTALL = re.compile(r"apt(?:-get)? install ([\w.+-]+)")


def readiness(name: str, probe: Probe) -> Check:
    """Judge what every host of a campaign needs."""
    if probe.unsafe:
        problem, _, fix = probe.unsafe.partition("; ")
        return Check(name, False, problem, fix)
    if probe.readonly:
        problem = f"{probe.user} can't write to {probe.readonly}"
        return Check(name, False, problem, "log in as another user, or set work or sudo")
    if probe.missing:
        return Check(name, False, f"no {', '.join(probe.missing)}", "apt install procps util-linux tar on it")
    if probe.free_bytes < LEAST_FREE_BYTES:
        problem = f"only {bytes_text(probe.free_bytes)} are free for the work folder"
        return Check(name, False, problem, "free space there, or set work")
    caches = "no disks made" if probe.drops else f"no disks made, page caches not dropped ({HELPER} would)"
    root = "" if probe.user == "root" else f", not root: {caches}"
    return Check(name, True, f"{probe.user} on {probe.kernel}, {bytes_text(probe.free_bytes)} free{root}")


def clock_finding(name: str, probe: Probe) -> list[Check]:
    """Report a clock that nothing synchronizes, as far as the host knows.

    Loads are nevertheless timed, by its offset.
    """
    clock_facts = clock(probe.chronyc, probe.timedatectl)
    if isinstance(clock_facts, dict) and clock_facts["kept_by"]:
        return []
    problem = "its clock is not synchronized" if clock_facts else "nothing is known to synchronize its clock"
    return [Check(name, False, problem, "apt install chrony", needed=False)]


def lacking(name: str, check: Check, why: str = "") -> Check:
    """Turn a check of this machine into what a host lacks, or has too much of: who listens on a port, a
    site's own daemons.
    """
    look, *_ = check.look.split()
    rows = [row.split() for row in why.split(", ")] if why else []
    if look == "port":
        detail = ", ".join(f"port {port} is taken by {listener_text(pid, name)}" for port, pid, name in rows)
    elif look == "without":
        detail = (
            f"a site's own daemons run on it: {', '.join(listener_text(pid, name) for pid, name in rows)}"
        )
    elif look == "unexported":
        detail = f"its kernel's NFS server exports folders of a site's own: {why}"
    elif look == "guarded":
        detail = f"root is not safe there: {why}"
    elif look == "nothing":
        detail = f"a site's own, which does not run, has its state there: {check.look.split()[1]}"
    else:
        detail = f"no {check.name}"
    return replace(check, name=name, ok=False, detail=detail)


def together(checks: Sequence[Check]) -> list[Check]:
    """Join hosts with the same message into one line; the fix is that of the first."""
    same: dict[tuple[bool, str], list[Check]] = {}
    for check in checks:
        same.setdefault((check.ok, check.detail), []).append(check)
    return [
        replace(alike[0], name=f"host{'s' if len(alike) > 1 else ''} {fold([check.name for check in alike])}")
        for alike in same.values()
    ]


def installed_at_once(checks: Sequence[Check]) -> list[Check]:
    """Join what the same hosts lack and one command fixes, as with packages; the rest has the same fix."""
    by_fix: dict[tuple[str, bool, str], list[Check]] = {}
    for check in checks:
        fix = "" if _INSTALL.fullmatch(check.fix) else check.fix
        by_fix.setdefault((check.name, check.needed, fix), []).append(check)
    joined: list[Check] = []
    for (*_, fix), alike in by_fix.items():
        packages = dict.fromkeys(package for check in alike for package in _INSTALL.findall(check.fix))
        detail = ", ".join([alike[0].detail, *(check.detail.removeprefix("no ") for check in alike[1:])])
        joined.append(replace(alike[0], detail=detail, fix=fix or f"apt install {' '.join(packages)}"))
    return joined
