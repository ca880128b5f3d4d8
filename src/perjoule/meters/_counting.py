"""The counters of hosts, read by one thread for all meters that want them at the same rate.

Reading is the cost of measuring: on ten virtual hosts at 5 Hz, two meters with readings of their own would read everything twice.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from perjoule.drivers.protocols import Counters, Host
from perjoule.meters._sampler import Sampler, left_out
from perjoule.model.errors import PerjouleError

Take = Callable[[Mapping[str, Counters]], None]


class _Taker:
    """A meter that takes the readings of its hosts, and its missed readings so far."""

    def __init__(self, name: str, hosts: Sequence[Host], take: Take) -> None:
        self.name, self.hosts, self.take = name, hosts, take
        self.rounds_count = 0
        self.misses: dict[str, list[str]] = {}  # of each host, why
        self.failure: Exception | None = None  # of `take`, which ends it

    def give(self, readings: Mapping[str, Counters | str]) -> None:
        """Pass on a round of readings; a text is the reason of a failed one."""
        if self.failure is not None:
            return
        self.rounds_count += 1
        told: dict[str, Counters] = {}
        for host in self.hosts:
            reading = readings[host.name]
            if isinstance(reading, str):
                self.misses.setdefault(host.name, []).append(reading)
            else:
                told[host.name] = reading
        try:
            self.take(told)
        except Exception as error:
            self.failure = error


class _Rounds:
    """Readings of the hosts of all takers, one round after the other."""

    def __init__(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz
        self.sampler = Sampler("counters", rate_hz, self._round)  # runs while there are takers
        self.takers: list[_Taker] = []
        self._lock = threading.Lock()  # one round at a time, and no taker comes or goes within it

    def join(self, taker: _Taker) -> None:
        with self._lock:
            taker.give(_readings(taker.hosts))
            self.takers.append(taker)

    def leave(self, taker: _Taker) -> None:
        if self.takers == [taker]:
            self.sampler.stop()  # with a last round
        with self._lock:
            self.takers.remove(taker)
            if self.takers:
                taker.give(_readings(taker.hosts))

    def _round(self) -> None:
        with self._lock:
            readings = _readings({id(host): host for taker in self.takers for host in taker.hosts}.values())
            for taker in self.takers:
                taker.give(readings)


def _readings(hosts: Iterable[Host]) -> dict[str, Counters | str]:
    asked = {host.name: host.ask_counters() for host in hosts}
    found: dict[str, Counters | str] = {}
    for name, answered in asked.items():
        try:
            found[name] = answered()
        except (PerjouleError, OSError, ValueError) as error:
            found[name] = " ".join(str(error).split()) or type(error).__name__
    return found


_open: list[_Rounds] = []  # that run now
_changing = threading.Lock()


@contextmanager
def counting(name: str, rate_hz: float, hosts: Sequence[Host], take: Take) -> Generator[list[str]]:
    """Read the counters of all hosts once before the block, during it, and once at its end; return doubts.

    `take` gets each round's readings by the host's name. A host that fails is not in it (a gap); a doubt says how often and why.
    Meters of the same hosts at the same rate share one thread and its readings. An exception in `take` ends it for this meter and
    is raised when the block ends.
    """
    taker, doubts = _Taker(name, hosts, take), list[str]()
    with _changing:
        rounds = next((r for r in _open if r.rate_hz == rate_hz and _shares(r, hosts)), None) or _Rounds(rate_hz)
        rounds.join(taker)
        if rounds not in _open:
            _open.append(rounds)
            rounds.sampler.start()
    late_count, taken_count = rounds.sampler.late_count, rounds.sampler.taken_count
    try:
        yield doubts
    finally:
        with _changing:
            rounds.leave(taker)
            if not rounds.takers:
                _open.remove(rounds)
        doubts += left_out(name, rounds.sampler.late_count - late_count, rounds.sampler.taken_count - taken_count)
        for host, reasons in taker.misses.items():
            missed = f"{len(reasons)} of {taker.rounds_count} readings of {host} failed"
            doubts.append(f"{name}: {missed}, the last with: {reasons[-1]}")
    for failure in (taker.failure, *rounds.sampler.failures):  # not in the `finally`: what the block itself raises comes first
        if failure is not None:
            raise failure


def _shares(rounds: _Rounds, hosts: Sequence[Host]) -> bool:
    """Return whether these hosts are among those already read, or vice versa: hosts of other testbeds may have the same names."""
    read = {id(host) for taker in rounds.takers for host in taker.hosts}
    return bool(hosts) and (read >= (own := {id(host) for host in hosts}) or read <= own)
