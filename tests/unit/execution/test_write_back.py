"""Writes count until the disks hold them: what is synced after a load, and the windows that come of it."""

import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest

from perjoule import catalogue
from perjoule.drivers.protocols import ClockOffset, Completed, Hosts
from perjoule.drivers.protocols.disks import HasDisks
from perjoule.execution.write_back import STAMPED, Sync, WrittenBack, late, syncs, write_back
from perjoule.measures.points import points
from perjoule.model import ClientResult, Outcome, Phase
from perjoule.model.doubts import IN_FLIGHT
from perjoule.model.errors import PausedError, TransientError
from perjoule.trial.windows import windows
from scripted import ScriptedHost, ScriptedMount

SERVERS = ("storage-1", "storage-2", "metadata-1")


class Server(ScriptedHost):
    """A host with disks of its own and of others in its view, whose sync takes some time by its own clock."""

    ahead_s = 0.0  # its clock, against this machine's
    waits_s = syncs_s = returns_s = 0.0  # until it begins, until it has ended, until that is known here

    def answers(self, words):
        if "sync" not in words:
            return 0, f"/\n/of/{self.name}/beneath\n/of/another/beneath\n" if words[0] == "findmnt" else ""
        self.moments_s = []
        stamps_utc_s = []
        for duration_s in (self.waits_s, self.syncs_s):
            time.sleep(duration_s)
            self.moments_s.append(time.monotonic())
            stamps_utc_s.append(time.time() + self.ahead_s)
        time.sleep(self.returns_s)
        return 0, "{:.6f}\n{:.6f}\n".format(*stamps_utc_s)

    def clock_offset(self):
        return ClockOffset(self.ahead_s, 0.001)

    @property
    def synced(self):
        return sorted(words[words.index("sync") :] for words in self.ran)


class Hung(Server):
    def run(self, argv, **words):
        if "sync" in argv:
            raise TransientError("sync did not end within 600 s", where=self.name)
        return super().run(argv, **words)


def of(*hosts):
    servers, clients = [[h for h in hosts if (h.role == "client") == client] for client in (False, True)]
    return cast("Hosts", SimpleNamespace(servers=servers, clients=clients, all=hosts))


def held(*names, clients=(), devices=()):
    mounted = ScriptedMount(*clients)
    mounted.data_hosts, mounted.devices = names, dict(devices)
    return mounted


# What is synced


def test_each_server_syncs_what_is_mounted_in_its_own_folder_and_nothing_else():
    server, client = Server("storage-1"), Server("client-1")
    wanted = syncs(of(server, client), held("storage-1", clients=[client]))
    server.ran.clear()
    assert write_back(wanted).phase is not None
    assert server.synced == [["sync", "-f", "/of/storage-1"], ["sync", "-f", "/of/storage-1/beneath"]]
    assert client.ran == []


def test_each_disk_of_a_server_that_has_several_is_synced_with_what_is_mounted_on_it():
    """A file system may have put all that was written on the last one."""

    class TwoDisks(Server, HasDisks):
        disks_count = 2

        def answers(self, words):
            if words[0] == "findmnt":
                return 0, "/of/storage-1/beneath\n/of/storage-1.2/beneath\n/of/storage-1.3/beneath\n"
            return super().answers(words)

    server = TwoDisks("storage-1")
    wanted = syncs(of(server), held("storage-1"))
    server.ran.clear()
    assert write_back(wanted).phase is not None
    assert server.synced == [
        ["sync", "-f", "/of/storage-1"],
        ["sync", "-f", "/of/storage-1.2"],
        ["sync", "-f", "/of/storage-1.2/beneath"],
        ["sync", "-f", "/of/storage-1/beneath"],
    ]


def test_after_the_load_nothing_but_sync_runs():
    server = Server("storage-1")
    wanted = syncs(of(server), held("storage-1"))
    server.ran.clear()
    write_back(wanted)
    assert {tuple(words[:5]) for words in server.ran} == {("bash", "--norc", "-c", STAMPED, "perjoule-sync")}
    assert {words[5] for words in server.ran} == {"sync"}


