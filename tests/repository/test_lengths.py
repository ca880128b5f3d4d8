"""A file of src is read in one go: one with more lines than that has its reason here."""

import pytest

from places import SOURCES

MOST_LINES = 250
KINDS = ("*.py", "*.js", "*.css", "*.html")
REASONS = {
    "papers/audit/rules.py": "one list of rules, each a few lines",
    "energy/integral.py": "one algorithm, from samples to any window",
    "campaign/__init__.py": "the order in which a campaign is read, with the check of each part",
    "cli/tune.py": "one command, its progress and its result",
    "execution/trial.py": "one trial from its preparation to its record",
    "figures/clients.py": "the layers of one kind of figure",
    "views/content.py": "a property of a few lines for each thing that views are made from",
    "filesystems/_ceph/cluster.py": "one deployment from bring-up to tear-down",
    "filesystems/_deployment.py": "one base class, whose methods drivers override",
    "filesystems/beegfs/cluster.py": "one deployment from bring-up to tear-down",
    "filesystems/glusterfs/__init__.py": "one driver: its options and its deployment",
    "filesystems/moosefs/__init__.py": "one driver: its options and its deployment",
    "filesystems/simulated.py": "one driver with each ability, all of them claims",
    "filesystems/nfs/__init__.py": "one driver with two kinds of servers",
    "filesystems/nfs/mount.py": "a program of its own, which imports nothing of perjoule",
    "filesystems/orangefs/__init__.py": "one driver: its options and its deployment",
    "meters/_on_hosts.py": "scripts for hosts beside the code that reads what they print",
    "meters/csv/__init__.py": "one driver with many declared options",
    "model/metrics.py": "the registry: an entry for each metric",
    "planning/candidates.py": "one enumeration, a function for each dimension",
    "planning/parts.py": "a class for each kind of part, and how they are read",
    "publishing/entry.py": "all checks of a bundle from a stranger, to be read together",
    "testbeds/_device/view.py": "one set of questions about a block device, with the parser of each answer",
    "testbeds/_disk.py": "what makes a disk and what removes it, to be read together",
    "testbeds/_process.py": "one way to start and end child processes",
    "testbeds/cluster/__init__.py": "one driver: its options, its checks, and how it holds hosts",
    "testbeds/cluster/judge.py": "one file for an administrator to read: the judge of each command, in bash",
    "testbeds/cluster/host.py": "one class with each method of the protocol Host",
    "testbeds/cluster/keeping/keeper.py": "one connection, with all that goes over it and its time limits",
    "testbeds/cluster/scripts.py": "scripts for hosts, in bash",
    "testbeds/local/__init__.py": "one driver: its testbed and its one host",
    "testbeds/simulated.py": "one class with each method of the protocol Host, and its testbed",
    "testbeds/slurm/__init__.py": "one driver: its options, its checks, and how it holds nodes",
    "testbeds/virtual/host.py": "one class with each method of the protocol Host",
    "workloads/duty/__init__.py": "one driver with three kinds of loads",
    "workloads/rados/__init__.py": "one driver with the parser of its tool's report",
}
LENGTHS = {
    str(path.relative_to(SOURCES)): len(path.read_text().splitlines()) for kind in KINDS for path in sorted(SOURCES.rglob(kind))
}


@pytest.mark.parametrize("name", [name for name, count in LENGTHS.items() if count > MOST_LINES])
def test_a_long_file_has_a_reason(name: str) -> None:
    where = "tests/repository/test_lengths.py"
    assert name in REASONS, f"{name} has {LENGTHS[name]} lines: split it, or add its reason to REASONS in {where}"


def test_every_reason_is_that_of_a_long_file() -> None:
    short = [name for name in REASONS if LENGTHS.get(name, 0) <= MOST_LINES]
    assert not short, f"these are not long, or not there, any more; remove them from REASONS: {short}"
