"""SNMP GET, versions 1, 2c and 3, by pysnmp: https://docs.lextudio.com/pysnmp/

pysnmp runs only within an asyncio loop; ours runs just during a request, in the thread that makes it.
"""

import asyncio
import importlib.util
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from perjoule.machine.installing import installs
from perjoule.model.errors import MachineError, NoAnswer

FIX = installs("perjoule[meters]")
NO_SUCH_NAME = 2
AUTHENTICATIONS = {
    "": "NONE",
    "MD5": "HMAC96_MD5",
    "SHA": "HMAC96_SHA",
    "SHA-256": "HMAC192_SHA256",
    "SHA-512": "HMAC384_SHA512",
}
PRIVACIES = {"": "NONE", "DES": "CBC56_DES", "AES": "CFB128_AES", "AES-256": "CFB256_AES"}


@dataclass(frozen=True)
class Credentials:
    """The credentials: a community (1, 2c), or a user with up to two secrets (3)."""

    version: Literal["1", "2c", "3"]
    community: str = "public"
    user: str = ""
    authentication: str = ""  # of AUTHENTICATIONS
    authentication_secret: str = ""
    privacy: str = ""  # of PRIVACIES
    privacy_secret: str = ""


class Agent:
    """An SNMP agent."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, address: str, port: int, login: Credentials, timeout_s: float
    ) -> None:
        from pysnmp.hlapi.v3arch import asyncio as snmp

        self._snmp: Any = snmp
        self._loop, self._timeout_s, self._where = loop, timeout_s, f"{address}:{port}"
        self._loop.run_until_complete(self._reach(address, port, login))

    def numbers(self, oids: Sequence[str]) -> list[int | None]:
        """Request integers in one message; None for those that the agent does not have.

        Raises:
            TransientError: no answer in time.
            MachineError: the agent refuses.
        """
        return self._loop.run_until_complete(self._numbers(oids))

    def close(self) -> None:
        """Close its socket."""
        self._loop.run_until_complete(self._close())

    async def _reach(self, address: str, port: int, login: Credentials) -> None:
        snmp = self._snmp
        if login.version == "3":
            self._login = snmp.UsmUserData(
                login.user,
                login.authentication_secret or None,
                login.privacy_secret or None,
                authProtocol=getattr(snmp, f"USM_AUTH_{AUTHENTICATIONS[login.authentication]}"),
                privProtocol=getattr(snmp, f"USM_PRIV_{PRIVACIES[login.privacy]}"),
            )
        else:
            self._login = snmp.CommunityData(login.community, mpModel=0 if login.version == "1" else 1)
        self._engine = snmp.SnmpEngine()
        try:
            # Its own time limits are rounded to half seconds: ours comes first.
            self._target = await snmp.UdpTransportTarget.create(
                (address, port), timeout=self._timeout_s + 1, retries=0
            )
        except Exception as error:  # its own kind, for a name that is not known
            raise MachineError(f"its address can't be resolved ({error})", where=self._where) from None

    async def _numbers(self, oids: Sequence[str]) -> list[int | None]:
        snmp = self._snmp
        asked = [snmp.ObjectType(snmp.ObjectIdentity(oid)) for oid in oids]
        get = snmp.get_cmd(
            self._engine, self._login, self._target, snmp.ContextData(), *asked, lookupMib=False
        )
        try:
            problem, status, index, bound = await asyncio.wait_for(get, self._timeout_s)
        except TimeoutError:
            raise NoAnswer(f"no answer within {self._timeout_s:g} s", where=self._where) from None
        if problem:
            raise NoAnswer(f"no answer ({problem})", where=self._where)
        if int(status) == NO_SUCH_NAME:  # version 1 then says nothing of the others
            return [None] if len(oids) == 1 else [(await self._numbers([oid]))[0] for oid in oids]
        if status:
            raise MachineError(
                f"it refuses ({status.prettyPrint()}) {oids[max(int(index) - 1, 0)]}", where=self._where
            )
        return [_number(value) for _, value in bound]

    async def _close(self) -> None:
        self._engine.close_dispatcher()


def installed() -> bool:
    """Whether pysnmp is there."""
    return importlib.util.find_spec("pysnmp") is not None


@contextmanager
def agent(address: str, port: int, login: Credentials, timeout_s: float) -> Generator[Agent]:
    """Open an agent for the duration of the block. Raises MachineError if pysnmp is missing."""
    if not installed():
        raise MachineError("pysnmp is missing", where=f"{address}:{port}", next=FIX)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_silent)  # what is not SNMP counts as no answer, which is reported
    try:
        opened = Agent(loop, address, port, login, timeout_s)
        try:
            yield opened
        finally:
            opened.close()
    finally:
        waiting = asyncio.all_tasks(loop)
        for task in waiting:
            task.cancel()
        if waiting:
            loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
        loop.close()


def _silent(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Do nothing."""


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError, AttributeError):
        return None  # noSuchInstance, noSuchObject, endOfMibView
