"""Hosts and their groups in an Ansible inventory: in INI format, or as `ansible-inventory --list` prints it.

https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html
https://docs.ansible.com/ansible/latest/cli/ansible-inventory.html
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from perjoule.drivers.names import MOST_COUNT, unfold
from perjoule.machine.untrusted import UNEXPECTED, json_from, words
from perjoule.testbeds.cluster.variables import REFUSED, login

MOST_DEPTH = 100  # groups inside groups
MOST_NAMES = 1_000_000  # of all groups together: a host counts in each of its groups
_HEADER = re.compile(r"\[([^\[\]:]+)(?::(children|vars))?\]\s*(?:[#;].*)?")
_WITH_PORT = re.compile(r"((?:[^:\[\]]|\[[^\]]*\])+):(\d{1,5})")
_RANGE = re.compile(r"\[(\d+):(\d+)\]")
_YAML = re.compile(r"---.*|[\w.-]+:\s*(?:#.*)?")  # a document, or a group with something below it


@dataclass(frozen=True)
class Inventory:
    """Names of hosts by group, in order, and each host's own options; "all" is the group of all hosts."""

    groups: Mapping[str, tuple[str, ...]]
    options: Mapping[str, Mapping[str, str | int | bool]]


@dataclass
class _Group:
    hosts: dict[str, dict[str, str | int | bool]] = field(
        default_factory=dict[str, dict[str, str | int | bool]]
    )
    children: list[str] = field(default_factory=list[str])
    variables: dict[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])


@dataclass
class _Tree:
    groups: Mapping[str, _Group]
    hosts_by_group: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    names_count: int = 0

    def hosts(self, name: str, above: tuple[str, ...] = ()) -> Mapping[str, None]:
        """Return the hosts of a group and of its children, in order.

        Raises:
            ValueError: a group is missing or inside itself, or there are too many of them.
        """
        if name in self.hosts_by_group:
            return self.hosts_by_group[name]
        if name in above:
            raise ValueError(f'group "{name}" of the inventory contains itself')
        if name not in self.groups:
            raise ValueError(f'the inventory has no group "{name}", a child of "{above[-1]}"')
        if len(above) == MOST_DEPTH:
            raise ValueError(f"groups of the inventory are nested deeper than {MOST_DEPTH}")
        hosts_found = dict.fromkeys(self.groups[name].hosts)
        for child in dict.fromkeys(self.groups[name].children):
            hosts_found |= self.hosts(child, (*above, name))
        self.hosts_by_group[name] = hosts_found
        self.names_count += len(hosts_found)
        if self.names_count > MOST_NAMES:
            raise ValueError(f"the groups of the inventory have more than {MOST_NAMES} names together")
        return hosts_found


