"""Events of a trial and the questions after them, on a file system whose answers are scripted."""

import threading
import time

import pytest

from perjoule.drivers.protocols import (
    Growable,
    Host,
    Hosts,
    Killable,
    LosesDisks,
    LosesPackets,
    Scrubs,
    SlowsDisks,
    TakesLinkDown,
    TakesSnapshots,
    TellsHealth,
    TellsHeld,
    able,
)
from perjoule.execution import happening
from perjoule.execution.happening import LATE_OUTSIDE_S, UNKNOWN, Course
from perjoule.model import Happened, Health, Json, TrialEvent, healthy_since
from perjoule.model.errors import EventFailed, TransientError, WorkloadError
from scripted import ScriptedHost, ScriptedMount


class Server(ScriptedHost, LosesPackets, SlowsDisks, TakesLinkDown):
    def __init__(self) -> None:
        super().__init__("storage-1")
        self.done: list[str] = []

    def connect(self, *, up: bool) -> None:
        self.done.append("up" if up else "down")

    def slow_disks(self, factor: float) -> None:
        self.done.append(f"slow {factor:g}")

    def lose_packets(self, loss_ratio: float) -> None:
        self.done.append(f"lose {loss_ratio:g}")


class Healing(ScriptedMount, Growable, Killable, LosesDisks, Scrubs, TakesSnapshots, TellsHealth, TellsHeld):
    """It misses a server from the moment at which that is killed until it is back, and then heals for
    `heals_s`.
    """

    def __init__(self, host: Server, *, heals_s: float = 0.0, notices: bool = True) -> None:
        super().__init__(host)
        self.server, self.heals_s, self.notices, self.gone, self.healed_s = host, heals_s, notices, False, 0.0
        self.command_s, self.checked_s = 0.0, 0.0  # how long a command takes, and when its scrub ends
        self.commanded_s = 0.0  # when the first command began

    def _command(self) -> None:
        self.commanded_s = self.commanded_s or time.monotonic()
        time.sleep(self.command_s)

    def scrub(self) -> None:
        self.server.done.append("scrub")
        self._command()
        self.checked_s = time.monotonic() + self.heals_s

    def unscrubbed(self) -> str:
        return "a PG to scrub" if time.monotonic() < self.checked_s else ""

    def snapshot(self, name: str) -> None:
        self.server.done.append(name)

    def kill(self, host: Host) -> None:
        self.gone = True
        self.server.done.append("kill")

    def revive(self, host: Host) -> None:
        self.gone, self.healed_s = False, time.monotonic() + self.heals_s
        self.server.done.append("revive")

    def add(self, host: Host) -> None:
        self.server.done.append(f"add {host.name}")
        self._command()
        self.healed_s = time.monotonic() + self.heals_s

    def held_bytes(self, host: Host) -> int:
        self.server.done.append("weigh")
        return 0 if self.gone else 512

    def erase(self, host: Host) -> None:
        assert self.gone
        self.server.done.append("erase")

    def replace(self, host: Host) -> None:
        self.gone, self.healed_s = False, time.monotonic() + self.heals_s
        self.server.done.append("replace")

    def absent(self) -> str:
        return "no server on storage-1" if self.gone and self.notices else ""

    def degraded(self) -> str:
        return "healing" if time.monotonic() < self.healed_s else ""


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happening, "LOOK_S", 0.01)


def events(*asked: tuple[float, str]) -> tuple[TrialEvent, ...]:
    def one(at_s: float, kind: str) -> TrialEvent:
        host = "" if kind in ("scrub", "snapshot") else "storage-1"
        options: dict[str, dict[str, Json]] = {"slow": {"factor": 10.0}, "lossy": {"loss_ratio": 0.05}}
        return TrialEvent(at_s, kind, host, options.get(kind, {}))

    return tuple(one(*wanted) for wanted in asked)


