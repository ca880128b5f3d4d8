"""The wait for quiet servers after a load, on hosts whose counters are scripted and whose clock is ours."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from perjoule.drivers.protocols import Counters, Hosts, WorksInBackground
from perjoule.execution import settling
from perjoule.execution.settling import tail
from perjoule.model.errors import TransientError, WorkloadError
from scripted import ScriptedMount

MIB = 1024**2


class Working(ScriptedMount, WorksInBackground):
    """A file system whose work and daemons are as given."""

    def __init__(self, work: Callable[[], str], daemons: Callable[[], object]) -> None:
        super().__init__()
        self.work, self.daemons = work, daemons

    def busy(self) -> str:
        return self.work()

    def alive(self) -> None:
        self.daemons()


class Server:
    """A host that writes this many bytes per second until some moment."""

    role, name, directory = "storage", "storage-1", Path("/run/storage-1")

    def __init__(self, clock: "Clock", *, rate: float = 0.0, until_s: float = 0.0) -> None:
        self.clock, self.rate, self.until_s = clock, rate, until_s

    def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
        written = self.rate * min(self.clock.now_s, self.until_s)
        return lambda: Counters(self.clock.now_s, 0.0, 0, 0, 0, round(written))


class Gappy(Server):
    """One that does not answer from time to time, as over SSH; before this it had moved much."""

    def __init__(
        self, clock: "Clock", *gaps: tuple[float, float], rate: float = 0.0, until_s: float = 0.0
    ) -> None:
        super().__init__(clock, rate=rate, until_s=until_s)
        self.gaps = gaps

    def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
        if any(began_s <= self.clock.now_s < ended_s for began_s, ended_s in self.gaps):
            return lambda: Counters(self.clock.now_s)
        said = super().ask_counters()()
        return lambda: replace(said, network_received_bytes=5 * 10**12)


class Clock:
    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(settling, "time", found)
    return found


def nothing() -> str:
    return ""


def after(
    server: Server,
    *,
    busy: Callable[[], str] = nothing,
    alive: Callable[[], object] = nothing,
    quiet_s: float = 30.0,
    idle: float = 0.0,
) -> settling.Tail:
    hosts = cast("Hosts", SimpleNamespace(servers=(server,), all=(server,)))
    mounted = Working(busy, alive)
    return tail(hosts, mounted, settle_s=1.0, quiet_s=quiet_s, idle_bytes_per_s=idle)


def test_a_quiet_file_system_is_left_alone_after_the_settling_time(clock: Clock) -> None:
    found = after(Server(clock))
    assert (found.phase.began_s, found.phase.ended_s, found.phase.note, found.doubts) == (0.0, 1.0, "", ())


def test_servers_that_go_on_writing_are_waited_for_and_named(clock: Clock) -> None:
    found = after(Server(clock, rate=50 * MIB, until_s=4.1))
    assert 4.1 <= found.phase.ended_s <= 4.6
    assert found.phase.note == "205 MiB written to the servers' disks"
    assert found.doubts == ()


def test_what_the_file_system_reports_is_waited_for_and_named(clock: Clock) -> None:
    found = after(Server(clock), busy=lambda: "2 PGs scrubbing" if clock.now_s < 5 else "")
    assert found.phase.note == "2 PGs scrubbing"
    assert found.phase.ended_s == pytest.approx(5, abs=0.3)
    assert found.doubts == ()


@pytest.mark.parametrize(
    ("rate", "said", "what"),
    [(50 * MIB, "", "servers move 50 MiB/s"), (0, "rebalance in progress", "rebalance in progress")],
)
def test_the_wait_has_an_end_and_then_a_doubt(clock: Clock, rate: float, said: str, what: str) -> None:
    found = after(Server(clock, rate=rate, until_s=1e9), busy=lambda: said, quiet_s=10.0)
    assert found.phase.ended_s == pytest.approx(10, abs=0.3)
    assert found.doubts == (f"still busy 10 s after the load, gave up waiting: {what}",)


def test_what_waits_for_a_daemon_that_has_died_is_not_waited_for(clock: Clock) -> None:
    def dead() -> None:
        raise TransientError("a brick died")

    with pytest.raises(TransientError, match="a brick died"):
        after(Server(clock), busy=lambda: "healing files", alive=dead)
    assert clock.now_s < 2


def test_after_events_the_wait_is_for_health(clock: Clock) -> None:
    """A rebuild that outlasts its load belongs to its trial: the tail ends after it."""
    server = Server(clock, rate=50 * MIB, until_s=5.0)
    hosts = cast("Hosts", SimpleNamespace(servers=(server,), all=(server,)))
    mounted = Working(lambda: pytest.fail("asked"), nothing)

    def unhealthy() -> str:
        return "rebuilding" if clock.now_s < 8 else ""

    found = tail(hosts, mounted, settle_s=1.0, quiet_s=30.0, idle_bytes_per_s=0.0, unhealthy=unhealthy)
    assert found.phase.ended_s == pytest.approx(8, abs=0.3)
    assert found.phase.note == "250 MiB written to the servers' disks; rebuilding"
    assert found.doubts == ()


def test_with_no_wait_configured_the_file_system_is_not_polled(clock: Clock) -> None:
    found = after(Server(clock, rate=50 * MIB, until_s=1e9), busy=lambda: pytest.fail("asked"), quiet_s=0.0)
    assert (found.phase.ended_s, found.doubts) == (1.0, ())


def test_what_hosts_move_idle_too_is_not_work(clock: Clock) -> None:
    assert after(Server(clock, rate=50 * MIB, until_s=1e9), idle=50 * MIB).phase.ended_s == 1.0


def test_a_file_system_that_can_t_tell_is_a_doubt(clock: Clock) -> None:
    def gone() -> str:
        raise WorkloadError("no answer")

    assert after(Server(clock), busy=gone).doubts == (
        "can't tell whether the file system is quiet: no answer",
    )


def together(*servers: Server) -> Hosts:
    for number, server in enumerate(servers, 1):
        server.name = f"storage-{number}"
    return cast("Hosts", SimpleNamespace(servers=servers, all=servers))


@pytest.mark.parametrize("gap", [(0.0, 0.1), (0.9, 1.1), (0.2, 1.1)], ids=["before", "after", "both"])
def test_a_reading_that_is_missing_is_neither_bytes_nor_quiet(clock: Clock, gap: tuple[float, float]) -> None:
    """Not 5 TB that have moved since the gap, and not as many back, which would hide what the server still
    writes.
    """
    assert settling.rate_bytes_per_s(together(Gappy(clock, gap)), 1.0) == 0
    clock.now_s = 0.0
    found = after(Gappy(clock, gap, rate=50 * MIB, until_s=3.1))
    assert 3.1 <= found.phase.ended_s <= 3.6
    assert found.phase.note == ("155 MiB written to the servers' disks" if gap[0] else "")
    assert found.doubts == ()


def test_a_missing_reading_hides_no_other_server_and_is_looked_at_again(clock: Clock) -> None:
    """Both servers are quiet, but until 2.5 s nobody knows it of one of them."""
    hosts = together(Server(clock), Gappy(clock, (0.4, 2.5)))
    mounted = Working(nothing, nothing)
    found = tail(hosts, mounted, settle_s=1.0, quiet_s=30.0, idle_bytes_per_s=0.0)
    assert found.phase.ended_s == pytest.approx(2.75, abs=0.3)
    assert found.doubts == ()


def test_a_server_that_never_answers_again_is_a_doubt_with_its_name(clock: Clock) -> None:
    found = after(Gappy(clock, (0.4, 1e9)), quiet_s=10.0)
    assert found.doubts == (
        "still busy 10 s after the load, gave up waiting: what storage-1 moves is unknown",
    )


def test_a_server_without_counters_is_not_waited_for(clock: Clock) -> None:
    assert after(Gappy(clock, (0.0, 1e9))).phase.ended_s == 1.0


def test_what_servers_move_idle_is_looked_at_again_after_a_gap(clock: Clock) -> None:
    rate = settling.rate_bytes_per_s(together(Gappy(clock, (0.9, 1.1), rate=50 * MIB, until_s=1e9)), 1.0)
    assert rate == pytest.approx(50 * MIB)


def test_a_counter_that_began_again_has_not_moved_backwards(clock: Clock) -> None:
    """The server that restarts its counters does not hide what the other one writes."""

    class Restarted(Server):
        def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
            return lambda: Counters(self.clock.now_s, 0.0, 0, 0, 0, 10**12 if self.clock.now_s < 0.9 else 0)

    hosts = together(Server(clock, rate=50 * MIB, until_s=3.1), Restarted(clock))
    mounted = Working(nothing, nothing)
    found = tail(hosts, mounted, settle_s=1.0, quiet_s=30.0, idle_bytes_per_s=0.0)
    assert 3.1 <= found.phase.ended_s <= 3.6
