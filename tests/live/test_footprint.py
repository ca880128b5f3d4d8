"""What `perjoule check --hosts` says of hosts, held against what really runs, listens and is mounted on
them.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lacking import lacking
from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import Host, WorksInBackground
from perjoule.execution.footprint import TOOLS, ports_on, programs_on
from perjoule.filesystems._options import Deployed
from perjoule.testbeds.virtual.host import VirtualHost

pytestmark = pytest.mark.live

# which start another program, after options, variables or seconds
WRAPPERS = ("env", "setpriv", "unshare", "timeout")


def programs(argv: Sequence[object]) -> list[str]:
    """The name of a program, and of those that it only wraps."""
    words, names = [str(word) for word in argv], list[str]()
    while words:
        names.append(Path(words[0]).name)
        if names[-1] not in WRAPPERS:
            break
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].isdigit()):
            words = words[1:]
    return names


def listening(host: Host) -> set[int]:
    """The TCP ports on which something listens that others can reach."""
    rows = [
        line.split()[3].rpartition(":")
        for line in host.run(["ss", "-Hltn"], timeout_s=10).stdout.splitlines()
    ]
    return {int(port) for address, _, port in rows if not address.startswith("127.")}


def numbers(ports: Sequence[str]) -> set[int]:
    spans = [text.split()[0].split("-") for text in ports]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("moosefs", {"metalogger": True}),
        ("glusterfs", {"layout": "replicated", "hosts": 2}),
        ("cephfs", {}),
        pytest.param("rados", {}, marks=pytest.mark.slow),  # its daemons are those of CephFS
        ("nfs", {"client": "fuse"}),
        ("orangefs", {}),
        pytest.param("seaweedfs", {}, marks=pytest.mark.slow),
        pytest.param("garage", {}, marks=pytest.mark.slow),
        pytest.param("versitygw", {}, marks=pytest.mark.slow),
    ],
)
def test_nothing_runs_listens_or_is_mounted_that_is_not_declared(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    filesystem = drivers.build("filesystems", kind, options)
    assert isinstance(filesystem, Deployed)
    if missing := lacking(filesystem.checks()):
        pytest.skip(missing)
    ran: dict[str, set[str]] = defaultdict(set)
    for name in ("run", "spawn"):
        original = getattr(VirtualHost, name)

        def noted(host: VirtualHost, argv: Sequence[object], *, original: Any = original, **more: Any) -> Any:
            ran[host.name] |= {*programs(argv)}
            return original(host, argv, **more)

        monkeypatch.setattr(VirtualHost, name, noted)
    with hosts_of(servers=2).hold(1) as hosts:
        before = {
            host.name: {*host.run(["findmnt", "-rno", "TARGET"], timeout_s=10).stdout.split()}
            for host in hosts.all
        }
        with filesystem.mount(hosts) as mounted:
            mounted.drop_caches()
            mounted.alive()
            if isinstance(mounted, WorksInBackground):
                mounted.busy()
            for host in hosts.all:
                said = host.run(["findmnt", "-rno", "TARGET"], timeout_s=10).stdout.split()
                places = {
                    place
                    for place in said
                    if place not in before[host.name] and str(host.directory) not in place
                }
                assert listening(host) <= numbers(ports_on(host, hosts, filesystem)), host.name
                assert {place for place in places if "gsyncd" not in place} <= {*filesystem.hides}, host.name
            fixed = {
                host.name: numbers([p for p in ports_on(host, hosts, filesystem) if "-" not in p.split()[0]])
                for host in hosts.all
            }
            assert all(fixed[host.name] <= listening(host) for host in hosts.by_role("storage")[:1]), fixed
        for host in hosts.all:
            unnamed = ran[host.name] - {*TOOLS.split()} - {*programs_on(host, hosts, filesystem)}
            assert unnamed == set(), host.name
