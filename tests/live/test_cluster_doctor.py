"""What hosts over SSH lack for a campaign, which `perjoule doctor CAMPAIGN` says and `perjoule run` before
it starts.
"""

import re
import tempfile
from pathlib import Path

import pytest

from lacking import lacking
from on_hosts import hosts_of
from perjoule.filesystems.moosefs import MooseFS
from perjoule.workloads.fio import Fio
from sshd import NEEDS_SSHD, PERJOULE, Lab, toml

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

HIDDEN = {f"client-{n}": ("fio", "mfsmount") for n in (1, 2)}
LACKED = ("no mfsmount, fio", "apt install moosefs-client fio")


def test_what_two_of_a_campaigns_hosts_lack_is_one_line_with_the_command_that_installs_it() -> None:
    if missing := lacking([*MooseFS().checks(), *Fio().checks()]):
        pytest.skip(missing)
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as name, hosts_of(servers=1).hold(3) as hosts:
        folder = Path(name)
        folder.chmod(0o755)
        lab = Lab(folder)
        there = lab.serve([*hosts.by_role("storage"), *hosts.clients], hidden=HIDDEN)
        load = 'kind = "fio"\nsize = "8 MiB"'
        (folder / "lab.toml").write_text(toml(lab.options(there, 22), 'kind = "moosefs"', load, clients=3))

        def said(*words: str | Path) -> str:
            env = {"XDG_STATE_HOME": str(folder), "COLUMNS": "200"}
            running = hosts.management.spawn([PERJOULE, *words], log=folder / f"{words[0]}.log", env=env)
            assert running.wait(timeout_s=60) == 3, running.output()
            return running.output()

        found = said("doctor", folder / "lab.toml")
        refused = said("run", folder / "lab.toml", "--into", folder / "results")
    rows = [re.split(r"\s{2,}", line.strip()) for line in found.splitlines()]
    assert rows[0] == ["where", "found", "fix"], found
    assert [row[1:] for row in rows if row[0] == "no"] == [["hosts client-[1-2]", *LACKED]], found
    assert [row[1] for row in rows if row[0] == "ok"][:2] == ["ssh", "hosts storage-1, client-[1-3]"], found
    assert rows[-1] == ["perjoule: lab can't run: 1 requirement not met; fix what the table lists"], found
    assert refused == f"perjoule: hosts client-[1-2]: {'; '.join(LACKED)}\n"
    assert not (folder / "results").exists()
