"""A lease of ours at Chameleon: requested, an image installed on its nodes, and deleted when perjoule ends."""

import math
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds._reserved import LentNode, Reservation, looks
from perjoule.testbeds.chameleon.api import ChameleonSite, LeaseState

DEPLOY_S = 2400.0  # Ironic takes 10 minutes, and up to 20 where a node has to be tried again


@dataclass(frozen=True)
class LeaseTerms:
    """What a lease is to have."""

    nodes: tuple[tuple[str, str], ...]  # of each the property and its value
    time_s: float
    wait_s: float  # for it to start
    image: str
    network: str
    public: bool  # whether each node gets a public address


class LeaseReservation(Reservation):
    """A requested lease, and its servers."""

    def __init__(self, site: ChameleonSite, terms: LeaseTerms, software: Mapping[str, Json]) -> None:
        """Ask for it, for servers with this software. Raises MachineError in Blazar's words."""
        self._site, self._terms, self._software = site, terms, software
        self._nodes: tuple[LentNode, ...] = ()
        # Blazar knows minutes
        ends = datetime.fromtimestamp(60 * math.ceil((time.time() + terms.time_s) / 60), UTC)
        super().__init__(site, lambda name: site.lend(name, terms.nodes, ends, public=terms.public))

    @property
    def left_s(self) -> float:
        """The time until it ends."""
        return self._site.lease(self.id).ends_s - time.time()

    @property
    def facts(self) -> dict[str, Json]:
        """Where its nodes are and what is on them."""
        names: list[Json] = [node.name for node in self._nodes]
        return {"site": self._site.name, "lease": self.id, "nodes": names, "image": self._terms.image}

    def over(self) -> str:
        """Return how it has ended, or is ending; "" while it runs or waits."""
        return self._site.lease(self.id).end

    def nodes(self) -> Sequence[LentNode]:
        """Return its nodes by name, once they are prepared."""
        return self._nodes

    def prepared(self) -> Generator[str]:
        """Wait for the lease to start and for its servers, and give them public addresses."""
        lease = yield from self._granted()
        placed = self._site.placed(self.id)
        servers = {
            self._site.start(name, reservation, self._software): LentNode(name, kind)
            for reservation, (name, kind) in placed.items()
        }
        addresses = yield from self._deployed(servers)
        public = self._site.publish(lease.addresses, [*servers]) if self._terms.public else addresses
        nodes = [
            LentNode(node.name, node.kind, login, address)
            for node, login, address in zip(servers.values(), public, addresses, strict=True)
        ]
        self._nodes = tuple(sorted(nodes, key=lambda node: node.name))

    def _granted(self) -> Generator[str, None, LeaseState]:
        """Wait for the lease to start. Raises MachineError: it failed, or waits too long."""
        last = ""
        for _ in looks(self._terms.wait_s):
            lease = self._site.lease(self.id)
            if lease.end:
                raise MachineError(f"{self.text} {lease.end}")
            if lease.runs:
                return lease
            if (sentence := f"{self.text} is {lease.status.lower()}") != last:
                last = sentence
                yield sentence
        raise MachineError(f"{last}, after {seconds_text(self._terms.wait_s)}", next="raise wait")

    def _deployed(self, servers: Mapping[str, LentNode]) -> Generator[str, None, list[str]]:
        """Wait for servers; return their addresses. Raises MachineError: one failed, or takes too long."""
        image = self._terms.image
        yield f"Ironic installs {image} on {len(servers)} nodes"
        for _ in looks(DEPLOY_S):
            states = {id: self._site.server(id, self._terms.network) for id in servers}
            if failed := {
                servers[id].name: state.fault for id, state in states.items() if state.status == "ERROR"
            }:
                reasons = "; ".join(filter(None, failed.values())) or "no reason given"
                raise MachineError(f"{image} could not be installed on {', '.join(failed)} ({reasons})")
            if all(state.status == "ACTIVE" and state.address for state in states.values()):
                return [state.address for state in states.values()]
        raise MachineError(f"{image} was not installed within {seconds_text(DEPLOY_S)}")
