"""A job of ours on Grid'5000: requested, deployed if wished, and ended when perjoule ends."""

import contextlib
import math
import time
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from perjoule.machine.untrusted import text_of
from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds._reserved import LentNode, Reservation, looks
from perjoule.testbeds.grid5000.api import GridJob, GridSite
from perjoule.testbeds.grid5000.nodes import cluster_of, number_of, short_name

DEPLOY_S = 1800.0  # Kadeploy tries again by itself, and nodes boot for minutes
_MOST_BYTES = 64 * 1024  # of a file of public keys


class JobReservation(Reservation):
    """A requested job, and what is installed on its nodes."""

    def __init__(self, site: GridSite, request: Mapping[str, Json], environment: str, wait_s: float) -> None:
        """Ask for it. Raises MachineError: there are no keys for an environment; in OAR's words, else."""
        self._site, self._environment, self._wait_s = site, environment, wait_s
        self._keys = public_keys() if environment else ""
        super().__init__(
            site, lambda name: site.submit({"name": name, "command": "sleep infinity", **request})
        )

    @property
    def job(self) -> GridJob:
        """It as it is now. Raises MachineError."""
        return self._site.job(self.id)

    @property
    def left_s(self) -> float:
        """The rest of its walltime; inf before it is known when it starts."""
        job = self.job
        return job.starts_s + job.walltime_s - time.time() if job.starts_s else math.inf

    @property
    def facts(self) -> dict[str, Json]:
        """Where its nodes are and what is on them."""
        return {
            "site": self._site.name,
            "job": int(self.id),
            "nodes": [*self.job.nodes],
            "environment": self._environment,
            "metrics": self._site.metrics_url,
        }

    def over(self) -> str:
        """Return how it has ended, or is ending; "" while it runs or waits."""
        return self.job.end

    def nodes(self) -> Sequence[LentNode]:
        """Return its nodes by cluster and number."""
        names = sorted(self.job.nodes, key=lambda node: (cluster_of(node), number_of(node)))
        addresses: dict[str, str] = {}
        for cluster in {cluster_of(node) for node in names}:
            addresses |= self._site.addresses(cluster)
        return [LentNode(short_name(node), cluster_of(node), node, addresses.get(node, "")) for node in names]

    def prepared(self) -> Generator[str]:
        """Wait for the nodes, and have the environment installed."""
        job = yield from self._granted()
        if self._environment:
            yield from self._deployed(job)

    def _granted(self) -> Generator[str, None, GridJob]:
        """Wait for the nodes. Raises MachineError: the job failed, or waits too long."""
        last = ""
        for _ in looks(self._wait_s):
            job = self.job
            if job.end:
                raise MachineError(f"{self.text} {job.end} ({job.message or 'no reason given'})")
            if job.runs:
                return job
            state = f"is to start {datetime.fromtimestamp(job.starts_s):%a %H:%M}" if job.starts_s else ""
            if (sentence := f"{self.text} {state or f'is {job.state}'}") != last:
                last = sentence
                yield sentence
        advice = "ask for fewer nodes or less time, or raise wait"
        raise MachineError(f"{last}, after {seconds_text(self._wait_s)}", next=advice)

    def _deployed(self, job: GridJob) -> Generator[str]:
        """Install the environment on all nodes, with the user's keys for root. Raises MachineError."""
        deployment = self._site.deploy(job.nodes, self._environment, self._keys)
        yield f"Kadeploy installs {self._environment} on {len(job.nodes)} nodes"
        for _ in looks(DEPLOY_S):
            if (well := self._site.deployed(deployment)) is not None:
                if failed := [node for node in job.nodes if not well.get(node)]:
                    raise MachineError(f"{self._environment} could not be deployed on {', '.join(failed)}")
                return
        raise MachineError(f"deployment {deployment} did not end within {seconds_text(DEPLOY_S)}")


def public_keys() -> str:
    """Return the user's public keys, as EnOSlib deploys them, too. Raises MachineError: there are none."""
    keys: list[str] = []
    for path in sorted(Path("~/.ssh").expanduser().glob("*.pub")):
        with contextlib.suppress(OSError, ValueError):
            keys.append(text_of(path, _MOST_BYTES).strip())
    if not keys:
        raise MachineError("there is no public key in ~/.ssh", next="make one by `ssh-keygen`")
    return "\n".join(keys)
