"""Counters of hosts are read once for all meters that want them at the same rate."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Counters
from perjoule.meters._counting import counting
from perjoule.testbeds._kernel import OpenText
from scripted import ScriptedHost


class Counted(ScriptedHost):
    """A host that counts how often it was read."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.reads_count = 0

    def counters(self) -> Counters:
        self.reads_count += 1
        return Counters(time.monotonic(), cpu_s=float(self.reads_count))


class Taken:
    """A meter that keeps what it gets."""

    def __init__(self, wanted_count: int = 10) -> None:
        self.rounds: list[Mapping[str, Counters]] = []
        self.enough, self._wanted_count = threading.Event(), wanted_count

    def take(self, readings: Mapping[str, Counters]) -> None:
        self.rounds.append(readings)
        if len(self.rounds) >= self._wanted_count:
            self.enough.set()


def read_together(rates_hz: tuple[float, float]) -> tuple[list[Counted], Taken, Taken]:
    hosts = [Counted(f"storage-{n}") for n in range(1, 4)]
    all_of_them, some = Taken(), Taken()
    with (
        counting("system", rates_hz[0], hosts, all_of_them.take),
        counting("modelled", rates_hz[1], hosts[:2], some.take),
    ):
        assert all_of_them.enough.wait(10)
        assert some.enough.wait(10)
    return hosts, all_of_them, some


def test_two_meters_at_one_rate_share_each_reading() -> None:
    hosts, all_of_them, some = read_together((200, 200))
    assert hosts[2].reads_count == len(all_of_them.rounds)
    # the second reads by itself only when it comes and when it goes
    assert hosts[0].reads_count <= len(all_of_them.rounds) + 2
    shared = {id(r["storage-1"]) for r in all_of_them.rounds} & {id(r["storage-1"]) for r in some.rounds}
    assert len(shared) == len(some.rounds) - 2
    assert all(set(r) == {"storage-1", "storage-2"} for r in some.rounds)


def test_meters_at_different_rates_read_by_themselves() -> None:
    hosts, all_of_them, some = read_together((200, 400))
    assert hosts[0].reads_count == len(all_of_them.rounds) + len(some.rounds)


class Slow(ScriptedHost):
    """A host that takes the time of a reading some while after its counts."""

    def __init__(self) -> None:
        super().__init__("storage-1")
        self.count = 0
        self.readings: list[Counters] = []

    def counters(self) -> Counters:
        self.count += 1
        count = self.count
        time.sleep(random.uniform(0, 0.004))
        self.readings.append(Counters(time.monotonic(), cpu_s=float(count)))
        return self.readings[-1]


def test_a_later_reading_never_has_fewer_counts_whoever_reads() -> None:
    host, seldom, often = Slow(), Taken(20), Taken(20)
    with counting("system", 100, [host], seldom.take), counting("modelled", 250, [host], often.take):
        assert seldom.enough.wait(10)
        assert often.enough.wait(10)
    by_time = sorted(host.readings, key=lambda reading: reading.t_s)
    assert [reading.cpu_s for reading in by_time] == list(range(1, len(by_time) + 1))


def test_hosts_of_the_same_name_elsewhere_are_other_hosts() -> None:
    one, other = Counted("storage-1"), Counted("storage-1")
    taken, elsewhere = Taken(), Taken()
    with counting("system", 200, [one], taken.take), counting("system", 200, [other], elsewhere.take):
        assert taken.enough.wait(10)
        assert elsewhere.enough.wait(10)
    assert one.reads_count == len(taken.rounds)
    assert other.reads_count == len(elsewhere.rounds)


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_each_meter_is_read_at_both_ends_whichever_ends_first(first_ends_first: bool) -> None:
    host, takers = Counted("storage-1"), [Taken(), Taken()]
    stacks = [ExitStack() for _ in takers]
    for stack, taker in zip(stacks, takers, strict=True):
        stack.enter_context(counting("system", 0.01, [host], taker.take))
    for stack in stacks if first_ends_first else stacks[::-1]:
        stack.close()
    assert [len(taker.rounds) for taker in takers] == [2, 2]
    assert "counters" not in {thread.name for thread in threading.enumerate()}


