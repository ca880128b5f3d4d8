import ast
import inspect
from dataclasses import replace

import pytest

from perjoule import catalogue
from perjoule.measures import interference, overlap, plausibility, stragglers
from perjoule.measures.plausibility import doubts
from perjoule.measures.points import points
from perjoule.model import Spec
from perjoule.model.doubts import CACHE, DERIVED, IN_FLIGHT, KINDS, METERS, TIMES
from perjoule.model.records import IMPORTED_BY
from perjoule.trial.reading import Reading

ABOVE_NETWORK = CACHE.above_network(host="client-1", times_ratio=2.0, direction="write")


def test_a_plain_trial_has_no_doubts(made):
    series = [made.counter(c, "network_received", 101.0) for c in ("client-1", "client-2")]
    series += [made.counter(h, "disk_read", 67.0) for h in ("storage-1", "storage-2", "metadata-1")]
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    assert doubts(Reading(made.record(moved=moved, cluster="odroid-hc4"), series)) == ()


def test_a_failed_trial_has_no_doubts_of_its_own(made):
    assert doubts(Reading(made.record(status="failed"), [])) == ()


def test_clients_that_started_apart_are_reported(made):
    assert doubts(Reading(made.record(moved=made.results((10.0, 20.0), (10.4, 20.0))), [])) == ()
    (doubt,) = doubts(Reading(made.record(moved=made.results((10.0, 20.0), (11.0, 20.0))), []))
    assert doubt == "clients started 1 s apart, the shortest ran 9 s"


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_a_client_faster_than_its_network_is_reported(made, scale):
    nodes = catalogue.cluster("odroid-hc4").nodes
    client = next((n for n in nodes if n.role == "client"), nodes[0])
    hosts = tuple(replace(h, node=client.name) for h in made.record().hosts)
    limit = client.board.nic_bytes_per_s.value

    def trial(ratio):
        moved = made.results((10.0, 20.0), moved_bytes=int(limit * ratio * 10 * scale))
        return replace(made.record(moved=moved, cluster="odroid-hc4", scale=scale), hosts=hosts)

    assert doubts(Reading(trial(1.0), [])) == ()
    (doubt,) = doubts(Reading(trial(1.5), []))
    assert doubt == "client-1 moved 1.50 times what its network can carry: a cache served the write"


def test_bytes_that_took_no_time_were_moved_in_a_nanosecond(made):
    nodes = catalogue.cluster("odroid-hc4").nodes
    client = next((n for n in nodes if n.role == "client"), nodes[0])
    hosts = tuple(replace(h, node=client.name) for h in made.record().hosts)
    moved = made.results((10.0, 10.0), (10.0, 20.0), moved_bytes=1000)
    record = replace(made.record(moved=moved, cluster="odroid-hc4"), hosts=hosts)
    (above,) = (doubt for doubt in doubts(Reading(record, [])) if doubt.id == ABOVE_NETWORK.id)
    ratio = 1000 / 1e-9 / client.board.nic_bytes_per_s.value
    assert above.values["times_ratio"] == pytest.approx(ratio)


def test_a_cluster_above_its_peak_is_reported(made):
    tpp = catalogue.tpp_bytes_per_s(catalogue.cluster("odroid-hc4"))
    moved = made.results((10.0, 20.0), moved_bytes=int(tpp * 12))
    assert "write: 1.20 times the theoretical peak performance of the cluster" in doubts(
        Reading(made.record(moved=moved, cluster="odroid-hc4"))
    )


def test_reads_that_never_crossed_the_network_are_reported(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(c, "network_received", 50.0) for c in ("client-1", "client-2")]
    (doubt,) = doubts(Reading(made.record(moved=moved), series))
    assert doubt == "the clients' page cache served reads: they received 52 % of the bytes they read"


