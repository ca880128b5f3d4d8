"""An inventory in YAML with variables of its groups, and one that is a program, listed by the real
ansible-inventory.
"""

from pathlib import Path

import pytest

from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds.cluster import ansible, listed
from perjoule.testbeds.cluster.inventory import inventory

pytestmark = pytest.mark.live

YAML = """
all:
  vars: {ansible_user: root}
  children:
    storage: {hosts: {"s[1:2]": {site_token: hunter2}}}
    compute:
      hosts:
        c1: {ansible_host: 10.0.0.21, ansible_port: 2222}
        c2: {ansible_ssh_common_args: "-J gate", ansible_become: true}
"""
PROGRAM = """#!/bin/sh
echo '{"tape": {"hosts": ["t1"], "vars": {"ansible_user": "ops"}}, "_meta": {"hostvars": {"t1": {"ansible_host": "10.0.0.9"}}}}'
"""


@pytest.fixture(autouse=True)
def installed() -> None:
    try:
        ansible._program()
    except MachineError as error:
        pytest.skip(str(error))


def test_a_folder_of_inventories_is_listed_with_groups_variables_and_programs(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "compute.yml").write_text("ansible_user: bench\n")
    (tmp_path / "hosts.yml").write_text(YAML)
    (tmp_path / "more").write_text(PROGRAM)
    (tmp_path / "more").chmod(0o755)
    text = listed(tmp_path)
    assert "hunter2" not in text
    found = inventory(text)
    assert found.groups["storage"] == ("s1", "s2")
    assert found.options["s2"] == {"user": "root"}
    assert found.options["c1"] == {"user": "bench", "address": "10.0.0.21", "port": 2222}
    assert found.options["c2"] == {"user": "bench", "sudo": True, "jump": "gate"}
    assert found.options["t1"] == {"user": "ops", "address": "10.0.0.9"}


def test_what_it_can_not_parse_is_an_error_and_no_inventory_without_hosts(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("x: [\n")
    with pytest.raises(CampaignError, match="ansible-inventory can't read it: "):
        listed(tmp_path / "hosts.yml")


def test_a_configuration_in_the_working_folder_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yml").write_text(YAML)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "yaml.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\ninventory_plugins = {tmp_path / 'plugins'}\n")
    monkeypatch.chdir(tmp_path)
    assert inventory(listed(Path("mine.yml"))).groups["storage"] == ("s1", "s2")
    assert not (tmp_path / "ran").exists()
