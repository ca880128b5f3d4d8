"""The process of a simulated BMC: `python -m perjoule.simulators.ipmi.bmc ADDRESS PORT` prints its port,
then asks.
"""

import math
import socket
import struct
import sys
from typing import Any

from perjoule.simulators._child import await_request, ready
from perjoule.simulators.ipmi import PASSWORD, USER

GROUP, DCMI, POWER_READING = 0x2C, 0xDC, 0x02
MOST_W = 0xFFFF
ACTIVE = 0x40
SAMPLING_MS = 1000


def power_reading(power_w: float, clock_s: float) -> bytes:
    """Return the answer to DCMI "get power reading": now, least, most, mean, time, sampling period, state."""
    active = not math.isnan(power_w)
    watts = min(round(power_w), MOST_W) if active else 0
    return struct.pack(
        "<B4HIIB", DCMI, watts, watts, watts, watts, int(clock_s), SAMPLING_MS, ACTIVE if active else 0
    )


def main(address: str, port: int) -> None:
    """Serve until killed."""
    from pyghmi.ipmi.bmc import Bmc

    class Simulated(Bmc):
        def get_power_state(self) -> str:
            return "on"

        def handle_raw_request(self, request: Any, session: Any) -> None:
            if (request["netfn"], request["command"]) != (GROUP, POWER_READING):
                super().handle_raw_request(request, session)  # pyright: ignore[reportUnknownMemberType]  # pyghmi has no types
                return
            manner, truth = await_request()
            if not (manner.silent or manner.hang_up):
                session.send_ipmi_response(data=list(power_reading(truth.power_w, truth.clock_s)))

    if not port:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
            port = probe.getsockname()[1]
    Simulated({USER: PASSWORD}, port=port, address=address)
    ready(str(port))
    Simulated.listen()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
