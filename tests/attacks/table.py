"""All attacks in order, each with the promise that it attacks, and the program that runs them and prints a
table.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attacks import commands
from attacks.bundles import HOSTILE
from places import ROOT

LIMIT_S = 900.0  # of the tests of one attack


@dataclass(frozen=True)
class Attack:
    """What is tried, and the promise that must hold: `run` gets a folder of its own, and gives "" or what
    broke.
    """

    what: str
    promise: str
    run: Callable[[Path], str]


@dataclass(frozen=True)
class Tests:
    """The tests of a file that make an attack on hosts, disks or file systems; none may be skipped."""

    path: str  # below tests/

    def __call__(self, room: Path) -> str:
        """Run them."""
        argv = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            f"tests/{self.path}",
        ]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        last = done.stdout.strip().rpartition("\n")[2]
        return (
            "" if done.returncode == 0 and "skipped" not in last else last or f"exit code {done.returncode}"
        )


def attacks() -> Iterator[Attack]:
    """Name all attacks."""
    folder, place = "unit/testbeds/cluster/test_folders.py", "unit/store/test_place.py"
    hostile, shared = "unit/testbeds/cluster/keeping/test_heard.py", "unit/testbeds/cluster/test_logs.py"
    yield Attack(
        "a user of a host owns or swaps the work folder",
        "no user of a host becomes the one who logs in",
        Tests(folder),
    )
    judged = "the helper that sudoers name runs as root only what root permits"
    yield Attack("a user may start the helper by sudo", judged, Tests("unit/testbeds/cluster/test_judge.py"))
    yield Attack(
        "hostile words for a keeper",
        "nothing that a keeper hears is evaluated",
        Tests("unit/testbeds/cluster/test_scripts.py"),
    )
    words = "a campaign reaches no device and no program but those named"
    for what, text in commands.REFUSED.items():
        yield Attack(f"a campaign: {what}", words, partial(commands.campaign, text, "permitted"))
    line_feed = partial(commands.campaign, commands.LINE_FEED, "control character")
    yield Attack("a campaign: a line feed in a value of Ceph's", words, line_feed)
    yield Attack(
        "words of mkfs and mount",
        "no word of a disk reaches beyond it",
        Tests("unit/model/test_disk_words.py"),
    )
    yield Attack(
        "options of ceph.conf",
        "no option names a file or program",
        Tests("unit/filesystems/_ceph/test_tuning.py"),
    )
    yield Attack(
        "a campaign: an ssh configuration",
        "check and doctor run nothing of a file's",
        commands.ssh_configuration,
    )
    yield Attack(
        "what reads names programs",
        "reading starts nothing that a file names",
        Tests("command/test_starting.py"),
    )
    yield Attack("a connection is lost on a shared folder", "who made it removes it", Tests(shared))
    yield Attack("a keeper or perjoule stands still", "no rate counts a pause", Tests("live/test_pauses.py"))
    yield Attack("a link in the place of results", "root writes through no link", Tests(place))
    yield Attack("hostile bundles in a list", "one bundle does not stop the list", commands.public_list)
    for what in HOSTILE:
        yield Attack(f"a bundle: {what}", "a bundle is refused in a sentence", partial(commands.bundle, what))
    yield Attack("a host that answers without end", "a host fills no memory", Tests(hostile))
    yield Attack(
        "a daemon of the site's own",
        "no daemon is touched that we did not start",
        Tests("live/test_site_daemons.py"),
    )
    yield Attack(
        "a link in a folder of a daemon's user",
        "root writes through no link",
        Tests("unit/testbeds/test_put.py"),
    )
    yield Attack(
        "a member of what spans devices",
        "what is elsewhere, too, is not lost",
        Tests("live/test_overwrite.py"),
    )
    ansible = "unit/testbeds/cluster/test_ansible.py"
    yield Attack("an inventory that runs programs", "the user's word alone has it run", Tests(ansible))
    yield Attack(
        "results whose server goes away",
        "the folder is named, and resume continues",
        Tests("live/test_store_lost_mount.py"),
    )
    yield Attack(
        "a disk without inodes, or full", "what is kept stays", Tests("live/test_store_full_disk.py")
    )
    yield Attack("slow connections", "nobody holds the live page shut", commands.slow_connections)
    yield Attack("formulas as labels", "no text of a CSV file is a formula", commands.formulas)
    yield Attack("markup as labels", "no word of a stranger is a script", Tests("browser/test_markup.py"))
    yield Attack(
        "no bash on a host",
        "the sentence names what is missing",
        Tests("unit/testbeds/cluster/test_login.py"),
    )


def main(words: Sequence[str], usage: str) -> int:
    """Run the attacks, and print which promises held. Return 1 if one was broken."""
    parser = argparse.ArgumentParser(description=usage)
    parser.add_argument(
        "--only", default="", metavar="WORD", help="attacks whose name or promise has this word"
    )
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no attack after this time")
    asked = parser.parse_args(words)
    chosen = [attack for attack in attacks() if asked.only in f"{attack.what} {attack.promise}"]
    until_s, broken_count, tried_count = time.monotonic() + asked.seconds, 0, 0
    for attack in chosen:
        if time.monotonic() > until_s:
            break
        with tempfile.TemporaryDirectory(prefix="perjoule-attack-") as room:
            try:
                fault = attack.run(Path(room))
            except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
                fault = f"{type(error).__name__}: {error}"
        tried_count += 1
        broken_count += bool(fault)
        print(f"{'BROKEN' if fault else 'held':6}  {attack.what:48}  {attack.promise}", flush=True)
        if fault:
            print(f"        {fault}", flush=True)
    print(
        f"{tried_count} of {len(chosen)} attacks tried: {tried_count - broken_count} held, {broken_count} "
        "broken"
    )
    return int(bool(broken_count) or tried_count < len(chosen))
