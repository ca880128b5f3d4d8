"""OpenSSH's own client: its arguments, and its messages when it can't connect.
https://man.openbsd.org/ssh_config

This module alone turns an argument list into a shell's words: ssh joins its arguments with blanks, and the
login shell at the other end splits them again, so it gets a single quoted word.
"""

import os
import re
import shlex
import socket
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine.scripts import BASH
from perjoule.machine.strangers import callers, meddlers
from perjoule.model.errors import CampaignError, HostUnreachable, LoginRefused, PerjouleError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.login import Login
from perjoule.testbeds.cluster.scripts import HELPER

CONNECT_S = 10
CONFIGURATION = "PERJOULE_SSH_CONFIG"  # of the environment: a file of the user's, as --ssh-config names it
SSH_FAILED = 255
# A lost network is noticed after 30 s: a small board under full load can leave ssh unanswered for half of
# that. Nothing prompts on a terminal; which keys to trust is left to the user's own settings. A host gets
# neither the user's agent nor the screen, which settings for all hosts would lend to any that a campaign
# names.
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": CONNECT_S,
    "ServerAliveInterval": 5,
    "ServerAliveCountMax": 6,
    "ControlPersist": "no",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
}
# $1 the helper, $2 the number of its words, these, then what sudo runs without a helper.
_BY_HELPER = r"""
helper=("$1" "${@:3:$2}")
[ ! -e "$1" ] || exec sudo -n -- "${helper[@]}"
shift $((2 + $2))
exec sudo -n -- "$@"
"""
# the server closes the connection at once, as with too many logins under way
_CROWDED = "kex_exchange_identification"
_BEHIND = ": open failed: "  # said of the host behind a jump host that ssh did reach
_BAD_FILE = re.compile(r"(?:Bad permissions|UNPROTECTED PRIVATE KEY|bad permissions)")
# What it says, what that means, and what to do: the first that fits.
_SAYINGS = (
    (
        LoginRefused,
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed",
        "find out why, then `ssh-keygen -R {key}`",
    ),
    (
        LoginRefused,
        "Host key verification failed",
        "its host key is not known",
        "verify it, then accept it once with `ssh {host}`",
    ),
    (
        LoginRefused,
        "sudo: a password is required",
        "sudo wants a password",
        "install what `perjoule doctor CAMPAIGN --sudoers` prints, allow sudo without a password, or log "
        "in as root (user)",
    ),
    (LoginRefused, "sudo: ", "sudo was refused ({line})", "change its sudoers, or log in as root (user)"),
    (LoginRefused, "perjoule-host: ", "{line}", "see journalctl -t perjoule on it"),
    (
        LoginRefused,
        "Permission denied",
        "it accepts none of our keys",
        "check user and identity, or `ssh-copy-id {host}`",
    ),
    (
        HostUnreachable,
        "Could not resolve hostname",
        "its host name can't be resolved",
        "set its address, or HostName in ssh's configuration",
    ),
    (
        HostUnreachable,
        "No route to host",
        "there is no route to it",
        "check that it is on, and check its address",
    ),
    (
        HostUnreachable,
        "Network is unreachable",
        "there is no route to it",
        "check this machine's network, and its address",
    ),
    (
        HostUnreachable,
        "Connection refused",
        "no SSH server is listening there",
        "start sshd on it, or correct port",
    ),
    (HostUnreachable, "timed out", "it does not answer", "check that it is on, its address, and firewalls"),
)


def configuration() -> str:
    """Return the configuration file that the user named for ssh; "" is OpenSSH's own choice.

    It may run programs here (ProxyCommand, Match exec), so it is never a campaign's. Raises CampaignError:
    others can write it.
    """
    path = os.environ.get(CONFIGURATION, "")
    if path:
        require_configuration(path)
    return path


def require_configuration(path: str) -> None:
    """Require that nobody but the user and root can change a configuration of ssh. Raises CampaignError."""
    kind, advice = "configuration of ssh, which can run programs", f"correct --ssh-config, or {CONFIGURATION}"
    require_own(Path(path), kind, advice)


