"""Hosts by the groups of an Ansible inventory, with roles by group, pattern and count."""

from pathlib import Path

import pytest

from perjoule import campaign, drivers
from perjoule.model.errors import CampaignError
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.cluster.inventory import inventory
from perjoule.testbeds.cluster.openssh import Ssh
from places import TRANSCRIPTS

INI = """
# the lab
gateway.lab ansible_host=192.0.2.1

[storage]
s[1:2] ansible_port=2222  # two shelves
s9 ansible_host=192.0.2.9 ansible_user=admin

[compute]
n[01:06]

[compute:vars]
ansible_user = "bench"
http_port = 80

[lab:children]
storage
compute

[lab:vars]
ansible_user=lab
ansible_ssh_common_args=-J gateway.lab
"""


def parsed(folder: Path, *tables: str, text: str = INI, rest: str = 'inventory = "hosts.ini"') -> SshCluster:
    (folder / "hosts.ini").write_text(text)
    loads = '[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = "simulated"\n'
    source = f'[testbed]\nkind = "cluster"\n{rest}\nhosts = [{", ".join(tables)}]\n{loads}'
    made = campaign.parse(source, source="lab.toml", folder=folder)
    # so that results can be measured further elsewhere
    assert made.files == ({"hosts.ini": text} if rest else {})
    bed = drivers.testbed(made.trials[0].testbed)
    assert isinstance(bed, SshCluster)
    return bed


def test_an_inventory_has_groups_within_groups_and_options_of_the_nearest() -> None:
    found = inventory(INI)
    assert found.groups["storage"] == ("s1", "s2", "s9")
    assert found.groups["lab"] == ("s1", "s2", "s9", "n01", "n02", "n03", "n04", "n05", "n06")
    assert found.groups["all"] == ("gateway.lab", *found.groups["lab"])
    assert found.options["s2"] == {"port": 2222, "user": "lab", "jump": "gateway.lab"}
    assert found.options["s9"] == {"address": "192.0.2.9", "user": "admin", "jump": "gateway.lab"}
    assert found.options["n06"] == {"user": "bench", "jump": "gateway.lab"}


@pytest.mark.parametrize("name", ["inventory", "inventory-exported"])
def test_what_ansible_prints_is_what_the_ini_file_says(name: str) -> None:
    """Recorded from ansible-core 2.19, of the same lab in YAML."""
    found, known = (
        inventory((TRANSCRIPTS / "cluster" / f"{name}.json").read_text()),
        inventory(INI.partition("ansible_ssh")[0]),
    )
    assert found.options == known.options
    assert {group: found.groups[group] for group in known.groups} == known.groups
    assert found.groups["ungrouped"] == ("gateway.lab",)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "---\nall:\n",
            "is in YAML, .*; `ansible-inventory -i hosts.yml --list > hosts.json`, then inventory = "
            '"hosts.json"',
        ),
        ("# lab\n\nstorage: # here\n  hosts:\n", "is in YAML"),
        ('{"all": {"hosts": ["a"]}', "is not what `ansible-inventory --list` prints: .* line 1 column 25"),
        ('{"all": ["a"]}', "is not what `ansible-inventory --list` prints: "),
        (
            '{"a": {"children": ["b"]}, "b": {"children": ["a"]}}',
            'group "a" of the inventory contains itself',
        ),
    ],
)
def test_another_text_is_refused_with_the_command_that_translates_it(
    text: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(CampaignError, match=what):
        parsed(tmp_path, '{name = "@all", role = "client"}', text=text)


def test_roles_go_to_groups_patterns_and_counts(tmp_path: Path) -> None:
    bed = parsed(
        tmp_path,
        '{name = "@storage", role = "storage"}',
        '{name = "n06", address = "192.0.2.66", role = "management"}',
        '{name = "@lab", role = "metadata", count = 1}',
        '{name = "@compute", role = "client", node = "odroid-hc4/G"}',
    )
    assert [(one.name, one.role) for one in bed.hosts] == [
        *((name, "storage") for name in ("s1", "s2", "s9")),
        ("n06", "management"),
        ("n01", "metadata"),
        *((f"n0{n}", "client") for n in range(2, 6)),
    ]
    assert [one.address for one in bed.hosts[2:5]] == ["192.0.2.9", "192.0.2.66", ""]
    login = bed._login(bed.hosts[0])
    assert isinstance(login, Ssh)
    assert (login.destination, login.port, login.user) == ("s1", 2222, "lab")


def test_a_count_of_a_pattern_needs_no_inventory(tmp_path: Path) -> None:
    nodes = 'name = "n[1-4]", address = "192.0.2.[1-4]"'
    both = (f'{{{nodes}, role = "storage", count = 3}}', f'{{{nodes}, role = "client", count = 1}}')
    assert [(one.name, one.address, one.role) for one in parsed(tmp_path, *both, rest="").hosts] == [
        *((f"n{n}", f"192.0.2.{n}", "storage") for n in (1, 2, 3)),
        ("n4", "192.0.2.4", "client"),
    ]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (
            '{name = "@storag", role = "storage"}',
            'the inventory has no group "storag"; known: all, storage, compute, lab',
        ),
        ('{name = "@storage", role = "storage", count = 4}', '4 hosts of "@storage" requested, 3 left'),
        (
            '{name = "@storage", address = "192.0.2.1", role = "storage"}',
            'name = "@storage" is 3 hosts, but address',
        ),
    ],
)
def test_a_group_that_can_not_be_is_one_sentence(table: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=what):
        parsed(tmp_path, table)