@pytest.mark.parametrize(
    ("received", "read", "ids"),
    [
        (1.0, 67.0, []),  # over RDMA: all came from disks, and past the counters of networks
        (1.0, 10.0, ["cache.of_clients", "cache.of_servers"]),
        (20.0, 67.0, ["cache.of_clients"]),
    ],
)
def test_reads_from_disks_over_a_network_that_counts_nothing_are_no_caches(made, received, read, ids):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(c, "network_received", received) for c in ("client-1", "client-2")]
    series += [made.counter(h, "disk_read", read) for h in ("storage-1", "storage-2", "metadata-1")]
    reported = doubts(Reading(made.record(moved=moved), series))
    assert [doubt.id for doubt in reported] == ids


def test_reads_that_never_reached_a_disk_are_reported(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(h, "disk_read", 10.0) for h in ("storage-1", "storage-2", "metadata-1")]
    (doubt,) = doubts(Reading(made.record(moved=moved), series))
    assert doubt == "the servers' page cache served reads: the disks read 16 % of the bytes that clients read"


def test_reads_count_from_the_first_clients_start(made):
    """From then on the disks read 93 % of the bytes, and from a second later 84 %."""
    moved = made.results((10.0, 20.0), (11.0, 20.0), direction="read")
    series = [made.counter(h, "disk_read", 62.0) for h in ("storage-1", "storage-2", "metadata-1")]
    assert not any("page cache" in doubt for doubt in doubts(Reading(made.record(moved=moved), series)))


def test_reads_count_to_the_last_clients_end(made):
    """Until then the disks read all of the bytes, and until the first client's end a third."""
    moved = made.results((10.0, 20.0), (10.0, 40.0), direction="read")
    series = [
        made.counter(h, "disk_read", 22.0, ended_s=60.0) for h in ("storage-1", "storage-2", "metadata-1")
    ]
    assert not any("page cache" in doubt for doubt in doubts(Reading(made.record(moved=moved), series)))


def test_without_counters_nothing_is_reported_of_caches(made):
    moved = made.results((10.0, 20.0), direction="read")
    assert doubts(Reading(made.record(moved=moved), [])) == ()


def test_reads_from_servers_that_nobody_reads_may_be_a_caches(made):
    """Their hosts have no counters, or they are no hosts at all: disks of clients say nothing of them then."""
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(c, "network_received", 101.0) for c in ("client-1", "client-2")]
    series += [made.counter(c, "disk_read", 0.0) for c in ("client-1", "client-2")]
    without_login = made.record(moved=moved)
    clients = tuple(host for host in without_login.hosts if host.role == "client")
    for record in (without_login, replace(without_login, hosts=clients, data_hosts=())):
        (doubt,) = doubts(Reading(record, series))
        assert (doubt.kind, doubt.id) == (CACHE, CACHE.unread_servers().id)
        written = replace(record.outcome, results=made.results((10.0, 20.0), (10.0, 20.0)))
        assert doubts(Reading(replace(record, outcome=written), series)) == ()
    own = replace(without_login, hosts=clients, data_hosts=tuple(host.name for host in clients))
    (doubt,) = doubts(Reading(own, series))
    assert doubt == "the page cache served reads: the disks read 0 % of the bytes that clients read"
    imported = replace(without_login, environment={IMPORTED_BY: "0.1.0"})
    assert doubts(Reading(imported, series)) == ()


@pytest.mark.parametrize(
    ("read_hosts", "told"),
    [
        (("client-1",), True),
        (("client-1", "client-2"), True),
        (("client-1", "client-2", "storage-1"), False),
        (("storage-1",), False),
        ((), False),
    ],
)
def test_servers_are_unread_where_a_client_is_read_and_none_of_them_is(made, read_hosts, told):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(host, "disk_read", 67.0) for host in read_hosts]
    found = {doubt.id for doubt in doubts(Reading(made.record(moved=moved), series))}
    assert found == ({CACHE.unread_servers().id} if told else set())


