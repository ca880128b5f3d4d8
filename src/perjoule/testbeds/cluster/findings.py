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


def readiness(name: str, found: Probe) -> Check:
    """Judge what every host of a campaign needs."""
    if found.unsafe:
        what, _, fix = found.unsafe.partition("; ")
        return Check(name, False, what, fix)
    if found.readonly:
        what = f"{found.user} can't write to {found.readonly}"
        return Check(name, False, what, "log in as another user, or set work or sudo")
    if found.missing:
        return Check(name, False, f"no {', '.join(found.missing)}", "apt install procps util-linux tar on it")
    if found.free_bytes < LEAST_FREE_BYTES:
        what = f"only {bytes_text(found.free_bytes)} are free for the work folder"
        return Check(name, False, what, "free space there, or set work")
    caches = "no disks made" if found.drops else f"no disks made, page caches not dropped ({HELPER} would)"
    root = "" if found.user == "root" else f", not root: {caches}"
    return Check(name, True, f"{found.user} on {found.kernel}, {bytes_text(found.free_bytes)} free{root}")


def clock_finding(name: str, found: Probe) -> list[Check]:
    """Report a clock that nothing synchronizes, as far as the host knows. Loads are nevertheless timed, by its offset."""
    kept = clock(found.chronyc, found.timedatectl)
    if isinstance(kept, dict) and kept["kept_by"]:
        return []
    what = "its clock is not synchronized" if kept else "nothing is known to synchronize its clock"
    return [Check(name, False, what, "apt install chrony", needed=False)]


def lacking(name: str, wanted: Check, why: str = "") -> Check:
    """Turn a check of this machine into what a host lacks, or has too much of: who listens on a port, a site's own daemons."""
    look, *_ = wanted.look.split()
    rows = [row.split() for row in why.split(", ")] if why else []
    if look == "port":
        detail = ", ".join(f"port {port} is taken by {listener_text(pid, name)}" for port, pid, name in rows)
    elif look == "without":
        detail = f"a site's own daemons run on it: {', '.join(listener_text(pid, name) for pid, name in rows)}"
    elif look == "unexported":
        detail = f"its kernel's NFS server exports folders of a site's own: {why}"
    elif look == "nothing":
        detail = f"a site's own, which does not run, has its state there: {wanted.look.split()[1]}"
    else:
        detail = f"no {wanted.name}"
    return replace(wanted, name=name, ok=False, detail=detail)


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
    found: dict[tuple[str, bool, str], list[Check]] = {}
    for check in checks:
        fix = "" if _INSTALL.fullmatch(check.fix) else check.fix
        found.setdefault((check.name, check.needed, fix), []).append(check)
    joined: list[Check] = []
    for (*_, fix), alike in found.items():
        packages = dict.fromkeys(package for check in alike for package in _INSTALL.findall(check.fix))
        detail = ", ".join([alike[0].detail, *(check.detail.removeprefix("no ") for check in alike[1:])])
        joined.append(replace(alike[0], detail=detail, fix=fix or f"apt install {' '.join(packages)}"))
    return joined