def test_clients_with_disks_of_their_own_sync_these_and_a_device_is_synced_itself():
    server, client, other = Server("storage-1"), Server("client-1"), Server("client-2")
    mounted = held("client-1", "client-2", clients=[client, other], devices={"client-2": Path("/dev/loop7")})
    assert write_back(syncs(of(server, client, other), mounted)).phase is not None
    assert (server.ran, client.synced, other.synced) == (
        [],
        [["sync", "-f", "/mnt/client-1"]],
        [["sync", "/dev/loop7"]],
    )


def test_a_sync_that_does_not_end_leaves_no_phase_and_its_reason():
    found = write_back(syncs(of(Server("storage-1"), Hung("storage-2")), held("storage-1")))
    assert found.phase is None
    assert found.doubts == ("data were not written back: storage-2: sync did not end within 600 s",) * 2


def test_where_nobody_knows_which_hosts_hold_the_data_there_is_no_phase():
    client = Server("client-1")
    assert write_back(syncs(of(Server("storage-1"), client), held(clients=[client]))).phase is None


def test_a_metadata_server_without_data_is_synced_too():
    server, metadata = Server("storage-1"), Server("metadata-1")
    assert {sync.host for sync in syncs(of(server, metadata), held("storage-1"))} == {server, metadata}


# When it began and ended


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -86400.0])
def test_a_sync_begins_and_ends_by_its_hosts_clock_however_late_that_is_known(ahead_s):
    server = Server("storage-1")
    server.ahead_s, server.waits_s, server.syncs_s, server.returns_s = ahead_s, 0.2, 0.1, 0.6
    found = write_back([Sync(server, ("sync", "-f", "/of/storage-1"))])
    assert found.phase is not None
    assert [found.phase.began_s, found.phase.ended_s] == pytest.approx(server.moments_s, abs=0.02)
    assert found.last_began_s == found.phase.began_s


