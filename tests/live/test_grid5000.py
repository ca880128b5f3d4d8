"""Nodes of Grid'5000 by OpenSSH and a real sshd, which is this machine's; the API is a stand-in."""

from pathlib import Path

import pytest

from grid_api import full, grid_api
from perjoule.testbeds import _reserved
from perjoule.testbeds.grid5000 import Grid5000
from sshd import NEEDS_SSHD, ON_LOOPBACK, on_loopback
from typed import as_written

pytestmark = [pytest.mark.live, NEEDS_SSHD]


def test_nodes_are_reached_by_the_users_own_ssh_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "lab"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with on_loopback(tmp_path / "lab") as options, grid_api(tmp_path / "home") as site:
        names = [full("taurus", number) for number in (1, 2)]
        nodes = [
            f"Host {name}\nHostName {ip}\n" for name, ip in zip(names, ON_LOOPBACK.values(), strict=True)
        ]
        login = f"Host *.grid5000.fr\nPort {options['port']}\nIdentityFile {options['identity']}\n"
        with (tmp_path / "lab" / "known.cfg").open("a") as configuration:
            configuration.writelines([*nodes, login])
        hosts = [{"cluster": "taurus", "role": "client", "count": 2}]
        bed = as_written(
            Grid5000, site="lyon", hosts=hosts, environment="debian12-min", work=str(tmp_path / "work")
        )
        try:
            with bed.hold(2) as held:
                assert [host.name for host in held.clients] == ["taurus-1", "taurus-2"]
                assert [host.run(["id", "-un"], timeout_s=10).stdout for host in held.clients] == [
                    "root\n"
                ] * 2
                assert len(site.alive) == 1
        finally:
            _reserved.give_all_back()
        assert site.alive == []