def wait_until_healthy(course: Course) -> None:
    until_s = time.monotonic() + 20
    while course.unhealthy():
        assert time.monotonic() < until_s, course.health
        time.sleep(0.005)


def assert_fails(course: Course, reason: str) -> None:
    """A load that lasts until an event could not be done fails with this reason."""

    def load() -> None:
        while course.failure is None:
            time.sleep(0.005)

    with pytest.raises(EventFailed, match=reason), course.running(), course.explained():
        load()


def test_events_are_done_in_order_and_the_file_system_is_polled_until_it_is_healthy() -> None:
    host = Server()
    mounted = Healing(host, heals_s=0.1)
    course = Course(events((0.02, "kill"), (0.05, "back")), Hosts((host,)), mounted)
    before_s = time.monotonic()
    with course.running(), course.explained():
        began_s = time.monotonic()
        while len(course.happened) < 2:
            time.sleep(0.005)
        course.end_load()
        wait_until_healthy(course)
    assert host.done == ["kill", "revive"]
    assert [one.event.kind for one in course.happened] == ["kill", "back"]
    assert all(one.planned_s <= one.began_s <= one.ended_s for one in course.happened)
    first, second = (one.planned_s for one in course.happened)
    assert before_s <= first - 0.02 <= began_s
    assert second - first == pytest.approx(0.03)
    healthy_s = healthy_since(course.happened, course.health)
    assert healthy_s is not None
    assert healthy_s >= mounted.healed_s
    assert all(one.asked_s >= course.happened[0].began_s for one in course.health)


def test_back_undoes_all_that_was_done_to_a_host_since_it_was_back_and_no_more() -> None:
    host = Server()
    asked = events((0.0, "cut"), (0.0, "back"), (0.0, "slow"), (0.0, "kill"), (0.0, "back"))
    course = Course(asked, Hosts((host,)), Healing(host))
    with course.running():
        while len(course.happened) < 5:
            time.sleep(0.005)
    assert host.done == ["down", "up", "slow 10", "kill", "slow 1", "revive"]


def test_a_failed_disk_is_weighed_before_erased_after_its_daemons_ended_and_replaced() -> None:
    host = Server()
    course = Course(events((0.05, "fail"), (0.1, "slow"), (0.15, "back")), Hosts((host,)), Healing(host))
    with course.running(), course.explained():
        while len(host.done) < 6:
            time.sleep(0.005)
    assert host.done == ["weigh", "kill", "erase", "slow 10", "slow 1", "replace"]
    assert [one.lost_bytes for one in course.happened] == [512, None, None]


def test_a_disk_that_fails_soon_after_another_event_is_weighed_meanwhile() -> None:
    """Each waits for the other, so neither was first done with."""
    weighing, slowed = threading.Event(), threading.Event()

    class Slow(Server):
        def slow_disks(self, factor: float) -> None:
            weighing.wait(5)
            super().slow_disks(factor)
            slowed.set()

    class Weighed(Healing):
        def held_bytes(self, host: Host) -> int:
            self.server.done.append("begin to weigh")
            weighing.set()
            slowed.wait(5)
            return super().held_bytes(host)

    host = Slow()
    course = Course(events((0.05, "slow"), (0.1, "fail")), Hosts((host,)), Weighed(host))
    with course.running(), course.explained():
        while len(course.happened) < 2:
            time.sleep(0.005)
    assert [one.lost_bytes for one in course.happened] == [None, 512]
    assert host.done == ["begin to weigh", "slow 10", "weigh", "kill", "erase"]


def test_a_disk_that_cannot_be_weighed_fails_the_trial() -> None:
    class Silent(Healing):
        def held_bytes(self, host: Host) -> int:
            raise WorkloadError("no answer", where=host.name)

    host = Server()
    assert_fails(
        Course(events((0.05, "fail")), Hosts((host,)), Silent(host)),
        "fail storage-1 could not be done: .*no answer",
    )
    assert host.done == []


