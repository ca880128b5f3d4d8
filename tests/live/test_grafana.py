"""The dashboard's queries, answered by a real Prometheus that reads the page of a run as
docs/how-to/watch.md configures it.
"""

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest

from perjoule import store
from perjoule.machine import processes
from perjoule.model import Channel
from perjoule.monitoring import server
from perjoule.monitoring.watching import ResultsWatch
from perjoule.store import progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State
from places import ROOT

PROMETHEUS = shutil.which("prometheus")
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is missing: apt-get install prometheus"),
]
PATIENCE_S = 240.0  # of a slow machine; usually a few seconds are enough
POWER_W, BYTES_PER_S = 12.5, 5e6
CHANNELS = (
    Channel("plug", "storage-1", "all", "power", "W", "instantaneous", "wall"),
    Channel("plug", "storage-1", "all", "energy", "J", "counter", "wall"),
    Channel("system", "client-1", "all", "network_sent", "B", "counter", "counter"),
)
HOSTS = (LoadHost("storage-1", "storage", 2.0), LoadHost("client-1", "client", 4.0))


class Campaign:
    """A run whose numbers are known."""

    def __init__(self, file: ProgressFile) -> None:
        self.file, self.t_s = file, 0.0
        file.append(Line(run=RunProcess(progress.VERSION, processes.own(), "known", time.time())))
        file.append(
            Line(
                load=RunningLoad(
                    "x", "x-1", "fio write", "write", 1, 2, 1.0, HOSTS, ("client-1",), ("storage-1",)
                )
            )
        )
        file.append(Line(channels=CHANNELS))
        self.go_on()

    def go_on(self) -> None:
        self.t_s += 1.0
        samples = (
            (0, self.t_s, POWER_W),
            (1, self.t_s, POWER_W * self.t_s),
            (2, self.t_s, BYTES_PER_S * self.t_s),
        )
        self.file.append(Line(state=State(self.t_s, time.time(), "measure", 0.5, 3, 8, 90.0, samples)))


class Asked:
    """Prometheus' HTTP API: https://prometheus.io/docs/prometheus/latest/querying/api/."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str, **words: str) -> Any:
        with urlopen(f"http://{self.address}/api/v1/{path}?{urlencode(words)}", timeout=30) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def configuration(url: str) -> str:
    """What docs/how-to/watch.md shows, with the token and the address of this page, and asked each second."""
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "how-to" / "watch.md").read_text(), re.DOTALL)
    here = urlsplit(url)
    for said, meant in (
        ("TOKEN", here.query.removeprefix("token=")),
        ("127.0.0.1:9619", here.netloc),
        ("interval: 5s", "interval: 1s"),
    ):
        assert said in text
        text = text.replace(said, meant)
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grafana")


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Campaign]:
    store.create(folder / "results", "name = 'x'", "x")
    with closing(ProgressFile(folder / "results")) as file:
        yield Campaign(file)


@pytest.fixture(scope="module")
def asked(run: Campaign, folder: Path) -> Iterator[Asked]:
    address = free_address()
    with (
        server.serving(
            server.Page(ResultsWatch(folder / "results").snapshot, "t" * 32), "127.0.0.1", 0
        ) as url,
        (folder / "log").open("w") as log,
    ):
        (folder / "prometheus.yml").write_text(configuration(url))
        argv = [
            str(PROMETHEUS),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ]
        with subprocess.Popen(argv, stdout=log, stderr=log) as daemon:
            try:
                yield Asked(address)
            finally:
                daemon.terminate()


def dashboard() -> Any:
    return json.loads((ROOT / "docs" / "assets" / "grafana.json").read_text())


def chosen(asked: Asked) -> dict[str, str]:
    """What Grafana puts instead of each variable while "All" is chosen: every value that the variable's
    query finds.
    """
    found = {"__range": "60s"}
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.findall(r"label_values\((.*), (\w+)\)", variable["query"])[0]
            values = asked(f"label/{label}/values", **{"match[]": written(metric, found)})
            found[variable["name"]] = f"({'|'.join(values)})"
    return found


def written(expression: str, values: dict[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda match: values[match[1]], expression)


def answers(asked: Asked) -> dict[str, list[Any]]:
    """The series that each query of the dashboard finds."""
    values = chosen(asked)
    targets = [target for panel in dashboard()["panels"] for target in panel["targets"]]
    return {
        target["expr"]: asked("query", query=written(target["expr"], values))["result"] for target in targets
    }


def grew(expression: str, series: list[Any]) -> bool:
    """Whether a query of a counter saw it grow: two readings between two steps of the run are equal."""
    return "_total" not in expression or any(float(one["value"][1]) > 0 for one in series)


def awaited(asked: Asked, run: Campaign) -> dict[str, list[Any]]:
    """The answers, as soon as each query finds something and each counter grew, or at the end of all
    patience.
    """
    found: dict[str, list[Any]] = {}
    ends_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_s and not (
        found and all(series and grew(said, series) for said, series in found.items())
    ):
        time.sleep(1)
        run.go_on()
        with suppress(URLError):  # it starts
            found = answers(asked)
    return found


def test_every_query_of_the_dashboard_finds_the_run(asked: Asked, run: Campaign, folder: Path) -> None:
    found = awaited(asked, run)
    log = (folder / "log").read_text()
    assert [expression for expression, series in found.items() if not series] == [], log
    assert len(found) == 10, log
    (target,) = asked("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    values = {
        expression.partition("{")[0]: float(series[0]["value"][1]) for expression, series in found.items()
    }
    assert values["perjoule_run_up"] == 1
    assert values["perjoule_left_seconds"] == 90
    assert values["perjoule_boundary_watts"] == values["perjoule_power_watts"] == POWER_W
    assert values["perjoule_client_bytes_per_second"] == BYTES_PER_S
    trials = next(series for expression, series in found.items() if expression == "perjoule_trials")
    assert {one["metric"]["state"]: one["value"][1] for one in trials} == {
        "valid": "3",
        "failed": "0",
        "left": "5",
    }
    assert (
        values["rate(perjoule_energy_joules_total"] > 0
        and values["increase(perjoule_energy_joules_total"] > 0
    )


def test_each_legend_is_made_of_labels_that_its_series_have(asked: Asked, run: Campaign) -> None:
    found = awaited(asked, run)
    legends = {
        target["expr"]: target["legendFormat"]
        for panel in dashboard()["panels"]
        for target in panel["targets"]
    }
    for expression, series in found.items():
        labels = set(re.findall(r"{{(\w+)}}", legends[expression]))
        empty = {"covers"}  # Prometheus has no empty labels: that of a channel that covers its host alone
        assert series and labels - empty <= set(series[0]["metric"]), (expression, series[:1])
