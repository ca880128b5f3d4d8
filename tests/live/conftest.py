"""What the live tests of all file systems ask of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.model.units import MIB
from sshd import OVER_SSH

VERIFIED_BYTES = 8 * MIB


@pytest.fixture
def verified() -> Callable[[Hosts, Mounted], Path]:
    """Write a file on the first client and read it back over cold caches, with fio's own checksums in every block."""

    def write_and_read(hosts: Hosts, mounted: Mounted) -> Path:
        client = hosts.clients[0]
        path = mounted.directories[client.name] / "verified"
        fio = ["fio", "--name=verify", f"--filename={path}", f"--size={VERIFIED_BYTES}", "--bs=1M", "--verify=crc32c"]
        client.run([*fio, "--rw=write", "--do_verify=0", "--end_fsync=1"], timeout_s=60)
        mounted.drop_caches()
        client.drop_caches()  # of all hosts, which share one kernel here
        client.run([*fio, "--rw=read", "--verify_fatal=1"], timeout_s=60)
        mounted.alive()
        assert set(mounted.locate(path)) <= set(mounted.data_hosts)
        return path

    return write_and_read


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which workloads ran valid on which file systems over SSH, as one table."""
    reports = [report for of in terminalreporter.stats.values() for report in of if hasattr(report, "user_properties")]
    rows = {value[0]: value[1:] for report in reports for name, value in report.user_properties if name == OVER_SSH}
    if not rows:
        return
    columns = {workload: max(len(workload), 7) for workloads, _ in rows.values() for workload in workloads}
    terminalreporter.section("workloads on file systems over SSH")
    terminalreporter.line(" " * 34 + "  ".join(f"{column:{width}}" for column, width in columns.items()))
    for name, (workloads, found) in rows.items():
        cells = (f"{found if column in workloads else '-':{width}}" for column, width in columns.items())
        terminalreporter.line(f"{name:34}" + "  ".join(cells))