def test_a_group_without_an_inventory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r'name = "@storage" is a group; add inventory = "hosts.ini"'):
        parsed(tmp_path, '{name = "@storage", role = "storage"}', rest="")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "[a]\nn[1:3] ansible_host\n",
            'line 2 of the inventory: "ansible_host" is not a variable; write key=value',
        ),
        ("[a]\nn[1:3\n", "line 2 of the inventory: .* bracket without its partner"),
        ("[a]\nn1 ansible_host='x\n", "line 2 of the inventory: No closing quotation"),
        ("[a:children]\nb\n", 'no group "b", a child of "a"'),
        ("[a:children]\nb\n[b:children]\na\n", 'group "a" of the inventory contains itself'),
    ],
)
def test_an_inventory_with_a_mistake_names_it(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=what):
        parsed(tmp_path, '{name = "@a", role = "client"}', text=text)


def test_groups_that_name_each_other_twice_take_no_time_and_a_deep_or_huge_inventory_is_refused():
    twice = "".join(
        f"[g{n}:children]\ng{n + 1}\ng{n + 1}\nh{n + 1}\n[h{n}:children]\ng{n + 1}\n" for n in range(40)
    )
    assert inventory(twice + "[g40]\nn1\n[h40]\n").groups["g0"] == ("n1",)  # 2 ** 40 ways lead there
    deep = "".join(f"[g{n}:children]\ng{n + 1}\n" for n in range(3000)) + "[g3000]\nn1\n"
    with pytest.raises(ValueError, match="nested deeper than 100"):
        inventory(deep)
    with pytest.raises(ValueError, match="line 3 of the inventory: its group has more than 10000 hosts"):
        inventory("[a]\nn[1-9000]\nm[1-9000]\n")
    with pytest.raises(ValueError, match="more than 1000000 names together"):
        inventory("[a]\nn[1-9000]\n" + "".join(f"[b{n}:children]\na\n" for n in range(200)))


