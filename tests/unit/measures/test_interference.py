"""What other programs take of the machine on which all hosts run is recorded and doubted."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from perjoule.drivers.protocols import Hosts
from perjoule.measures import interference
from perjoule.measures.points import points
from perjoule.meters.system import System, machine_channel
from perjoule.model import Phase
from perjoule.monitoring.recorder import Memory
from perjoule.testbeds._machine import ThisMachine, kernel_thread_s, working_s
from perjoule.trial.reading import Reading
from typed import as_written

CORES = {"cores_count": 2}
HOSTS = ("storage-1", "storage-2", "metadata-1", "client-1", "client-2")
DOUBT = (
    "other programs took about 30 % of this machine's CPUs during the load: stop them and repeat the trial"
)


def grown(made, component, cores, covers=()):
    """CPU time of the machine, of perjoule or of kernel threads that grows by this many cores."""
    t_s = np.arange(0.0, 30.25, 0.5)
    return made.series(machine_channel(component, covers), t_s, 3.0 + cores * t_s)


def shared(made, *, machine, own=0.02, hosts=0.2, kernel=0.0):
    """A machine with five hosts that take 0.2 cores each."""
    counted = [made.counter(host, "cpu", hosts) for host in HOSTS]
    kernel_threads = made.series(machine_channel("kernel", ()), [5.0, 25.0], [1.0, 1.0 + kernel * 10])
    return [*counted, grown(made, "machine", machine), grown(made, "perjoule", own), kernel_threads]


def test_what_hosts_perjoule_and_kernel_threads_do_not_explain_is_of_strangers(made):
    record = made.record(environment=CORES)
    assert interference.cpu_ratio(Reading(record, shared(made, machine=1.72, kernel=0.1))) == pytest.approx(
        0.3
    )
    (point,) = points(record, shared(made, machine=1.72, kernel=0.1))
    assert point.metrics["strangers_cpu_ratio"] == pytest.approx(0.3)
    assert DOUBT in point.doubts


def test_strangers_take_no_more_than_the_machine_has_whatever_its_counters_say(made):
    (doubt,) = interference.doubts(Reading(made.record(environment=CORES), shared(made, machine=3.4)))
    assert doubt == DOUBT.replace("30 %", "100 %")


@pytest.mark.parametrize(("machine", "kernel"), [(1.02, 0.0), (1.2, 0.0), (1.5, 0.3)])
def test_a_machine_with_nothing_but_the_trial_and_its_kernel_is_not_doubted(made, machine, kernel):
    assert not list(
        interference.doubts(
            Reading(made.record(environment=CORES), shared(made, machine=machine, kernel=kernel))
        )
    )


def test_without_the_machines_time_nothing_is_known_of_strangers(made):
    record, series = made.record(environment=CORES), shared(made, machine=1.9)
    for lacking in ("machine", "perjoule", "kernel"):
        assert (
            interference.cpu_ratio(Reading(record, [s for s in series if s.channel.component != lacking]))
            is None
        )
    assert (
        interference.cpu_ratio(Reading(record, [s for s in series if s.channel.host != "storage-1"])) is None
    )
    assert interference.cpu_ratio(Reading(made.record(), series)) is None


def test_on_a_host_that_is_the_whole_machine_the_load_is_ours_when_it_has_ended(made):
    """A load of one core for ten seconds, which perjoule learns of when it is over, two seconds after the
    window.
    """
    record = replace(
        made.record(moved=made.results((10.0, 20.0)), environment=CORES), hosts=made.record().hosts[3:4]
    )
    record = replace(
        record, phases=(Phase("baseline", 8.0, 10.0), Phase("measure", 10.0, 22.0), Phase("tail", 22.0, 25.0))
    )
    t_s = np.arange(0.0, 30.25, 0.5)
    ended = made.series(machine_channel("perjoule", ("client-1",)), t_s, np.where(t_s < 22.0, 0.0, 10.0))
    kernel = made.series(machine_channel("kernel", ("client-1",)), [5.0, 26.0], [1.0, 1.0])

    def ratio(cores):
        series = [
            grown(made, "machine", cores, ("client-1",)),
            ended,
            kernel,
            made.counter("client-1", "cpu", cores),
        ]
        return interference.cpu_ratio(Reading(record, series))

    assert ratio(1.0) == pytest.approx(0.0)
    assert ratio(1.6) == pytest.approx(0.3)


def test_interrupts_and_idle_time_are_nobodys_work():
    #                user nice system idle iowait irq softirq steal guest
    assert working_s("cpu  100 20 30 5000 70 400 500 50 60 0\ncpu0 1 1 1\n") == pytest.approx(2.0)


def test_a_kernel_thread_is_distinguished_from_a_program_whatever_its_name():
    thread = "12 (kworker/0:1 (x)) I 2 0 0 0 -1 69238880 0 0 0 0 0 250 0 0 20 0 1 0 10 0 0"
    assert kernel_thread_s(thread) == 2.5
    assert kernel_thread_s(thread.replace("69238880", "4194560")) == 0.0


def test_a_program_beside_perjoule_shows_on_the_machine_and_perjoule_s_own_work_as_its_own():
    kept, machine = Memory(), ThisMachine()
    with as_written(System, rate="50 Hz").record(Hosts((), machine=machine), kept):
        until_s = time.process_time() + 0.05
        while time.process_time() < until_s:
            pass
        threading.Event().wait(0.03)
    took = {one.channel.component: one.value for one in kept.series()}
    assert took["perjoule"][-1] - took["perjoule"][0] >= 0.05
    assert took["machine"][-1] >= took["machine"][0]
    assert len(took["kernel"]) == 2
    assert took["kernel"][0] >= 0
