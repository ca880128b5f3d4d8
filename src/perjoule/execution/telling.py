"""Tells those who watch what a run does: its notices and, once a second, the last sample of each meter, into
a file.

`perjoule.store.progress` defines the file. Rates and watts are computed by whoever reads it.
"""

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule import drivers
from perjoule.execution.notices import Notice, Observer
from perjoule.execution.remaining import Remaining
from perjoule.machine import processes
from perjoule.model import Channel, Trial
from perjoule.model.errors import PerjouleError
from perjoule.store import Results, progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State

SHOWN = ("power", "energy", "cpu", "network_sent", "network_received")  # quantities that a watcher sees
END_S = 5.0  # for which the last state is waited for


@contextmanager
def telling(name: str, results: Results, remaining: Remaining, observe: Observer) -> Generator[Observer]:
    """Write the progress of a run during the block; yields what takes its notices, counts its trials, and
    passes them on.

    Args:
        name: of the campaign.
        results: its folder, held.
        remaining: the account of the trials that are missing.
        observe: who else wants the notices.
    """
    teller = _Teller(results, name, remaining)

    def both(notice: Notice) -> None:
        teller(notice)
        observe(notice)

    ended = "done"
    try:
        yield both
    except PerjouleError as error:
        ended = str(error)
        raise
    except BaseException as error:
        ended = "interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__
        raise
    finally:
        teller.end(ended)


class _Teller:
    def __init__(self, results: Results, name: str, remaining: Remaining) -> None:
        self._file, self._remaining = ProgressFile(results.here), remaining
        self._kept_count = len(results.done() - remaining.trials)
        self._phase, self._phase_began_s = "", time.monotonic()
        self._channels: dict[Channel, int] = {}
        self._notice: Notice | None = None
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._file.append(Line(run=RunProcess(progress.VERSION, processes.own(), name, time.time())))
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)
        self._thread.start()

    def __call__(self, notice: Notice) -> None:
        """Take a notice."""
        with self._lock:
            match notice.kind:
                case "deploy":
                    self._notice = None
                    self._file.append(Line(load=RunningLoad(notice.text)))
                    self._enter("bringing it up")
                case "deployed" | "note":
                    self._file.append(Line(note=notice.text))
                case "trial":
                    assert notice.trial is not None
                    self._notice = notice
                    self._file.append(Line(load=_load_of(notice.trial, notice)))
                    self._enter("")
                case "phase":
                    self._enter(notice.text)
                case "settled":
                    assert notice.trial is not None
                    self._remaining.drop(notice.trial.id)
                case "kept":
                    assert notice.trial is not None
                    self._notice = None
                    self._remaining.keep(notice.trial.id)
                    self._enter("kept")
            self._state()

    def end(self, how: str) -> None:
        """Write how the run ended."""
        self._ending.set()
        self._thread.join(END_S)
        with self._lock:
            self._notice = None
            self._enter("")
            self._state()
            self._file.append(Line(ended=how))
            self._file.close()

    def _tell(self) -> None:
        while not self._ending.wait(progress.STATE_S):
            with self._lock:
                self._state()

    def _enter(self, phase: str) -> None:
        self._phase, self._phase_began_s = phase, time.monotonic()

    def _state(self) -> None:
        latest: Mapping[Channel, tuple[float, float, float]] = self._notice.latest() if self._notice else {}
        visible = {channel: sample for channel, sample in latest.items() if channel.quantity in SHOWN}
        if new := tuple(channel for channel in visible if channel not in self._channels):
            self._channels |= {channel: number for number, channel in enumerate(new, len(self._channels))}
            self._file.append(Line(channels=new))
        samples = tuple((self._channels[channel], t_s, value) for channel, (t_s, value, _) in visible.items())
        state = State(
            time.monotonic(),
            time.time(),
            self._phase,
            self._phase_began_s,
            self._kept_count + self._remaining.kept_count,
            self._kept_count + self._remaining.trials_count,
            self._remaining.left_s(),
            samples,
            # as texts: whoever watches reads no ids
            tuple(map(str, dict.fromkeys(self._notice.doubts()))) if self._notice else (),
        )
        self._file.append(Line(state=state))


def _load_of(trial: Trial, notice: Notice) -> RunningLoad:
    hosts = notice.hosts
    assert hosts is not None
    return RunningLoad(
        trial.filesystem.label,
        trial.id,
        trial.filesystem.label,
        trial.workload.label,
        trial.clients_count,
        trial.repetition,
        hosts.scale,
        tuple(LoadHost(host.name, host.role, host.cpu_capacity_cores) for host in hosts.all),
        tuple(host.name for host in hosts.clients[: trial.clients_count]),
        tuple(host.name for host in hosts.all if host.name in notice.servers),
        drivers.reality(trial),
    )
