"""Requirements of virtual hosts on this machine, each with the exact fix."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from perjoule.drivers.protocols import Check
from perjoule.machine.disks import PACKAGES
from perjoule.testbeds import _delay, _format
from perjoule.testbeds._delay import Delay
from perjoule.testbeds.virtual import cgroup, cpu, memory

_TRIAL = (
    "ip link add name br0 type bridge && ip link add name one type veth peer name two && ip link set dev "
    "one master br0 && tc qdisc add dev one root tbf rate 1mbit burst 32kb latency 50ms"
)
_CHILDREN = Path("/proc/thread-self/children")
_TRIAL_S = 120.0  # a moment, but in an emulated machine
_SUDO = f"run it as root: sudo {Path(sys.executable).with_name('perjoule')} ..."  # sudo has a PATH of its own
FIX_NETEM = (
    "modprobe sch_netem (CONFIG_NET_SCH_NETEM), or remove latency and loss of [testbed], and events lossy"
)
_PACKAGES = {
    "bash": "bash",
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "losetup": "mount",
    **{f"mkfs.{kind}": package for kind, package in PACKAGES.items()},
}


def checks(
    disk: str,
    *,
    cpu_cap: bool,
    disk_cap: bool,
    memory_cap: bool,
    delayed_links: bool = False,
    delay: Delay | None = None,
) -> tuple[Check, ...]:
    """Check all requirements, in the order in which to fix them."""
    root = os.geteuid() == 0
    tools = [
        "bash",
        "ip",
        "tc",
        "unshare",
        "nsenter",
        *(("losetup", f"mkfs.{disk}") if disk in _format.MAKE else ()),
    ]
    all_checks = [Check("root", root, "yes" if root else "needed for namespaces and control groups", _SUDO)]
    all_checks += [_tool(name) for name in tools]
    all_checks.append(_children())
    if all(check.ok for check in all_checks):
        all_checks += [_namespaces(), *([netem()] if delayed_links else [])]
    if disk in _format.MAKE:
        all_checks.append(_loops())
    if delay:
        all_checks.append(_delayed(delay))
    version, able = cgroup.controllers()
    if cpu_cap:
        all_checks.append(_cpu(version, able))
        path = cpu.tool()
        all_checks.append(
            Check("7-zip", path is not None, path or "missing: CPUs can't be capped", "apt-get install 7zip")
        )
    if disk_cap:
        all_checks.append(_disk_cap(version, able))
    if memory_cap:
        all_checks.append(_memory_cap(disk))
    return tuple(all_checks)


def optional(disk: str) -> tuple[Check, ...]:
    """Check what only options need that are off by default: latency and loss of links, latency of disks,
    caps of memory.
    """
    tried = os.geteuid() == 0 and shutil.which("unshare") is not None
    links = (replace(netem(), needed=False),) if tried else ()
    return (*links, _delayed(Delay(0, at_random=True)), _memory_cap(disk))


def _tool(name: str) -> Check:
    path = shutil.which(name)
    return Check(f"tool {name}", path is not None, path or "missing", f"apt-get install {_PACKAGES[name]}")


def _children() -> Check:
    """Check whether the kernel lists a process's children, by which a host's processes are known."""
    lists = _CHILDREN.exists()
    detail = "listed by this kernel" if lists else "this kernel does not list them"
    return Check("children of processes", lists, detail, "boot a kernel with CONFIG_PROC_CHILDREN")


def _tried(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in namespaces of its own."""
    spaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.run(
        ["unshare", *spaces, "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=_TRIAL_S,
        check=False,
    )


@cache
def netem() -> Check:
    """Check for the scheduler that delays and loses packets."""
    works = _tried("tc qdisc add dev lo root netem delay 1ms loss 1%").returncode == 0
    detail = "works" if works else "this kernel has no netem, so links have neither latency nor loss"
    return Check("netem", works, detail, FIX_NETEM)


@cache
def _namespaces() -> Check:
    completed = _tried(_TRIAL)
    name = "namespaces, bridge, veth, tbf"
    return (
        Check(name, True, "work")
        if completed.returncode == 0
        else Check(name, False, *refusal(completed.stderr))
    )


def refusal(output: str) -> tuple[str, str]:
    """Return why namespaces don't work, from the last output of the trial, and the fix."""
    if "cannot change root filesystem propagation" in output:
        problem = (
            "the root folder is not a mount point, as in a chroot, so hosts can't have mounts of their own"
        )
        return (
            problem,
            "leave the chroot, or enter its folder with systemd-nspawn, a privileged container or pivot_root",
        )
    last = " ".join(output.strip().splitlines()[-1:])
    return last or "refused", "modprobe -a veth bridge sch_tbf; in a container: run it privileged"


def _loops() -> Check:
    available = Path("/dev/loop-control").exists()
    return Check(
        "loop devices",
        available,
        "there" if available else "no /dev/loop-control",
        'modprobe loop, or disk = "directory"',
    )


def _delayed(delay: Delay) -> Check:
    lack = _delay.lacking()
    detail = f"{lack}, so disks have no latency of their own" if lack else "there"
    fix = "apt-get install dmsetup, a kernel with CONFIG_DM_DELAY, or remove disk_latency of [testbed]"
    return Check("dm-delay", not lack, detail, fix, needed=not delay.at_random)


def _cpu(version: int, able: frozenset[str]) -> Check:
    if cgroup.read_only():
        return Check(
            "CPU caps", False, "control groups are mounted read-only", "in a container: run it privileged"
        )
    detail = f"cgroup v{version}" if "cpu" in able else "no CPU controller that can cap"
    fix = "mount cgroup2 on /sys/fs/cgroup (kernel with CONFIG_CFS_BANDWIDTH), or cpu_cap = false"
    return Check("CPU caps", "cpu" in able, detail, fix)


def _disk_cap(version: int, able: frozenset[str]) -> Check:
    available = "io" in able
    detail = (
        f"cgroup v{version}"
        if available
        else "no io controller: disks are as fast as this machine's, which the facts record"
    )
    fix = (
        "boot with systemd.unified_cgroup_hierarchy=1 (cgroup v2), or a kernel with CONFIG_BLK_DEV_THROTTLING"
    )
    return Check("disk caps", available, detail, fix, needed=False)


def _memory_cap(disk: str) -> Check:
    why_not = memory.lack(disk)
    detail = f"none, hosts share this machine's: {why_not}" if why_not else "page cache included"
    fix = (
        "boot with systemd.unified_cgroup_hierarchy=1 (cgroup v2) and cgroup_enable=memory, or a kernel "
        "from 6.2 on"
    )
    return Check("memory caps", not why_not, detail, fix, needed=False)
