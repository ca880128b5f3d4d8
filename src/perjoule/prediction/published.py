"""Clusters of papers: what they print beside what is predicted of them. Nothing was ever fitted to them.

profile   a profile that comes with perjoule, on the cluster as the catalogue has it: clusters of
"green-storage"; its bands know of the other clusters alone what emulation has never seen
law       the law of queues alone, with no fitted number: rados on the Cubieboards
bytes     the bytes that servers' networks move: Ceph's 63 servers, from three copies to a code on the same servers
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log
from typing import Literal

from perjoule import catalogue, drivers
from perjoule.drivers.protocols import planned
from perjoule.model import Direction, Flow, Json, Spec
from perjoule.papers import published
from perjoule.prediction.bounds import Demand, Fleet, times_s_per_byte
from perjoule.prediction.elsewhere import PAPER, maxima
from perjoule.prediction.observation import WAYS, fleet
from perjoule.prediction.predicting import Prediction, predictions
from perjoule.prediction.queueing import Spread, Way, duration_s, job
from perjoule.prediction.targets import fleet_of

Basis = Literal["profile", "law", "bytes"]
# `rados bench` has 16 operations in flight by default. The paper prints 4, with which a client gets less than it
# prints.
_BENCH = Way(in_flight=16.0, overlap=50.0, on_disk_ratio=1.0, fixed_s=0.0)
_LONG_BYTES = 1e9  # that each client moves: fixed_s is 0, so any number gives the same

# What papers print of parallel file systems and can't be predicted, and why.
UNPREDICTED = (
    (
        "access-patterns",
        "CephFS and BeeGFS on Chameleon",
        "the paper gives neither the rate of a disk nor the number of copies",
    ),
    ("ssd-vs-hdd", "SSDs and hard disks", "the paper prints ratios alone, and uses no parallel file system"),
    (
        "cubieboard",
        "HEP analyses",
        "jobs read from the local disk of their board, so that no file system between hosts has a part",
    ),
)


@dataclass(frozen=True)
class Published:
    """A throughput that a paper prints, and what is predicted of it."""

    paper: str
    cluster: str
    servers_count: float  # that held data
    filesystem: str
    redundancy: str
    direction: Direction
    clients: str
    basis: Basis
    value_bytes_per_s: float | None  # None: a range, because the paper does not say what the value depends on
    range_bytes_per_s: tuple[float, float] | None  # a profile's 90 % band, or what the paper leaves open
    printed_bytes_per_s: float
    # ends of its band without what another machine adds
    emulated_bytes_per_s: tuple[float, float] | None = None
    bound_bytes_per_s: float | None = None

    @property
    def error(self) -> float | None:
        """ln(predicted / printed)."""
        return (
            None if self.value_bytes_per_s is None else log(self.value_bytes_per_s / self.printed_bytes_per_s)
        )

    @property
    def held(self) -> bool | None:
        """Whether the range holds what is printed; None: there is no range."""
        if self.range_bytes_per_s is None:
            return None
        return self.range_bytes_per_s[0] <= self.printed_bytes_per_s <= self.range_bytes_per_s[1]

    @property
    def emulated_held(self) -> bool | None:
        """Whether its band without what another machine adds holds what is printed; None: it has none."""
        if self.emulated_bytes_per_s is None:
            return None
        return self.emulated_bytes_per_s[0] <= self.printed_bytes_per_s <= self.emulated_bytes_per_s[1]

    @property
    def least_ratio(self) -> float:
        """The lower end of that band over the value; 0 without one."""
        if self.emulated_bytes_per_s is None or self.value_bytes_per_s is None:
            return 0.0
        return self.emulated_bytes_per_s[0] / self.value_bytes_per_s


def compared() -> tuple[Published, ...]:
    """Predict all that can be predicted."""
    return (*_green_storage(), *_cubieboards(), *_ceph_servers())


def _green_storage() -> Iterator[Published]:
    """Predict Table II: the best of all numbers of clients, which move the same data in all."""
    for printed in maxima():
        target, most = printed.target, printed.most_clients_count
        rows = [
            row
            for count in range(1, most + 1)
            for row in predictions(target, [count], printed.client_bytes(count))
        ]
        for way, printed_bytes_per_s in printed.printed_bytes_per_s.items():
            best = max((row for row in rows if row.direction == way), key=_rate)
            value, low, high = best.throughput_bytes_per_s
            yield Published(
                paper=PAPER,
                cluster=target.judged_by,
                servers_count=float(fleet_of(target, 1).servers_count),
                filesystem=target.profile.kind,
                redundancy=best.redundancy.text,
                direction=way,
                clients=f"1 to {most}",
                basis="profile",
                value_bytes_per_s=None if best.rests_on else value,
                range_bytes_per_s=(low, high),
                printed_bytes_per_s=printed_bytes_per_s,
                emulated_bytes_per_s=best.emulated_bytes_per_s,
                bound_bytes_per_s=best.bound_bytes_per_s,
            )


def _rate(one: Prediction) -> float:
    return one.throughput_bytes_per_s[0]


def _cubieboards() -> Iterator[Published]:
    """Predict Table 3 by the law alone. The paper does not say how many copies a write made: one or two."""
    boards = fleet(catalogue.cluster("cubieboard2"), {"osd": 12}, clients_count=1, memory=False)
    assert boards is not None
    for one in published.paper("cubieboard").numbers:
        if one.quantity != "throughput" or one.place != "Table 3":
            continue
        there = replace(boards, clients_count=float(str(one.facts["clients"])))
        where = (
            "cubieboard",
            str(one.facts["cluster"]),
            float(boards.servers_count),
            str(one.facts["filesystem"]),
        )
        if one.facts["direction"] == "read":
            value = _by_law(Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1), there)
            yield Published(*where, "any", "read", str(one.facts["clients"]), "law", value, None, one.value)
        else:
            two, single = (_by_law(Flow(1, 0, copies, copies - 1, copies, 0), there) for copies in (2, 1))
            yield Published(
                *where,
                "1 or 2 copies",
                "write",
                str(one.facts["clients"]),
                "law",
                None,
                (two, single),
                one.value,
            )


def _by_law(flow: Flow, there: Fleet) -> float:
    asked = job(Demand(flow), there, Spread(1), _LONG_BYTES)
    return float(asked.user_bytes / duration_s(_BENCH, asked))


def _ceph_servers() -> Iterator[Published]:
    """Predict a code of 6+2 from three copies on the same servers, by the bytes of their networks."""
    paper = published.paper("ceph-1tib")
    printed, kind = (
        {one.id: one.value for one in paper.numbers},
        str(paper.configurations["code"]["filesystem"]),
    )
    hosts = planned(["storage"] * 63)
    servers = Fleet(63.0, 25e9, 1e9, 1e12, 1e12, 63.0, 1e12, 1e9)
    options: Mapping[str, Mapping[str, Json]] = {"copies": {"copies": 3}, "code": {"erasure": "6+2"}}
    flows = {
        name: drivers.filesystem(Spec(kind, own, name)).amplification(hosts) for name, own in options.items()
    }
    for way in WAYS:
        network_s = {
            name: times_s_per_byte(Demand(flow.write if way == "write" else flow.read), servers)[
                "server network"
            ]
            for name, flow in flows.items()
            if flow is not None
        }
        value = printed[f"copies_{way}"] * float(network_s["copies"] / network_s["code"])
        yield Published(
            "ceph-1tib",
            "63 servers",
            63.0,
            kind,
            "6+2",
            way,
            "many",
            "bytes",
            value,
            None,
            printed[f"code_{way}"],
        )
