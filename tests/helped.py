"""A host with an installed helper, and a user who may start it by sudo: real sudo, with /etc and
/usr/local/sbin of its own.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from perjoule.testbeds.cluster import judge
from perjoule.testbeds.cluster.judge import PERMITTED
from perjoule.testbeds.cluster.scripts import HELPER

NEEDS_SUDO = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("sudo") or not shutil.which("logger"),
    reason="needs root, sudo and logger",
)
RUN, USER, UID = "0a1b2c3d", "pj-verbs", 64997
# a run ends what bears its mark and this name, also of tests beside
NAME = os.environ.get("PYTEST_XDIST_WORKER", "h1")
LOG = "/run/log-of-tests"  # what the helper has logged
# $1 a folder: a copy of /etc to change and an empty /usr/local/sbin.
HOST = r"""
mount --make-rprivate / && mount -t tmpfs none "$1" && cp -a /etc "$1/etc" &&
  mkdir -p "$1/sbin" "$1/etc/perjoule" "$1/etc/sudoers.d" &&
  mount --bind "$1/sbin" /usr/local/sbin && mount --bind "$1/etc" /etc && echo ready && exec sleep infinity
"""


@dataclass
class Installed:
    """A host whose /etc and /usr/local/sbin are its own."""

    folder: Path
    pid: int

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def run(self) -> Path:
        return self.work / f"cluster/{RUN}-{NAME}"

    def root(self, *argv: str | Path, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a command as root there."""
        return subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "--", *argv],
            input=text,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def write(self, path: str | Path, content: str, mode: int = 0o644) -> None:
        self.root("sh", "-c", 'cat > "$1" && chmod "$2" "$1"', "sh", path, f"{mode:o}", text=content.encode())

    def permit(self, *lines: str) -> None:
        self.write(PERMITTED, "\n".join([f"user {USER}", f"work {self.work}", *lines, ""]))

    def sudo(
        self, *words: str | Path, text: bytes = b"", env: Sequence[str] = (), options: Sequence[str] = ("-n",)
    ) -> bytes:
        """Run a command by sudo as the user."""
        done = self.root(*self.as_user(), *env, "/usr/bin/sudo", *options, "--", *words, text=text)
        return b"%d " % done.returncode + done.stdout + done.stderr

    def keep(
        self,
        *argvs: Sequence[str | bytes],
        inputs: Sequence[bytes] = (),
        lines: bytes = b"",
        last: bytes = b"",
    ) -> list[bytes]:
        """Have the helper keep the host and run commands, one after the other; return its answers. It hears `lines`
        before the first, and `last` after the last.
        """
        by_sudo = [*self.as_user(), "sudo", "-n", "--", HELPER, "keep", self.work, NAME]
        command = ["nsenter", "-t", str(self.pid), "-m", "--", *by_sudo]
        with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as child:
            assert child.stdin
            assert child.stdout
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(b"keep " + RUN.encode() + b"\n" + lines)
                child.stdin.flush()
            said: list[bytes] = []
            for n, argv in enumerate(argvs, start=1):
                words = [os.fsencode(word) for word in argv]
                content = inputs[n - 1] if n <= len(inputs) else b""
                asked = b"run %d %d %d\n" % (n, len(words), len(content)) + b"".join(
                    word + b"\0" for word in words
                )
                with contextlib.suppress(BrokenPipeError):
                    child.stdin.write(asked + content)
                    child.stdin.flush()
                while (line := child.stdout.readline()) and not line.startswith((b"answer ", b"refused")):
                    pass
                if not line.startswith(b"answer "):
                    said.append(line)
                    break
                _, _, code, out, err = line.split()
                said.append(code + b" " + child.stdout.read(int(out) + int(err)))
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(last)
                child.stdin.close()
            child.wait(60)
            return [*said, *([child.stderr.read()] if child.stderr and len(said) < len(argvs) else [])]

    def as_user(self) -> list[str]:
        """The words before a command of the user's."""
        return [
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--init-groups",
            "env",
            "-i",
            "PATH=/usr/bin:/bin",
        ]


@contextlib.contextmanager
def installed() -> Generator[Installed]:
    """A host in a mount namespace."""
    folder = Path(tempfile.mkdtemp(prefix="pj-helper-", dir="/tmp"))
    folder.chmod(0o755)
    ns = folder / "own"
    ns.mkdir()
    # it ends with the tests
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "-m", "bash", "-c", HOST, "host", ns]
    with subprocess.Popen(command, stdin=-3, stdout=-1, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        there = Installed(folder, child.pid)
        there.work.mkdir(mode=0o711)  # which stays, empty
        for file, line in (("passwd", f"{USER}:*:{UID}:{UID}::/:/bin/bash"), ("group", f"{USER}:x:{UID}:")):
            there.root("sh", "-c", f'echo "{line}" >> /etc/{file}')
        there.write(HELPER, judge.text(), 0o755)
        there.write("/etc/sudoers.d/perjoule", f"{USER} ALL = (root) NOPASSWD: {HELPER}\n", 0o440)
        there.write("/etc/logger", '#!/bin/bash\nprintf "%s\\n" "$*" >> /run/log-of-tests\n', 0o755)
        there.root(
            "sh",
            "-c",
            "mount -t tmpfs none /run && mount --bind /etc/logger /usr/bin/logger && umask 077 && : > "
            "/run/log-of-tests",
        )
        there.write("/etc/secret", "the secret\n", 0o600)
        there.permit()
        try:
            yield there
        finally:
            child.kill()
    shutil.rmtree(folder)
