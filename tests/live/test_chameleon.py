"""Nodes of Chameleon by OpenSSH and a real sshd, which is this machine's; the APIs are a stand-in."""

from pathlib import Path

import pytest

from chameleon_api import chameleon_api
from perjoule.testbeds import _reserved
from perjoule.testbeds.chameleon import Chameleon
from sshd import NEEDS_SSHD, ON_LOOPBACK, on_loopback
from typed import as_written

pytestmark = [pytest.mark.live, NEEDS_SSHD]


def test_nodes_are_reached_at_their_public_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "lab"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "home" / "clouds.yaml"))
    with on_loopback(tmp_path / "lab") as options, chameleon_api(tmp_path / "home") as site:
        nodes = [
            f"Host 198.51.100.{number}\nHostName {ip}\n" for number, ip in enumerate(ON_LOOPBACK.values(), 1)
        ]
        login = f"Host 198.51.100.*\nPort {options['port']}\nIdentityFile {options['identity']}\n"
        with (tmp_path / "lab" / "known.cfg").open("a") as configuration:
            configuration.writelines([*nodes, login])
        hosts = [{"type": "storage_nvme", "role": "client", "count": 2}]
        software = {"image": "CC-Ubuntu24.04", "key": "mine", "user": "root"}
        bed = as_written(Chameleon, hosts=hosts, work=str(tmp_path / "work"), **software)
        try:
            with bed.hold(2) as held:
                assert [host.name for host in held.clients] == ["P3-NVME-001", "P3-NVME-002"]
                assert [host.run(["id", "-un"], timeout_s=10).stdout for host in held.clients] == [
                    "root\n"
                ] * 2
                assert len(site.alive) == 1
        finally:
            _reserved.give_all_back()
        assert site.alive == []