def test_a_host_that_joins_is_added_once_and_weighed_in_the_end() -> None:
    host = Server()
    mounted = Healing(host, heals_s=0.1)
    mounted.command_s = 0.2
    course = Course(events((0.02, "add"), (0.5, "slow")), Hosts((host,)), mounted)
    with course.running(), course.explained():
        while len(course.happened) < 2:
            time.sleep(0.005)
        wait_until_healthy(course)
        assert course.weigh() == ()
    assert host.done == ["add storage-1", "slow 10", "weigh"]
    assert [one.gained_bytes for one in course.happened] == [512, None]
    assert course.happened[0].ended_s <= mounted.commanded_s
    assert "add storage-1 is under way" in {one.words for one in course.health}


def test_events_of_the_same_time_happen_together_before_what_takes_longer() -> None:
    host = Server()
    mounted = Healing(host)
    mounted.command_s = 0.2
    course = Course(
        events((0.02, "add"), (0.02, "slow"), (0.02, "scrub"), (0.1, "kill")), Hosts((host,)), mounted
    )
    with course.running(), course.explained():
        while len(course.happened) < 4:
            time.sleep(0.005)
    assert host.done == ["slow 10", "add storage-1", "scrub", "kill"]
    assert [one.event.kind for one in course.happened] == ["add", "slow", "scrub", "kill"]
    assert all(one.ended_s <= mounted.commanded_s for one in course.happened[:3])
    said = [one.words for one in course.health if one.asked_s < course.happened[3].began_s]
    assert {"add storage-1 is under way", "scrub is under way"} >= set(said)


def test_a_host_whose_content_is_unknown_has_a_doubt() -> None:
    class Silent(Healing):
        def held_bytes(self, host: Host) -> int:
            raise WorkloadError("no answer", where=host.name)

    host = Server()
    course = Course(events((0.0, "add")), Hosts((host,)), Silent(host))
    with course.running():
        while not course.happened:
            time.sleep(0.005)
    assert course.weigh() == ("can't tell what storage-1 has got: storage-1: no answer",)
    assert [one.gained_bytes for one in course.happened] == [None]


def test_a_file_system_that_none_can_join_fails_the_trial() -> None:
    host = ScriptedHost("storage-1")
    course = Course(events((0.0, "add")), Hosts((host,)), ScriptedMount(host))
    assert_fails(course, "add storage-1 could not be done: no host can join this file system")


def test_a_scrub_is_done_when_it_begins_and_the_file_system_is_healthy_when_it_has_ended() -> None:
    host = Server()
    mounted = Healing(host, heals_s=0.1)
    mounted.command_s = 0.2
    course = Course(events((0.02, "snapshot"), (0.03, "scrub")), Hosts((host,)), mounted)
    with course.running(), course.explained():
        while len(course.happened) < 2:
            time.sleep(0.005)
        wait_until_healthy(course)
    assert host.done == ["perjoule-1", "scrub"]
    assert mounted.hit is False  # what it lacks is not excused
    assert all(one.ended_s <= mounted.commanded_s for one in course.happened)
    healthy_s = healthy_since(course.happened, course.health)
    assert healthy_s is not None
    assert healthy_s >= mounted.checked_s > course.happened[-1].ended_s + 0.2
    assert {"scrub is under way", "a PG to scrub"} <= {one.words for one in course.health}


def test_each_snapshot_has_a_name_of_its_own() -> None:
    host = Server()
    course = Course(events((0.0, "snapshot"), (0.01, "snapshot")), Hosts((host,)), Healing(host))
    with course.running(), course.explained():
        while len(host.done) < 2:
            time.sleep(0.005)
    assert host.done == ["perjoule-1", "perjoule-2"]


def test_a_command_that_fails_fails_the_trial_with_its_reason() -> None:
    host = ScriptedHost("storage-1")
    course = Course(events((0.0, "scrub")), Hosts((host,)), ScriptedMount(host))
    assert_fails(course, "scrub could not be done: this file system has no scrub that a command begins")
    assert "" not in {one.words for one in course.health}


