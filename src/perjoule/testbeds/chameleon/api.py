"""OpenStack at a site of Chameleon, for one project: leases (Blazar), servers (Nova), images, networks.
https://docs.openstack.org/api-ref/reservation/v1/, https://docs.openstack.org/api-ref/compute/

Logins and endpoints are openstacksdk's, requests are written here: it knows no leases. The login is in
OpenStack's own file or variables, never in a campaign.
"""

import contextlib
import hashlib
import importlib.util
import json
import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from perjoule.machine.installing import installs
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model import Json
from perjoule.model.errors import CampaignError, LoginRefused, MachineError
from perjoule.testbeds._bounded import Unbounded, bound
from perjoule.testbeds._reserved import Lender, sentence

SYSTEM, LEASE = "chameleon", "Chameleon lease"
FIX = installs("perjoule[chameleon]")
LOGIN = "download clouds.yaml or the OpenStack RC file from the site's page"
ANSWER_S = 60.0
_FLAVOR, _PUBLIC = "baremetal", "public"  # Chameleon's names for whole nodes, and for the Internet
_VERSIONS = {"reservation": None, "compute": None, "image": "2", "network": "2"}
_SERVICE_OF = {"image": "image", "network": "network", "flavor": "compute"}
_ENDS = {
    "TERMINATED": "has ended",
    "TERMINATING": "is ending",
    "DELETING": "is being deleted",
    "ERROR": "has failed",
}


@dataclass(frozen=True)
class LeaseState:
    """A lease as Blazar shows it."""

    status: str
    ends_s: float  # UTC
    addresses: str  # the reservation of public addresses; "" without one

    @property
    def runs(self) -> bool:
        """Whether its nodes are ours."""
        return self.status == "ACTIVE"

    @property
    def end(self) -> str:
        """How it has ended, or is ending; "" while it runs or waits."""
        return _ENDS.get(self.status, "")


@dataclass(frozen=True)
class ServerState:
    """A server as Nova shows it."""

    status: str
    fault: str
    address: str  # IPv4, in the network that it was started in; "" until it has one


