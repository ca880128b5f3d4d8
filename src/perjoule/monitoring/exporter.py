"""Live readings of meters, and runs, for Prometheus:
https://prometheus.io/docs/instrumenting/exposition_formats/

A reading that failed, or is older than the meter's own rate allows, is not exported: Prometheus then shows a
gap, not a flat line.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from perjoule.machine.serving import LimitedServer
from perjoule.model.errors import MachineError
from perjoule.monitoring.recorder import Latest
from perjoule.monitoring.watching import RunSnapshot

POLL_S = 0.2  # within which the server ends
# of a sample, after which it says nothing of now; meters that are slower by nature state their period
STALE_S = 15.0
LABELS = ("meter", "host", "component", "grade", "covers")


@contextmanager
def serving(latest: Callable[[], Latest], address: str, port: int) -> Generator[str]:
    """Serve the results of `latest` during the block; yields the URL.

    Raises MachineError: no library, or the port is taken.
    """
    registry = _registry()
    registry.register(_Collector(latest))
    from prometheus_client import MetricsHandler

    try:
        server = LimitedServer((address, port), MetricsHandler.factory(registry))
    except OSError as error:
        place = f"{address}:{port}"
        raise MachineError(
            f"can't listen ({error.strerror})", where=place, next="choose another --port"
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(POLL_S,), name="meters", daemon=True)
    thread.start()
    try:
        yield f"http://{address}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def campaign_text(snapshot: RunSnapshot) -> bytes:
    """Return the series of a run in Prometheus' text format, its meters' included.

    Raises MachineError: no library.
    """
    registry: Any = _registry()
    now_s = time.monotonic()
    latest = {
        c: (now_s - snapshot.age_s - age_s, value, 0.0) for c, (age_s, value) in snapshot.channels.items()
    }
    registry.register(_Collector(lambda: latest))
    registry.register(_Campaign(snapshot))
    from prometheus_client import generate_latest

    return generate_latest(registry)


def _registry() -> Any:
    try:
        from prometheus_client import CollectorRegistry
    except ImportError:
        fix = "pip install 'perjoule[meters]'"
        raise MachineError("the Python package prometheus-client is missing", next=fix) from None
    return CollectorRegistry(auto_describe=False)


class _Campaign:
    def __init__(self, snapshot: RunSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Any]:
        """Yield the trial under way, the counts of trials, the clients' rates and the watts of each
        boundary.
        """
        from prometheus_client.core import GaugeMetricFamily

        snapshot = self._snapshot

        def gauge(
            name: str, text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
        ) -> Any:
            family = GaugeMetricFamily(name, text, labels=("campaign", *labels))
            for label_values, value in values.items():
                family.add_metric((snapshot.name, *label_values), value)
            return family

        running, load = snapshot.state == "running", snapshot.load
        trial = (
            load.filesystem,
            load.workload,
            str(load.clients_count),
            str(load.repetition),
            snapshot.phase,
        )
        failed_count = snapshot.measured.failed_count
        counts = {
            "valid": snapshot.kept_count - failed_count,
            "failed": failed_count,
            "left": snapshot.trials_count - snapshot.kept_count,
        }
        yield gauge("perjoule_run_up", "1 while the run is under way.", (), {(): running})
        yield gauge(
            "perjoule_trials", "Trials of the campaign.", ("state",), {(k,): v for k, v in counts.items()}
        )
        yield gauge(
            "perjoule_left_seconds",
            "Time until the campaign is complete.",
            (),
            {(): snapshot.left_s} if running else {},
        )
        labels = ("filesystem", "workload", "clients", "repetition", "phase")
        under_way = {trial: snapshot.phase_s + snapshot.age_s} if running and load.trial else {}
        yield gauge(
            "perjoule_phase_seconds", "Time in the present phase of the trial under way.", labels, under_way
        )
        rates = {(host,): rate for host, rate in snapshot.rates.items()}
        yield gauge("perjoule_client_bytes_per_second", "Network of a client that loads.", ("host",), rates)
        sums = {(name, power.grade): power.watts for name, power in snapshot.powers.items()}
        yield gauge("perjoule_boundary_watts", "Power inside a boundary.", ("boundary", "grade"), sums)


class _Collector:
    def __init__(self, latest: Callable[[], Latest]) -> None:
        self._latest = latest

    def collect(self) -> Iterator[Any]:
        """Yield a gauge of watts, a counter of joules, and the age of both."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        watts = GaugeMetricFamily("perjoule_power_watts", "Power that a meter reads.", labels=LABELS)
        joules = CounterMetricFamily(
            "perjoule_energy_joules", "Energy that a meter has counted.", labels=LABELS
        )
        ages = GaugeMetricFamily(
            "perjoule_sample_age_seconds", "Time since a meter's last sample.", labels=LABELS
        )
        now_s = time.monotonic()
        oldest_s: dict[tuple[str, ...], float] = {}  # a meter may give watts and joules under the same labels
        for channel, (t_s, value, _) in self._latest().items():
            labels = (channel.meter, channel.host, channel.component, channel.grade, ",".join(channel.covers))
            if channel.quantity not in ("power", "energy"):
                continue
            oldest_s[labels] = max(now_s - t_s, oldest_s.get(labels, 0.0))
            if not isfinite(value) or now_s - t_s > max(STALE_S, 3 * (channel.specification.period_s or 0.0)):
                continue
            if channel.quantity == "power":
                watts.add_metric(labels, value)
            elif channel.quantity == "energy":
                joules.add_metric(labels, value)
        for labels, age_s in oldest_s.items():
            ages.add_metric(labels, age_s)
        yield from (watts, joules, ages)