def test_a_lossy_link_loses_packets_until_its_host_is_back_and_the_host_is_not_missed() -> None:
    host = Server()
    course = Course(events((0.0, "lossy"), (0.1, "back")), Hosts((host,)), Healing(host))
    with course.running():
        while len(course.happened) < 2:
            time.sleep(0.005)
    assert host.done == ["lose 0.05", "lose 0"]
    assert {one.words for one in course.health} == {""}


def test_a_loss_that_the_file_system_has_not_noticed_is_not_health() -> None:
    host = Server()
    course = Course(events((0.0, "cut")), Hosts((host,)), Healing(host, notices=False))
    with course.running():
        while len(course.health) < 3:
            time.sleep(0.005)
    assert {one.words for one in course.health} == {"it has not noticed the loss of storage-1"}
    assert course.unhealthy()


def test_a_server_that_stays_away_and_is_not_needed_is_health() -> None:
    host = Server()
    course = Course(events((0.0, "kill")), Hosts((host,)), Healing(host))
    with course.running():
        while not course.happened:
            time.sleep(0.005)
        wait_until_healthy(course)


def test_no_answer_is_not_health() -> None:
    class Silent(Healing):
        def absent(self) -> str:
            raise TransientError("did not answer", where="mfsmaster")

    host = Server()
    course = Course(events((0.0, "slow")), Hosts((host,)), Silent(host))
    with course.running():
        while not course.health:
            time.sleep(0.005)
    assert course.health[0].words == "no answer: mfsmaster: did not answer"


def test_what_has_not_happened_when_the_load_ends_does_not_happen_and_is_a_doubt() -> None:
    host = Server()
    course = Course(events((60.0, "kill")), Hosts((host,)), Healing(host))
    with course.running():
        course.end_load()
    assert (host.done, course.happened, course.health) == ([], (), ())
    assert course.doubts() == ["kill storage-1 did not happen: the load ended before"]
    assert course.unhealthy() == ""


@pytest.mark.parametrize(
    ("options", "in_time_s", "late_s"), [({}, 0.049, 0.051), ({"late_s": LATE_OUTSIDE_S}, 0.199, 0.201)]
)
def test_a_late_event_is_a_doubt(options: dict[str, float], in_time_s: float, late_s: float) -> None:
    """50 ms on hosts of this machine, 200 ms over SSH: docs/how-to/events.md."""
    host = Server()
    (one,) = events((1.0, "cut"))
    course = Course((one,), Hosts((host,)), Healing(host), **options)
    course.happened = (Happened(one, 10.0, 10.01, 10.0 + in_time_s),)
    assert course.doubts() == []
    course.happened = (Happened(one, 10.0, 10.01, 10.0 + late_s),)
    assert course.doubts() == [f"cut storage-1 was done {late_s * 1e3:.0f} ms late"]


def test_a_load_that_fails_after_an_event_says_so_and_keeps_its_kind() -> None:
    host = Server()
    course = Course(events((0.0, "kill")), Hosts((host,)), Healing(host))

    def load() -> None:
        while not course.happened:
            time.sleep(0.005)
        raise TransientError("fio failed (error 5)", where="client-1", next="look")

    with (
        pytest.raises(
            TransientError, match=r"client-1: fio failed \(error 5\), \d+.\d s after kill storage-1; look"
        ),
        course.running(),
        course.explained(),
    ):
        load()


def test_an_event_that_can_not_be_done_fails_the_trial_with_its_reason() -> None:
    host = ScriptedHost("storage-1")  # one that has no link to cut
    course = Course(events((0.0, "cut")), Hosts((host,)), ScriptedMount(host))
    assert_fails(
        course, "cut storage-1 could not be done: storage-1: the link of this host can't be taken down"
    )


