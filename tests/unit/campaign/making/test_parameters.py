"""Campaigns of papers against what the papers print: nothing differs that a campaign does not say, and
nothing that it says is untrue.
"""

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from perjoule import campaign, catalogue, drivers
from perjoule.campaign.defaults import MODEL
from perjoule.campaign.making import replication
from perjoule.campaign.plan import short_loads
from perjoule.campaign.reading import follows
from perjoule.drivers.protocols.disks import disks_count
from perjoule.model import Spec
from perjoule.papers import published
from perjoule.papers.facts import same

GIB, MIB, KIB = 2**30, 2**20, 2**10
MOST_MINUTES = 45


class Parameter(NamedTuple):
    """What a campaign does and what the paper prints (None: it does not), and how the campaign says so."""

    ours: object
    theirs: object
    words: str = ""


class Study:
    """A campaign with the tables that it has as comments, and its paper."""

    def __init__(self, name: str) -> None:
        name, _, of_several = name.partition("/")
        (study,) = (of for of in replication.reproductions(name) if of.study == of_several)
        self.text = replication.uncommented(study.template, study.also)
        self.document: Any = tomllib.loads(self.text)
        self.asked = campaign.parse(self.text)
        self.paper = published.paper(name)
        self.says = " ".join(self.document["description"].split()).partition(" differs from the paper: ")[2]

    def printed(self, id: str) -> float:
        return self.paper.number(id).value

    def built(self, label: str) -> tuple[Any, Any]:
        """The file system of a label, with the defaults of its driver."""
        trial = next(trial for trial in self.asked.trials if trial.filesystem.label.startswith(label))
        return drivers.filesystem(trial.filesystem), drivers.testbed(trial.testbed)

    def emulated(self, label: str) -> bool:
        """Whether a file system has settings that only emulated hosts need."""
        filesystem, bed = self.built(label)
        deployment = filesystem.deployment(bed.planned(1))
        return "emulation" in {setting.reason for setting in deployment.changed}

    @property
    def workload(self) -> Any:
        return self.document["workload"][0]


RATE_HZ = drivers.meter(Spec(MODEL)).sampled_hz
DURABLE, BURST = "A write lasts until", "number is the burst beside it"
VERSIONS = "Versions are those that are installed"
SMALL = "settings for small hosts that share a machine"