def test_the_script_on_a_host_prints_when_its_command_began_and_ended_and_passes_its_exit_code_on():
    argv = ["bash", "--norc", "-c", STAMPED, "perjoule-sync", "sh", "-c", "sleep 0.2; date +%s.%N; exit 7"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    began_s, within_s, ended_s = map(float, done.stdout.split())
    assert done.returncode == 7
    assert began_s + 0.2 <= within_s <= ended_s


def loaded(ended_s, *, direction: Literal["write", "read"] = "write", took_s=8.0, sustained=False):
    result = ClientResult("client-1", direction, ended_s - took_s, ended_s, 100, 1)
    return Outcome("fio", (result,), sustained=sustained)


@pytest.mark.parametrize("waits_s", [2.3, 75.0])
def test_a_sync_that_begins_late_does_not_count_as_writing(waits_s):
    written = WrittenBack(Phase("write-back", 100.0, 101.0), last_began_s=100.0)
    why = (
        "the write-back began .* after the last client's end: a host, its connection or perjoule stood still"
    )
    with pytest.raises(PausedError, match=why):
        late(loaded(100.0 - waits_s), written)
    assert late(loaded(100.0 - waits_s, direction="read"), written) is None
    assert late(loaded(100.0 - waits_s, sustained=True), written) is None
    deleted = replace(loaded(100.0 - waits_s), measured={"pools_made_count": 1.0})
    assert late(deleted, written) is None


def test_hosts_that_are_far_away_are_doubted_and_not_refused():
    written = WrittenBack(Phase("write-back", 100.0, 101.0), last_began_s=100.0, way_s=1.8)
    assert "after the last client's end, and that time counts as writing" in str(late(loaded(98.5), written))
    with pytest.raises(PausedError):
        late(loaded(96.0), written)
    far = Server("storage-1")
    far.clock_offset = lambda: ClockOffset(0.0, 0.075)
    assert write_back([Sync(far, ("sync",))]).way_s == pytest.approx(12 * 0.15)


def test_the_last_host_to_begin_decides():
    early, behind = Server("storage-1"), Server("storage-2")
    behind.waits_s = 2.2
    written = write_back([Sync(host, ("sync",)) for host in (early, behind)])
    with pytest.raises(PausedError):
        late(loaded(time.monotonic() - 2.21), written)


def test_a_sync_that_begins_a_little_late_is_doubted_if_that_is_much_of_the_load():
    written = WrittenBack(Phase("write-back", 100.0, 101.0), last_began_s=100.0)
    assert late(loaded(99.9), written) is None
    assert late(loaded(99.3, took_s=60.0), written) is None
    assert late(loaded(98.7, took_s=60.0), written) is not None
    doubt = late(loaded(99.3), written)
    assert doubt == "the write-back began 0.7 s after the last client's end, and that time counts as writing"
    assert late(loaded(98.0, took_s=3600.0), written) is None  # an error of 0.06 %


@pytest.mark.parametrize("step_s", [-3600.0, -0.5, 0.5, 3600.0])
def test_a_clock_that_is_set_while_its_host_syncs_times_no_write(step_s):
    class Stepped(Server):
        def clock_offset(self):
            return ClockOffset(self.ahead_s + step_s, 0.001)

    with pytest.raises(
        PausedError, match="storage-1: its clock, or that of this machine, was set during the write-back"
    ):
        write_back([Sync(Stepped("storage-1"), ("sync",))])


@pytest.mark.parametrize(
    "said", ["nan\nnan\n", "1e999\n1e999\n", "Welcome to RouterOS\n", "1795273233.3\n", "1 2 3\n"]
)
def test_moments_that_are_none_leave_no_phase_and_a_reason(said):
    class Strange(Server):
        def answers(self, words):
            return 0, said

    found = write_back([Sync(Strange("storage-1"), ("sync",))])
    assert found.phase is None
    assert found.doubts[0].startswith("data were not written back: storage-1: unexpected output of sync: ")


def test_a_sync_that_fails_says_why():
    class Failing(Server):
        def run(self, argv, **words):
            return Completed(tuple(argv), 1, "1.0\n2.0\n", "sync: error syncing '/x': Input/output error\n")

    found = write_back([Sync(Failing("storage-1"), ("sync",))])
    why = "sync ended with 1: sync: error syncing '/x': Input/output error"
    assert (found.phase, found.doubts) == (None, (f"data were not written back: storage-1: {why}",))


# What the numbers are made over


def flushed(made, host, early, late, *, begin_s=10.0, burst_s=20.0, end_s=24.0):
    """A disk that wrote `early` bytes evenly in the burst, and `late` ones evenly in the write-back."""
    of_it = made.channel(host, "all", "disk_written", "counter", "counter", "system")
    return made.series(of_it, [5.0, begin_s, burst_s, end_s, 40.0], [0, 0, early, early + late, early + late])


def test_headline_and_burst_of_a_write_whose_write_back_is_known(made):
    watts = [made.steady(h, 10.0, ended_s=20.0, grade="simulated") for h in SERVERS]
    more = [
        made.series(s.channel, [*s.t_s, 24.0, 30.0], [*s.value, 5.0, 1.0], [*s.duration_s, 4.0, 6.0])
        for s in watts
    ]
    disks = [
        flushed(made, "storage-1", 100, 1000),
        flushed(made, "storage-2", 300, 500),
        flushed(made, "metadata-1", 0, 100),
    ]
    (point,) = points(
        made.record(write_back_s=4.0, scale=0.5, cluster="odroid-hc4", tail_s=3.0), [*more, *disks]
    )
    tpp = catalogue.tpp_bytes_per_s(catalogue.cluster("odroid-hc4"))
    expected = {
        "duration_s": 14 * 0.5,
        "throughput_bytes_per_s": 2000 / 7,
        "energy_j": (300 + 60) * 0.5,
        "mean_w": 360 / 14,
        "efficiency_bytes_per_j": 2000 / 180,
        "edp_js": 180 * 7,
        "tpp_ratio": 2000 / 7 / tpp,
        "burst_duration_s": 10 * 0.5,
        "burst_throughput_bytes_per_s": 2000 / 5,
        "burst_energy_j": 300 * 0.5,
        "burst_mean_w": 30,
        "burst_efficiency_bytes_per_j": 2000 / 150,
        "burst_edp_js": 150 * 5,
        "burst_tpp_ratio": 2000 / 5 / tpp,
        "durable_ratio": 400 / 2000,
    }
    assert {name: point.metrics[name] for name in expected} == pytest.approx(expected)
    assert IN_FLIGHT.durable_unknown() not in point.doubts


def test_a_read_ends_with_its_last_client_whatever_was_written_back(made):
    moved = made.results((10.0, 20.0), direction="read")
    (point,) = points(made.record(moved=moved, write_back_s=4.0), [])
    assert point.metrics["duration_s"] == 10
    assert not [name for name in point.metrics if name.startswith(("burst_", "durable"))]
    assert IN_FLIGHT.durable_unknown() not in point.doubts


def test_without_a_write_back_the_headline_of_a_write_is_its_burst_and_a_doubt_says_so(made):
    (point,) = points(made.record(write_back_s=None), [])
    assert point.metrics["duration_s"] == 10
    assert not [name for name in point.metrics if name.startswith(("burst_", "durable"))]
    assert IN_FLIGHT.durable_unknown() in point.doubts
    reads = made.results((10.0, 20.0), direction="read")
    assert (
        IN_FLIGHT.durable_unknown() not in points(made.record(moved=reads, write_back_s=None), [])[0].doubts
    )


def test_a_write_that_reads_followed_is_not_known_to_be_durable_at_its_end(made):
    moved = made.results((10.0, 15.0)) + made.results((15.0, 20.0), direction="read")
    write, read = points(made.record(moved=moved, write_back_s=4.0), [])
    assert (write.metrics["duration_s"], read.metrics["duration_s"]) == (5, 5)
    assert IN_FLIGHT.durable_unknown() in write.doubts


def test_reads_and_writes_at_once_end_with_the_write_back_for_the_writes_alone(made):
    moved = made.results((10.0, 20.0)) + made.results((10.0, 20.2), direction="read")
    write, read = points(made.record(moved=moved, write_back_s=4.0), [])
    assert write.metrics["duration_s"] == pytest.approx(14.2)
    assert write.metrics["burst_duration_s"] == pytest.approx(10)
    assert read.metrics["duration_s"] == pytest.approx(10.2)


def test_users_of_whom_some_write_are_done_when_the_disks_hold_it(made):
    moved = [replace(r, user="a") for r in made.results((10.0, 18.0))]
    moved += [replace(r, user="b") for r in made.results((10.0, 20.0), direction="read")]
    (point,) = points(made.record(moved=tuple(moved), write_back_s=4.0), [])
    assert (point.direction, point.metrics["duration_s"], point.metrics["burst_duration_s"]) == (
        "mixed",
        14,
        10,
    )
    assert point.metrics["user/a/busy_s"] == 8


def test_a_steady_window_inside_a_longer_load_is_what_it_is(made):
    record = made.record(write_back_s=4.0)
    found = windows(replace(record, outcome=replace(record.outcome, sustained=True)), record.outcome.results)
    assert (found.ended_s, found.durable, found.doubts) == (20.0, False, ())


def test_operations_without_bytes_count_until_the_disks_hold_them(made):
    (point,) = points(made.record(moved=made.results((10.0, 20.0), moved_bytes=0), write_back_s=10.0), [])
    assert point.metrics["operations_per_s"] == pytest.approx(10 / 20)
    assert point.metrics["burst_operations_per_s"] == pytest.approx(10 / 10)


def test_what_disks_wrote_in_the_tail_is_not_part_of_the_share_that_was_on_disk(made):
    record = made.record(write_back_s=4.0, tail_s=6.0)
    disks = [made.counter(h, "disk_written", 100.0) for h in SERVERS]
    (point,) = points(record, disks)
    assert point.metrics["durable_ratio"] == pytest.approx(10.4 / 14.4)
    assert replace(record.phases[2], note="") == Phase("write-back", 20.0, 24.0)
