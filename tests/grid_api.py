"""Grid'5000's REST API on loopback, as its documentation and its source (g5k-api) have it: a site, its clusters
and nodes, OAR's jobs, Kadeploy's deployments, Kwollect's rows.

https://api.grid5000.fr/doc/stable/
"""

import base64
import re
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from rest_api import Answered, Asked, Refusal, served

SITE, LOGIN = "lyon", ("me", "secret")
GROUP = re.compile(
    r"\{(?:cluster='(?P<cluster>\w+)'|network_address in \((?P<nodes>[^)]*)\))\}/nodes=(?P<count>\d+)"
)
WALLTIME = re.compile(r",walltime=(\d+):(\d\d):(\d\d)$")


@dataclass
class GridApi:
    """The state of a site."""

    clusters: dict[str, list[str]] = field(
        default_factory=lambda: {
            "taurus": ["127.0.0.2", "127.0.0.3"],
            "nova": ["127.0.0.4"],
            "sirius": ["127.0.0.5"],
        }
    )
    """Addresses of the nodes of each cluster, from number 1 on."""
    waits_count: int = 0
    """How often a job is looked at before it runs."""
    deaf: bool = False
    """Whether jobs outlive their deletion."""
    refusal: str = ""
    """What OAR says instead of taking a job."""
    broken: bool = False
    """Whether a job is made, but the answer never comes."""
    undeployed: tuple[str, ...] = ()
    """Nodes on which Kadeploy fails."""
    power_w: dict[str, float] = field(
        default_factory=lambda: {"taurus-1": 101.0, "taurus-2": 202.0, "nova-1": 57.0}
    )
    url: str = ""
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    looks: dict[int, int] = field(default_factory=dict[int, int])
    deployments: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Method and path of each request."""

    @property
    def alive(self) -> list[int]:
        """The jobs that wait or run."""
        return [id for id, job in self.jobs.items() if job["state"] in ("waiting", "running")]

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        match [method, *path.strip("/").split("/")]:
            case ["GET", "sites", site] if site == SITE:
                return 200, {"uid": SITE, "type": "site", "name": "Lyon", "location": "Lyon, France"}
            case ["GET", "sites", _, "clusters"]:
                return 200, items([self._cluster(name) for name in self.clusters])
            case ["GET", "sites", _, "clusters", name] if name in self.clusters:
                return 200, self._cluster(name)
            case ["GET", "sites", _, "clusters", name, "nodes"] if name in self.clusters:
                return 200, items([node(name, n, ip) for n, ip in enumerate(self.clusters[name], 1)])
            case ["GET", "sites", _, "jobs"]:
                jobs = [job for job in self.jobs.values() if job["name"] == query.get("name", job["name"])]
                return 200, items([self._looked_at(job) for job in jobs])
            case ["POST", "sites", _, "jobs"]:
                return self._submit(body)
            case ["GET", "sites", _, "jobs", id] if self._has(id):
                return 200, self._looked_at(self.jobs[int(id)])
            case ["DELETE", "sites", _, "jobs", id] if self._has(id):
                self.jobs[int(id)] |= {} if self.deaf else {"state": "finishing"}
                return 202, None
            case ["GET", "sites", _, "jobs", id]:
                raise Refusal(404, f"Couldn't find OAR::Job with 'job_id'={id}")
            case ["POST", "sites", _, "deployments"]:
                return self._deploy(body)
            case ["GET", "sites", _, "deployments", uid] if uid in self.deployments:
                return 200, self._deployed(self.deployments[uid])
            case ["GET", "sites", _, "metrics"]:
                return 200, self._rows(query)
            case _:
                raise Refusal(404, f"Cannot find {path}")

    def _has(self, id: str) -> bool:
        return id.isdecimal() and int(id) in self.jobs

    def _cluster(self, name: str) -> dict[str, Any]:
        return {"uid": name, "type": "cluster", "exotic": name == "sirius", "queues": ["admin", "default"]}

    def _submit(self, request: dict[str, Any]) -> tuple[int, Any]:
        if not request.get("command"):
            raise Refusal(400, "The job you are trying to submit is not valid: you must give a :command")
        internal = f"Request to {self.url}/sites/{SITE}/internal/oarapi/jobs.json failed with status 400"
        if self.refusal:
            raise Refusal(400, f"{internal}: {self.refusal}")
        hours, minutes, seconds = map(
            int, cast("re.Match[str]", WALLTIME.search(request["resources"])).groups()
        )
        free = {name: [full(name, n) for n in range(1, 1 + len(ips))] for name, ips in self.clusters.items()}
        nodes: list[str] = []
        for group in GROUP.finditer(request["resources"]):
            named = re.findall(r"'([^']+)'", group["nodes"] or "")
            there = free[group["cluster"] or named[0].partition("-")[0]]
            given = [name for name in there if not named or name in named][: int(group["count"])]
            if len(given) < int(group["count"]):
                raise Refusal(400, f"{internal}: There are not enough resources for your request")
            for name in given:
                there.remove(name)
            nodes += given
        id = 1_900_000 + len(self.jobs)
        self.jobs[id] = {
            "uid": id, "user_uid": LOGIN[0], "user": LOGIN[0], "name": request["name"], "state": "waiting",
            "walltime": hours * 3600 + minutes * 60 + seconds, "queue": request.get("queue", "default"),
            "project": request.get("project", "default"), "types": request.get("types", []), "mode": "PASSIVE",
            "command": request["command"], "submitted_at": int(time.time()), "started_at": 0,
            "scheduled_at": int(time.time()) + 60, "message": "", "properties": "maintenance = 'NO'",
            "directory": "/home/me", "events": [], "resources": request["resources"], "given": nodes,
        }  # fmt: skip
        self.looks[id] = 0
        if self.broken:
            raise ConnectionError
        return 201, self._shown(self.jobs[id])

    def _looked_at(self, job: dict[str, Any]) -> dict[str, Any]:
        """Have time pass for a job: it passes by looks, so that no test waits."""
        self.looks[job["uid"]] += 1
        if job["state"] == "waiting" and self.looks[job["uid"]] > self.waits_count:
            job |= {"state": "running", "started_at": int(time.time())}
        elif job["state"] == "finishing":
            job |= {"state": "error", "stopped_at": int(time.time()), "message": "Job killed by its owner"}
        return self._shown(job)

    def _shown(self, job: dict[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in job.items() if key not in ("given", "resources")}
        nodes = job["given"] if job["state"] == "running" else []
        return {
            **shown,
            "assigned_nodes": nodes,
            "resources_by_type": {"cores": [f"{name}/0" for name in nodes]},
        }

    def _deploy(self, request: dict[str, Any]) -> tuple[int, Any]:
        if not request.get("nodes"):
            raise Refusal(400, "The deployment you are trying to submit is not valid: nodes")
        uid = f"D-{len(self.deployments) + 1}"
        self.deployments[uid] = {
            "uid": uid, "site_uid": SITE, "user_uid": LOGIN[0], "status": "processing", **request,
        }  # fmt: skip
        return 201, self.deployments[uid]

    def _deployed(self, deployment: dict[str, Any]) -> dict[str, Any]:
        states = {name: "KO" if name in self.undeployed else "OK" for name in deployment["nodes"]}
        result = {name: {"macro": None, "micro": None, "state": state} for name, state in states.items()}
        deployment |= {"status": "terminated", "result": result}
        return deployment

    def _rows(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {
                "timestamp": datetime.fromtimestamp(time.time(), UTC).isoformat(), "device_id": name,
                "metric_id": query["metrics"], "value": self.power_w[name],
                "labels": {"_device_orig": [f"wattmetre1-port{number}"]},
            }
            for number, name in enumerate(query["nodes"].split(","))
            if name in self.power_w
        ]  # fmt: skip


def full(cluster: str, number: int) -> str:
    """The full name of a node."""
    return f"{cluster}-{number}.{SITE}.grid5000.fr"


def node(cluster: str, number: int, ip: str) -> dict[str, Any]:
    """A node of the reference API, with what is not read by perjoule beside what is."""
    adapters: list[dict[str, Any]] = [
        {"device": "eth0", "name": "eno1", "interface": "Ethernet", "mountable": True, "mounted": True,
         "management": False, "ip": ip, "network_address": full(cluster, number), "rate": 10_000_000_000},
        {"device": "eth1", "name": "eno2", "interface": "Ethernet", "mountable": False, "mounted": False,
         "management": False},
        {"device": "ib0", "name": "ib0", "interface": "Omni-Path", "mountable": True, "mounted": True,
         "management": False, "ip": "172.18.19.1", "network_address": full(f"{cluster}-{number}-ib0", 0)},
        {"device": "bmc", "interface": "Ethernet", "mountable": False, "mounted": False, "management": True,
         "ip": "172.17.19.1", "network_address": full(f"{cluster}-{number}-bmc", 0)},
    ]  # fmt: skip
    return {"uid": f"{cluster}-{number}", "type": "node", "exotic": False, "network_adapters": adapters}


def items(entries: list[Any]) -> dict[str, Any]:
    """A collection."""
    return {"total": len(entries), "offset": 0, "items": entries, "links": []}


@contextmanager
def grid_api(home: Path) -> Generator[GridApi]:
    """Serve a site during the block, and write the login of python-grid5000 into a home."""
    api = GridApi()
    expected = "Basic " + base64.b64encode(":".join(LOGIN).encode()).decode()

    def answer(asked: Asked) -> Answered:
        api.requests.append((asked.method, asked.path))
        try:
            if asked.headers.get("Authorization") != expected:
                raise Refusal(401, "Authorization Required")
            return Answered(*api.answer(asked.method, asked.path, asked.query, asked.body))
        except Refusal as refusal:
            return Answered(refusal.status, refusal.text)

    with served(answer) as api.url:
        login = f"uri: {api.url}\nusername: {LOGIN[0]}\npassword: {LOGIN[1]}\n"
        (home / ".python-grid5000.yaml").write_text(login)
        (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
        (home / ".ssh" / "id_ed25519.pub").write_text("ssh-ed25519 AAAAC3Nza me@here\n")
        yield api