def test_without_events_nothing_is_polled() -> None:
    host = Server()
    course = Course((), Hosts((host,)), Healing(host))
    with course.running(), course.explained():
        time.sleep(0.05)
    assert (course.health, course.unhealthy(), course.doubts()) == ((), "", [])


def test_health_counts_from_the_first_of_the_answers_with_which_the_row_ends() -> None:
    (one,) = events((1.0, "kill"))
    happened = (Happened(one, 10.0, 10.0, 10.1),)

    def answers(*words: str) -> tuple[Health, ...]:
        return tuple(Health(10.2 + n, 10.5 + n, said) for n, said in enumerate(words))

    assert healthy_since(happened, answers("", "", "few", *[""] * 5)) == pytest.approx(13.5)
    assert healthy_since(happened, answers("few", *[""] * 4)) is None  # not sure
    assert healthy_since(happened, answers(*[""] * 5, "few")) is None
    before = (Health(10.05, 10.2), *answers(*[""] * 4))  # asked before it was done
    assert healthy_since(happened, before) is None
    assert healthy_since((), answers(*[""] * 5)) is None
    course = Course((one,), Hosts(()), ScriptedMount(ScriptedHost()))
    course.happened, course.health = happened, answers("")
    assert course.unhealthy() == UNKNOWN


def test_a_mount_without_daemons_of_ours_has_none_to_kill() -> None:
    with pytest.raises(WorkloadError, match="no daemons that perjoule started"):
        able(ScriptedMount(ScriptedHost()), Killable)


class Outlasting(Healing):
    """Its scrub takes longer than the load, and then can't be done."""

    error: Exception = TransientError("monitor refused: EPERM", where="ceph-mon")

    def scrub(self) -> None:
        time.sleep(0.2)
        raise self.error


def test_an_event_that_fails_after_the_load_has_ended_fails_the_trial_and_none_waits_for_it() -> None:
    host = Server()
    course = Course(events((0.0, "scrub")), Hosts((host,)), Outlasting(host))
    with course.running():
        while not course.happened:
            time.sleep(0.005)
        assert course.unhealthy() != ""
        course.end_load()
        while course.failure is None:
            time.sleep(0.005)
        assert course.unhealthy() == ""
    with pytest.raises(EventFailed, match=r"^scrub .*ceph-mon: monitor refused: EPERM"):
        course.require_done()


def test_what_an_event_has_begun_is_over_when_the_trial_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happening, "END_S", 0.01)
    host = Server()
    course = Course(events((0.0, "scrub")), Hosts((host,)), Outlasting(host))
    with course.running():
        while not course.happened:
            time.sleep(0.005)
    assert course.failure is not None


def test_who_interrupts_does_not_wait_for_what_an_event_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happening, "END_S", 0.01)
    host = Server()
    course = Course(events((0.0, "scrub")), Hosts((host,)), Outlasting(host))
    with pytest.raises(KeyboardInterrupt), course.running():
        while not course.happened:
            time.sleep(0.005)
        raise KeyboardInterrupt
    assert course.failure is None


def test_an_error_that_nobody_foresaw_fails_the_trial_with_its_name() -> None:
    host = Server()
    mounted = Outlasting(host)
    mounted.error = KeyError("pgs")
    assert_fails(
        Course(events((0.0, "scrub")), Hosts((host,)), mounted), "scrub could not be done: KeyError: 'pgs'"
    )


def test_an_answer_that_can_not_be_read_is_not_health_and_the_next_one_counts() -> None:
    class Garbled(Healing):
        answers = 0

        def absent(self) -> str:
            self.answers += 1
            if self.answers == 1:
                raise KeyError("pgs")
            return super().absent()

    host = Server()
    course = Course(events((0.0, "slow")), Hosts((host,)), Garbled(host))
    with course.running():
        while not course.happened:
            time.sleep(0.005)
        wait_until_healthy(course)
    assert course.health[0].words == "no answer: KeyError: 'pgs'"
