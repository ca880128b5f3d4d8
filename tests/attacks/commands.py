"""Attacks through the installed command, as a user would meet them: what a campaign, a bundle or a
neighbour makes of it.
"""

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit
from urllib.request import urlopen

from attacks.bundles import HOSTILE
from attacks.pages import hostile_results
from places import ROOT

PERJOULE = Path(sys.executable).with_name("perjoule")
BUNDLE = ROOT / "docs" / "list" / "bundles" / "hep-pc-2731584b7022.zip"  # of our own list
LIMIT_S = 120.0
LURE = "perjoule-lure"
DISK = """
[testbed]
kind = "local"
[[filesystem]]
kind = "local"
{disk}
[[workload]]
kind = "fio"
size = "1 MiB"
"""
CEPH = """
[testbed]
kind = "virtual"
[[filesystem]]
kind = "cephfs"
conf = {{ {conf} }}
[[workload]]
kind = "fio"
size = "1 MiB"
"""
SSH = """
[testbed]
kind = "cluster"
config = "{config}"
[[testbed.host]]
name = "nowhere.invalid"
role = "storage"
[[testbed.host]]
name = "nobody.invalid"
role = "client"
[[filesystem]]
kind = "nfs"
[[workload]]
kind = "fio"
size = "1 MiB"
"""
REFUSED: Mapping[str, str] = {
    "a log of XFS on another device": DISK.format(
        disk='type = "xfs"\nmake = ["-l", "logdev=/dev/zero,size=64m"]'
    ),
    "a second device of Btrfs": DISK.format(disk='type = "btrfs"\nmake = ["-f", "/dev/zero"]'),
    "a journal of ext4 elsewhere": DISK.format(disk='type = "ext4"\nmake = ["-J", "device=/dev/zero"]'),
    "an undo file of mke2fs": DISK.format(disk='type = "ext4"\nmake = ["-z", "/etc/perjoule-lure"]'),
    "a bind mount": DISK.format(disk='type = "ext4"\noptions = ["bind"]'),
    "a mount of a folder within": DISK.format(disk='type = "ext4"\noptions = ["X-mount.subdir=etc"]'),
    "a library of Ceph's": CEPH.format(conf='"osd class dir" = "/tmp"'),
    "a library of Ceph's, in capitals": CEPH.format(conf='OSD_CLASS_DIR = "/tmp"'),
}
LINE_FEED = CEPH.format(conf='osd_memory_target = "1\\nbluestore_block_path = /dev/zero"')


def perjoule(*words: object, cwd: Path) -> tuple[int, str]:
    """Run the command; give its exit code and the last line that it prints."""
    argv = [str(PERJOULE), *map(str, words)]
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    lines = (done.stdout + done.stderr).rstrip("\n").splitlines()
    return -1 if "Traceback" in done.stderr else done.returncode, lines[-1] if lines else ""


# Each attack below gives "" where the promise held, and what broke where it did not.


def campaign(text: str, reason: str, room: Path) -> str:
    """Check a campaign that must be refused, for a reason that has these words and for nothing else."""
    (room / "attack.toml").write_text(f'name = "attack"\n{text}')
    code, line = perjoule("check", "attack.toml", cwd=room)
    return "" if code == 2 and reason in line else f"exit code {code}: {line}"


def ssh_configuration(room: Path) -> str:
    """Let a campaign bring an ssh configuration that starts a program."""
    (room / "their_ssh_config").write_text(
        f'Host *\n  ProxyCommand touch {room / LURE}\nMatch exec "touch {room / LURE}"\n'
    )
    (room / "attack.toml").write_text(f'name = "attack"\n{SSH.format(config="their_ssh_config")}')
    for words in (("check", "attack.toml"), ("check", "attack.toml", "--connect"), ("doctor", "attack.toml")):
        perjoule(*words, cwd=room)
    return "a program of the campaign's ran" if (room / LURE).exists() else ""


def bundle(what: str, room: Path) -> str:
    """Verify a hostile bundle, which must be refused in a sentence."""
    HOSTILE[what](BUNDLE, room / "hostile.zip")
    code, line = perjoule("verify", "hostile.zip", cwd=room)
    return "" if code == 3 and line.startswith("perjoule: ") else f"exit code {code}: {line[:80]}"


def public_list(room: Path) -> str:
    """Put hostile bundles into a list, whose site must have the good one."""
    folder = room / "list" / "bundles"
    folder.mkdir(parents=True)
    (folder / "good.zip").write_bytes(BUNDLE.read_bytes())
    for number, what in enumerate(
        ("name: a file that is a folder", "name: 2000 folders", "cut short", "a link")
    ):
        HOSTILE[what](BUNDLE, folder / f"a{number}.zip")
    code, line = perjoule("list", "build", "list", "--to", "site", cwd=room)
    page = room / "site" / "index.html"
    return (
        ""
        if code == 1 and page.is_file() and "green-storage" in page.read_text()
        else f"exit code {code}: {line}"
    )


def slow_connections(room: Path) -> str:
    """Hold the live page with slow connections, and ask for its data."""
    results = hostile_results(room / "results")
    argv, unbuffered = (
        [str(PERJOULE), "watch", str(results.folder), "--for", "60 s"],
        {**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=unbuffered) as page:
        try:
            assert page.stdout is not None
            url = next(word for line in page.stdout for word in line.split() if word.startswith("http://"))
            return _served(url)
        finally:
            page.send_signal(signal.SIGTERM)


def _served(url: str) -> str:
    where = urlsplit(url)
    with ExitStack() as stack:
        slow = [
            stack.enter_context(create_connection((where.hostname or "", where.port or 0))) for _ in range(32)
        ]
        for _ in range(5):
            for connection in slow:
                with suppress(OSError):
                    connection.sendall(b"G")
            time.sleep(0.2)
            try:
                with urlopen(url.replace("/?", "/data?"), timeout=10) as answer:
                    answer.read()
            except OSError as error:
                return f"the page did not answer: {error}"
    return ""


def formulas(room: Path) -> str:
    """Export results with labels that are formulas."""
    results = hostile_results(room / "results", words="=cmd|'/c calc'!A1")
    perjoule("export", results.folder, "--csv", "table.csv", cwd=room)
    with (room / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [cell for row in rows for name, cell in row.items() if name not in ("value", "low", "high")]
    wrong = [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    return f"{wrong[0]} is a formula" if wrong else "" if rows else "no table"
