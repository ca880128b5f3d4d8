"""A Slurm cluster on this machine: a controller and nodes in virtual hosts, each with files and a munge of
its own.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from perjoule.drivers.protocols import Host
from places import ROOT
from sshd import until

TOOLS = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "munged": "munge"}
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
# Only so that a python in root's home can be read; nothing of it reaches a node.
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
# $1 the lab's folder, $2 the node's name, $3 this checkout. A shared /tmp breaks PMIx; a name that nobody
# resolves stalls munged.
_NODE = r"""
set -e
hostname "$2"
exec 7< "$3" # this checkout, which may lie where an empty folder comes
for place in /run /var/spool /var/tmp /tmp; do case $1 in $place/*) ;; *) mount -t tmpfs -o mode=1777 none $place ;; esac; done
[ -e "$3" ] || { mkdir -p "$3" && mount --no-canonicalize --bind /proc/self/fd/7 "$3" && exec 7<&-; } || exit
mount -t tmpfs none /sys/fs/cgroup
chmod 755 /run /var/spool
for place in /etc/munge /var/lib/munge /var/log/munge; do mount -t tmpfs -o mode=700 none $place; done
cp "$1/munge.key" /etc/munge
mkdir -p -m 755 /run/munge /var/spool/slurm
mkdir -p /etc/slurm
for lib in /usr/lib/*/pmix2/lib; do # Slurm looks for a name that only libpmix-dev has
  [ -e "$lib/libpmix.so.2" ] || continue
  cp -a "$lib/." /run/pmix
  ln -sf libpmix.so.2 /run/pmix/libpmix.so
  mount --bind /run/pmix "$lib"
done
mkdir /run/sys # with the sensor of a Cray, whose files a test writes
mount -t tmpfs none /run/sys
for part in /sys/*; do
  mkdir "/run/sys/${part##*/}"
  mount --rbind "$part" "/run/sys/${part##*/}"
done
mkdir -p /run/sys/cray/pm_counters
mount --bind "$1/sensors/$2" /run/sys/cray/pm_counters
mount --rbind /run/sys /sys
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/slurm" /etc/slurm
munged --force
if [ "$2" = ctl ]; then exec slurmctld -D; else exec slurmd -D -N "$2"; fi
"""
# It reaps what a node's daemons leave.
_INIT = 'trap "" TERM INT HUP; bash -c "$0" node "$@" & wait $!; code=$?; sleep 0.1; exit $code'
_CONF = """ClusterName=lab
SlurmctldHost=ctl({address})
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=/var/spool/slurm
SlurmdSpoolDir=/var/spool/slurm
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
InactiveLimit=30
AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=energy=1
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=60
PartitionName=short Nodes=ALL MaxTime=1 PriorityTier=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
"""


def missing() -> list[str]:
    """What a lab needs and this machine does not have, with the package that has it."""
    lacking = [tool for tool in TOOLS if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    return [f"{tool} is missing: apt-get install --no-install-recommends {TOOLS[tool]}" for tool in lacking]


class SlurmLab:
    """A cluster whose first host is the controller, and whose nodes are n1, n2 and so on."""

    def __init__(self, folder: Path, hosts: Sequence[Host]) -> None:
        self.folder, self.names = (
            folder,
            dict(zip(("ctl", *(f"n{n}" for n in range(1, len(hosts)))), hosts, strict=True)),
        )
        (folder / "slurm").mkdir()
        for name in self.names:
            (folder / "sensors" / name).mkdir(parents=True)
            self.sense(name, 1000, 100)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        known = "".join(f"{host.address} {name}\n" for name, host in self.names.items())
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{known}")
        nodes = [
            f"NodeName={name} NodeAddr={host.address} CPUs=2"
            for name, host in self.names.items()
            if name != "ctl"
        ]
        conf = _CONF.format(address=hosts[0].address, nodes="\n".join(nodes))
        (folder / "slurm" / "slurm.conf").write_text(conf)
        # slurmd looks for one even if it needs none
        (folder / "slurm" / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        apart = [
            "unshare",
            "--mount",
            "--propagation=private",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        for name, host in self.names.items():
            host.spawn([*apart, "bash", "-c", _INIT, _NODE, folder, name, ROOT], log=folder / f"{name}.log")
        try:
            until(lambda: "slurmctld" in self._said("ctl"), 5)
        except AssertionError:
            raise AssertionError(self._said("ctl")) from None
        self._pids = {name: self._pid(name) for name in self.names}
        self.rest()

    def rest(self) -> None:
        """Wait until all nodes are there and no job has them."""
        until(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout == f"idle {len(self.names) - 1}\n")

    def sense(self, name: str, energy_j: int, power_w: int) -> None:
        """Have a node's sensor show this, as a Cray's does."""
        for quantity, text in {"energy": f"{energy_j} J\n", "power": f"{power_w} W\n"}.items():
            path = self.folder / "sensors" / name / quantity
            path.with_suffix(".new").write_text(text)
            path.with_suffix(".new").rename(path)

    def _said(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def _pid(self, name: str) -> int:
        """The first process of a node, as seen from here."""
        said = subprocess.run(
            ["pgrep", "-f", f"^bash -c trap .*{self.folder} {name} {ROOT}$"],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(said.stdout.split()[0])

    def command(self, *argv: str | Path, node: str = "ctl", user: Sequence[str] = ()) -> list[str | Path]:
        """The command that runs another on a node, as root or by a prefix that makes another user of it."""
        return ["nsenter", "-t", str(self._pids[node]), "-n", "-m", "-u", "-p", *user, *argv]

    def run(
        self, *argv: str | Path, node: str = "ctl", user: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*argv, node=node, user=user), capture_output=True, text=True, check=False
        )

    def jobs(self) -> str:
        """All jobs that wait or run."""
        return self.run("squeue", "--noheader", "--format=%i %j %T").stdout

    def processes(self, *patterns: str) -> list[str]:
        """What runs on nodes whose command line holds one of these."""
        found = [
            self.run("pgrep", "-af", "|".join(patterns), node=name).stdout
            for name in self.names
            if name != "ctl"
        ]
        return [line for said in found for line in said.splitlines()]
