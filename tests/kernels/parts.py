"""Which tests run on other kernels and releases, in parts that each fit some minutes."""

from dataclasses import dataclass
from pathlib import Path

CONTRACT = "tests/live/test_filesystem_contract.py"
BEEGFS = "tests/live/test_beegfs_kernel.py"
RBD = "tests/live/test_rbd.py"
ROOT = Path(__file__).parents[2]
FILESYSTEMS = (
    "trial",
    "moosefs",
    "glusterfs",
    "cephfs",
    "rados",
    "directory",
    "orangefs",
    "beegfs",
    "local_fs",
    "nfs",
    "rbd",
)
WORKLOADS = ("workload_contract", "fio", "rados_bench", "hep", "ior", "mdtest", "elbencho", "together")
OWN = "device or directory or local or rados or simulated"
ON_SOME_KERNELS = tuple(f"tests/live/test_virtual_{one}.py" for one in ("links", "delay", "memory", "caps"))
EMULATED = ("-k", "not as_slow_as_the_disk")  # where a CPU is emulated, it is slower than a capped disk
MIRRORS, CEPHFS = "(a_mirror or f2fs) and not zfs", "reads_what_another_wrote"
BUILT = ("tests/live/test_orangefs.py", "tests/live/test_orangefs_kernel.py", "tests/live/test_beegfs.py")
SIDE_BY_SIDE = ("--numprocesses", "auto", "--dist", "worksteal")
NUMBERS = ("energy", "trial", "measures", "statistics", "model", "machine", "catalogue", "store")
VIRTUAL = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/live/test_virtual*.py"))


@dataclass(frozen=True)
class Part:
    """Tests by pytest's words, and what they are about."""

    about: str
    words: tuple[str, ...]
    minutes: int
    default: bool = False
    whole: bool = True
    """Whether each of its tests must run in a virtual machine: it is there for what that kernel has."""
    more: tuple[str, ...] = ()
    """Further sections of setup/debian-packages in its machine."""


PARTS = {
    "ci": Part(
        "of the three below what fits into 15 minutes: NFS by version 4.2 alone, and mirrors and f2fs of "
        "what lies on disks",
        (
            *(f"tests/live/test_{one}.py" for one in ("nfs", "local_fs", "cephfs")),
            "-k",
            f"4.2-async or ({MIRRORS}) or {CEPHFS}",
        ),
        15,
    ),
    "nfs": Part(
        "NFS by the kernel's client, from Ganesha and from the kernel",
        ("tests/live/test_nfs.py", "-k", "not user_space"),
        10,
        default=True,
    ),
    "cephfs": Part(
        "CephFS by the kernel's client", ("tests/live/test_cephfs.py", "-k", CEPHFS), 8, default=True
    ),
    "rbd": Part("block devices on Ceph, by the kernel", (RBD, "-k", "mapping_it_again"), 12),
    "rbd-killed": Part("the same in a campaign that is killed while it writes", (RBD, "-k", "killed"), 12),
    "rbd-events": Part(
        "the same while servers are killed, cut off and lose their disks", (RBD, "-k", "whatever_happens"), 40
    ),
    "local-fs": Part(
        "md and LVM mirrors, f2fs and what else lies on disks",
        ("tests/live/test_local_fs.py", "-k", "not zfs"),
        15,
        default=True,
    ),
    "mirrors": Part(
        "of these only md and LVM mirrors, and f2fs",
        ("tests/live/test_local_fs.py", "-k", MIRRORS),
        10,
    ),
    "zfs": Part(
        "mirrors by ZFS, whose module is built for that kernel",
        ("tests/live/test_local_fs.py", "-k", "zfs"),
        12,
        more=("zfs",),
    ),
    "links": Part("latency and loss between virtual hosts", ("tests/live/test_virtual_links.py",), 12),
    "delay": Part("disks with a latency of their own", ("tests/live/test_virtual_delay.py",), 10),
    "memory": Part("memory caps of virtual hosts", ("tests/live/test_virtual_memory.py", *EMULATED), 15),
    "cgroups": Part(
        "shares of CPU, memory and disks under cgroup v2", ("tests/live/test_virtual_caps.py",), 15
    ),
    "hosts": Part("these four in one machine, which boots once", (*ON_SOME_KERNELS, *EMULATED), 45),
    "orangefs": Part("OrangeFS by the kernel's client", ("tests/live/test_orangefs_kernel.py",), 10),
    "beegfs": Part(
        "BeeGFS by the kernel's client, of a build beside the project with its module for that kernel",
        (BEEGFS,),
        20,
    ),
    "nfs-contract": Part("what every file system must do, by NFS", (CONTRACT, "-k", "nfs"), 10),
    "moosefs": Part("what every file system must do, by MooseFS", (CONTRACT, "-k", "moosefs"), 15),
    "glusterfs": Part("the same by GlusterFS", (CONTRACT, "-k", "glusterfs"), 15),
    "cephfs-contract": Part("the same by CephFS", (CONTRACT, "-k", "cephfs"), 20),
    "own": Part(
        "the same by what clients have of their own, and by RADOS", (CONTRACT, "-k", OWN), 15, whole=False
    ),
    "built": Part("OrangeFS and BeeGFS, of builds beside the project", BUILT, 30, whole=False),
    "virtual": Part("virtual hosts", ("tests/live/test_virtual.py",), 15, whole=False),
    "cluster": Part("hosts over SSH", ("tests/live/test_cluster.py",), 30, whole=False),
    "units": Part(
        "a run on a host over SSH as a unit of systemd, with its limits",
        ("tests/live/test_cluster_units.py",),
        20,
    ),
    "cluster-nfs": Part(
        "every workload on NFS by the kernel's client, on hosts over SSH",
        (
            "tests/live/test_cluster.py",
            "-m",
            "live",
            "-k",
            "what_runs_on and nfs and (whole or MPI-cluster) and not user",
        ),
        40,
        whole=False,
    ),
    "ranks": Part("IOR and mdtest", ("tests/live/test_ior.py", "tests/live/test_mdtest.py"), 15, whole=False),
    "slurm": Part("nodes that Slurm allocates", ("tests/live/test_slurm.py",), 15, whole=False),
    "trials": Part(
        "campaigns on MooseFS and GlusterFS",
        ("tests/live/test_trial.py", "-m", "live", "-k", "moosefs or glusterfs"),
        20,
    ),
    "trial-cephfs": Part(
        "a campaign on CephFS", ("tests/live/test_trial.py", "-m", "live", "-k", "cephfs"), 15
    ),
    "simulated": Part("campaigns on simulated hosts", ("tests/pipeline/test_simulated.py",), 15),
    "unit": Part("the unit tests", ("tests/unit", *SIDE_BY_SIDE), 120, whole=False),
    "numbers": Part(
        "of these what computes numbers",
        (*(f"tests/unit/{one}" for one in NUMBERS), *SIDE_BY_SIDE),
        60,
        whole=False,
    ),
    "caps": Part("virtual hosts, their caps and disks", tuple(VIRTUAL), 40, whole=False),
    "filesystems": Part(
        "all file systems", (CONTRACT, *(f"tests/live/test_{one}.py" for one in FILESYSTEMS)), 60, whole=False
    ),
    "workloads": Part(
        "all workloads", tuple(f"tests/live/test_{one}.py" for one in WORKLOADS), 60, whole=False
    ),
    "live": Part("all live tests", ("tests/live",), 90, whole=False),
    "meters": Part("meters, read from simulated devices", ("tests/meters",), 30, whole=False),
}
