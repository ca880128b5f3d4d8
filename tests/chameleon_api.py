"""OpenStack's REST APIs on loopback, as their documentation, their source and Chameleon's own client (python-chi)
have them: a project's login, Blazar's hosts and leases, Nova's servers, Glance's images, Neutron's addresses.

https://docs.openstack.org/api-ref/
"""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rest_api import Answered, Asked, Refusal, served

SITE, CREDENTIAL, SECRET, TOKEN = "CHI@TACC", "0f3b", "app-secret-1", "token-1"
PROJECT = "8a5c"
NETWORK, PUBLIC = "sharednet1", "public"
LOGIN = """
clouds:
  openstack:
    auth_type: v3applicationcredential
    auth:
      auth_url: {url}/identity/v3
      application_credential_id: "{credential}"
      application_credential_secret: "{secret}"
    region_name: "CHI@TACC"
    interface: public
    identity_api_version: 3
"""


@dataclass
class ChameleonApi:
    """The state of a project at a site."""

    nodes: dict[str, tuple[str, str]] = field(
        default_factory=lambda: {
            "P3-NVME-001": ("storage_nvme", "127.0.0.2"),
            "P3-NVME-002": ("storage_nvme", "127.0.0.3"),
            "P3-CPU-001": ("compute_skylake", "127.0.0.4"),
        }
    )
    """The type of each node, and its address in the network."""
    project: str = PROJECT
    waits_count: int = 0
    """How often a lease is looked at before it starts."""
    starting_count: int = 0
    """How often a lease can't be deleted, because it is just starting."""
    refusal: str = ""
    """What Blazar says instead of taking a lease."""
    broken: bool = False
    """Whether a lease is made, but the answer never comes."""
    failing: tuple[str, ...] = ()
    """Nodes on which no image can be installed."""
    url: str = ""
    leases: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Those that are not deleted."""
    made: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What was asked for of each lease."""
    servers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    floating: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    looks: dict[str, int] = field(default_factory=dict[str, int])
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Method and path of each request."""

    @property
    def alive(self) -> list[str]:
        """The leases that have not ended."""
        return [id for id, lease in self.leases.items() if lease["status"] != "TERMINATED"]

    def answer(self, asked: Asked) -> Answered:
        """Return an answer. Raises Refusal."""
        body = asked.body
        match [asked.method, *asked.path.strip("/").split("/")]:
            case ["POST", "identity", "v3", "auth", "tokens"]:
                return self._login(body["auth"]["identity"])
            case ["GET", "image" | "network" as service]:
                version = {"image": "v2", "network": "v2.0"}[service]
                links = [{"rel": "self", "href": f"{self.url}/{service}/{version}/"}]
                return Answered(200, {"versions": [{"id": version, "status": "CURRENT", "links": links}]})
            case _ if asked.headers.get("X-Auth-Token") != TOKEN:
                raise Refusal(
                    401, json.dumps({"error": {"code": 401, "message": "no token", "title": "Unauthorized"}})
                )
            case ["GET", "image", "v2", "images"]:
                return Answered(200, {"images": named(asked.query, "CC-Ubuntu24.04", "twice", "twice")})
            case ["GET", "network", "v2.0", "networks"]:
                return Answered(200, {"networks": named(asked.query, NETWORK, PUBLIC)})
            case ["GET", "compute", "v2.1", "flavors"]:
                return Answered(200, {"flavors": named({}, "m1.small", "baremetal")})
            case ["GET", "compute", "v2.1", "os-keypairs"]:
                return Answered(200, {"keypairs": [{"keypair": {"name": "mine", "type": "ssh"}}]})
            case ["GET", "network", "v2.0", "floatingips"]:
                shown = [entry for entry in self.floating.values() if asked.query["tags"] in entry["tags"]]
                return Answered(200, {"floatingips": shown})
            case ["GET", "network", "v2.0", "ports"]:
                return Answered(200, {"ports": [{"id": f"port-{asked.query['device_id']}"}]})
            case ["PUT", "network", "v2.0", "floatingips", id]:
                self.floating[id] |= body["floatingip"]
                return Answered(200, {"floatingip": self.floating[id]})
            case ["POST", "compute", "v2.1", "servers"]:
                return self._start(body)
            case ["GET", "compute", "v2.1", "servers", id] if id in self.servers:
                return Answered(200, {"server": self._shown_server(id)})
            case ["GET", "reservation", "v1", "os-hosts"]:
                return Answered(200, {"hosts": [host(number, *node) for number, node in self._numbered()]})
            case ["GET", "reservation", "v1", "os-hosts", "allocations"]:
                return Answered(200, {"allocations": self._allocations()})
            case ["GET", "reservation", "v1", "leases"]:
                return Answered(200, {"leases": [self._looked_at(lease) for lease in self.leases.values()]})
            case ["POST", "reservation", "v1", "leases"]:
                return self.lend(body)
            case ["DELETE", "reservation", "v1", "leases", id] if id in self.leases:
                if self.starting_count:
                    self.starting_count -= 1
                    raise self._blazars(409, f"Lease {id} is starting and can't be deleted")
                self._forget(id)
                return Answered(204)
            case _:
                raise Refusal(404, f"Cannot find {asked.path}")

    def _login(self, identity: Mapping[str, Any]) -> Answered:
        if identity["application_credential"] != {"id": CREDENTIAL, "secret": SECRET}:
            text = "The request you have made requires authentication."
            return Answered(401, {"error": {"code": 401, "message": text, "title": "Unauthorized"}})
        paths = {"reservation": "/v1", "compute": "/v2.1", "image": "", "network": ""}
        catalog = [
            {"type": kind, "name": kind, "id": kind, "endpoints": [
                {"id": kind, "interface": "public", "region": SITE, "region_id": SITE, "url": f"{self.url}/{kind}{path}"}
            ]}
            for kind, path in paths.items()
        ]  # fmt: skip
        now = datetime.now(UTC)
        token: dict[str, Any] = {
            "methods": ["application_credential"], "roles": [{"id": "1", "name": "member"}], "catalog": catalog,
            "user": {"id": "me", "name": "me", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": self.project, "name": "CH-1", "domain": {"id": "default", "name": "Default"}},
            "issued_at": f"{now:%Y-%m-%dT%H:%M:%S.000000Z}",
            "expires_at": f"{now + timedelta(hours=8):%Y-%m-%dT%H:%M:%S.000000Z}",
        }  # fmt: skip
        return Answered(201, {"token": token}, {"X-Subject-Token": TOKEN})

    def lend(self, request: dict[str, Any]) -> Answered:
        """Make a lease. Raises Refusal."""
        if self.refusal:
            raise self._blazars(403, self.refusal)
        given: set[str] = {node for lease in self.leases.values() for node in lease["given"].values()}
        id, placed = f"lease-{len(self.made)}", dict[str, str]()
        reservations: list[dict[str, Any]] = []
        for number, wanted in enumerate(request["reservations"]):
            reservation = f"{id}-r{number}"
            reservations.append({**wanted, "id": reservation, "lease_id": id, "status": "pending"})
            if wanted["resource_type"] == "physical:host":
                sign, key, value = json.loads(wanted["resource_properties"])
                assert (sign, wanted["min"], wanted["max"]) == ("=", 1, 1)
                fits = [
                    name
                    for name, (kind, _) in self.nodes.items()
                    if value == {"$node_name": name, "$node_type": kind}[key] and name not in given
                ]
                if not fits:
                    raise self._blazars(400, "Not enough hosts available")
                placed[reservation] = fits[0]
                given.add(fits[0])
            else:
                assert wanted["network_id"] == f"id-{PUBLIC}"
                for count in range(wanted["amount"]):
                    address = f"198.51.100.{len(self.floating) + 1}"
                    self.floating[f"{reservation}-{count}"] = {
                        "id": f"{reservation}-{count}", "floating_ip_address": address, "port_id": None,
                        "tags": ["blazar", f"reservation:{reservation}"],
                    }  # fmt: skip
        start = datetime.now(UTC) if request["start_date"] == "now" else None
        assert start
        end = datetime.strptime(request["end_date"], "%Y-%m-%d %H:%M")
        self.leases[id] = {
            "id": id, "name": request["name"], "status": "PENDING", "degraded": False, "project_id": self.project,
            "start_date": f"{start:%Y-%m-%dT%H:%M:00.000000}", "end_date": f"{end:%Y-%m-%dT%H:%M:00.000000}",
            "reservations": reservations, "events": [], "given": placed,
        }  # fmt: skip
        self.made.append(request)
        self.looks[id] = 0
        if self.broken:
            raise ConnectionError
        return Answered(201, {"lease": self._shown(self.leases[id])})

    def _looked_at(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Have time pass for a lease: it passes by looks, so that no test waits."""
        self.looks[lease["id"]] += 1
        if lease["status"] == "PENDING" and self.looks[lease["id"]] > self.waits_count:
            lease["status"] = "ACTIVE"
        return self._shown(lease)

    def _shown(self, lease: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in lease.items() if key != "given"}

    def _forget(self, id: str) -> None:
        lease = self.leases.pop(id)
        self.servers = {
            key: server
            for key, server in self.servers.items()
            if server["node"] not in lease["given"].values()
        }
        tags = {f"reservation:{reservation['id']}" for reservation in lease["reservations"]}
        self.floating = {key: entry for key, entry in self.floating.items() if not tags & {*entry["tags"]}}

    def _numbered(self) -> list[tuple[int, tuple[str, str]]]:
        return [(151 + at, (name, kind)) for at, (name, (kind, _)) in enumerate(self.nodes.items())]

    def _allocations(self) -> list[dict[str, Any]]:
        return [
            {"resource_id": str(number), "reservations": [
                {"id": reservation, "lease_id": lease["id"]}
                for lease in self.leases.values()
                for reservation, node in lease["given"].items()
                if node == name
            ]}
            for number, (name, _) in self._numbered()
        ]  # fmt: skip

    def _start(self, request: dict[str, Any]) -> Answered:
        reservation, server = request["os:scheduler_hints"]["reservation"], request["server"]
        node = next(
            lease["given"][reservation]
            for lease in self.leases.values()
            if reservation in lease["given"] and lease["status"] == "ACTIVE"
        )
        id = f"server-{len(self.servers)}"
        self.servers[id] = {"id": id, "node": node, "status": "BUILD", "asked": server, "looks": 0}
        return Answered(202, {"server": {"id": id, "links": [], "adminPass": "unused"}})

    def _shown_server(self, id: str) -> dict[str, Any]:
        server = self.servers[id]
        server["looks"] += 1
        shown = {"id": id, "name": server["asked"]["name"], "status": "BUILD", "addresses": {}}
        if server["node"] in self.failing:
            fault = {"code": 500, "message": "No valid host was found.", "created": "2026-01-01T00:00:00Z"}
            return {**shown, "status": "ERROR", "fault": fault}
        if server["looks"] == 1:
            return shown
        addresses = [{"addr": self.nodes[server["node"]][1], "version": 4, "OS-EXT-IPS:type": "fixed"}]
        addresses += [
            {"addr": entry["floating_ip_address"], "version": 4, "OS-EXT-IPS:type": "floating"}
            for entry in self.floating.values()
            if entry["port_id"] == f"port-{id}"
        ]
        return {**shown, "status": "ACTIVE", "addresses": {NETWORK: addresses}}

    def _blazars(self, status: int, text: str) -> Refusal:
        return Refusal(
            status, json.dumps({"error_code": status, "error_message": text, "error_name": status})
        )