def test_what_an_inventory_says_of_a_login_is_honoured(tmp_path: Path) -> None:
    key, args = (
        "ansible_ssh_private_key_file=/keys/lab",
        "ansible_ssh_common_args='-C -o ProxyJump=me@gate:2222 -o ControlMaster=auto'",
    )
    text = (
        f"web1:2022 ansible_become=yes {key} {args}\nn[1:2]:2200\nweb2 ansible_become=false ansible_port=22\n"
    )
    bed = parsed(tmp_path, '{name = "@all", role = "client"}', text=text)
    logins = {machine.name: bed._login(machine) for machine in bed.hosts}
    assert logins["web1"] == Ssh(
        "web1", "web1", port=2022, identity="/keys/lab", sudo=True, jump="me@gate:2222"
    )
    assert logins["n2"] == Ssh("n2", "n2", port=2200)
    assert logins["web2"] == Ssh("web2", "web2", port=22)
    words = logins["web1"].command(["id"])
    assert words[words.index("-J") + 1] == "me@gate:2222"
    assert words[-1] == "exec sudo -n -- id"


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        (
            "ansible_ssh_common_args='-o ProxyCommand=\"touch /tmp/x\"'",
            "left to your own configuration of ssh",
        ),
        ("ansible_ssh_extra_args='-oProxyCommand=touch'", "left to your own configuration of ssh"),
        ("ansible_ssh_args='-F /tmp/theirs'", "left to your own configuration of ssh"),
        ("ansible_ssh_args='-o StrictHostKeyChecking=no'", "left to your own configuration of ssh"),
        (
            "ansible_ssh_common_args='-o PermitLocalCommand=yes -o LocalCommand=id'",
            "left to your own configuration of ssh",
        ),
        ("ansible_ssh_common_args='-o KnownHostsCommand=/tmp/x'", "left to your own configuration of ssh"),
        ("ansible_ssh_common_args='-o Include=/tmp/x'", "left to your own configuration of ssh"),
        ("ansible_ssh_common_args='-J gate,-oProxyCommand=x'", "left to your own configuration of ssh"),
        ("ansible_ssh_common_args='-J $(touch /tmp/x)'", "left to your own configuration of ssh"),
        ("ansible_ssh_executable=/tmp/x", "neither passwords nor programs"),
        ("ansible_password=secret", "neither passwords nor programs"),
        ("ansible_become_password=secret", "neither passwords nor programs"),
        ("ansible_become_exe=/tmp/x", "neither passwords nor programs"),
        ("ansible_become_method=doas", "knows only sudo"),
        ("ansible_become_user=nobody", "knows only root"),
        ("ansible_become=perhaps", "neither true nor false"),
        ("ansible_connection=local", "knows only ssh"),
        ("ansible_ssh_host_key_checking=false", "knows only true"),
        ('ansible_host=\'{{ lookup("pipe", "id") }}\'', "a template of Ansible's"),
        ("ansible_user={{user}}", "a template of Ansible's"),
    ],
)
def test_what_an_inventory_says_of_a_login_and_perjoule_can_not_do_is_refused_with_its_name(
    variable: str, what: str, tmp_path: Path
) -> None:
    text = f"web1 {variable}\nweb2\n"
    with pytest.raises(
        CampaignError, match=f"the inventory's web1 can't be used as it says there: ansible_.*{what}"
    ):
        parsed(tmp_path, '{name = "web1", role = "client"}', text=text)
    (tmp_path / "vars").mkdir()
    with pytest.raises(CampaignError, match=what):
        parsed(tmp_path / "vars", '{name = "@a", role = "client"}', text=f"[a]\nweb1\n[a:vars]\n{variable}\n")
    # others can be used
    assert parsed(tmp_path, '{name = "web2", role = "client"}', text=text).hosts[0].name == "web2"


@pytest.mark.parametrize(
    "name", ["ansible_password", "ansible_ssh_pass", "ansible_become_password", "ansible_become_pass"]
)
def test_a_password_of_an_inventory_is_in_no_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=f"as it says there: {name}: perjoule takes neither") as caught:
        parsed(tmp_path, '{name = "web1", role = "client"}', text=f"web1 {name}=hunter2\n")
    assert "hunter2" not in str(caught.value)


def test_variables_that_only_playbooks_need_are_left_out(tmp_path: Path) -> None:
    text = (
        "web1 ansible_python_interpreter=/usr/bin/python3 ansible_ssh_pipelining=true ansible_shell_type=sh "
        "motd='{{ x }}'\n"
    )
    assert parsed(tmp_path, '{name = "web1", role = "client"}', text=text).hosts[0].name == "web1"