def inventory(text: str) -> Inventory:
    """Parse an inventory. Raises ValueError with the number of the line, if it has lines."""
    first = next(
        (line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"), ""
    )
    if _YAML.fullmatch(first):
        fault = "the inventory is in YAML, which ansible-inventory can translate"
        raise ValueError(
            f'{fault} (`ansible-inventory -i hosts.yml --list > hosts.json`, then inventory = "hosts.json")'
        )
    groups = _of_json(text) if first.startswith("{") else _of_lines(text)
    tree = _Tree(groups)
    names = {name: tuple(tree.hosts(name)) for name in groups}
    inside = [host for name in groups for host in names[name]]  # what has no group is first
    names["all"] = tuple(dict.fromkeys(inside))
    options: dict[str, dict[str, str | int | bool]] = {host: {} for host in names["all"]}
    # the smaller group is the more special one
    for name in sorted(groups, key=lambda name: len(names[name]), reverse=True):
        for host in names[name]:
            options[host] |= groups[name].variables
    for group in groups.values():
        for host, variables in group.hosts.items():
            options[host] |= variables
    return Inventory(names, options)


def _of_json(text: str) -> dict[str, _Group]:
    """Parse what `ansible-inventory --list` prints; it leaves out groups that are empty."""
    try:
        listed: dict[str, Any] = json_from(text)
        groups = {"all": _Group()} | {name: _Group() for name in listed if name != "_meta"}
        logins = {
            host: login(variables) for host, variables in listed.get("_meta", {}).get("hostvars", {}).items()
        }
        for name, group in groups.items():
            entry = listed.get(name, {})
            group.hosts |= {host: logins.get(host, {}) for host in entry.get("hosts", ())}
            group.children += [child for child in entry.get("children", ()) if child in groups]
            group.variables |= login(entry.get("vars", {}))
            if len(group.hosts) > MOST_COUNT:
                raise ValueError(f"the group {name} has more than {MOST_COUNT} hosts")
    except UNEXPECTED as error:
        raise ValueError(
            f"the inventory is not what `ansible-inventory --list` prints: {words(error)}"
        ) from None
    return groups


def _of_lines(text: str) -> dict[str, _Group]:
    groups: dict[str, _Group] = {"all": _Group()}
    group, part = groups["all"], ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if match := _HEADER.fullmatch(line.strip()):
                group, part = groups.setdefault(match[1].strip(), _Group()), match[2] or ""
            elif line.strip() and line.strip()[0] not in "#;":
                _read(line, group, part)
        except ValueError as error:
            raise ValueError(f"line {number} of the inventory: {error}") from None
    return groups


def _read(line: str, group: _Group, part: str) -> None:
    if part == "vars":
        key, _, value = line.partition("=")
        group.variables |= login({key.strip(): " ".join(shlex.split(value, comments=True))})
        return
    first, *assignments = shlex.split(line, comments=True)
    if part == "children":
        group.children.append(first)
        return
    if wrong := next((assignment for assignment in assignments if "=" not in assignment), ""):
        raise ValueError(f'"{wrong}" is not a variable (write key=value)')
    variables = login(dict(assignment.split("=", 1) for assignment in assignments))
    if match := _WITH_PORT.fullmatch(first):
        first, variables = match[1], {"port": int(match[2]), **variables}
    hosts = unfold(_RANGE.sub(r"[\1-\2]", first))
    if len(group.hosts) + len(hosts) > MOST_COUNT:
        raise ValueError(f"its group has more than {MOST_COUNT} hosts")
    for host in hosts:
        group.hosts[host] = {**group.hosts.get(host, {}), **variables}


def tables(hosts: object, listing: Inventory | None, *, to_run: bool = False) -> object:
    """Make one table of each host out of tables whose names are patterns or groups. Raises ValueError.

    Only `to_run` refuses hosts whose login the inventory wants in a way that can't be had.
    """
    if not isinstance(hosts, list | tuple):
        return hosts
    rows: list[object] = []
    for host in cast("Sequence[object]", hosts):
        if not isinstance(host, Mapping):
            rows.append(host)
            continue
        taken = {
            str(cast("Mapping[str, object]", row)["name"])
            for row in rows
            if isinstance(row, Mapping) and "name" in row
        }
        rows += _of_table(dict(cast("Mapping[str, object]", host)), taken, listing, to_run=to_run)
    return rows


def _of_table(
    table: dict[str, object], taken: set[str], listing: Inventory | None, *, to_run: bool
) -> list[dict[str, object]]:
    texts = {
        key: value
        for key in ("name", "address", "cluster_address", "ssh")
        if (value := table.get(key)) and isinstance(value, str)
    }
    name, count = texts.get("name", ""), table.pop("count", None)
    many = {
        key: _group(value, listing) if key == "name" and value.startswith("@") else unfold(value)
        for key, value in texts.items()
    }
    for key, value in many.items():
        if len(value) != len(many.get("name", [""])):
            raise ValueError(
                f'name = "{name}" is {len(many.get("name", [""]))} hosts, but {key} = "{texts[key]}" is '
                f"{len(value)}"
            )
    rows: list[dict[str, object]] = []
    for at, host_name in enumerate(many.get("name", [""])):
        from_inventory = dict(listing.options.get(host_name, {})) if listing else {}
        if (reason := from_inventory.pop(REFUSED, "")) and to_run:
            raise ValueError(f"the inventory's {host_name} can't be used as it says there: {reason}")
        rows.append({**from_inventory, **table, **{key: value[at] for key, value in many.items()}})
    if name.startswith("@") or count is not None:
        rows = [row for row in rows if row["name"] not in taken]
    if isinstance(count, int) and len(rows) < count:
        raise ValueError(f'{count} hosts of "{name}" requested, {len(rows)} left')
    return rows[: count if isinstance(count, int) else None]


def _group(group: str, listing: Inventory | None) -> Sequence[str]:
    if listing is None:
        raise ValueError(f'name = "{group}" is a group (add inventory = "hosts.ini", which has it)')
    if group[1:] not in listing.groups:
        raise ValueError(f'the inventory has no group "{group[1:]}" (known: {", ".join(listing.groups)})')
    return listing.groups[group[1:]]