def test_a_machine_at_its_end_is_reported(made):
    hosts = [h.name for h in made.record().hosts]
    series = [made.counter(h, "cpu", 0.4) for h in hosts]
    (doubt,) = doubts(Reading(made.record(cluster="odroid-hc4", environment={"cores_count": 2}), series))
    assert "100 % of this machine's CPUs" in doubt
    assert doubts(Reading(made.record(cluster="odroid-hc4", environment={"cores_count": 4}), series)) == ()


def test_reads_and_writes_together_share_their_energy(made):
    moved = made.results((10.0, 20.0)) + made.results((10.0, 20.0), direction="read")
    assert "reads and writes ran together: each is charged with the energy and overhead of both" in doubts(
        Reading(made.record(moved=moved))
    )


@pytest.mark.parametrize(
    ("write", "read", "together"),
    [
        ((10, 20), (20, 30), False),
        ((20, 30), (10, 20), False),
        ((10, 20), (19, 30), True),
        ((19, 30), (10, 20), True),
    ],
)
def test_reads_and_writes_one_after_the_other_share_nothing(made, write, read, together):
    moved = made.results(write) + made.results(read, direction="read")
    assert any("ran together" in doubt for doubt in doubts(Reading(made.record(moved=moved), []))) == together
    users = tuple(replace(one, user=one.direction) for one in moved)
    assert not any("reads and writes" in doubt for doubt in doubts(Reading(made.record(moved=users), [])))


@pytest.mark.parametrize(
    ("kind", "cluster", "told"),
    [("virtual", "odroid-hc4", True), ("virtual", "", False), ("cluster", "odroid-hc4", False)],
)
def test_only_hosts_that_share_a_machine_use_it_up(made, kind, cluster, told):
    series = [made.counter(host.name, "cpu", 0.4) for host in made.record().hosts]
    asked = replace(made.trial(), testbed=Spec(kind, {}, kind))
    record = made.record(asked, cluster=cluster, environment={"cores_count": 2})
    assert any("this machine's CPUs" in doubt for doubt in doubts(Reading(record, series))) == told
    assert doubts(Reading(replace(record, environment={"cores_count": "two"}), series)) == ()


@pytest.mark.parametrize(
    ("direction", "write_back_s", "told"),
    [("write", 10.0, False), ("write", 0.0, True), ("read", 10.0, True)],
)
def test_a_write_has_until_the_end_of_its_write_back_to_reach_its_own_disks(
    made, direction, write_back_s, told
):
    node = next(n for n in catalogue.cluster("odroid-hc4").nodes if n.role == "metadata")
    assert all(disk.write_bytes_per_s.value < disk.read_bytes_per_s.value for disk in node.disks)
    most = sum(
        (d.write_bytes_per_s if direction == "write" else d.read_bytes_per_s).value for d in node.disks
    )
    moved = made.results((10.0, 20.0), moved_bytes=int(most * 15), direction=direction)
    record = made.record(moved=moved, cluster="odroid-hc4", write_back_s=write_back_s)
    hosts = tuple(replace(h, node=node.name) for h in record.hosts)
    found = doubts(Reading(replace(record, hosts=hosts, data_hosts=("client-1",)), []))
    assert any("50 % more than its disks can" in doubt for doubt in found) == told
    # the disks of another
    others = doubts(Reading(replace(record, hosts=hosts, data_hosts=("client-2",)), []))
    assert not any("its disks can" in doubt for doubt in others)


def test_the_list_ranks_no_number_with_any_of_these_doubts() -> None:
    """All doubts that these modules make are objections, and so are those of a ratio that is too small."""
    modules = (plausibility, overlap, stragglers, interference)
    names = {name: kind for module in modules for name, kind in vars(module).items() if kind in KINDS}
    calls = (node for module in modules for node in ast.walk(ast.parse(inspect.getsource(module))))
    made = {
        getattr(names[node.func.value.id], node.func.attr).id
        for node in calls
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names
    }
    made |= {CACHE.read_too_little.id, IN_FLIGHT.written_too_little.id}
    disqualifying = {template.id for kind in KINDS if kind.disqualifies for template in kind.templates}
    assert made <= disqualifying
    assert not disqualifying & {
        template.id for kind in (METERS, TIMES, DERIVED) for template in kind.templates
    }


