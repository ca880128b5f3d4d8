"""The process of a simulated PDU, an SNMP agent: `python -m perjoule.simulators.snmp_pdu.pdu ADDRESS PORT`
prints its port.
"""

import asyncio
import math
import socket
import sys
from contextlib import suppress
from threading import Event, Thread
from typing import Any, cast

from perjoule.simulators._behaviour import Fault, Truth
from perjoule.simulators._child import await_request, ready
from perjoule.simulators._hostile import pour
from perjoule.simulators.snmp_pdu import AUTHENTICATION, COMMUNITY, OUTLET, PRIVACY, USER

APC, RARITAN = "1.3.6.1.4.1.318.1.1.26", "1.3.6.1.4.1.13742.6"
ACTIVE_POWER, ACTIVE_ENERGY = 5, 8  # Raritan's types of sensors
DIGITS = {ACTIVE_POWER: 1, ACTIVE_ENERGY: 0}
UNITS = {ACTIVE_POWER: 3, ACTIVE_ENERGY: 5}  # watt, wattHour


def values(truth: Truth) -> dict[str, int]:
    """Return all values of the agent at a moment: integers by OID, in the units of PowerNet-MIB and
    PDU2-MIB.
    """
    valid = not math.isnan(truth.power_w)
    power_w, energy_j = (truth.power_w, truth.energy_j) if valid else (0.0, 0.0)

    def apc(value: float) -> int:
        return int(value) if valid else -1  # what a PDU without such a meter says

    objects = {
        f"{APC}.4.3.1.5.1": apc(power_w / 10),
        f"{APC}.4.3.1.9.1": apc(energy_j / 360e3),
        f"{APC}.9.4.3.1.7.{OUTLET}": apc(power_w),
        f"{APC}.9.4.3.1.11.{OUTLET}": apc(energy_j / 360e3),
    }
    for configured, measured, number in (("3.3.4.1", "5.2.3.1", 1), ("3.5.4.1", "5.4.3.1", OUTLET)):
        for sensor, value in ((ACTIVE_POWER, power_w), (ACTIVE_ENERGY, energy_j / 3600)):
            index = f"1.{number}.{sensor}"
            objects |= {
                f"{RARITAN}.{configured}.6.{index}": UNITS[sensor],
                f"{RARITAN}.{configured}.7.{index}": DIGITS[sensor],
                f"{RARITAN}.{configured}.8.{index}": 100,  # hundredths of a percent
                f"{RARITAN}.{configured}.9.{index}": 1,
                f"{RARITAN}.{measured}.2.{index}": 1 if valid else 2,
                f"{RARITAN}.{measured}.4.{index}": int(value * 10 ** DIGITS[sensor]),
            }
    return objects


def hurl(endpoint: socket.socket, fault: Fault, place: tuple[str, int]) -> None:
    """Send datagrams that are not an answer."""

    def send(datagram: bytes) -> None:
        with suppress(BlockingIOError):  # it is that of an asyncio loop
            endpoint.sendto(b"\x30\x80" * 30_000 if fault == "deep" else datagram, place)

    with suppress(OSError):
        pour(fault, send, Event())


def main(address: str, port: int) -> None:
    """Serve until killed."""
    from pysnmp.carrier.asyncio.dgram import udp
    from pysnmp.entity import config, engine
    from pysnmp.entity.rfc3413 import cmdrsp, context
    from pysnmp.proto.api import v2c
    from pysnmp.proto.rfc1902 import Integer32
    from pysnmp.proto.rfc1905 import noSuchInstance

    api, settings = cast(Any, v2c.apiPDU), cast(Any, config)

    class Answers(cmdrsp.GetCommandResponder):
        def handle_management_operation(
            self, snmpEngine: Any, stateReference: Any, contextName: Any, PDU: Any
        ) -> None:
            manner, truth = await_request()
            if manner.hostile:
                _, place = snmpEngine.message_dispatcher.get_transport_info(stateReference)
                Thread(target=hurl, args=(endpoint, manner.hostile, tuple(place)[:2]), daemon=True).start()
            if manner.silent or manner.hang_up or manner.hostile:
                return
            objects, oids = values(truth), [oid for oid, _ in api.get_varbinds(PDU)]
            bound = [
                (oid, Integer32(objects[str(oid)]) if str(oid) in objects else noSuchInstance) for oid in oids
            ]
            cast(Any, self).send_varbinds(snmpEngine, stateReference, 0, 0, bound)

    asyncio.set_event_loop(asyncio.new_event_loop())
    agent = engine.SnmpEngine()
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.bind((address, port))
    endpoint.setblocking(False)
    config.add_transport(agent, udp.DOMAIN_NAME, udp.UdpTransport().open_server_mode(sock=endpoint))
    settings.add_v1_system(agent, "area", COMMUNITY)
    settings.add_v3_user(
        agent, USER, config.USM_AUTH_HMAC96_SHA, AUTHENTICATION, config.USM_PRIV_CFB128_AES, PRIVACY
    )
    Answers(agent, context.SnmpContext(agent))
    cast(Any, agent.transport_dispatcher).job_started(1)
    ready(str(endpoint.getsockname()[1]))
    agent.open_dispatcher()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
