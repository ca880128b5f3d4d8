"""Nodes of a Slurm cluster: those of the allocation around perjoule, or of a job that it asks for.
https://slurm.schedmd.com

perjoule runs inside an allocation (started by `sbatch`, or in the shell of `salloc`), or where jobs are
submitted. Nobody logs in to a node: programs start by `srun` as steps of the job, without root. Everything
ends with the job.
"""

import contextlib
import math
import os
import shutil
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import (
    Awaits,
    Check,
    Cleaned,
    Cleans,
    Elsewhere,
    Footing,
    Hosts,
    Lease,
    Leased,
    LooksAtHosts,
    Testbed,
)
from perjoule.model import OPTIONS, Json, passed_on
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.options import HostsCount
from perjoule.model.units import Seconds, seconds_text
from perjoule.testbeds.cluster import NodeName
from perjoule.testbeds.slurm import commands, ranks
from perjoule.testbeds.slurm.allocated import Allocated, allocated
from perjoule.testbeds.slurm.allocation import Allocation, clean, user
from perjoule.testbeds.slurm.arguments import ARGUMENTS, require_permitted
from perjoule.testbeds.slurm.commands import SlurmJob

__all__ = ["ARGUMENTS", "Slurm", "clean"]

EXAMPLE = """
[testbed]
kind = "slurm"
nodes = 4
partition = "batch"
time = "1 h"
hosts = [{role = "storage", count = 2}, {role = "client"}]
"""
_ADVICE = "set nodes, or start perjoule by sbatch, or in the shell of salloc"
_TOOLS = ("salloc", "scancel", "scontrol", "sinfo", "squeue", "srun")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Share:
    """Some nodes of an allocation and their role."""

    role: Literal["storage", "metadata", "management", "client"]
    """Their role: storage, metadata, management or client."""
    count: Annotated[int, Field(ge=1)] | None = None
    """How many nodes to take, of those that no table above has; by default all of them."""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9\[][A-Za-z0-9_.,\[\]-]*$")] | None = None
    """Their names, as in "n[001-004]"; perjoule requests them, too, but not those with login = false."""
    node: NodeName = ""
    """Their hardware in the catalogue, such as "odroid-hc4/A"."""
    login: bool = True
    """Whether they are nodes of the allocation; false for servers of a mounted file system, which only
    power meters know.
    """

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not (self.login or self.name):
            raise ValueError("login = false needs a name: that of servers outside of the allocation")
        return self


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Slurm(Testbed, Awaits, Cleans, Elsewhere, Leased, LooksAtHosts):
    """Nodes of a Slurm cluster, uncapped, in an allocation of ours or around us; each needs bash, procps
    and util-linux.
    """

    nodes_count: Annotated[int, Field(ge=1)] | None = None
    """How many nodes to ask for; inside an allocation, how many of its nodes to use: all by default."""
    hosts: tuple[Share, ...] = (Share(role="client"),)
    """The nodes' roles, as [{role = "storage", count = 2}, {role = "client"}]; by default all are clients.
    Servers of a mounted
    file system are not nodes: {name = "oss-[1-4]", role = "storage", login = false}."""
    servers_count: HostsCount | None = None
    """How many storage hosts to use, the first ones; all by default."""
    partition: str = ""
    """The partition; Slurm's default one if not set.

    This and what follows is for a job that perjoule asks for.
    """
    account: str = ""
    """The account to charge."""
    time_s: Annotated[Seconds, Field(ge=60)] | None = None
    """The time limit of the job, in whole minutes; the partition's default if not set."""
    constraint: str = ""
    """Features that the nodes must have."""
    exclusive: bool = True
    """Whether no other job may share the nodes; a meter can't separate the power of several jobs."""
    arguments: Annotated[tuple[str, ...], passed_on(require_permitted)] = ()
    """More arguments for salloc, such as ["--qos=high"]: only what nodes to ask for, and by which account of
    resources
    (`perjoule docs permitted`)."""
    wait_s: Seconds = 3600.0
    """For how long the job may be pending."""
    work: Annotated[str, Field(pattern=r"^(/[\w.-]+(/[\w.-]+)*)?$")] = ""
    """The only folder written to on a node, in its subfolder "cluster"; /var/tmp/perjoule-USER by default."""

    @property
    def names_hosts(self) -> bool:
        """Whether `hosts` names each node that is used; Slurm chooses the others."""
        return all(share.name for share in self.hosts)

    @property
    def lease_s(self) -> float:
        """The time that is left of the allocation, or that a job of ours will have."""
        if id := _around():
            with contextlib.suppress(MachineError):
                return commands.job(id).left_s
            return math.inf
        return self.time_s or math.inf

    def planned(self, clients_count: int) -> Hosts:
        """The first clients, the first storage hosts if `servers` limits them, and all others, on nodes
        yet unknown.
        """
        count = self.nodes_count or int(os.environ.get("SLURM_JOB_NUM_NODES") or 0)
        if not count:
            raise CampaignError(
                "not inside an allocation, and nodes is not set", where="testbed slurm", next=_ADVICE
            )
        names = [name for share in self.hosts if share.name and share.login for name in unfold(share.name)]
        names += [f"node-{number}" for number in range(1, 1 + count - len(names))]
        return self._bed({name: name for name in names}, "").planned(clients_count)

    def awaited(self) -> Generator[str]:
        """Ask for a job and wait for its nodes, outside of an allocation; yields what it waits for.

        Raises MachineError.
        """
        if _around() or self in _granted:
            return
        clean()
        allocation = Allocation(self._wanted())
        try:
            _granted[self] = allocation, (yield from allocation.granted(self.wait_s))
        finally:
            if self not in _granted:
                allocation.cancel()

    def footing(self, host: str) -> Footing:
        """Return the user of the job, and the work folder."""
        return Footing(user(), self.work or f"/var/tmp/perjoule-{user()}")

    @contextlib.contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold the nodes; nothing of ours stays on them, and a job that was requested ends.

        Raises:
            CampaignError: too few nodes for these roles, or neither an allocation nor `nodes`.
            MachineError: Slurm refuses the job, or a node can't be reached, lacks something, or is in use by
                another perjoule.
        """
        for _ in self.awaited():
            pass
        with contextlib.ExitStack() as stack:
            if id := _around():
                job = commands.job(id)
            else:
                allocation, job = _granted.pop(self)
                stack.callback(allocation.cancel)
            began_s = time.monotonic()
            if job.end:
                raise MachineError(f"Slurm job {job.id} {job.end}", next="start a new one")
            nodes = commands.addresses(job.nodes)
            bed = self._bed(nodes, job.id)
            held_hosts = stack.enter_context(bed.hold(clients_count))
            lease = Lease(f"Slurm job {job.id}", began_s + job.left_s, commands.over(job.id))
            facts: dict[str, Json] = {"job": job.id, "nodes": job.nodes, "ours": not _around()}
            facts["outside"] = [host.name for host in held_hosts.all if host.name not in nodes]
            facts["energy_accounting"] = commands.configured_energy()
            launcher = ranks.RankLauncher(job.id, str(held_hosts.facts["run"]))
            for host in held_hosts.all:
                host.launcher = launcher
            facts["mpi"] = launcher.facts  # filled by workloads with ranks
            yield replace(held_hosts, lease=lease, facts={**held_hosts.facts, "slurm": facts})

    @classmethod
    def clean(cls) -> Cleaned:
        """Cancel the jobs of killed runs."""
        return clean()

    def checks(self) -> tuple[Check, ...]:
        """Check for Slurm's commands and an allocation that can be had; inside of one, check its nodes."""
        lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
        if lacking:
            return (
                Check(
                    "Slurm",
                    False,
                    f"no {', '.join(lacking)}",
                    "run perjoule on a node of the cluster, or a login node",
                ),
            )
        try:
            if id := _around():
                job = commands.job(id)
                if job.end:
                    return (Check("Slurm", False, f"job {id} {job.end}", _ADVICE),)
                left_text = f", {seconds_text(job.left_s)} left" if job.left_s < math.inf else ""
                slurm_check = Check("Slurm", True, f"job {id} on {job.nodes}{left_text}")
                return (slurm_check, *self._bed(commands.addresses(job.nodes), id).reached())
            return (self._checked(commands.partitions()),)
        except CampaignError as error:
            return (Check("Slurm", False, error.what, error.next),)
        except MachineError as error:
            return (Check("Slurm", False, error.what.removeprefix("Slurm: "), error.next),)

    def lacking(self, clients_count: int, required: Sequence[Check]) -> tuple[Check, ...]:
        """Return what nodes lack that `checks` has reached: those of the allocation around us."""
        id = _around()
        if not id:
            return ()
        # srun starts ranks as well
        checks_asked = [
            replace(check, needed=check.needed and check.look != "program mpirun") for check in required
        ]
        try:
            return self._bed(commands.addresses(commands.job(id).nodes), id).lacking(
                clients_count, checks_asked
            )
        except MachineError:  # `checks` says so
            return ()

    def _checked(self, partitions: Sequence[commands.Partition]) -> Check:
        """Judge the request by the partitions."""
        if self.nodes_count is None:
            return Check("Slurm", False, "not inside an allocation, and nodes is not set", _ADVICE)
        fitting = [partition for partition in partitions if self.partition in ("", partition.name)]
        if not fitting:
            names = ", ".join(partition.name for partition in partitions) or "none"
            return Check(
                "Slurm", False, f'no partition "{self.partition}"', f"set partition to one of: {names}"
            )
        largest_count, longest_s = (
            max(partition.nodes_count for partition in fitting),
            max(partition.limit_s for partition in fitting),
        )
        if self.nodes_count > largest_count:
            problem = f"{self.nodes_count} nodes requested, {largest_count} in the partition"
            return Check("Slurm", False, problem, "ask for fewer nodes")
        if self.time_s and self.time_s > longest_s:
            problem = f"{seconds_text(self.time_s)} requested, the partition allows {seconds_text(longest_s)}"
            return Check(
                "Slurm", False, problem, "ask for less time: `perjoule resume` continues in the next job"
            )
        return Check(
            "Slurm",
            True,
            f"{largest_count} nodes; perjoule will ask for {self.nodes_count}, and look at them then",
        )

    def _wanted(self) -> list[str]:
        """Return the arguments of salloc.

        Raises CampaignError: there is neither an allocation nor `nodes`.
        """
        if self.nodes_count is None:
            raise CampaignError(
                "not inside an allocation, and nodes is not set", where="testbed slurm", next=_ADVICE
            )
        values = {"partition": self.partition, "account": self.account, "constraint": self.constraint}
        values["nodelist"] = ",".join(share.name for share in self.hosts if share.name and share.login)
        values["time"] = str(math.ceil(self.time_s / 60)) if self.time_s else ""
        arguments = [
            f"--nodes={self.nodes_count}",
            *(f"--{key}={value}" for key, value in values.items() if value),
        ]
        return [*arguments, *(["--exclusive"] if self.exclusive else []), *self.arguments]

    def _bed(self, nodes: dict[str, str], job: str) -> Allocated:
        if self.nodes_count is not None:
            if len(nodes) < self.nodes_count:
                problem = f"{self.nodes_count} nodes requested, {len(nodes)} allocated"
                raise CampaignError(
                    problem, where="testbed slurm", next="lower nodes, or start a larger allocation"
                )
            nodes = dict(list(nodes.items())[: self.nodes_count])
        roles = [
            {key: value for key, value in (("count", share.count), ("node", share.node)) if value}
            | {"name": share.name or "@all", "role": share.role, "login": share.login}
            for share in self.hosts
        ]
        work = self.work or f"/var/tmp/perjoule-{user()}"
        return allocated(nodes, roles, job, work=work, servers=self.servers_count)


# jobs that are waited for, for who holds their nodes next
_granted: dict[Slurm, tuple[Allocation, SlurmJob]] = {}


def _around() -> str:
    """Return the job around us; "" outside of one."""
    return os.environ.get("SLURM_JOB_ID", "")
