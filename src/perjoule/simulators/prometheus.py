"""An exporter's page and a server's query API, of one gauge and one counter: https://prometheus.io/docs/"""

import json
import time
import urllib.parse
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late",
    "duplicate",
    "missing",
    "frozen",
    "nan",
    "wrap",
    "reset",
    "spike",
    "clock jump",
    "disconnect",
)
POWER, ENERGY = "simulated_power_watts", "simulated_energy_joules_total"
MOST_SAMPLES = 1000


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, server: bool = False
) -> Generator[Mapping[str, Json]]:
    """Serve during the block; `server` is whether the table queries the API instead of the page."""
    scraped: deque[Truth] = deque(maxlen=MOST_SAMPLES)

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        truth = behaviour.truth()
        parts = urllib.parse.urlsplit(path)
        if parts.path == "/metrics":
            return HttpAnswer(page(truth).encode(), headers={"Content-Type": "text/plain; version=0.0.4"})
        if parts.path == "/api/v1/query":
            # a frozen meter has nothing new to be scraped
            if not scraped or truth.clock_s > scraped[-1].clock_s:
                scraped.append(truth)
            query = urllib.parse.parse_qs(parts.query).get("query", [""])[0]
            return HttpAnswer(
                json.dumps(matrix(query.partition("{")[0].partition("[")[0], list(scraped))).encode()
            )
        return HttpAnswer(b"404 page not found", status=404)

    with answering(behaviour, answer, address, port) as place:
        url = f"http://{place}" + ("" if server else "/metrics")
        declared = {"unit": "W", "semantics": "instantaneous", "grade": "wall"}
        yield {
            "kind": "prometheus",
            "address": url,
            "server": server,
            "metric": f'{POWER}{{room="lab"}}',
            **declared,
        }


def page(truth: Truth) -> str:
    """Return an exporter's page, with timestamps like exporters of other devices."""
    stamp = round(truth.clock_s * 1e3)
    return (
        f"# HELP {POWER} Power at the wall.\n# TYPE {POWER} gauge\n"
        f'{POWER}{{room="lab",socket="1"}} {truth.power_w!r} {stamp}\n'
        f'{POWER}{{room="hall",socket="2"}} 1.5\n'
        f"# TYPE {ENERGY} counter\n"
        f'{ENERGY}{{room="lab",socket="1"}} {truth.energy_j!r} {stamp}\n'
        f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {time.time()!r}\n"
    )


def matrix(name: str, scraped: list[Truth]) -> Json:
    """Return a server's answer to a range selector."""
    values: list[Json] = [
        [truth.clock_s, repr(truth.energy_j if name == ENERGY else truth.power_w)] for truth in scraped
    ]
    metric: Json = {"__name__": name, "room": "lab", "socket": "1"}
    result: list[Json] = [{"metric": metric, "values": values}] if name in (POWER, ENERGY) else []
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}
