"""Records and series made to order, for the tests of what stands right of the results folder."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

from perjoule.model import (
    Channel,
    ClientResult,
    Clock,
    Grade,
    HostFact,
    Outcome,
    Phase,
    Quantity,
    Record,
    Semantics,
    Series,
    Spec,
    Specification,
    Trial,
)
from perjoule.store.records import declared

HOSTS = (
    *(HostFact(f"storage-{n}", "storage", "storage") for n in (1, 2)),
    HostFact("metadata-1", "metadata", "metadata"),
    HostFact("client-1", "client", "client"),
    HostFact("client-2", "client", "client"),
)


def trial(
    filesystem="moosefs",
    workload="write 4 MiB",
    clients_count=2,
    repetition=1,
    testbed="virtual",
    options=None,
):
    return Trial(
        testbed=Spec("virtual", {"scale": 0.2}, testbed),
        filesystem=Spec(filesystem, {"goal": 2}, filesystem),
        workload=Spec("fio", options or {"operation": "write"}, workload),
        meters=(Spec("system", {}, "system"),),
        clients_count=clients_count,
        repetition=repetition,
    )


def results(*windows, direction: Literal["write", "read", "idle"] = "write", moved_bytes=1000, latency=None):
    return tuple(
        ClientResult(
            f"client-{n}", direction, began_s, ended_s, moved_bytes, 10, latency or {"p50": 0.1, "p99": 0.5}
        )
        for n, (began_s, ended_s) in enumerate(windows, start=1)
    )


def record(
    asked=None,
    moved=None,
    *,
    status: Literal["valid", "failed"] = "valid",
    scale=1.0,
    cluster="",
    attempt=1,
    tail_s=0.0,
    write_back_s: float | None = 0.0,
    doubts=(),
    environment=None,
):
    moved = results((10.0, 20.0), (10.0, 20.0)) if moved is None else moved
    outcome = Outcome("fio-3.33", moved) if status == "valid" else None
    ended_s = max((r.ended_s for r in moved), default=20.0)
    on_disk_s = ended_s + (write_back_s or 0.0)
    asked = asked or trial()
    return Record(
        trial=asked,
        status=status,
        reason="" if status == "valid" else "the daemon died",
        attempt=attempt,
        clock=Clock(1.0, 1.7e9),
        scale=scale,
        cluster=cluster,
        hosts=HOSTS,
        phases=(
            *(Phase("baseline", 9.0, 10.0), Phase("measure", 10.0, ended_s)),
            *((Phase("write-back", ended_s, on_disk_s),) if write_back_s is not None else ()),
            Phase("tail", on_disk_s, on_disk_s + tail_s),
        ),
        outcome=outcome,
        facts={"filesystem": {"version": "3.0.117", "ratio": float("inf"), "list": [1, 2.5, None, True]}},
        environment=environment or {},
        doubts=doubts,
        traits=declared(asked),
    )


UNITS: dict[Quantity, Literal["W", "J", "s", "B", "B/s", "1"]] = {
    **{"power": "W", "energy": "J", "cpu": "s", "goodput": "B/s"},
    **{"latency": "s", "calls": "1"},
}


def channel(
    host="storage-1",
    component="all",
    quantity: Quantity = "power",
    semantics: Semantics = "instantaneous",
    grade: Grade = "wall",
    meter="meter",
):
    unit = UNITS.get(quantity, "B")
    return Channel(meter, host, component, quantity, unit, semantics, grade)


def series(of, t_s, value, duration_s=0.0):
    t_s = np.asarray(t_s, dtype=np.float64)
    spread = [np.broadcast_to(np.asarray(v, dtype=np.float64), t_s.shape).copy() for v in (duration_s, value)]
    return Series(of, t_s, *spread, asked_s=t_s, arrived_s=t_s)  # polled in no time


def steady(host, power_w, *, component="all", began_s=0.0, ended_s=30.0, **words):
    """A host that draws the same power all the time, as window means of 0.5 s."""
    t_s = np.arange(began_s + 0.5, ended_s + 0.25, 0.5)
    return series(channel(host, component, semantics="window mean", **words), t_s, power_w, 0.5)


def counter(host, quantity, rate, *, began_s=0.0, ended_s=30.0):
    """A host's counter that grows evenly."""
    t_s = np.arange(began_s, ended_s + 0.25, 0.5)
    return series(channel(host, "all", quantity, "counter", "counter", "system"), t_s, 7.0 + rate * t_s)


def stating(semantics, t_s, value, duration_s=0.0, grade: Grade = "wall", **stated):
    """What one meter of a host said, with what it states of itself."""
    kind = "energy" if semantics == "counter" else "power"
    of = channel("host", "all", kind, semantics, grade)
    return series(replace(of, specification=Specification(**stated)), t_s, value, duration_s)


@pytest.fixture(scope="session")
def made():
    """The makers above."""
    makers = (trial, results, record, channel, series, steady, counter, stating)
    return SimpleNamespace(**{maker.__name__: maker for maker in makers})