class ChameleonSite(Lender):
    """A project at a site, asked with the user's login."""

    def __init__(self, cloud: str) -> None:
        """Log in; `cloud` is an entry of clouds.yaml, "" the default one or the variables.

        Raises:
            LoginRefused: Keystone wants another login.
            MachineError: the library or the login is missing, or Keystone does not answer.
        """
        if not installed():
            raise MachineError("openstacksdk is not installed", next=FIX)
        from keystoneauth1.adapter import Adapter
        from openstack.config import OpenStackConfig, loader

        # not in the working folder, whose files may have come with a campaign
        folders = [Path(folder) for folder in loader.CONFIG_SEARCH_PATH[1:]]
        with _answers(), warnings.catch_warnings(action="ignore"):  # of what it will drop itself
            logins: Any = OpenStackConfig(
                config_files=[str(folder / "clouds.yaml") for folder in folders],
                secure_files=[str(folder / "secure.yaml") for folder in folders],
                vendor_files=[],
                app_name="perjoule",
            )
            region = logins.get_one(cloud=cloud or None, api_timeout=ANSWER_S)
            session = region.get_session()
            bound(session.session)
            self.name = str(region.get_region_name() or "")
            owner = (region.get_auth_args().get("auth_url"), session.get_project_id(), self.name)
            self._services: Mapping[str, Any] = {
                kind: Adapter(
                    session,
                    service_type=kind,
                    interface=region.get_interface(kind),
                    region_name=region.get_region_name(kind),
                    endpoint_override=region.get_endpoint(kind),
                    version=version,
                )
                for kind, version in _VERSIONS.items()
            }
        # where a lease is and whose, as far as a name can hold it: variables may be others next time
        mark = hashlib.sha256("\n".join(map(str, owner)).encode()).hexdigest()[:8]
        super().__init__(SYSTEM, f"{cloud}-{mark}" if cloud else mark)

    def text(self, id: str) -> str:
        """Return a lease in words."""
        return f"{LEASE} {id} at {self.name}"

    def lend(self, name: str, nodes: Sequence[Sequence[str]], ends: datetime, *, public: bool) -> str:
        """Ask for a lease from now on; return its id.

        Args:
            name: of the lease.
            nodes: of each the property and its value, as in ("node_type", "storage_nvme").
            ends: UTC; Blazar knows minutes.
            public: whether to ask for as many public addresses.

        Raises MachineError in Blazar's own words.
        """
        # one reservation a node: it says which node a server is started on
        reservations: list[Json] = [
            {
                "resource_type": "physical:host",
                "resource_properties": json.dumps(["=", f"${key}", value]),
                "hypervisor_properties": "",
                "min": 1,
                "max": 1,
                "before_end": "",
            }
            for key, value in nodes
        ]
        if public:
            network = self.id_of("network", _PUBLIC)
            reservations.append(
                {"resource_type": "virtual:floatingip", "network_id": network, "amount": len(nodes)}
            )
        dates = {"start_date": "now", "end_date": f"{ends:%Y-%m-%d %H:%M}"}
        request = {"name": name, **dates, "reservations": reservations, "events": []}
        with _answers():
            return str(self._ask("reservation", "POST", "/leases", json=request)["lease"]["id"])

    def living(self, name: str) -> list[str]:
        """Return the ids of the leases of a name that wait, run or failed. Raises MachineError."""
        with _answers():
            return [
                str(lease["id"])
                for lease in self._ask("reservation", "GET", "/leases")["leases"]
                if lease["name"] == name and (lease["status"] == "ERROR" or lease["status"] not in _ENDS)
            ]

    def end(self, id: str) -> None:
        """Delete a lease, and with it its servers and addresses. Raises MachineError."""
        with _answers():
            self._ask("reservation", "DELETE", f"/leases/{id}")

    def lease(self, id: str) -> LeaseState:
        """Return a lease. Raises MachineError."""
        with _answers():
            leases = self._ask("reservation", "GET", "/leases")["leases"]
            lease = next((lease for lease in leases if lease["id"] == id), None)
            if lease is None:  # a deleted one is not shown any more
                return LeaseState("TERMINATED", 0.0, "")
            ends = datetime.fromisoformat(lease["end_date"]).replace(tzinfo=UTC)
            kinds = {str(entry["resource_type"]): str(entry["id"]) for entry in lease["reservations"]}
            return LeaseState(
                sentence(str(lease["status"])), ends.timestamp(), kinds.get("virtual:floatingip", "")
            )

    def placed(self, id: str) -> Mapping[str, tuple[str, str]]:
        """Return the name and type of the node of each reservation of a lease. Raises MachineError."""
        hosts = self.hosts()
        with _answers():
            allocations = self._ask("reservation", "GET", "/os-hosts/allocations", params={"lease_id": id})[
                "allocations"
            ]
            return {
                str(reservation["id"]): hosts[str(allocation["resource_id"])]
                for allocation in allocations
                for reservation in allocation["reservations"]
                if reservation["lease_id"] == id
            }

    def hosts(self) -> Mapping[str, tuple[str, str]]:
        """Return the name and type of each node that can be reserved, by Blazar's id. Raises MachineError."""
        with _answers():
            return {
                str(host["id"]): (
                    str(host.get("node_name") or host["hypervisor_hostname"]),
                    host["node_type"],
                )
                for host in self._ask("reservation", "GET", "/os-hosts")["hosts"]
                if host.get("node_type") and host.get("reservable", True)
            }

    def id_of(self, kind: str, name: str) -> str:
        """Return the id of an image, a network or a flavor.

        Raises:
            CampaignError: there is none, or several, of this name.
            MachineError: the API does not answer.
        """
        with _answers():
            entries = self._ask(_SERVICE_OF[kind], "GET", f"/{kind}s", params={"name": name})[f"{kind}s"]
            ids = [str(entry["id"]) for entry in entries if entry["name"] == name]
        if len(ids) != 1:
            problem = f'{self.name} has {len(ids) or "no"} {kind}s of the name "{name}"'
            raise CampaignError(problem, where="testbed chameleon", next=f"see `openstack {kind} list`")
        return ids[0]

    def software(self, image: str, key: str, network: str) -> dict[str, Json]:
        """Return what servers are to be, as Nova takes it.

        Raises:
            CampaignError: the project has no such image, key or network.
            MachineError: an API does not answer.
        """
        with _answers():
            listed = self._ask("compute", "GET", "/os-keypairs")["keypairs"]
            keys = sorted(str(entry["keypair"]["name"]) for entry in listed)
        if key not in keys:
            problem = f'there is no key "{key}" at {self.name}'
            raise CampaignError(problem, where="testbed chameleon", next=f"known: {', '.join(keys)}")
        return {
            "imageRef": self.id_of("image", image),
            "flavorRef": self.id_of("flavor", _FLAVOR),
            "key_name": key,
            "networks": [{"uuid": self.id_of("network", network)}],
        }

    def start(self, name: str, reservation: str, software: Mapping[str, Json]) -> str:
        """Have software installed on the node of a reservation; return the server's id.

        Raises MachineError.
        """
        request = {"server": {"name": name, **software}, "os:scheduler_hints": {"reservation": reservation}}
        with _answers():
            return str(self._ask("compute", "POST", "/servers", json=request)["server"]["id"])

    def server(self, id: str, network: str) -> ServerState:
        """Return a server, and its address in a network. Raises MachineError."""
        with _answers():
            server = self._ask("compute", "GET", f"/servers/{id}")["server"]
            addresses = [
                str(entry["addr"])
                for entry in server.get("addresses", {}).get(network, [])
                if entry["version"] == 4 and entry.get("OS-EXT-IPS:type", "fixed") == "fixed"
            ]
            fault = str(server["fault"]["message"]) if server.get("fault") else ""
            return ServerState(sentence(str(server["status"])), sentence(fault), next(iter(addresses), ""))

    def publish(self, reservation: str, servers: Sequence[str]) -> list[str]:
        """Give each server a public address of a reservation; return them in this order.

        Raises MachineError.
        """
        tag = f"reservation:{reservation}"
        with _answers():
            listed = self._ask("network", "GET", "/floatingips", params={"tags": tag})["floatingips"]
            floating = [entry for entry in listed if tag in entry["tags"]]
            for server, entry in zip(servers, floating, strict=True):
                port, *_ = self._ask("network", "GET", "/ports", params={"device_id": server})["ports"]
                request = {"floatingip": {"port_id": port["id"]}}
                self._ask("network", "PUT", f"/floatingips/{entry['id']}", json=request)
            return [str(entry["floating_ip_address"]) for entry in floating]

    def _ask(self, service: str, method: str, path: str, **content: Any) -> Any:
        response = self._services[service].request(path, method, **content)
        return response.json() if response.content else {}


