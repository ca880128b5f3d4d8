"""How `ansible-inventory` runs, and what is kept of what it prints, by a program that prints what the real
one (2.16) did.
"""

import json
import shlex
from pathlib import Path

import pytest

from perjoule.cli.terminal.inputs import campaign_of
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds.cluster import ansible
from perjoule.testbeds.cluster.inventory import inventory
from places import TRANSCRIPTS
from sshd import until

LISTED = TRANSCRIPTS / "ansible" / "listed.json"
HOSTS = 'hosts = [{name = "@storage", role = "storage"}, {name = "c2", role = "client"}]'
CAMPAIGN = (
    f'[testbed]\nkind = "cluster"\n{HOSTS}\n[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = '
    '"simulated"\n'
)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory of the user's, beside a folder of programs that the user has named."""
    monkeypatch.setenv("PERJOULE_PROGRAMS", str(tmp_path / "programs"))
    (tmp_path / "programs" / "bin").mkdir(parents=True)
    source = tmp_path / "hosts.yml"
    source.write_text("all:\n")
    source.chmod(0o644)
    return source


def answer(asked: Path, *lines: str) -> None:
    program = asked.with_name("programs") / "bin" / "ansible-inventory"
    program.write_text("\n".join(["#!/bin/bash", *lines]))
    program.chmod(0o755)


def test_groups_hosts_and_logins_are_kept_and_nothing_else(asked: Path) -> None:
    answer(asked, f"cat {LISTED}")
    text = ansible.listed(asked)
    assert "hunter2" in LISTED.read_text()
    assert "hunter2" not in text
    assert "site_token" not in text
    found = inventory(text)
    assert found.groups["storage"] == ("s1", "s2")
    assert found.groups["all"] == ("s1", "s2", "c1", "c2")
    assert found.options["c2"] == {"address": "10.0.0.22", "user": "bench", "sudo": True, "jump": "gate"}
    assert "ansible_password: perjoule takes neither" in str(found.options["c1"]["refused"])


def test_it_runs_in_the_root_folder_where_nobody_puts_a_configuration(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the working folder, which may be a stranger's, an ansible.cfg would name plugins."""
    answer(
        asked,
        f'printf "%s\\n" "$PWD" "$@" "$ANSIBLE_INVENTORY_UNPARSED_FAILED" > {asked}.asked',
        f"cat {LISTED}",
    )
    monkeypatch.chdir(asked.parent)
    ansible.listed(Path("hosts.yml"))
    assert Path(f"{asked}.asked").read_text().split() == ["/", "--list", "-i", str(asked), "true"]


def test_a_campaign_with_the_users_inventory_keeps_its_text(asked: Path) -> None:
    answer(asked, f"cat {LISTED}")
    file = asked.with_name("lab.toml")
    file.write_text(CAMPAIGN)
    read = campaign_of(file, ("seed=1",), asked)
    assert list(read.files) == ["ansible-inventory.json"]
    assert json.loads(read.files["ansible-inventory.json"])["storage"] == {"hosts": ["s1", "s2"]}
    assert read.overrides[:2] == ("seed=1", "testbed.inventory=ansible-inventory.json")
    with pytest.raises(CampaignError, match='name = "@storage" is a group'):
        campaign_of(file, (), None)


def test_a_campaign_has_nothing_run(asked: Path) -> None:
    """An inventory that it names is read, whatever it is."""
    answer(asked, f"touch {asked}.ran")
    asked.write_text(f"#!/bin/sh\ntouch {asked}.ran\n")
    asked.chmod(0o755)
    file = asked.with_name("lab.toml")
    file.write_text(CAMPAIGN.replace('"cluster"', '"cluster"\ninventory = "hosts.yml"'))
    with pytest.raises(CampaignError):
        campaign_of(file, (), None)
    assert not Path(f"{asked}.ran").exists()


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (
            ("echo '[WARNING]: odd' >&2", "echo 'ERROR! bad source' >&2", "exit 1"),
            "ansible-inventory can't read it: bad source",
        ),
        (("exit 4",), "ansible-inventory can't read it: it ended with 4"),
        (("echo '{}'",), "ansible-inventory lists no hosts"),
        (('echo \'{"all": {"children": ["ungrouped"]}}\'',), "ansible-inventory lists no hosts"),
        (("echo '[1]'",), "ansible-inventory printed no inventory"),
        (("echo '{\"a\": 1}'",), "ansible-inventory printed no inventory"),
        (('echo \'{"a": {"hosts": 3}}\'',), "ansible-inventory printed no inventory"),
        (("printf '\\xff'",), "ansible-inventory printed no inventory"),
        (("yes",), "ansible-inventory printed more than 1 MiB"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(
    asked: Path, lines: tuple[str, ...], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ansible, "MOST_LISTED_BYTES", 2**20)
    answer(asked, *lines)
    with pytest.raises(CampaignError) as caught:
        ansible.listed(asked)
    assert caught.value.what.startswith(what)
    assert caught.value.next == f"try `ansible-inventory --list -i {shlex.quote(str(asked))}`"


def test_it_ends_in_time_with_what_it_has_started(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ansible, "PATIENCE_S", 0.5)
    answer(asked, "sleep 1000 &", f"echo $! > {asked}.pid", "sleep 1000")
    with pytest.raises(MachineError, match=r"ansible-inventory did not end within"):
        ansible.listed(asked)
    until(lambda: not Path("/proc", Path(f"{asked}.pid").read_text().strip()).exists())


def test_more_hosts_than_a_campaign_keeps_are_refused(asked: Path) -> None:
    many = {"all": {"hosts": [f"host-{number:06}" for number in range(100_000)]}}
    Path(f"{asked}.json").write_text(json.dumps(many))
    answer(asked, f"cat {asked}.json")
    with pytest.raises(CampaignError, match="more than 1 MiB"):
        ansible.listed(asked)


def test_an_inventory_that_others_can_change_is_not_run(asked: Path) -> None:
    answer(asked, f"touch {asked}.ran")
    asked.chmod(0o666)
    with pytest.raises(CampaignError, match="other users can change this inventory, which can run programs"):
        ansible.listed(asked)
    assert not Path(f"{asked}.ran").exists()


def test_an_inventory_with_a_file_that_others_can_change_is_not_run(asked: Path, tmp_path: Path) -> None:
    (below := tmp_path / "inventory/below").mkdir(parents=True)
    (below / "hosts").touch(mode=0o600)
    (below / "again").symlink_to(below.parent)
    answer(asked, f"touch {asked}.ran", f"cat {LISTED}")
    ansible.listed(below.parent)
    Path(f"{asked}.ran").unlink()
    (below / "hosts").chmod(0o666)
    with pytest.raises(CampaignError, match="below/hosts: other users can change this inventory"):
        ansible.listed(below.parent)
    assert not Path(f"{asked}.ran").exists()


def test_a_program_that_anybody_could_have_put_there_is_not_run(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(asked, f"touch {asked}.ran", f"cat {LISTED}")
    monkeypatch.setenv("PATH", f"{asked.parent}/programs/bin:/usr/../{asked.parent}/programs/bin")
    monkeypatch.setenv("PERJOULE_PROGRAMS", "")
    monkeypatch.setattr(ansible, "SYSTEM", "/nowhere")
    monkeypatch.setattr(ansible, "program_folders", lambda: ("/nowhere", "/usr/share"))
    with pytest.raises(
        MachineError, match="ansible-inventory is not installed below /nowhere or /usr/share; apt install"
    ):
        ansible.listed(asked)
    assert not Path(f"{asked}.ran").exists()
