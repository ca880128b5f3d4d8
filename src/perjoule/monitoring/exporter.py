"""Live readings of meters for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/

A reading that failed, or is older than the meter's own rate allows, is not exported: Prometheus then shows a gap, not a flat
line.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

from perjoule.model.errors import MachineError
from perjoule.monitoring.recorder import Latest

STALE_S = 15.0  # of a sample, after which it says nothing of now; meters that are slower by nature state their period
LABELS = ("meter", "host", "component", "grade", "covers")


@contextmanager
def serving(latest: Callable[[], Latest], address: str, port: int) -> Generator[str]:
    """Serve the results of `latest` during the block; yields the URL. Raises MachineError: no library, or the port is taken."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        fix = "pip install 'perjoule[meters]'"
        raise MachineError("the Python package prometheus-client is missing", next=fix) from None
    registry: Any = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(latest))
    try:
        server, thread = start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        where = f"{address}:{port}"
        raise MachineError(f"can't listen ({error.strerror})", where=where, next="choose another --port") from None
    try:
        yield f"http://{address}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Collector:
    def __init__(self, latest: Callable[[], Latest]) -> None:
        self._latest = latest

    def collect(self) -> Iterator[Any]:
        """Yield a gauge of watts, a counter of joules, and the age of both."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        watts = GaugeMetricFamily("perjoule_power_watts", "Power that a meter reads.", labels=LABELS)
        joules = CounterMetricFamily("perjoule_energy_joules", "Energy that a meter has counted.", labels=LABELS)
        ages = GaugeMetricFamily("perjoule_sample_age_seconds", "Time since a meter's last sample.", labels=LABELS)
        now_s = time.monotonic()
        for channel, (t_s, value, _) in self._latest().items():
            words = (channel.meter, channel.host, channel.component, channel.grade, ",".join(channel.covers))
            ages.add_metric(words, now_s - t_s)
            if not isfinite(value) or now_s - t_s > max(STALE_S, 3 * (channel.specification.period_s or 0.0)):
                continue
            if channel.quantity == "power":
                watts.add_metric(words, value)
            elif channel.quantity == "energy":
                joules.add_metric(words, value)
        yield from (watts, joules, ages)
