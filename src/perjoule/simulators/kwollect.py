"""Kwollect's API for one node: https://www.grid5000.fr/w/Monitoring_Using_Kwollect"""

import json
import math
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late", "duplicate", "missing", "frozen", "nan", "spike", "clock jump", "disconnect",
)  # fmt: skip
NODE, METRIC = "taurus-7", "wattmetre_power_watt"
MOST_SAMPLES = 1000
ZONE = timezone(timedelta(hours=2))


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0
) -> Generator[Mapping[str, Json]]:
    """Serve during the block, with a new sample for each query; yields the options of the [[meter]] table."""
    samples: deque[Truth] = deque(maxlen=MOST_SAMPLES)

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != "/metrics":
            return HttpAnswer(b"Not Found", 404)
        truth = behaviour.truth()
        if not samples or truth.clock_s > samples[-1].clock_s:  # a frozen meter has nothing new to be stored
            samples.append(truth)
        if (query.get("nodes"), query.get("metrics")) != (NODE, METRIC):
            return HttpAnswer(b"[]")
        since_s = float(query.get("start_time", 0))
        return HttpAnswer(json.dumps([row(each) for each in samples if each.clock_s >= since_s]).encode())

    with answering(behaviour, answer, address, port) as place:
        yield {"kind": "kwollect", "address": f"http://{place}/metrics", "node": NODE}


def row(truth: Truth) -> Json:
    """Return a row, with a time in its zone."""
    return {
        "timestamp": datetime.fromtimestamp(truth.clock_s, ZONE).isoformat(),
        "device_id": NODE,
        "metric_id": METRIC,
        "value": None if math.isnan(truth.power_w) else round(truth.power_w, 2),
        "labels": {"_device_orig": ["wattmetre1-port6"]},
    }
