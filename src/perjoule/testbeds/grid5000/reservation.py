"""A job of ours on Grid'5000: requested, deployed if wished, and ended when perjoule ends."""

import atexit
import contextlib
import time
from collections.abc import Generator, Mapping
from datetime import datetime
from pathlib import Path

from perjoule.drivers.protocols import Cleaned
from perjoule.machine.untrusted import text_of
from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds import _reserved
from perjoule.testbeds.grid5000.api import GridJob, GridSite

_FIRST_LOOK_S, _LOOK_S = 1.0, 60.0  # at what goes on there; many look at the API
GONE_S = 60.0  # for a job to end that is to
DEPLOY_S = 1800.0  # Kadeploy tries again by itself, and nodes boot for minutes
_MOST_BYTES = 64 * 1024  # of a file of public keys
SYSTEM = "grid5000"


class Reservation:
    """A requested job, and what is needed to end it."""

    def __init__(self, site: GridSite, request: Mapping[str, Json]) -> None:
        """Ask for it. Raises MachineError with OAR's words."""
        self.site, self._note = site, _reserved.ReservationNote(SYSTEM, site.name)
        self.name = self._note.name
        self._id = 0  # until it is known
        _open[self.name] = self
        try:
            self._id = site.submit({"name": self.name, "command": "sleep infinity", **request}).id
        except BaseException:  # it may have been made all the same
            self.end()
            raise

    @property
    def text(self) -> str:
        """Its number and place, in words."""
        return f"Grid'5000 job {self._id} on {self.site.name}"

    @property
    def job(self) -> GridJob:
        """It as it is now. Raises MachineError."""
        return self.site.job(self._id)

    @property
    def lasts(self) -> bool:
        """Whether its job has not ended. Raises MachineError."""
        return self.name in _open and not self.job.end

    def granted(self, limit_s: float) -> Generator[str, None, GridJob]:
        """Wait for the nodes; yields what the job waits for, and returns it.

        Raises:
            MachineError: it failed, or waits too long.
        """
        last = ""
        for _ in _looks(limit_s):
            job = self.job
            if job.end:
                raise MachineError(f"{self.text} {job.end} ({job.message or 'no reason given'})")
            if job.runs:
                return job
            state = f"is to start {datetime.fromtimestamp(job.starts_s):%a %H:%M}" if job.starts_s else ""
            if (sentence := f"{self.text} {state or f'is {job.state}'}") != last:
                last = sentence
                yield sentence
        raise MachineError(
            f"{last}, after {seconds_text(limit_s)}", next="ask for fewer nodes or less time, or raise wait"
        )

    def deployed(self, job: GridJob, environment: str, keys: str) -> Generator[str]:
        """Install an environment on all nodes, with these keys for root; yields what goes on.

        Raises MachineError.
        """
        deployment = self.site.deploy(job.nodes, environment, keys)
        yield f"Kadeploy installs {environment} on {len(job.nodes)} nodes"
        for _ in _looks(DEPLOY_S):
            if (well := self.site.deployed(deployment)) is not None:
                if failed := [node for node in job.nodes if not well.get(node)]:
                    raise MachineError(f"{environment} could not be deployed on {', '.join(failed)}")
                return
        raise MachineError(f"deployment {deployment} did not end within {seconds_text(DEPLOY_S)}")

    def end(self) -> None:
        """End the job; nothing of it may be left that waits or runs."""
        if self.name in _open:
            with contextlib.suppress(MachineError):  # the next command tries again
                ended = _cancelled(self.site, self.name)
                if ended or self._id:  # else it may be made yet: the next command looks again
                    self._note.remove()
            del _open[self.name]
            self._note.close()


def public_keys() -> str:
    """Return the user's public keys, as EnOSlib deploys them, too. Raises MachineError: there are none."""
    keys: list[str] = []
    for path in sorted(Path("~/.ssh").expanduser().glob("*.pub")):
        with contextlib.suppress(OSError, ValueError):
            keys.append(text_of(path, _MOST_BYTES).strip())
    if not keys:
        raise MachineError("there is no public key in ~/.ssh", next="make one by `ssh-keygen`")
    return "\n".join(keys)


def clean() -> Cleaned:
    """End the jobs of perjoules that are dead."""
    return _reserved.clean(SYSTEM, "Grid'5000 job", lambda name: _cancelled(_site_of(name), name))


def _site_of(name: str) -> GridSite:
    return GridSite(_reserved.place(name))


def _cancelled(site: GridSite, name: str) -> list[str]:
    """End the jobs of a name and wait until they do. Raises MachineError."""
    ids = [job.id for job in site.jobs(name) if not job.end]
    for id in ids:
        site.delete(id)
    if ids:
        for _ in _looks(GONE_S):
            if all(job.end for job in site.jobs(name)):
                break
        else:
            raise MachineError("the job does not end", next="see its state on the site's page")
    return [f"Grid'5000 job {id} on {site.name}" for id in ids]


def _looks(limit_s: float) -> Generator[None]:
    """Pace looks at what goes on there, until a time limit."""
    began_s, look_s = time.monotonic(), _FIRST_LOOK_S
    while True:
        yield
        if (left_s := began_s + limit_s - time.monotonic()) <= 0:
            return
        time.sleep(min(look_s, left_s))
        look_s = min(2 * look_s, _LOOK_S)


_open: dict[str, Reservation] = {}


@atexit.register
def _end_all() -> None:
    for reservation in tuple(_open.values()):
        reservation.end()
