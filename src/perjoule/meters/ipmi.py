"""The power reading of a server's management controller (DCMI), through ipmitool: https://github.com/ipmitool/ipmitool

DCMI (v1.5, section 6.6.1) gives whole watts but not the averaging window, which the vendor chooses. So readings are averages with
a latency, and only steady windows are sure. A deactivated reading shows 0 W: that is a missing value, not zero.
"""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._metered import Metered, Read, Reading
from perjoule.model import OPTIONS, Json, Specification
from perjoule.model.errors import MachineError, TransientError
from perjoule.model.units import Hertz, Seconds

EXAMPLE = """
[[meter]]
kind = "ipmi"
covers = ["storage-1"]
address = "192.0.2.30"
user = "monitor"
password_file = "~/.bmc-password"
rate = "1 Hz"
"""

_TOOL = "ipmitool"
_FIX = "sudo apt install ipmitool"
_POWER = re.compile(r"Instantaneous power reading:\s*(\d+) Watts")
_STATE = re.compile(r"Power reading state is:\s*(\w+)")
_RESOLUTION_W = 1.0
_PROBE = bytes.fromhex("0600ff0700000000000000000009 2018c8 8100388e04b5")  # "get channel authentication capabilities"
_PROBE_S = 1.0


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Ipmi(Metered):
    """A server's management controller (BMC), over the network or from the host itself."""

    address: str = ""
    """The BMC's address; without it the BMC of this machine (/dev/ipmi0)."""

    port: int = Field(default=623, ge=1, le=65535)
    """Its UDP port."""

    user: str = ""
    """The user name; the privilege "user" is enough."""

    password_file: Path | None = None
    """A file that contains only the password; without it ipmitool takes it from the environment (IPMI_PASSWORD)."""

    cipher: int = Field(default=3, ge=0, le=17)
    """The cipher suite: all BMCs support 3 (SHA1), newer ones 17 (SHA256)."""

    window_s: Seconds | None = None
    """How long the BMC averages, if its manufacturer states it."""

    timeout_s: Seconds = 5.0
    """Time limit of one reading."""

    rate_hz: Hertz = 1.0
    """How often it is polled, on average; each poll is a separate session."""

    @contextmanager
    def connect(self, where: Boundary) -> Generator[Read]:
        """Prepare the command. Raises MachineError if ipmitool or the password file is missing."""
        missing = [check for check in self.checks() if not check.ok]
        if missing:
            raise MachineError(missing[0].detail, where=f"meter {self.label}", next=missing[0].fix)
        specification = Specification(resolution=_RESOLUTION_W, latency_s=self.window_s)
        channel = where.channel("power", "average", "BMC", specification)
        argv = self._argv()

        def read() -> Iterable[Reading]:
            yield Reading(channel, power_w(self._asked(argv), where=f"meter {self.label}"))

        yield read

    def checks(self) -> tuple[Check, ...]:
        """Check for ipmitool, and for access to the BMC."""
        tool = shutil.which(_TOOL)
        found = [Check(_TOOL, ok=tool is not None, detail=tool or f"{_TOOL} is missing", fix="" if tool else _FIX)]
        if not self.address:
            there = any(Path("/dev").glob("ipmi[0-9]*"))
            fix = "" if there else "sudo modprobe ipmi_devintf ipmi_si, or set address"
            found.append(Check("BMC", ok=there, detail="/dev/ipmi0" if there else "no BMC found on this machine", fix=fix))
        elif self.password_file and not (file := self.password_file.expanduser()).is_file():
            found.append(
                Check("password", ok=False, detail=f"{file} does not exist", fix=f"write the password into {file}, mode 600")
            )
        return tuple(found)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's BMC, and BMCs that answer ipmitool at an address."""
        local: list[Mapping[str, Json]] = (
            [{"kind": "ipmi"}] if shutil.which(_TOOL) and any(Path("/dev").glob("ipmi[0-9]*")) else []
        )
        return (*local, *(_table(address) for address in addresses if _answers(address)))

    def _argv(self) -> list[str]:
        if not self.address:
            return [_TOOL, "-I", "open", "dcmi", "power", "reading"]
        password = ["-f", str(self.password_file.expanduser())] if self.password_file else ["-E"]
        login = ["-U", self.user, *password, "-L", "USER", "-C", str(self.cipher)]
        patience = ["-N", "1", "-R", "1"]  # one question, one second: a reading that comes later is worth nothing
        return [_TOOL, "-I", "lanplus", "-H", self.address, "-p", str(self.port), *login, *patience, "dcmi", "power", "reading"]

    def _asked(self, argv: Sequence[str]) -> str:
        environment = {"IPMI_PASSWORD": "", **os.environ, "LC_ALL": "C"}  # without a password ipmitool would ask the terminal
        try:
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                env=environment,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TransientError(f"no answer within {self.timeout_s:g} s", where=f"meter {self.label}") from None
        if done.returncode:
            words = " | ".join((done.stderr or done.stdout).split("\n")).strip(" |") or f"exit code {done.returncode}"
            raise TransientError(f"ipmitool failed ({words})", where=f"meter {self.label}")
        return done.stdout


def power_w(text: str, *, where: str = "") -> float:
    """Parse the watts in the output of `ipmitool dcmi power reading`.

    Raises:
        MachineError: the reading is deactivated (its 0 W mean nothing), or missing.
    """
    state, power = _STATE.search(text), _POWER.search(text)
    if power is None:
        raise MachineError(
            "the BMC gives no power reading", where=where, next="check whether it supports DCMI: ipmitool dcmi discover"
        )
    if state is None or state[1] != "activated":
        raise MachineError(
            f"the power reading is {state[1] if state else 'in no known state'}",
            where=where,
            next="turn it on in the BMC's setup",
        )
    return float(power[1])


def _table(address: str) -> Mapping[str, Json]:
    host, _, port = address.partition(":")
    return {"kind": "ipmi", "address": host} | ({"port": int(port)} if port else {})


def _answers(address: str) -> bool:
    """Return whether something there lists its login methods, which IPMI does for anyone."""
    host, _, port = address.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.sendto(_PROBE, (host, int(port or 623)))
            return probe.recv(64)[:4] == _PROBE[:4]
        except (OSError, ValueError):
            return False
