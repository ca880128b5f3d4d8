"""Testbeds that reserve nodes: one reservation has them for all that a command measures, so that file systems
are compared on the same nodes, and ends with the command.
"""

import contextlib
import time
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass as plain
from dataclasses import replace
from typing import Any

from pydantic.dataclasses import dataclass

from perjoule.drivers.names import unfold
from perjoule.drivers.protocols import (
    Awaits,
    Cleans,
    Elsewhere,
    Footing,
    Hosts,
    Lease,
    Leased,
    Testbed,
)
from perjoule.model import OPTIONS
from perjoule.model.errors import MachineError
from perjoule.testbeds._reserved import LentNode, Reservation, sentence
from perjoule.testbeds.cluster import LabHost, SshCluster


@plain(frozen=True)
class LentGroup:
    """Some nodes that a campaign asks for, of one kind or named, and their role."""

    role: str
    kind: str
    count: int
    name: str | None  # a pattern
    node: str  # of the catalogue

    @property
    def names(self) -> list[str]:
        """The names of the nodes; those that are yet unknown have no number."""
        if self.name:
            return unfold(self.name)
        return [f"{self.kind}-any-{self.role}-{number}" for number in range(1, 1 + self.count)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class LentCluster(SshCluster):
    """Nodes that `perjoule down` has not to reach: their keepers clean up, and others have them next."""

    def _noted(self, machines: Sequence[LabHost]) -> list[tuple[Any, str]]:
        return []


class ReservingTestbed(Testbed, Awaits, Cleans, Elsewhere, Leased):
    """Nodes that somebody lends, in a reservation that perjoule asks for and ends."""

    time_s: float

    @property
    @abstractmethod
    def _groups(self) -> Sequence[LentGroup]:
        """What it asks for."""

    @property
    @abstractmethod
    def _asked(self) -> tuple[object, ...]:
        """All that decides on a reservation: testbeds that ask for the same share one, as those of
        `servers = [1, 2]` do.
        """

    @property
    @abstractmethod
    def _options(self) -> Mapping[str, Any]:
        """How the nodes are used, as options of `cluster`."""

    @abstractmethod
    def _reserve(self) -> Reservation:
        """Ask for the nodes. Raises MachineError."""

    def _prepared(self, reservation: Reservation) -> Generator[str]:
        """Wait until its nodes can be held; yields what it waits for. Raises MachineError."""
        return reservation.prepared()

    @property
    def names_hosts(self) -> bool:
        """Whether `hosts` names each node; the lender chooses the others."""
        return all(group.name for group in self._groups)

    @property
    def lease_s(self) -> float:
        """The time that a reservation will have."""
        return self.time_s

    def planned(self, clients_count: int) -> Hosts:
        """The first clients, the first storage hosts if `servers` limits them, and all others, on nodes
        yet unknown.
        """
        shares = [[LentNode(name, group.kind) for name in group.names] for group in self._groups]
        return self._bed(shares).planned(clients_count)

    def awaited(self) -> Generator[str]:
        """Ask for a reservation, and wait until its nodes can be used; yields what it waits for.

        Nothing is asked for while an earlier reservation of this command has the nodes. Raises MachineError.
        """
        reservation = _reservations.get(self._asked)
        if reservation and reservation.lasts:
            return
        if reservation:
            reservation.give_back()
            del _reservations[self._asked]
        self.clean()
        reservation = self._reserve()
        try:
            yield from self._prepared(reservation)
            _reservations[self._asked] = reservation
        finally:
            if self._asked not in _reservations:
                reservation.give_back()

    def footing(self, host: str) -> Footing:
        """Return the user of the login, with sudo or without, and the work folder."""
        options = self._options
        return Footing(options["user"], options["work"], options.get("sudo", False))

    @contextlib.contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold the nodes; nothing of ours stays on them.

        Raises:
            CampaignError: too few nodes for these roles, or nodes that the lender has not.
            MachineError: the lender refuses them, or a node can't be deployed or reached, lacks something, or
                is in use by another perjoule.
        """
        for _ in self.awaited():
            pass
        reservation = _reservations[self._asked]
        began_s = time.monotonic()
        left_s = reservation.left_s
        try:
            bed = self._bed(self._shared_out(reservation))
        except ValueError as error:  # names or addresses that none has
            problem = f"its nodes are described in another form: {sentence(str(error))}"
            raise MachineError(problem, where=reservation.text) from None
        with bed.hold(clients_count) as held_hosts:
            lease = Lease(reservation.text, began_s + left_s, reservation.over)
            facts = {**held_hosts.facts, reservation.system: reservation.facts}
            yield replace(held_hosts, lease=lease, facts=facts)

    def _shared_out(self, reservation: Reservation) -> list[list[LentNode]]:
        """Return each group's nodes: those that it names, or the first of its kind that no group above has.

        Raises MachineError: they are others than requested.
        """
        free = [*reservation.nodes()]
        exact = {name for group in self._groups if group.name for name in group.names}
        shares: list[list[LentNode]] = []
        for group in self._groups:
            if group.name:
                share = [node for name in group.names for node in free if node.name == name]
            else:
                alike = [node for node in free if node.kind == group.kind and node.name not in exact]
                share = alike[: group.count]
            if len(share) < len(group.names):
                problem = f"it has {len(share)} of {len(group.names)} nodes {group.name or group.kind}"
                raise MachineError(problem, where=reservation.text, next="run it again")
            free = [node for node in free if node not in share]
            shares.append(share)
        return shares

    def _bed(self, shares: Sequence[Sequence[LentNode]]) -> LentCluster:
        """Return these nodes as hosts, each group's with its role; without addresses none can be reached."""
        hosts = [
            {"name": node.name, "role": group.role, "node": group.node}
            | ({"ssh": node.ssh, "address": node.address} if node.address else {})
            for group, share in zip(self._groups, shares, strict=True)
            for node in share
        ]
        options: dict[str, Any] = {**self._options, "hosts": hosts}
        return LentCluster(**options)


# of this command, by what was asked for
_reservations: dict[tuple[object, ...], Reservation] = {}
