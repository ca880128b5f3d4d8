"""A candle beside the servers. https://en.wikipedia.org/wiki/Candlepower"""

import math
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import boundary
from perjoule.drivers.protocols import Check, Hosts, Meter, Sink
from perjoule.meters._sampler import sampling
from perjoule.model import OPTIONS
from perjoule.model.units import Watts

EXAMPLE = '[[meter]]\nkind = "candle"\npower = "80 W"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Candle(Meter):
    """It burns as brightly as the servers do."""

    power_w: Watts = Field(default=80.0, gt=0)
    """The power that it shows."""

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[Sequence[str]]:
        """Look at it 50 times a second."""
        channel = boundary("candle", ("servers",), hosts).channel("power", "window mean", "wall")
        before_s = math.nan

        def sample() -> None:
            nonlocal before_s
            now_s = time.monotonic()
            if now_s > before_s:
                sink.append(channel, now_s, self.power_w, now_s - before_s, now_s, now_s)
            before_s = now_s

        with sampling("candle", 50.0, sample) as doubts:
            yield doubts

    def checks(self) -> tuple[Check, ...]:
        """Check nothing."""
        return ()