def test_a_record_can_not_store_an_objection_away_without_its_id(made) -> None:
    """A bundle of a stranger that stated the sentence itself would keep its rank."""
    record = made.record(moved=made.results((10.0, 20.0), (11.0, 20.0)))
    (objection,) = doubts(Reading(record, []))
    stored = (DERIVED.doubt(str(objection)),)
    (point,) = points(replace(record, doubts=stored), [])
    assert [doubt.id for doubt in point.doubts if doubt == objection] == [objection.id]


@pytest.mark.parametrize(("rate", "told"), [(86.0, True), (87.0, False)])
def test_nine_tenths_of_what_clients_read_come_over_the_network(made, rate, told):
    """2000 B in all, counted for 10.4 s."""
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(c, "network_received", rate) for c in ("client-1", "client-2")]
    found = " ".join(map(str, doubts(Reading(made.record(moved=moved), series))))
    assert (f"they received {round(rate * 2 * 10.4 / 20)} % of the bytes" in found) == told


@pytest.mark.parametrize(("rate", "told"), [(57.4, True), (58.0, False)])
def test_nine_tenths_of_what_clients_read_come_from_disks(made, rate, told):
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read")
    series = [made.counter(h, "disk_read", rate) for h in ("storage-1", "storage-2", "metadata-1")]
    found = " ".join(map(str, doubts(Reading(made.record(moved=moved), series))))
    assert ("the servers' page cache served reads: the disks read 90 %" in found) == told


@pytest.mark.parametrize(("rate", "told"), [(0.381, True), (0.379, False)])
def test_a_machine_is_busy_from_95_percent_on(made, rate, told):
    """Five hosts on two cores."""
    series = [made.counter(h.name, "cpu", rate) for h in made.record().hosts]
    record = made.record(cluster="odroid-hc4", environment={"cores_count": 2})
    assert any("95 % of this machine's CPUs" in doubt for doubt in doubts(Reading(record, series))) == told


@pytest.mark.parametrize(("ratio", "told"), [(1.015, False), (1.025, True)])
def test_caps_are_kept_to_two_percent(made, ratio, told):
    node = next(n for n in catalogue.cluster("odroid-hc4").nodes if n.role == "client")
    hosts = tuple(replace(h, node=node.name) for h in made.record().hosts)
    limit_bytes, tpp_bytes = (
        int(rate * ratio * 10)
        for rate in (
            node.board.nic_bytes_per_s.value,
            catalogue.tpp_bytes_per_s(catalogue.cluster("odroid-hc4")),
        )
    )
    nic = made.record(moved=made.results((10.0, 20.0), moved_bytes=limit_bytes), cluster="odroid-hc4")
    found = doubts(Reading(replace(nic, hosts=hosts), []))
    assert any("what its network can carry" in doubt for doubt in found) == told
    peak = made.record(moved=made.results((10.0, 20.0), moved_bytes=tpp_bytes), cluster="odroid-hc4")
    assert any("theoretical peak" in doubt for doubt in doubts(Reading(peak, []))) == told
    storing = made.record(
        moved=made.results((10.0, 20.0), moved_bytes=int(ratio * 10 * 1.06e9)), cluster="odroid-hc4"
    )
    meta = next(n for n in catalogue.cluster("odroid-hc4").nodes if n.role == "metadata")  # two of 530 MB/s
    hosts = tuple(replace(h, node=meta.name) for h in storing.hosts)
    found = doubts(Reading(replace(storing, hosts=hosts, data_hosts=("client-1",)), []))
    assert any("its disks can" in doubt for doubt in found) == told
