"""What an Ansible inventory says of a login: honoured, or refused in a sentence; what only Ansible needs is
left out.

https://docs.ansible.com/ansible/latest/collections/ansible/builtin/ssh_connection.html
"""

import re
import shlex
from collections.abc import Mapping

REFUSED = "refused"  # a host's key for why it can't be used
_NAMES = {
    "address": ("ansible_host", "ansible_ssh_host"),
    "port": ("ansible_port", "ansible_ssh_port"),
    "user": ("ansible_user", "ansible_ssh_user"),
    "identity": ("ansible_private_key_file", "ansible_ssh_private_key_file"),
    "sudo": ("ansible_become",),
}
_OURS = {name: ours for ours, names in _NAMES.items() for name in names}
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_ONE = {  # the only value that perjoule has, of variables that say who one is there and how
    "ansible_become_method": ("sudo",),
    "ansible_become_user": ("root",),
    "ansible_connection": ("ssh", "smart"),
    "ansible_host_key_checking": ("true",),
    "ansible_ssh_host_key_checking": ("true",),
}
_FORBIDDEN = re.compile(
    r"ansible_(ssh_|become_)?(pass|password|password_file)|ansible_become_(exe|flags)|ansible_ssh_executable|.*pkcs11.*"
)
_JUMP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:-]*(,[A-Za-z0-9][A-Za-z0-9_.@:-]*)*")
_LEFT_OUT = (
    "controlmaster",
    "controlpath",
    "controlpersist",
    "connecttimeout",
    "serveraliveinterval",
    "serveralivecountmax",
)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")


def login(variables: Mapping[str, str | int]) -> dict[str, str | int | bool]:
    """Return the keys of a host's table that these variables stand for, and in `REFUSED` why it can't be
    used, if so.
    """
    keys: dict[str, str | int | bool] = {}
    for name, value in variables.items():
        text = str(value).strip()
        try:
            keys |= _keys(name, text)
        except ValueError as error:
            keys[REFUSED] = f"{name}: {error}" if is_secret(name) else f"{name} = {text}: {error}"
    return keys


def concerns(name: str) -> bool:
    """Return whether a variable says something of a login."""
    return name in _OURS or name in _ARGUMENTS or name in _ONE or is_secret(name)


def is_secret(name: str) -> bool:
    """Return whether a variable may hold a password: its value is neither kept nor shown."""
    return _FORBIDDEN.fullmatch(name) is not None


def _keys(name: str, text: str) -> dict[str, str | int | bool]:
    """Return what one variable stands for. Raises ValueError: why it can't be honoured."""
    if concerns(name) and "{{" in text:
        raise ValueError("this is a template of Ansible's (write its value)")
    if name in _ARGUMENTS:
        return _arguments(text)
    if name in _ONE and text.lower() not in _ONE[name]:
        raise ValueError(f"perjoule knows only {_ONE[name][0]} (change it, or use other hosts)")
    if is_secret(name):
        raise ValueError(
            "perjoule takes neither passwords nor programs from an inventory (use keys, or an agent, and "
            "sudo without)"
        )
    key = _OURS.get(name, "")
    if key == "sudo" and text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError("this is neither true nor false")
    if key == "sudo":
        return {key: text.lower() in _TRUE}
    return {key: int(text) if key == "port" and text.isdecimal() else text} if key else {}


def _arguments(text: str) -> dict[str, str | int | bool]:
    """Return what arguments of ssh stand for: a jump host.

    Raises ValueError: another, which could run programs here.
    """
    options: dict[str, str | int | bool] = {}
    arguments = iter(shlex.split(text))
    for argument in arguments:
        option = (
            next(arguments, "")
            if argument in ("-o", "-J")
            else argument[2:]
            if argument[:2] in ("-o", "-J")
            else ""
        )
        key, _, value = option.replace("=", " ", 1).strip().partition(" ")
        jump = option if argument.startswith("-J") else value.strip() if key.lower() == "proxyjump" else ""
        if jump and _JUMP.fullmatch(jump):
            options["jump"] = jump
        elif argument != "-C" and (jump or not argument.startswith("-o") or key.lower() not in _LEFT_OUT):
            raise ValueError(
                f'"{argument} {option}" is left to your own configuration of ssh (remove it here, and add '
                "it there: --ssh-config)"
            )
    return options