def test_a_meter_that_fails_does_not_end_another() -> None:
    host, well = Counted("storage-1"), Taken(20)

    def ill(readings: Mapping[str, Counters]) -> None:
        if host.reads_count > 5:
            raise ZeroDivisionError

    with (
        counting("system", 200, [host], well.take),
        pytest.raises(ZeroDivisionError),
        counting("modelled", 200, [host], ill),
    ):
        assert well.enough.wait(10)
    assert len(well.rounds) >= 20


def test_a_fault_in_a_host_is_raised_and_not_lost_in_the_thread() -> None:
    class Faulty(Counted):
        def counters(self) -> Counters:
            if self.reads_count:
                raise TypeError("a fault of ours")
            return super().counters()

    with (
        pytest.raises(TypeError, match="a fault of ours"),
        counting("system", 200, [Faulty("storage-1")], Taken().take),
    ):
        pass


def test_a_kernel_s_text_is_read_again_each_time_and_found_again_when_it_was_gone(tmp_path: Path) -> None:
    file = tmp_path / "cpu.stat"
    file.write_text("usage_usec 1\n")
    kept = OpenText(file)
    assert kept.text() == "usage_usec 1\n"
    file.write_text("usage_usec 2\n")
    assert kept.text() == "usage_usec 2\n"
    kept.close()
    file.unlink()
    with pytest.raises(FileNotFoundError):
        kept.text()
    file.write_text("usage_usec 3\n")
    assert kept.text() == "usage_usec 3\n"


def test_all_hosts_are_queried_for_their_counters_before_any_has_answered() -> None:
    order: list[str] = []

    class Asked(ScriptedHost):
        def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
            order.append(f"ask {self.name}")
            return lambda: order.append(f"hear {self.name}") or Counters(0.0)

    with counting("system", 0.001, [Asked("h1"), Asked("h2")], lambda _: None):
        assert order == ["ask h1", "ask h2", "hear h1", "hear h2"]


def test_context_switches_are_requested_by_those_who_take_them() -> None:
    wanted: list[bool] = []

    class Asked(ScriptedHost):
        def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
            wanted.append(switches)
            return lambda: Counters(0.0)

    with counting("system", 0.001, [host := Asked("h1")], lambda _: None, switches=True):
        with counting("modelled", 0.001, [host], lambda _: None):
            assert wanted == [True, False]
        assert wanted == [True, False, False]
    assert wanted == [True, False, False, True]


def test_a_host_that_is_slow_to_answer_delays_no_other_and_none_of_its_own_samples() -> None:
    over = threading.Event()

    class Slow(Counted):
        """It reads its counters at once, and answers when the other host has been read three times more."""

        def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
            found, wanted_count = self.counters(), quick.reads_count + 3

            def answered() -> Counters:
                while quick.reads_count < wanted_count and self.reads_count > 1 and not over.wait(0.001):
                    pass
                return found

            return answered

    quick, slow, taken = Counted("storage-1"), Slow("storage-2"), Taken(20)
    with counting("system", 200, [quick, slow], taken.take):
        heard = taken.enough.wait(10)
        over.set()
    assert heard
    assert [readings["storage-2"].cpu_s for readings in taken.rounds] == list(range(1, slow.reads_count + 1))
    assert quick.reads_count == slow.reads_count


def test_a_meter_that_ends_while_another_continues_has_heard_all_that_was_read_for_it() -> None:
    class Late(Counted):
        def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
            found = self.counters()
            return lambda: time.sleep(0.02) or found

    host, other, taken = Late("storage-1"), Taken(), Taken(8)
    with counting("system", 100, [host], other.take):
        with counting("modelled", 100, [host], taken.take):
            assert taken.enough.wait(10)
        count = len(taken.rounds)
        assert other.enough.wait(10)
    assert len(taken.rounds) == count
    numbers = [readings["storage-1"].cpu_s or 0 for readings in taken.rounds]
    assert numbers == sorted(set(numbers))