def green_storage(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    clients = [*range(int(printed("clients_least")), int(printed("clients_most")) + 1)]
    yield Parameter(study.document["clients"], clients)
    yield Parameter(study.document["repetitions"], printed("iterations"))
    yield Parameter(study.asked.edp_weight, printed("edp_weight"))
    yield Parameter(study.workload["operation"], ["write", "read"])  # sequential
    load = drivers.workload(study.asked.trials[0].workload)
    yield Parameter(load.pattern.transfer_bytes, printed("transfer"))
    yield Parameter(load.moved_bytes(4), printed("data_other"))
    yield Parameter(study.workload["kind"], "ior", "the load engine is fio, not IOR 3.3")
    yield Parameter("durable", "reported", DURABLE)
    yield Parameter("beside it", "alone", BURST)
    yield Parameter(RATE_HZ, printed("arm_sampling"), "modelled at 5 Hz, not measured by an LMG 450 at 20 Hz")
    yield Parameter(RATE_HZ, 1 / printed("ref2_sampling"), "or by IPMI every 15 s")
    yield Parameter("installed", study.paper.configurations["arm-cephfs"]["version"], VERSIONS)
    yield Parameter("in comments", "measured", "No distribution packages OrangeFS")
    yield Parameter(study.emulated("CephFS"), False, SMALL)

    ceph, arm = study.built("CephFS")
    node = {node.name: node for node in arm.hardware.nodes}
    yield Parameter(node["A"].count, printed("arm_nodes_a"))
    yield Parameter(len(node["A"].disks), printed("arm_disks_per_node"))
    yield Parameter(ceph.placement_groups_count, printed("arm_ceph_pgs"))
    yield Parameter(ceph.copies_count, printed("arm_ceph_copies"))
    yield Parameter(ceph.acknowledged_count, printed("arm_ceph_acknowledged"))
    capacity_bytes = arm.hardware.nodes[0].disks[0].capacity_bytes.value
    assert capacity_bytes == printed("arm_disk_capacity")
    yield Parameter(arm.disk_size_bytes, printed("arm_disk_capacity"), "Disks have 64 GiB, not 1 TB")
    yield Parameter(ceph.osd_size_bytes, printed("arm_disk_capacity"), "OSDs 24 GiB")
    yield Parameter(ceph.osds_per_host_count, printed("arm_ceph_osds") * printed("arm_disks_per_node"))
    yield Parameter(ceph.metadata_osds_count, printed("arm_ceph_osds") * printed("arm_ssds_per_node"))

    moose, _ = study.built("MooseFS")
    yield Parameter(moose.goal, None, "MooseFS's goal is not printed")
    yield Parameter(moose.trash_s, printed("moosefs_trash"), "frees deleted files at once")
    yield Parameter("none", "on node B", "has no monitoring server")
    yield Parameter("both", None, "that its chunk servers use both disks is not printed")

    gluster, where = study.built("GlusterFS")
    yield Parameter(gluster.redundancy_count, printed("gluster_redundancy"))
    yield Parameter(gluster.bricks_per_host_count, printed("gluster_bricks_per_node"))
    metadata = next(node for node in where.hardware.nodes if node.role == "metadata")
    yield Parameter(
        [disk.technology for disk in metadata.disks],
        ["hdd"] * int(printed("arm_gluster_hdds")),
    )
    servers = where.planned(4).by_role("storage")
    yield Parameter({disks_count(host) for host in servers}, {printed("arm_disks_per_node")})

    orange, _ = study.built("OrangeFS")
    yield Parameter(orange.stripe_bytes, printed("orangefs_stripe"))
    beneath = study.paper.configurations["arm-orangefs"]["beneath"]
    yield Parameter(
        (orange.beneath.kind, orange.beneath.mirror), ("zfs",) * 2 if "ZFS" in str(beneath) else ()
    )
    direct_io = study.paper.configurations["arm-orangefs"]["direct_io"]
    yield Parameter(orange.client, None, "and pvfs2fuse")
    yield Parameter(orange.client == "fuse", direct_io == "yes")  # which always mounts with direct_io
    yield Parameter(
        ceph.client, None, "What mounted CephFS and OrangeFS on clients is not printed: ceph-fuse"
    )

    first, one = study.built("Reference 1")
    data = next(node for node in one.hardware.nodes if node.role == "storage")
    yield Parameter(first.stripe_bytes, printed("ref1_stripe"))
    yield Parameter(
        (data.count, len(data.disks)), (printed("ref1_data_nodes"), printed("ref1_disks_per_node"))
    )

    second, two = study.built("Reference 2")
    yield Parameter(two.disk_latency_s, "a seek", "Disks are files that don't seek")
    nodes = {node.name: node for node in two.hardware.nodes}
    yield Parameter(nodes["supermicro"].count, printed("ref2_supermicro_nodes"))
    yield Parameter(second.copies_count, printed("ref2_copies"))
    yield Parameter(second.acknowledged_count, printed("ref2_acknowledged"))
    yield Parameter(second.placement_groups_count, None, "Its placement groups are not printed")
    yield Parameter(
        second.osds_per_host_count,
        printed("ref2_osds") * printed("ref2_supermicro_ssds"),
        "two OSDs on each host, not on each SSD",
    )
    yield Parameter(load.moved_bytes(4), printed("data_ref2"), "moves 36 GiB, not 96 GiB")
    yield Parameter(two.scale_ratio, 1, f"Reference 2 runs at {two.scale_ratio:g} of its speed")
    hosts = two.planned(4)
    yield Parameter(
        hosts.management.name, hosts.by_role("storage")[3].name, "the monitor on a Supermicro node"
    )
    counts = {disks_count(host) for host in hosts.by_role("storage")[:3]}
    yield Parameter(counts, {printed("ref2_supermicro_ssds")}, "one disk there with the bandwidth of all")
    planned = second.layout(hosts)
    assert (planned.mds, planned.standby) == ("storage-1", hosts.by_role("storage")[-1].name)
    yield Parameter(two.cluster_network_ratio, printed("ref2_osd_network") / printed("ref2_network"))
    yield Parameter(where.scale_ratio, 1, "takes only the scale's share of its time: a tenth")
    yield Parameter(1 / two.scale_ratio, 1, f"on Reference 2 a {1 / two.scale_ratio:.0f}th")


def access_patterns(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    yield Parameter(study.document["clients"], printed("ceph_clients"))
    yield Parameter(study.document["clients"], printed("beegfs_clients"))
    yield Parameter(study.document["repetitions"], 1, "There are three repetitions")
    yield Parameter(study.workload["operation"], ["write", "read", "randwrite", "randread"])
    transfers = [f"{printed(f'transfer_{size}') / 1e6:g} MB" for size in (16, 1, 64)]
    for ours, theirs in zip(study.workload["transfer"], transfers, strict=True):
        assert same("transfer", ours, theirs)
    yield Parameter("16 MiB", transfers[0], "Sizes are powers of two")
    latency = study.document["testbed"].get("disk_latency")
    yield Parameter(latency, "a seek", "Disks are files that don't seek, so a random order costs less")
    yield Parameter(study.workload["size"], f"{printed('beegfs_data') / 1e9:g} GiB")
    yield Parameter(study.workload["kind"], "ior", "The load engine is fio, not IOR")
    yield Parameter(1, printed("beegfs_threads"), "with 24 threads")
    own = {id: study.paper.number(id).facts.get("configuration") for id in ("beegfs_data", "beegfs_threads")}
    assert {*own.values()} == {"beegfs"}
    yield Parameter("on both", "beegfs", "Threads and 6 GB of data are printed of BeeGFS alone")
    load = drivers.workload(study.asked.trials[0].workload)
    assert load.moved_bytes(2) == load.moved_bytes(1)
    yield Parameter(
        "all together", None, "and not whether each client moved as much: all together do, on CephFS too"
    )
    yield Parameter("durable", "reported", DURABLE)
    yield Parameter("beside it", "alone", BURST)
    yield Parameter("installed", study.paper.configurations["cephfs"]["version"], VERSIONS)
    yield Parameter(study.emulated("CephFS"), False, SMALL)
    yield Parameter(RATE_HZ, None, "Power is modelled; the paper has none")
    labels = {table["label"] for table in study.document["filesystem"]}
    yield Parameter(labels, {"CephFS", "BeeGFS"}, "MooseFS and GlusterFS are not in the paper")
    yield Parameter("in comments", "measured", "BeeGFS's client is a module that few kernels have")
    yield Parameter("one file", "separate files", "Ceph's objects are in BlueStore in one file")

    blocks = [printed(f"block_{n}") for n in (1, 2, 4)]
    for table in study.document["filesystem"]:
        beneath = [(one["kind"], one.get("block")) for one in table["beneath"]]
        for kind in ("ext4", "xfs"):
            laid = [block for of, block in beneath if of == kind]
            assert all(same("block", a, b) for a, b in zip(laid, blocks, strict=True)), table["label"]
        yield Parameter(beneath[-1:], [("btrfs", None)])

    ceph, there = study.built("CephFS")
    yield Parameter(ceph.placement_groups_count, printed("ceph_pgs"))
    yield Parameter(ceph.copies_count, None, "How many copies there are is not printed")
    yield Parameter(ceph.client, None, "What mounted CephFS on clients is not printed: ceph-fuse")
    yield Parameter(
        ceph.osd_size_bytes, printed("ceph_partition"), "OSDs have 12 GiB on disks of 16 GiB, not 50 GB"
    )
    hosts = there.planned(2)
    assert len(hosts.by_role("management")) == 1
    yield Parameter(ceph.monitors_count, 3, "one monitor, not three")
    nodes = {node.role: node for node in there.hardware.nodes}
    yield Parameter(nodes["storage"].count, printed("ceph_osd_nodes"))
    yield Parameter(
        nodes["storage"].board.nic_bytes_per_s.value * 1538 / 1448,
        pytest.approx(printed("ceph_network"), 0.01),
    )
    cores = {printed(f"cores_Node{n}") for n in range(1, 6)}
    yield Parameter(
        {node.board.cores_count for node in nodes.values()}, cores, "Hosts are alike, with 48 cores"
    )

    bee, theirs = study.built("BeeGFS")
    nodes = {node.role: node for node in theirs.hardware.nodes}
    yield Parameter(bee.roles, "both")
    yield Parameter(nodes["storage"].count, printed("beegfs_servers"))
    yield Parameter(bee.beneath.size_bytes, printed("beegfs_partition"), "BeeGFS's targets 16 GiB, not 25 GB")
    yield Parameter(nodes["storage"].disks[0].capacity_bytes.value, printed("disk_s1"), "and disks of 1.8 TB")


def ssd_vs_hdd(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    yield Parameter(study.document["repetitions"], printed("repetitions"))
    yield Parameter(study.asked.settle_s, printed("delay"))
    yield Parameter(len(study.asked.trials) / printed("repetitions"), printed("experiments"))
    yield Parameter(len(study.document["testbed"]["cluster"]), printed("configurations"))
    for table in study.document["workload"]:
        transfers = [f"{printed(f'{size}_request') / 1e3:g} KB" for size in ("small", "large")]
        assert all(same("transfer", a, b) for a, b in zip(table["transfer"], transfers, strict=True))
        yield Parameter(table["size"], f"{printed('data') / 1e9:g} GiB")
        yield Parameter(table["duration"], f"{printed('time_limit'):g} s")
    yield Parameter("32 KiB", "32 KB", "Sizes are powers of two")
    device, _ = study.built("device")
    yield Parameter(device.offers, None, "Whether devices had a file system")
    loads: list[Any] = [drivers.workload(trial.workload) for trial in study.asked.trials]
    yield Parameter(
        {load.in_flight_count for load in loads}, None, "is not printed: they are raw, and it is one"
    )
    assert {load.in_flight_count for load in loads} == {1}
    behind = [read for write, read in pairwise(study.asked.groups[0]) if follows(write, read)]
    assert len(behind) == printed("repetitions") * printed("request_sizes")
    yield Parameter("in blocks", "random", "Experiments are in random order within each repetition")
    yield Parameter(bool(behind), False, "one read of each size right behind the direct write")
    yield Parameter("durable", "reported", DURABLE)
    yield Parameter("beside it", "alone", BURST)
    rates_hz = {drivers.meter(spec).sampled_hz for trial in study.asked.trials for spec in trial.meters}
    yield Parameter(rates_hz, {1 / printed("sampling")}, "measured power every 500 ms")
    yield Parameter(rates_hz, {RATE_HZ}, "here power is modelled at 10 Hz")
    assert rates_hz == {10.0}
    cluster = catalogue.cluster("pc-hdd1")
    yield Parameter(
        cluster.nodes[0].board.idle_w.status, "measured", "watts of machines and devices are assumed"
    )
    memory = study.document["testbed"].get("memory_cap", False)
    yield Parameter(memory, True, "but not its memory")
    yield Parameter("file", "disk", "A file that stands in for a hard disk")
    yield Parameter("none", "an arm", "on other kernels random access is as fast")


def cubieboard(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    yield Parameter(study.document["clients"], [*range(1, int(printed("clients_most")) + 1)])
    yield Parameter(study.document["repetitions"], printed("power_repetitions"))
    load = study.workload
    yield Parameter(load["operation"], "procedure")
    yield Parameter(load["in_flight"], printed("threads"))
    for key, id in {
        "duration": "write_time",
        "read_duration": "read_time",
        "pools_made_apart": "pool_creation",
        "pools_deleted_apart": "pool_deletion",
    }.items():
        yield Parameter(load[key], f"{printed(id):g} s")
    most_bytes = max(printed(f"write_{n}") / n for n in study.document["clients"]) * printed("write_time")
    bench = next(trial.workload for trial in study.asked.trials if trial.workload.kind == "rados")
    assert drivers.workload(bench).moved_bytes(1) > most_bytes
    yield Parameter(load["size"], None, "a client writes 16 GiB at most")
    yield Parameter("of all", "of one", "Throughput is of all clients")
    latency = study.document["testbed"].get("disk_latency")
    yield Parameter(latency, "a seek", "Disks are files that don't seek")
    yield Parameter("modelled", "measured", "Watts are modelled")
    yield Parameter(RATE_HZ, 1 / printed("sampling"), "at 5 Hz and not every second")
    ceph, bed = study.built("Ceph")
    yield Parameter(ceph.monitors_count, printed("monitors"))
    hosts = bed.planned(5)
    yield Parameter(len(hosts.by_role("storage")), printed("osd_boards"))
    yield Parameter(ceph.copies_count, None, "Numbers of copies and placement groups are not printed")
    yield Parameter(ceph.placement_groups_count, None, "there are two and 64")
    yield Parameter("installed", study.paper.configurations["ceph"]["version"], "where 0.80.8 had journals")
    yield Parameter(study.emulated("Ceph"), False, SMALL)
    nodes = {node.role: node for node in bed.hardware.nodes}
    yield Parameter(nodes["storage"].disks[0].capacity_bytes.value, printed("disk_capacity"))
    for role, id in (("storage", "board_nic"), ("management", "board_nic"), ("client", "client_nic")):
        line_rate = nodes[role].board.nic_bytes_per_s.value * 1538 / 1448
        yield Parameter(line_rate, pytest.approx(printed(id), 0.01))
    assert same("transfer", load["object"], "4 MB")
    yield Parameter(load["object"], "4 MB", "Objects have 4 MiB")
    yield Parameter("dropped", None, "caches are dropped before reads")
    _, there = study.built("NAS")
    nas = there.planned(5).by_role("storage")
    (node,) = [node for node in there.hardware.nodes if node.role == "storage"]
    assert (len(nas), len(node.disks)) == (1, printed("nas_disks"))
    yield Parameter("emulated", "data sheet", "The NAS was not measured there: 188.7 W are of its data sheet")
    yield Parameter(disks_count(nas[0]), printed("nas_disks"), "disks are one disk with the bandwidth of all")
    yield Parameter(node.board.mips.status, "measured", "its server is assumed")
    yield Parameter("files", None, "and clients write and read files")


def hep(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    loads: list[Any] = [
        drivers.workload(of)
        for of in {trial.workload.label: trial.workload for trial in study.asked.trials}.values()
    ]
    yield Parameter(
        {load.size_bytes for load in loads}, {printed("uncompressed")}, "it is 128 MiB in 16 files"
    )
    yield Parameter({load.files_count for load in loads}, {printed("files")}, "instead of 259.9 GB in 644")
    read_ratio = printed("read_size") / printed("uncompressed")
    ours, theirs = (round(of, 2) for of in (loads[0].moved_bytes(1) / loads[0].size_bytes, read_ratio))
    yield Parameter(ours, theirs, f"Of it {ours:.0%} are read, not {theirs:.0%}".replace("%", " %"))
    given = study.paper.configurations
    yield Parameter(
        {load.compression for load in loads},
        {"none"} if "uncompressed" in str(given["hep"]["files"]) else set(),
    )
    yield Parameter("none", given["pc"]["files"], "with compressed files")
    yield Parameter("none", printed("pc_disks"), "on four local disks")
    yield Parameter("none", printed("pc_threads"), "and two threads for each, is not repeated")
    yield Parameter(1, printed("jobs_per_board"), "with two jobs on each board")
    yield Parameter(1, printed("jobs") / printed("osd_boards"), "uproot with one worker per host")
    times = {2: "twice", 3: "three times"}[study.document["repetitions"]]
    yield Parameter(times, None, f"How often it was repeated is not printed: {times} here")
    yield Parameter("made", "measured", "the campaign creates the data set")
    yield Parameter(RATE_HZ, 1 / printed("sampling"), "modelled at 5 Hz")
    boards = (printed("boards_count"), printed("disks_count"))
    yield Parameter("modelled", boards, "watt-hours of 15 boards and 12 disks every second")
    labels = {table["label"] for table in study.document["filesystem"]}
    yield Parameter(labels, {"Ceph"}, "The paper's files lay in Ceph")
    yield Parameter("a file", "objects", "keep a file below 64 MiB in one piece")
    yield Parameter("client", "Ceph", "Results go to the client and not, as there, into Ceph")
    assert all(load.size_bytes / load.files_count < 64 * MIB for load in loads)

    copies = 1 + printed("hep_replicas")
    yield Parameter("by the driver", "MooseFS's own", SMALL)
    moose, bed = study.built("MooseFS")
    gluster, _ = study.built("GlusterFS")
    yield Parameter((moose.goal, gluster.replicas), (copies, copies))
    yield Parameter(bed.cluster, "cubieboard2", "Hosts are those of odroid-hc4")
    servers = bed.planned(1).by_role("storage")
    yield Parameter(len(servers), printed("osd_boards"), "not twelve Cubieboards")


def hep_pc(study: Study) -> Iterator[Parameter]:
    printed = study.printed
    load: Any = drivers.workload(study.asked.trials[0].workload)
    yield Parameter(load.size_bytes, printed("uncompressed"), "it is 96 MiB in 48 files")
    yield Parameter(load.files_count, printed("files"), "instead of 259.9 GB in 644")
    yield Parameter("made", "measured", "the campaign creates the data set")
    read_ratio = printed("read_size") / printed("uncompressed")
    ours, theirs = round(load.moved_bytes(1) / load.size_bytes, 2), round(read_ratio, 2)
    yield Parameter(ours, theirs, f"Of it {ours:.0%} are read, not {theirs:.0%}".replace("%", " %"))
    given = study.paper.configurations
    yield Parameter(load.compression == "none", "uncompressed" in str(given["hep"]["files"]))
    yield Parameter(load.compression, given["pc"]["files"], "those of the paper's PC were")
    yield Parameter("uproot", "ROOT 5", "here it is uproot and Dask, with one worker on a host")
    yield Parameter("Dask", "ssh", "its batch system ssh")
    yield Parameter(1, printed("jobs_per_board"), "with two jobs on each board")
    yield Parameter(1, printed("pc_threads"), "two threads for each disk of the PC")
    yield Parameter(study.document["repetitions"], None, "How often it was repeated is not printed")
    yield Parameter(RATE_HZ, 1 / printed("sampling"), "modelled at 5 Hz, where plugs measured every second")
    pc_idle = catalogue.cluster("desktop-pc").nodes[0].board.idle_w
    yield Parameter(pc_idle.status, "measured", "fitted to the paper's own tables")

    boards, bed = study.built("Cubieboards")
    hosts = bed.planned(1)
    yield Parameter(len(hosts.by_role("storage")), printed("osd_boards"))
    yield Parameter(len(hosts.by_role("management")), printed("monitors"))
    yield Parameter("by the driver", "Ceph's own", SMALL)
    yield Parameter(boards.goal, 1 + printed("hep_replicas"))
    yield Parameter("moosefs", "Ceph", "files lay in Ceph with two copies")
    yield Parameter("a file", "objects", "MooseFS, with as many, keeps a file below 64 MiB in one piece")
    yield Parameter("client", "Ceph", "Results go to the client and not, as there, into Ceph")
    assert load.size_bytes / load.files_count < 64 * MIB

    _, machine = study.built("desktop PC")
    (node,) = machine.hardware.nodes
    yield Parameter(len(node.disks), printed("pc_disks"))
    yield Parameter(node.disks[0].capacity_bytes.value, printed("pc_disk_capacity"))
    yield Parameter(node.board.cores_count, printed("pc_cores"))
    yield Parameter(node.board.memory_bytes.value, pytest.approx(printed("pc_memory"), 0.08))
    yield Parameter(1, printed("pc_disks"), "one disk here, with the bandwidth of all")


STUDIES = {
    "green-storage": green_storage,
    "access-patterns": access_patterns,
    "cubieboard/cubieboard": cubieboard,
    "cubieboard/hep-pc": hep_pc,
    "cubieboard/hep": hep,
    "ssd-vs-hdd": ssd_vs_hdd,
}


def test_every_study_of_a_paper_is_held_against_it() -> None:
    papers = [name for name in published.names() if published.paper(name).kind == "paper"]
    studies = {
        f"{paper}/{of.study}" if of.study else paper
        for paper in papers
        for of in replication.reproductions(paper)
    }
    assert studies == {*STUDIES}


@pytest.mark.parametrize("name", STUDIES)
def test_a_campaign_says_what_differs_from_its_paper_and_only_that(name: str) -> None:
    study = Study(name)
    parameters = [*STUDIES[name](study)]
    for parameter in parameters:
        differs = parameter.ours != parameter.theirs
        assert differs == bool(parameter.words), parameter
        assert parameter.words in study.says, parameter
    checked = [parameter.words for parameter in parameters if parameter.words]
    sentences = re.split(r"[.;] (?=[A-Zaiofwh])", study.says)
    unchecked = [sentence for sentence in sentences if not any(words in sentence for words in checked)]
    assert not unchecked


@pytest.mark.parametrize(
    "paper", [name for name in published.names() if published.paper(name).kind == "paper"]
)
def test_a_repeated_study_takes_at_most_45_minutes(paper: str) -> None:
    plans = [
        campaign.plan(campaign.parse(replication.written(study)))
        for study in replication.reproductions(paper)
    ]
    assert sum(plan.duration_s for plan in plans) <= MOST_MINUTES * 60
    assert not [fault for plan in plans for fault in short_loads(plan)]
