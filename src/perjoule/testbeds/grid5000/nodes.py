"""The nodes of a job: a cluster whose hosts end with it."""

from collections.abc import Sequence
from typing import Any

from pydantic.dataclasses import dataclass

from perjoule.model import OPTIONS
from perjoule.testbeds.cluster import LabHost, SshCluster


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class JobNodes(SshCluster):
    """Nodes that `perjoule down` has not to reach: their keepers clean up, and others have them next."""

    def _noted(self, machines: Sequence[LabHost]) -> list[tuple[Any, str]]:
        return []


def short_name(node: str) -> str:
    """Return "taurus-7" of "taurus-7.lyon.grid5000.fr"."""
    return node.partition(".")[0]


def cluster_of(node: str) -> str:
    """Return "taurus" of "taurus-7"."""
    return short_name(node).rpartition("-")[0]


def number_of(node: str) -> int:
    """Return 7 of "taurus-7"; 0 of a name without a number."""
    digits = short_name(node).rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
