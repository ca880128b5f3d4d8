"""The kit for an independent measurement: a pledge by its page is about what its campaign measures."""

import re
import shlex
import tomllib

import pytest

from perjoule.cli.terminal.inputs import hardware
from places import EXAMPLES, ROOT


@pytest.fixture(scope="module")
def commands() -> dict[str, list[str]]:
    page = (ROOT / "docs/how-to/independent.md").read_text()
    words = [shlex.split(line) for line in re.findall(r"\$ perjoule (.*)", page)]
    return {command[0]: command for command in words}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_the_pledge_is_about_the_load_and_the_file_system_of_the_campaign(commands) -> None:
    plan = tomllib.loads((EXAMPLES / "independent.toml").read_text())
    (filesystem,), (load,) = plan["filesystem"], plan["workload"]
    predict = commands["predict"]
    assert predict[1] == filesystem["kind"]
    assert option(predict, "--set") == f"goal={filesystem['goal']}"
    assert [int(option(predict, "--clients"))] == plan["clients"]
    assert option(predict, "--size") == load["size"]
    assert load.keys() == {"kind", "operation", "transfer", "size"}  # one stream, one call in flight


def test_the_pledge_is_about_the_hosts_of_the_campaign_and_is_judged_as_them(commands) -> None:
    plan = tomllib.loads((EXAMPLES / "independent.toml").read_text())
    boards = option(commands["predict"], "--on")
    assert option(commands["ledger"], "--on") == boards
    roles = [host["role"] for host in plan["testbed"]["hosts"]]
    predicted = {node.role: node for node in hardware(boards).nodes}
    assert predicted["storage"].count == roles.count("storage")
    assert predicted["metadata"].count == roles.count("metadata")
    disks = sum(len(predicted[role].disks) for role in roles if role != "client")
    assert disks == 3 and "three disks" in (ROOT / "docs/how-to/independent.md").read_text()
