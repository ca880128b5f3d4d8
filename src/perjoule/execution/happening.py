"""Events in a trial: each is done at its time to a host or the file system, which is polled until it is
healthy.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread

from perjoule import drivers
from perjoule.drivers.protocols import (
    Command,
    Host,
    Hosts,
    Killable,
    Mounted,
    Scrubs,
    ServerEvent,
    TellsHealth,
    TellsHeld,
    Work,
    able,
)
from perjoule.execution.steps import steps
from perjoule.model import Happened, Health, TrialEvent, healthy_since
from perjoule.model.doubts import EVENTS, Doubt
from perjoule.model.errors import EventFailed, PerjouleError, WorkloadError

LOOK_S = 1.0  # between the beginnings of two questions to the file system
END_S = 20.0  # for a question under way
LATE_S, LATE_OUTSIDE_S = 0.05, 0.2  # above which an event is a doubt: here, and by a command over SSH
UNKNOWN = "it has not yet said that it is healthy"


class Course:
    """What happened so far in a trial, and what the file system said of it.

    Two threads write, any may read.
    """

    def __init__(
        self, planned: Sequence[TrialEvent], hosts: Hosts, mounted: Mounted, *, late_s: float = LATE_S
    ) -> None:
        self.planned = planned
        self.happened: tuple[Happened, ...] = ()
        self.health: tuple[Health, ...] = ()
        self.failure: WorkloadError | None = None  # why an event could not be done
        self._hosts = {host.name: host for host in hosts.all}
        self._late_s = late_s  # above which an event is a doubt
        self._mounted = mounted
        # what has happened to each host since it was last back
        self._standing: dict[str, list[ServerEvent]] = {}
        self._gone: frozenset[str] = frozenset()  # hosts that were killed or cut off, and are not back
        self._under_way = ""  # the event whose work has not ended
        self._over = Event()  # of the load: what has not happened by then does not
        self._asked_enough = Event()

    @contextmanager
    def running(self) -> Generator[None]:
        """Do the events while the block runs, their times counted from now; without any, nothing is done or
        asked.

        What an event has begun is over when this ends: it must not go on while the file system is taken down.
        """
        longest_s: float | None = None  # each step of an event's work has a limit of its own
        threads = [
            Thread(target=self._act, args=(time.monotonic(),), daemon=True),
            Thread(target=self._ask, daemon=True),
        ]
        for thread in threads if self.planned else ():
            thread.start()
        try:
            yield
        except BaseException as error:
            # who interrupts does not want to wait
            longest_s = None if isinstance(error, Exception) else END_S
            raise
        finally:
            self._over.set()
            self._asked_enough.set()
            for thread in threads if self.planned else ():
                thread.join(longest_s)

    @contextmanager
    def explained(self) -> Generator[None]:
        """Name the last event in an error of the block.

        Raises WorkloadError, too, if an event could not be done.
        """
        try:
            yield
        except WorkloadError as error:
            if self.failure is None and self.happened:
                last = self.happened[-1]
                fault = f"{error.what}, {time.monotonic() - last.ended_s:.1f} s after {last.event.text}"
                failure = type(error)(fault, where=error.where, next=error.next)
                failure.logs = error.logs
                raise failure from error
            raise self.failure or error from error
        self.require_done()

    def require_done(self) -> None:
        """Raise WorkloadError if an event could not be done."""
        if self.failure:
            raise self.failure

    def weigh(self) -> tuple[Doubt, ...]:
        """Note what the hosts that joined hold by now. Returns a doubt for each that does not say."""
        weighed = list(self.happened)
        doubts: list[Doubt] = []
        for n, happened in enumerate(self.happened):
            if drivers.event_class(happened.event.kind).brings == "new":
                try:
                    weighed[n] = replace(
                        happened, gained_bytes=self._held_bytes(self._hosts[happened.event.host])
                    )
                except WorkloadError as error:
                    doubts.append(EVENTS.gain_unknown(host=happened.event.host, error=str(error)))
        self.happened = tuple(weighed)
        return tuple(doubts)

    def end_load(self) -> None:
        """Do no further event."""
        self._over.set()

    def _act(self, began_s: float) -> None:
        """Do each event at its time; ends with the load, or with the first event that can't be done.

        What takes longer than the events themselves is begun when all of the same time have happened. Disks
        that will fail are weighed meanwhile.
        """
        held_bytes = dict[str, Future[int]]()  # by the name of an event
        with ThreadPoolExecutor(thread_name_prefix="weigh") as pool:
            for at_s, weighed, events in steps(self.planned):
                planned_s = began_s + at_s
                if self._over.wait(max(0.0, planned_s - time.monotonic())):
                    return
                held_bytes |= {
                    event.text: pool.submit(self._held_bytes, self._hosts[event.host]) for event in weighed
                }
                if not self._done(events, planned_s, held_bytes):
                    return

    def _held_bytes(self, host: Host) -> int:
        return able(self._mounted, TellsHeld).held_bytes(host)

    def _done(
        self, events: Sequence[TrialEvent], planned_s: float, held_bytes: Mapping[str, Future[int]]
    ) -> bool:
        """Do events of the same time; False if one can't be done."""
        works = list[tuple[TrialEvent, Work]]()
        event: TrialEvent | None = None
        try:
            event_bytes = {
                event.text: held_bytes[event.text].result() for event in events if event.text in held_bytes
            }
            for event in events:
                if then := self._do(event, planned_s, event_bytes.get(event.text)):
                    works.append((event, then))
            for event, then in works:
                self._under_way = event.text
                then()
        except Exception as error:  # whatever it is, the trial did not go as the campaign says
            self.failure = EventFailed(f"{(event or events[0]).text} could not be done: {_said(error)}")
            self.failure.__cause__ = error
            return False
        finally:
            self._under_way = ""
        return True

    def _do(self, event: TrialEvent, planned_s: float, held_bytes: int | None) -> Work | None:
        """Do an event, and return what takes longer than the event itself, and belongs to healing."""
        began_s = time.monotonic()
        kind = drivers.event(event)
        if isinstance(kind, Command):
            then = kind.do(
                self._mounted, 1 + sum(earlier.event.kind == event.kind for earlier in self.happened)
            )
        else:
            assert isinstance(kind, ServerEvent)
            then = self._to_host(kind, self._hosts[event.host])
        ended_s = time.monotonic()
        if then:
            self._under_way = event.text
        self.happened += (Happened(event, planned_s, began_s, ended_s, held_bytes),)
        return then

    def _to_host(self, event: ServerEvent, host: Host) -> Work | None:
        """Do it, and return the rest."""
        if isinstance(self._mounted, Killable):
            self._mounted.hit = True
        standing = self._standing.setdefault(host.name, [])
        then = event.do(host, self._mounted, standing)
        if event.brings == "back":
            standing.clear()
        else:
            standing.append(event)
        self._gone = frozenset(
            name for name, events in self._standing.items() if any(effect.takes for effect in events)
        )
        return then

    def _ask(self) -> None:
        """Ask the file system from the first event on."""
        while not self._asked_enough.wait(LOOK_S / 4 if not self.happened else 0.0):
            if not self.happened:
                continue
            asked_s = time.monotonic()
            answer = self._asked()
            self.health += (Health(asked_s, time.monotonic(), answer),)
            self._asked_enough.wait(max(0.0, asked_s + LOOK_S - time.monotonic()))

    def _asked(self) -> str:
        gone = self._gone
        if under_way := self._under_way:
            return f"{under_way} is under way"
        if self.failure:
            return self.failure.what
        try:
            health = able(self._mounted, TellsHealth)
            absent = health.absent()
            if absent and not gone:
                return absent
            if gone and not absent:
                return f"it has not noticed the loss of {', '.join(sorted(gone))}"
            return health.degraded() or (
                self._mounted.unscrubbed() if isinstance(self._mounted, Scrubs) else ""
            )
        except Exception as error:  # an answer that can't be read is none, and the next one may be
            return f"no answer: {_said(error)}"

    def unhealthy(self) -> str:
        """Return what the file system lacks by its last answers; "" once it is healthy, or nothing has
        happened.

        Nobody needs to wait for it, either, after an event that could not be done.
        """
        if self.failure or not self.happened or healthy_since(self.happened, self.health) is not None:
            return ""
        return next((answer.words for answer in reversed(self.health) if answer.words), UNKNOWN)

    def doubts(self) -> list[Doubt]:
        """Return which events were late, or did not happen."""
        happened = [entry.event for entry in self.happened]
        late = [entry for entry in self.happened if entry.late_s > self._late_s]
        missed = [EVENTS.missed(event=event.text) for event in self.planned if event not in happened]
        return [*(EVENTS.late(event=entry.event.text, late_s=entry.late_s) for entry in late), *missed]


def _said(error: Exception) -> str:
    """Return the sentence of an error; one that is not ours has only a name and a detail."""
    return str(error) if isinstance(error, PerjouleError) else f"{type(error).__name__}: {error}"