def installed() -> bool:
    """Return whether the library is there."""
    return importlib.util.find_spec("openstack") is not None


@contextlib.contextmanager
def _answers() -> Generator[None]:
    """Turn the library's errors, and answers of another form, into ours."""
    from keystoneauth1.exceptions import ClientException, ConnectionError, HttpError, Unauthorized
    from openstack.exceptions import SDKException

    try:
        yield
    except Unauthorized:
        raise LoginRefused("Chameleon refuses the login (401)", next=LOGIN) from None
    except HttpError as error:
        raise MachineError(f"Chameleon: {sentence(_words_of(error))}") from None
    except ConnectionError as error:
        raise MachineError(
            f"the API of Chameleon does not answer ({type(error).__name__})", next="try again later"
        ) from None
    except Unbounded as error:
        raise MachineError(
            f"the API of Chameleon does not answer ({error})", next="try again later"
        ) from None
    except (ClientException, SDKException) as error:  # of what is configured
        raise MachineError(f"OpenStack: {sentence(str(error))}", next=LOGIN) from None
    except (*UNEXPECTED, RecursionError) as error:
        raise MachineError(f"an answer of Chameleon has another form: {sentence(words(error))}") from None


def _words_of(error: Any) -> str:
    """Return what a service says of a refused request: each has its own form."""
    with contextlib.suppress(*UNEXPECTED):
        body = cast("dict[str, Any]", error.response.json())
        if text := body.get("error_message"):  # Blazar's
            return str(text)
        return str(next(iter(body.values()))["message"])  # Nova's and Neutron's
    return str(error.details or error.message)
