"""Grid'5000's REST API for one site, by python-grid5000: https://api.grid5000.fr/doc/stable/

The login is in python-grid5000's own file, never in a campaign.
"""

import contextlib
import importlib.util
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perjoule.machine.installing import installs
from perjoule.machine.untrusted import UNEXPECTED, text_of, words
from perjoule.model import Json
from perjoule.model.errors import LoginRefused, MachineError
from perjoule.testbeds._bounded import Unbounded, bound
from perjoule.testbeds._reserved import Lender, sentence

SYSTEM, JOB = "grid5000", "Grid'5000 job"
FIX = installs("perjoule[grid5000]")
LOGIN = "~/.python-grid5000.yaml"
ANSWER_S = 30.0
_MOST_BYTES = 64 * 1024  # of the file with the login
_ENDS = {
    "error": "was ended, or failed",
    "finishing": "is ending",
    "terminated": "has ended",
    "toerror": "is ending",
}


@dataclass(frozen=True)
class GridJob:
    """A job as the API shows it."""

    id: int
    state: str
    nodes: tuple[str, ...]  # their full names; () while it waits
    starts_s: float | None  # UTC, as far as the scheduler knows
    walltime_s: float
    message: str

    @property
    def runs(self) -> bool:
        """Whether its nodes are ours."""
        return self.state == "running"

    @property
    def end(self) -> str:
        """How it has ended, or is ending; "" while it runs or waits."""
        return _ENDS.get(self.state, "")


class GridSite(Lender):
    """A site, asked with the user's login."""

    def __init__(self, name: str) -> None:
        """Ask for it.

        Raises:
            LoginRefused: the API wants another login.
            MachineError: the library or the login is missing, or the API does not answer.
        """
        login: dict[str, Any] = {**_login(), "timeout": ANSWER_S}
        from grid5000 import DEFAULT_BASE_URL, Grid5000

        super().__init__(SYSTEM, name)
        self.name, self._user = name, str(login.get("username") or "").lower()
        with _answers():
            library: Any = Grid5000(**login)
            bound(library.session)
            self._site: Any = library.sites[name]
        self.metrics_url = f"{str(login.get('uri') or DEFAULT_BASE_URL).rstrip('/')}/sites/{name}/metrics"

    def text(self, id: str) -> str:
        """Return a job in words."""
        return f"{JOB} {id} on {self.name}"

    def submit(self, request: Mapping[str, Json]) -> str:
        """Ask for a job, and return its number. Raises MachineError with OAR's own words."""
        with _answers():
            return str(_job(self._site.jobs.create(dict(request))).id)

    def living(self, name: str) -> list[str]:
        """Return the numbers of the jobs of a name that wait or run. Raises MachineError."""
        with _answers():
            # of all users, each of whom may give his own the name of ours
            listed = self._site.jobs.list(name=name)
            ours = (job for job in listed if self._user in ("", str(job.user_uid).lower()))
            jobs = [_job(job) for job in ours]
        return [str(job.id) for job in jobs if not job.end]

    def job(self, id: str) -> GridJob:
        """Return a job. Raises MachineError."""
        with _answers():
            return _job(self._site.jobs[id])

    def end(self, id: str) -> None:
        """Have a job end, which takes a while. Raises MachineError."""
        with _answers():
            self._site.jobs.delete(id)

    def deploy(self, nodes: Sequence[str], environment: str, keys: str) -> str:
        """Begin to install an environment on nodes, with keys for root; return the deployment's number.

        Raises MachineError.
        """
        request = {"nodes": [*nodes], "environment": environment, "key": keys}
        with _answers():
            return str(self._site.deployments.create(request).uid)

    def deployed(self, deployment: str) -> Mapping[str, bool] | None:
        """Return which nodes were deployed; None while it goes on. Raises MachineError: it failed."""
        with _answers():
            answer = self._site.deployments[deployment]
            status, result = str(answer.status), dict(getattr(answer, "result", None) or {})
            nodes = {str(node): dict(state).get("state") == "OK" for node, state in result.items()}
        if status in ("error", "canceled"):
            raise MachineError(f"deployment {deployment} ended with status {status}")
        return nodes if status == "terminated" else None

    def clusters(self) -> Mapping[str, bool]:
        """Return the site's clusters, and whether only exotic jobs get them. Raises MachineError."""
        with _answers():
            return {
                str(cluster.uid): bool(getattr(cluster, "exotic", False))
                for cluster in self._site.clusters.list()
            }

    def addresses(self, cluster: str) -> Mapping[str, str]:
        """Return the IPv4 address of each node of a cluster in the site's network, by its full name.

        Raises MachineError.
        """
        with _answers():
            return {
                str(adapter["network_address"]): str(adapter["ip"])
                for node in self._site.clusters[cluster].nodes.list()
                for adapter in node.network_adapters
                if adapter.get("mounted") and adapter.get("interface") == "Ethernet" and adapter.get("ip")
            }


def installed() -> bool:
    """Return whether the library is there."""
    return importlib.util.find_spec("grid5000") is not None


def _login() -> dict[str, Any]:
    """Read the file with the login. Raises MachineError: it or the library is missing."""
    if not installed():
        raise MachineError("python-grid5000 is not installed", next=FIX)
    import yaml

    try:
        return dict(yaml.safe_load(text_of(Path(LOGIN).expanduser(), _MOST_BYTES)) or {})
    except (OSError, yaml.YAMLError, *UNEXPECTED) as error:
        fix = f"write username and password into {LOGIN}, mode 600; on a frontend it may be empty"
        problem = error.strerror if isinstance(error, OSError) else "not the file of a login"
        raise MachineError(f"no login ({problem})", where=LOGIN, next=fix) from None


@contextlib.contextmanager
def _answers() -> Generator[None]:
    """Turn the library's errors, and answers of another form, into ours."""
    from grid5000.exceptions import Grid5000Error

    try:
        yield
    except Grid5000Error as error:
        if (status := getattr(error, "response_code", None)) in (401, 403):
            problem = f"the API of Grid'5000 refuses the login ({status})"
            raise LoginRefused(problem, next=f"correct {LOGIN}") from None
        raise MachineError(f"Grid'5000: {sentence(str(error))}") from None
    except OSError as error:  # as those of requests are
        reason = str(error) if isinstance(error, Unbounded) else type(error).__name__
        raise MachineError(
            f"the API of Grid'5000 does not answer ({reason})", next="try again later"
        ) from None
    except UNEXPECTED as error:
        raise MachineError(f"an answer of Grid'5000 has another form: {sentence(words(error))}") from None


def _job(job: Any) -> GridJob:
    starts_s = getattr(job, "started_at", None) or getattr(job, "scheduled_at", None)
    return GridJob(
        int(job.uid),
        sentence(str(job.state)),
        tuple(map(str, getattr(job, "assigned_nodes", None) or ())),
        float(starts_s) if starts_s else None,
        float(job.walltime),
        sentence(str(getattr(job, "message", None) or "")),
    )
