"""The power reading of a server's management controller (DCMI), through ipmitool:
https://github.com/ipmitool/ipmitool

DCMI (v1.5, section 6.6.1) gives whole watts but not the averaging window, which the vendor chooses. So
readings are averages with a latency, and only steady windows are sure. A server that answers draws power: 0 W
are a missing value, as of a deactivated reading, and so are 65535 W. OpenBMC calls each of its readings
deactivated (https://github.com/openbmc/phosphor-host-ipmid/issues/167), so a power beside that word counts.
"""

import os
import re
import shutil
import socket
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Host
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._on_hosts import SHORT_S, Sampled, SensorCommand
from perjoule.meters._placed import Placed
from perjoule.meters._secret import secret
from perjoule.meters._sysfs import Sensor
from perjoule.meters._tool import printed
from perjoule.model import OPTIONS, Channel, Json, Specification, program_named
from perjoule.model.doubts import Doubt
from perjoule.model.errors import MachineError, NoAnswer
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
# The same for bash on a host.
_POWER_IN_BASH = (
    "Instantaneous power reading:[[:space:]]*([0-9]+) Watts.*Power reading state "
    "is:[[:space:]]*(de)?activated"
)
_UNKNOWN_W = 0xFFFF  # two bytes, all of whose bits are set
_THERE = "apt install ipmitool on it, modprobe ipmi_devintf ipmi_si, and log in as root"
_RESOLUTION_W = 1.0
# "get channel authentication capabilities"
_PROBE = bytes.fromhex("0600ff0700000000000000000009 2018c8 8100388e04b5")
_PROBE_S = 1.0


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Ipmi(Placed):
    """A server's management controller (BMC), over the network or from the host itself."""

    finds_parts = False

    tool: Annotated[str, program_named(_TOOL)] = _TOOL
    """The program ipmitool; its path if it is not on the PATH."""

    address: str = ""
    """The BMC's address; without it the BMC of this machine (/dev/ipmi0)."""

    port: int = Field(default=623, ge=1, le=65535)
    """Its UDP port."""

    user: str = ""
    """The user name; the privilege "user" is enough."""

    password_file: Path | None = None
    """A file that contains only the password; without it ipmitool takes it from the environment
    (IPMI_PASSWORD).
    """

    cipher: int = Field(default=3, ge=0, le=17)
    """The cipher suite: all BMCs support 3 (SHA1), newer ones 17 (SHA256)."""

    window_s: Seconds | None = None
    """How long the BMC averages, if its manufacturer states it."""

    timeout_s: Seconds = 5.0
    """Time limit of one reading."""

    rate_hz: Hertz = 1.0
    """How often it is polled, on average; each poll is a separate session."""

    @model_validator(mode="after")
    def _own_or_addressed(self) -> Self:
        if self.on and self.address:
            raise ValueError("with on, each host queries its own BMC (remove address)")
        return self

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Prepare the command. Raises MachineError if ipmitool or the password file is missing."""
        missing = [check for check in self.checks() if not check.ok]
        if missing:
            raise MachineError(missing[0].detail, where=f"meter {self.label}", next=missing[0].fix)
        channel = self._channel(extent)
        argv = self._argv()

        def read() -> Iterable[MeterReading]:
            yield MeterReading(channel, power_w(self._asked(argv), place=f"meter {self.label}"))

        yield read

    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Have a host ask its own BMC (/dev/ipmi0). Raises MachineError: it gives no power."""
        argv = ("timeout", f"{self.timeout_s:g}", *self._argv())
        completed = host.run(argv, timeout_s=SHORT_S, check=False)
        if completed.returncode:
            message = (
                " | ".join((completed.stderr or completed.stdout).split("\n")).strip(" |")
                or f"exit code {completed.returncode}"
            )
            raise MachineError(f"ipmitool failed ({message})", where=host.name, next=_THERE)
        power_w(completed.stdout, place=host.name)
        sensor = Sensor(self._channel(extent), Path(), 1.0, _UNKNOWN_W, zero_unknown=True)
        return Sampled(host, [sensor], self.rate_hz, folder, SensorCommand(argv, _POWER_IN_BASH)), ()

    def _channel(self, extent: Boundary) -> Channel:
        return extent.channel(
            "power", "average", "BMC", Specification(resolution=_RESOLUTION_W, latency_s=self.window_s)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check for ipmitool, and for access to the BMC."""
        if self.on:  # on the hosts, when recording begins
            return ()
        tool = shutil.which(self.tool)
        checks = [
            Check(_TOOL, ok=tool is not None, detail=tool or f"{_TOOL} is missing", fix="" if tool else _FIX)
        ]
        if not self.address:
            has_bmc = any(Path("/dev").glob("ipmi[0-9]*"))
            fix = "" if has_bmc else "sudo modprobe ipmi_devintf ipmi_si, or set address"
            checks.append(
                Check(
                    "BMC",
                    ok=has_bmc,
                    detail="/dev/ipmi0" if has_bmc else "no BMC found on this machine",
                    fix=fix,
                )
            )
        elif self.password_file and not (file := self.password_file.expanduser()).is_file():
            checks.append(
                Check(
                    "password",
                    ok=False,
                    detail=f"{file} does not exist",
                    fix=f"write the password into {file}, mode 600",
                )
            )
        return tuple(checks)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's BMC, and BMCs that answer ipmitool at an address."""
        local: list[Mapping[str, Json]] = (
            [{"kind": "ipmi"}] if shutil.which(_TOOL) and any(Path("/dev").glob("ipmi[0-9]*")) else []
        )
        return (*local, *(_table(address) for address in addresses if _answers(address)))

    def _argv(self) -> list[str]:
        if not self.address:
            return [self.tool, "-I", "open", "dcmi", "power", "reading"]
        # -E: the password is in the environment
        login = ["-U", self.user, "-E", "-L", "USER", "-C", str(self.cipher)]
        # one question, one second: a reading that comes later is worth nothing
        patience = ["-N", "1", "-R", "1"]
        return [
            self.tool,
            "-I",
            "lanplus",
            "-H",
            self.address,
            "-p",
            str(self.port),
            *login,
            *patience,
            "dcmi",
            "power",
            "reading",
        ]

    def _asked(self, argv: Sequence[str]) -> str:
        # without a password ipmitool would ask the terminal; of a file it would take the first of any lines
        password = {"IPMI_PASSWORD": secret(self.password_file)} if self.password_file else {}
        environment = {"IPMI_PASSWORD": "", **os.environ, **password, "LC_ALL": "C"}
        completed = printed(argv, timeout_s=self.timeout_s, place=f"meter {self.label}", env=environment)
        stdout, complained = (
            completed.stdout.decode(errors="replace"),
            completed.stderr.decode(errors="replace"),
        )
        if completed.returncode:
            message = (
                " | ".join((complained or stdout).split("\n")).strip(" |")
                or f"exit code {completed.returncode}"
            )
            raise NoAnswer(f"ipmitool failed ({message})", where=f"meter {self.label}")
        return stdout


def power_w(text: str, *, place: str = "") -> float:
    """Parse the watts in the output of `ipmitool dcmi power reading`.

    Raises:
        MachineError: it is missing, or shows 0 W or 65535 W, which mean nothing.
    """
    state, power = _STATE.search(text), _POWER.search(text)
    if power is None:
        raise MachineError(
            "the BMC gives no power reading",
            where=place,
            next="check whether it supports DCMI: ipmitool dcmi discover",
        )
    if state is None or state[1] not in ("activated", "deactivated"):
        fault = f"the power reading is {state[1] if state else 'in no known state'}"
        raise MachineError(fault, where=place, next="read the BMC by Redfish, or use a meter at the wall")
    if not 0 < int(power[1]) < _UNKNOWN_W:
        advice = (
            "turn power readings on in the BMC's setup if it has them (on OpenBMC, the sensor total_power "
            "must exist)"
        )
        raise MachineError(
            f"the BMC shows {power[1]} W ({state[1]}), which is not a reading", where=place, next=advice
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
