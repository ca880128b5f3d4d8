"""The nodes of an allocation: a cluster whose keepers are steps of its job."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError
from perjoule.model.options import AttachedText
from perjoule.model.validation import explained
from perjoule.testbeds.cluster import LabHost, Login, SshCluster
from perjoule.testbeds.slurm.srun import Srun


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Allocated(SshCluster):
    """Nodes that steps of a job can reach, and nothing else has to."""

    job: str

    def _login(self, machine: LabHost) -> Login:
        return Srun(machine.name, self.job)


def allocated(
    nodes: Mapping[str, str], roles: Sequence[Mapping[str, object]], job: str, **options: Any
) -> Allocated:
    """Give nodes (names and addresses) their roles, by tables as `Cluster` has them. Raises CampaignError."""
    text = "".join(f"{name} ansible_host={address}\n" for name, address in nodes.items())
    hosts: Any = [dict(role) for role in roles]
    try:
        return Allocated(inventory=AttachedText("allocation", text), hosts=hosts, job=job, **options)
    except ValidationError as error:
        found = explained(error, Allocated, "testbed slurm", noun="option")
        problem = found.what.replace('hosts of "@all"', "hosts of the allocation")
        raise CampaignError(
            problem, where="testbed slurm", next=found.advice or "see hosts and nodes"
        ) from None