def host(number: int, name: str, kind: str) -> dict[str, Any]:
    """A host of Blazar, with what is not read by perjoule beside what is."""
    return {
        "id": str(number), "hypervisor_hostname": f"00401ba8-{number}", "hypervisor_type": "ironic", "vcpus": 48,
        "reservable": True, "node_name": name, "node_type": kind, "uid": f"c9f98cc9-{number}",
    }  # fmt: skip


def named(query: Mapping[str, str], *names: str) -> list[dict[str, str]]:
    """Entries of a list with these names, and ids made of them."""
    return [{"id": f"id-{name}", "name": name} for name in names if name == query.get("name", name)]


def utc_s(date: str) -> float:
    """A time of Blazar."""
    return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()


@contextmanager
def chameleon_api(home: Path) -> Generator[ChameleonApi]:
    """Serve a site during the block, and write the login into a home, where OS_CLIENT_CONFIG_FILE has to find it."""
    api = ChameleonApi()

    def answer(asked: Asked) -> Answered:
        api.requests.append((asked.method, asked.path))
        try:
            return api.answer(asked)
        except Refusal as refusal:
            is_json = refusal.text.startswith("{")
            return Answered(refusal.status, json.loads(refusal.text) if is_json else refusal.text)

    with served(answer) as api.url:
        (home / "clouds.yaml").write_text(LOGIN.format(url=api.url, credential=CREDENTIAL, secret=SECRET))
        yield api
