"""Daemons watched together, with processes that only pretend."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Process
from perjoule.filesystems._daemons import Daemons, last_words
from perjoule.machine.each import each
from perjoule.model.errors import DaemonEnded, HostLost, NotAble, NotReady, WorkloadError
from scripted import ScriptedHost, ScriptedProcess


class Pretender(ScriptedHost):
    def __init__(self, said: str) -> None:
        super().__init__("storage-1")
        self.process = ScriptedProcess(None, said)

    def starts(self, words: Sequence[str], log: Path) -> Process:
        return self.process


def test_a_daemon_that_ended_is_named_with_its_last_words() -> None:
    daemons, host = Daemons(1.0), Pretender("loading\n\ncan't bind: address in use\n")
    daemons.start(host, "master", ["master"], log=Path("/srv/log"))
    daemons.alive()
    host.process.code = 1
    with pytest.raises(
        DaemonEnded,
        match=r"storage-1: master .* 1; .* loading \| can't bind: address in use",
    ):
        daemons.alive()


def test_a_daemon_that_ended_with_its_host_is_not_to_blame() -> None:
    class Lost(Pretender):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            raise HostLost("the connection was lost", where="storage-1 (10.0.0.1)")

    daemons, host = Daemons(1.0), Lost("loading")
    daemons.start(host, "master", ["master"], log=Path("/srv/log"))
    daemons.alive()
    host.process.code = -9
    with pytest.raises(HostLost, match=r"^storage-1 \(10.0.0.1\)"):
        daemons.alive()


def test_waiting_in_vain_ends_with_the_words_of_the_last_try() -> None:
    def refused() -> bool:
        raise WorkloadError("no route to host")

    with pytest.raises(NotReady, match=r"a mount .*0.05 s: no route to host"):
        Daemons(0.05).wait("a mount", refused)


def test_waiting_in_vain_for_what_is_lacking_ends_with_its_last_words() -> None:
    said = ["no gateway answers on storage-1, storage-2"]
    with pytest.raises(NotReady, match=r"gateways .*0.05 s: no gateway answers on storage-2"):
        Daemons(0.05).wait_out("gateways", lambda: said.pop() if said else "no gateway answers on storage-2")
    asked: list[str] = []
    Daemons(0.0).wait_out("gateways", lambda: asked.append("all there?") or "")
    assert asked == ["all there?"]


def test_waiting_ends_at_once_when_a_daemon_dies() -> None:
    daemons, host = Daemons(60.0), Pretender("out of memory")
    daemons.start(host, "master", ["master"], log=Path("/srv/log"))
    host.process.code = -9
    with pytest.raises(DaemonEnded, match="-9"):
        daemons.wait("a mount", lambda: False)


def test_what_is_ready_is_polled_once_and_not_waited_for() -> None:
    asked: list[str] = []
    Daemons(0.0).wait("a mount", lambda: not asked.append("ready?"))
    assert asked == ["ready?"]


class Clock:
    """A clock that advances only when the test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses_s: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, pause_s: float) -> None:
        self.pauses_s.append(pause_s)
        self.now_s += pause_s


def test_a_pause_between_looks_is_no_shorter_than_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("perjoule.filesystems._daemons.time", clock)
    looks_s = iter([0.01, 5.0, 0.5, 0.0])

    def ready() -> bool:
        clock.now_s += (look_s := next(looks_s))
        return look_s == 0

    Daemons(60.0).wait("a mount", ready, every_s=0.25)
    assert clock.pauses_s == [0.25, 5.0, 0.5]


def test_what_fails_at_first_is_repeated_until_it_works() -> None:
    failures = [WorkloadError("no pool yet"), WorkloadError("no quorum")]

    def create() -> None:
        if failures:
            raise failures.pop()

    Daemons(60.0).retry("a volume", create, every_s=0)
    assert failures == []
    failures.append(WorkloadError("no pool yet"))
    with pytest.raises(NotReady, match=r"a volume .*no pool yet"):
        Daemons(-1.0).retry("a volume", create)


def test_all_daemons_are_stopped() -> None:
    daemons, hosts = Daemons(1.0), (Pretender("a"), Pretender("b"))
    for host in hosts:
        daemons.start(host, "brick", ["brick"], log=Path("/srv/log"))
    daemons.stop(timeout_s=0.1)
    assert [host.process.stopped_count for host in hosts] == [1, 1]


def test_results_come_in_order_and_the_first_error_is_raised() -> None:
    assert each([3, 1, 2], str) == ["3", "1", "2"]
    with pytest.raises(ZeroDivisionError):
        each([1, 0], lambda n: 1 // n)


def test_silence_is_nothing() -> None:
    assert last_words("\n \n") == "nothing"


def test_what_was_killed_on_purpose_is_not_missed_and_can_be_started_again() -> None:
    began: list[tuple[str, ...]] = []

    class Storage(ScriptedHost):
        def starts(self, words: Sequence[str], log: Path) -> Process:
            began.append((self.name, *words, str(log)))
            return ScriptedProcess(None)

    daemons, hosts = Daemons(1.0), [Storage("storage-1"), Storage("storage-2")]
    mounts = daemons.start(hosts[1], "mount", ["mount"], log=Path("/srv/mount.log"))
    for host in hosts:
        daemons.start(host, "chunks", ["chunks", "-f"], log=Path("/srv/log"))
    chunks = list(daemons)
    daemons.kill(hosts[1], [mounts])
    daemons.alive()
    assert [daemon.process.returncode for daemon in chunks] == [None, None, -9]
    with pytest.raises(NotAble, match=r"^storage-2"):
        daemons.kill(hosts[1], [mounts])
    daemons.revive(hosts[1])
    assert began[-1] == ("storage-2", "chunks", "-f", "/srv/log")
    assert [(daemon.name, daemon.host.name) for daemon in daemons][-1] == ("chunks", "storage-2")
    daemons.revive(hosts[1])  # nothing is left to start
    assert len(began) == 4