def require_own(path: Path, kind: str, advice: str, *, folders: bool = False) -> None:
    """Require that nobody but the user and root can change a file that runs programs, or a folder with what is in
    it if it may be one.

    Raises CampaignError: they can; or it can't be read, with the advice.
    """
    try:
        state = path.stat()
        # who may rename what is on the way may put another file there
        meddler = meddlers(path.parent) or meddlers(Path(os.path.realpath(path)).parent)
        is_folder = stat.S_ISDIR(state.st_mode) and not path.is_symlink()
        content = sorted(path.iterdir()) if folders and is_folder else []
    except OSError as error:
        raise CampaignError(f"can't be read ({error.strerror})", where=str(path), next=advice) from None
    users = {0, os.geteuid(), *callers()}
    regular = stat.S_ISREG(state.st_mode) or (folders and stat.S_ISDIR(state.st_mode))
    if not regular or state.st_uid not in users or state.st_mode & 0o022 or meddler:
        problem = f"other users can change this {kind}" + (f" ({meddler})" if meddler else "")
        raise CampaignError(
            problem,
            where=str(path),
            next=f"make it a file of yours, and `chmod go-w {shlex.quote(str(path))}`",
        )
    for inside in content:
        if not inside.name.startswith("."):  # which programs that read such a folder skip, too
            require_own(inside, kind, advice, folders=True)


@dataclass(frozen=True)
class Ssh(Login):
    """How to log in to one host over SSH."""

    name: str
    destination: str  # as OpenSSH knows it
    user: str = ""
    port: int | None = None
    identity: str = ""
    config: str = ""
    sudo: bool = False
    jump: str = ""

    @property
    def where(self) -> str:
        """The host and its name for OpenSSH."""
        return f"{self.name} ({self.destination})"

    @property
    def key(self) -> str:
        """The name of its key among the known hosts."""
        return f"[{self.destination}]:{self.port}" if self.port not in (None, 22) else self.destination

    def command(
        self, argv: Sequence[str], *, socket: str = "", master: bool = False, verb: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that runs an argument list on the host, over the connection at `socket` if
        there is one.
        """
        command = [
            "ssh",
            "-T",
            "-k",
            *(argument for option, value in _OPTIONS.items() for argument in ("-o", f"{option}={value}")),
        ]
        command += [
            "-o",
            f"ControlMaster={'yes' if master else 'no'}",
            "-o",
            f"ControlPath={socket or 'none'}",
        ]
        command += ["-i", self.identity, "-o", "IdentitiesOnly=yes"] if self.identity else []
        command += [*self._chosen, "--", self.destination]
        lead = ["sudo", "-n", "--"] if self.sudo else []
        if self.sudo and verb:
            lead = [*BASH, _BY_HELPER, "perjoule-sudo", HELPER, str(len(verb)), *verb]
        return [*command, "exec " + shlex.join([*lead, *argv])]

    @property
    def _chosen(self) -> list[str]:
        """The options on which its configuration may depend."""
        options = ["-F", self.config] if self.config else []
        options += ["-J", self.jump] if self.jump else []
        options += ["-p", str(self.port)] if self.port else []
        return [*options, *(["-l", self.user] if self.user else [])]

    def address(self) -> str:
        """Return the address that OpenSSH's configuration has for it: its IP address, or a name that is
        unknown here.

        No connection is made. Raises MachineError with ssh's message.
        """
        code, stdout, why = _process.captured(
            ["ssh", "-G", *self._chosen, "--", self.destination], timeout_s=CONNECT_S
        )
        match = re.search(r"^hostname (\S+)$", stdout.decode(errors="replace"), re.MULTILINE)
        if code or not match:
            raise self.refusal(why.decode(errors="replace"))
        try:
            return str(socket.getaddrinfo(match[1], None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
        except OSError:  # of IPv6, or known to the other hosts alone
            return match[1]

    def refusal(self, message: str) -> PerjouleError:
        """Turn ssh's message, when it can't connect, into an error and its fix."""
        if lack := self.bash_lack(message):
            return lack
        lines = [line_text for line in message.splitlines() if (line_text := line.strip("@ \t"))] or [
            "ssh printed nothing"
        ]
        if _BAD_FILE.search(message):
            return LoginRefused(
                f"ssh rejects the key: {lines[-1]}", where=self.where, next=f"chmod 600 {self.identity}"
            )
        behind = next((line for line in lines if _BEHIND in line), "")
        closed = not behind and any(line.startswith(_CROWDED) for line in lines)
        for kind, saying, fault, advice in _SAYINGS:
            if not (line := next((line for line in lines if saying in line), "")):
                continue
            # the command that leads to the host said it, then ssh that it ended
            if closed and not line.startswith(_CROWDED):
                failed = f"its ProxyJump or ProxyCommand failed: {line}"
                return HostUnreachable(failed, where=self.where, next=f"try `ssh {self.destination}`")
            message = fault.replace("{line}", line.removeprefix(saying))
            return kind(message, where=self.where, next=advice.format(host=self.destination, key=self.key))
        advice = "; if that works, raise MaxStartups of its sshd, or of the jump host's" if closed else ""
        fault = f"no connection: {behind or lines[-1]}"
        return HostUnreachable(fault, where=self.where, next=f"try `ssh {self.destination}`{advice}")
