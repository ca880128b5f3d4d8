"""What `ansible-inventory` lists of an inventory of the user's: YAML, folders with variables, programs,
plugins.

It runs what the inventory names, so only the user's own word has it run, never a campaign's.
https://docs.ansible.com/ansible/latest/cli/ansible-inventory.html
"""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perjoule.machine.programs import SYSTEM
from perjoule.machine.untrusted import UNEXPECTED, json_from, words
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.options import program_folders
from perjoule.model.units import MIB, bytes_text, seconds_text
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.openssh import require_own
from perjoule.testbeds.cluster.variables import concerns, is_secret

PROGRAM = "ansible-inventory"
PATIENCE_S = 120.0
MOST_LISTED_BYTES = 64 * MIB  # of what it prints, with variables of all kinds
MOST_KEPT_BYTES = MIB  # of what is kept of it with results, as of any file of a campaign
# A source that can't be read is an error, where by default it is a warning and an inventory without hosts.
_STRICT = {"ANSIBLE_INVENTORY_UNPARSED_FAILED": "true", "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"}
_PLAIN = {"ANSIBLE_NOCOLOR": "true", "COLUMNS": "1000"}


def listed(source: Path) -> str:
    """Return the groups, hosts and logins of an inventory as JSON, which `inventory` reads; no other
    variable, and no password.

    Raises:
        CampaignError: it can't be read, others can change it, or it has no hosts.
        MachineError: the program is missing, or did not end in time.
    """
    require_own(source, "inventory, which can run programs", "correct --inventory", folders=True)
    # From the root folder: an ansible.cfg in the working folder, which may be a stranger's, would name
    # plugins.
    command = [
        "prlimit",
        f"--fsize={MOST_LISTED_BYTES}",
        "env",
        "--chdir=/",
        _program(),
        "--list",
        "-i",
        str(source.absolute()),
    ]
    code, out, err = _process.captured(command, timeout_s=PATIENCE_S, env={**_STRICT, **_PLAIN})
    if code is None:
        raise MachineError(
            f"{PROGRAM} did not end within {seconds_text(PATIENCE_S)}", where=str(source), next=_try(source)
        )
    if len(out) >= MOST_LISTED_BYTES:
        raise CampaignError(
            f"{PROGRAM} printed more than {bytes_text(MOST_LISTED_BYTES)}",
            where=str(source),
            next=_try(source),
        )
    if code:
        lines = err.decode(errors="replace").strip().splitlines() or [f"it ended with {code}"]
        raise CampaignError(
            f"{PROGRAM} can't read it: {lines[-1].removeprefix('ERROR! ')}",
            where=str(source),
            next=_try(source),
        )
    try:
        groups = _kept(json_from(out.decode()))
    except UNEXPECTED as error:
        raise CampaignError(
            f"{PROGRAM} printed no inventory: {words(error)}", where=str(source), next=_try(source)
        ) from None
    if not any(group.get("hosts") for group in groups.values()):
        raise CampaignError(f"{PROGRAM} lists no hosts", where=str(source), next=_try(source))
    text = json.dumps(groups, indent=1, sort_keys=True) + "\n"
    if len(text.encode()) > MOST_KEPT_BYTES:
        problem = f"its hosts and their logins are more than {bytes_text(MOST_KEPT_BYTES)}"
        raise CampaignError(problem, where=str(source), next="name an inventory of fewer hosts")
    return text


def _try(source: Path) -> str:
    return f"try `{PROGRAM} --list -i {shlex.quote(str(source))}`"


def _program() -> str:
    """Find the program where only root installs, or below a folder of the user's word.

    Raises MachineError: it is not there.
    """
    trusted = program_folders()
    folders = [*(place for folder in trusted for place in (folder, f"{folder}/bin"))]
    folders += [
        folder
        for folder in f"{os.environ.get('PATH', '')}:{SYSTEM}".split(":")
        if ".." not in Path(folder).parts and any(Path(folder).is_relative_to(place) for place in trusted)
    ]
    for folder in folders:
        if os.access(file := f"{folder}/{PROGRAM}", os.X_OK):
            return file
    problem = f"{PROGRAM} is not installed below {' or '.join(trusted)}"
    raise MachineError(problem, next="apt install ansible-core, or add --programs and the folder that has it")


def _kept(inventory: Any) -> dict[str, dict[str, Any]]:
    """Return what says something of hosts and logins.

    Raises one of UNEXPECTED: it is not what the program prints.
    """
    hosts = inventory.get("_meta", {}).get("hostvars", {})
    groups = {name: _group(group) for name, group in inventory.items() if name != "_meta"}
    return {
        **groups,
        "_meta": {
            "hostvars": {host: logins for host, variables in hosts.items() if (logins := _logins(variables))}
        },
    }


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    parts = {
        "hosts": [*group.get("hosts", ())],
        "children": [*group.get("children", ())],
        "vars": _logins(group.get("vars", {})),
    }
    return {key: value for key, value in parts.items() if value}


def _logins(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: "" if is_secret(name) else value for name, value in variables.items() if concerns(name)}
