"""The counters of hosts, read for all meters that want them at the same rate.

Reading is the cost of measuring: on ten virtual hosts at 5 Hz, two meters with readings of their own would
read everything twice. One thread asks all hosts at the moments of the samples, and another hears their
answers, so a host that is slow to answer delays nobody's next sample.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from perjoule.drivers.protocols import Counters, Host
from perjoule.meters._sampler import Sampler, left_out
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import PerjouleError

Take = Callable[[Mapping[str, Counters]], None]
Answer = Callable[[], Counters] | str  # waits for the counters; a text is the reason why there will be none


class _Taker:
    """A meter that takes the readings of its hosts, and its missed readings so far."""

    def __init__(self, name: str, hosts: Sequence[Host], take: Take, switches: bool) -> None:
        self.name, self.hosts, self.take, self.switches = name, hosts, take, switches
        self.rounds_count = 0
        self.misses: dict[str, list[str]] = {}  # of each host, why
        self.failure: Exception | None = None  # of `take`, which ends it

    def give(self, readings: Mapping[str, Counters | str]) -> None:
        """Pass on a round of readings; a text is the reason of a failed one."""
        if self.failure is not None:
            return
        self.rounds_count += 1
        counters: dict[str, Counters] = {}
        for host in self.hosts:
            reading = readings[host.name]
            if isinstance(reading, str):
                self.misses.setdefault(host.name, []).append(reading)
            else:
                counters[host.name] = reading
        try:
            self.take(counters)
        except Exception as error:
            self.failure = error


class _Rounds:
    """Readings of the hosts of all takers, one round after the other."""

    def __init__(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz
        self.sampler = Sampler("counters", rate_hz, self._ask)  # runs while there are takers
        self.takers: list[_Taker] = []
        self.failures: list[Exception] = []  # of a host's answer, which is a fault of ours
        self._lock = threading.Lock()  # no taker comes or goes while a round begins
        self._hearing = ThreadPoolExecutor(1, "counters")  # one round after the other

    def join(self, taker: _Taker) -> None:
        taker.give(_heard(_asked(taker.hosts, taker.switches)))
        with self._lock:
            self.takers.append(taker)

    def leave(self, taker: _Taker) -> None:
        if self.takers == [taker]:
            self.sampler.stop()  # with a last round
        with self._lock:
            self.takers.remove(taker)
        if self.takers:  # its last round comes after all in which it still took part
            self._hearing.submit(self._hear, [taker], _asked(taker.hosts, taker.switches)).result()
        else:
            self._hearing.shutdown()

    def _ask(self) -> None:
        with self._lock:
            hosts = {id(host): host for taker in self.takers for host in taker.hosts}.values()
            answers = _asked(hosts, any(taker.switches for taker in self.takers))
            self._hearing.submit(self._hear, tuple(self.takers), answers)

    def _hear(self, takers: Sequence[_Taker], answers: Mapping[str, Answer]) -> None:
        try:
            readings = _heard(answers)
        except Exception as error:
            self.failures.append(error)
            return
        for taker in takers:
            taker.give(readings)


# Counters are in several files, and the time is taken after them: of two readings at once, the one with the
# later time may have the older counts, and its window less work than was done in it.
_reading = threading.Lock()


def _asked(hosts: Iterable[Host], switches: bool) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for host in hosts:
        try:
            with _reading:
                answers[host.name] = host.ask_counters(switches=switches)
        except (PerjouleError, OSError, ValueError) as error:
            answers[host.name] = _words(error)
    return answers


def _heard(answers: Mapping[str, Answer]) -> dict[str, Counters | str]:
    readings: dict[str, Counters | str] = {}
    for name, answered in answers.items():
        try:
            readings[name] = answered if isinstance(answered, str) else answered()
        except (PerjouleError, OSError, ValueError) as error:
            readings[name] = _words(error)
    return readings


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


_open: list[_Rounds] = []  # that run now
_changing = threading.Lock()


@contextmanager
def counting(
    name: str, rate_hz: float, hosts: Sequence[Host], take: Take, *, switches: bool = False
) -> Generator[list[Doubt]]:
    """Read the counters of all hosts once before the block, during it, and once at its end; return doubts.

    `take` gets each round's readings by the host's name. A host that fails is not in it (a gap); a doubt says
    how often and why. Meters of the same hosts at the same rate share one thread and its readings. An
    exception in `take` ends it for this meter and is raised when the block ends. One meter at most may ask
    for context switches (`Host.ask_counters` says why).
    """
    taker, doubts = _Taker(name, hosts, take, switches), list[Doubt]()
    with _changing:
        rounds = next((r for r in _open if r.rate_hz == rate_hz and _shares(r, hosts)), None) or _Rounds(
            rate_hz
        )
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
        doubts += left_out(
            name, rounds.sampler.late_count - late_count, rounds.sampler.taken_count - taken_count
        )
        for host, reasons in taker.misses.items():
            counts, error = {"count": len(reasons), "all_count": taker.rounds_count}, str(reasons[-1])
            doubts.append(METERS.host_reads_failed(meter=name, host=host, error=error, **counts))
    failures = [taker.failure, *rounds.sampler.failures, *rounds.failures]
    for failure in failures:  # not in the `finally`: what the block itself raises comes first
        if failure is not None:
            raise failure


def _shares(rounds: _Rounds, hosts: Sequence[Host]) -> bool:
    """Return whether these hosts are among those already read, or vice versa: hosts of other testbeds may
    have the same names.
    """
    read = {id(host) for taker in rounds.takers for host in taker.hosts}
    return bool(hosts) and (read >= (host_ids := {id(host) for host in hosts}) or read <= host_ids)
