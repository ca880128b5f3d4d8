"""File systems are deployed and measured over SSH by a user whom sudo lets start the helper, and nothing
else.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from day import by_day
from lacking import lacking
from on_hosts import hosts_of
from perjoule import campaign, drivers
from perjoule.execution import grants
from perjoule.store import open_results
from perjoule.testbeds import cluster
from sshd import NEEDS_SSHD, PERJOULE, SUDOER, Lab, toml

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
    pytest.mark.skipif(not shutil.which("sudo"), reason="sudo is missing: apt install sudo"),
]
LOAD = 'kind = "fio"\njob = "load.fio"'


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, as the daemons of MooseFS must."""
    folder = Path(tempfile.mkdtemp(prefix="pj-lab-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


MOOSEFS, GLUSTERFS = 'kind = "moosefs"', 'kind = "glusterfs"'
LOCAL = 'kind = "local"\ntype = "ext4"\nsize = "1 GiB"'


@pytest.mark.parametrize("filesystem", by_day([MOOSEFS, GLUSTERFS, LOCAL], GLUSTERFS))
def test_a_campaign_runs_by_the_helper_with_what_doctor_printed(filesystem: str, open_folder: Path) -> None:
    (open_folder / "load.fio").write_text("[one]\nrw=write\nsize=16m\nbs=1m\nend_fsync=1\n")
    lab = Lab(open_folder)
    for folder in ("helper/etc", "helper/sbin"):
        (open_folder / folder).mkdir(parents=True)
    helper = open_folder / "helper/sbin" / Path(cluster.HELPER).name
    helper.write_text(cluster.helper_text())
    helper.chmod(0o755)
    with hosts_of(servers=2).hold(1) as hosts:
        named = [{"name": host.name, "address": host.address, "role": host.role} for host in hosts.all]
        file = open_folder / "lab.toml"
        file.write_text(toml(lab.options(named, 22, user=SUDOER), filesystem, LOAD))
        asked = campaign.read(file)
        if missing := lacking(
            [check for trial in asked.trials for check in drivers.filesystem(trial.filesystem).checks()]
        ):
            pytest.skip(missing)
        (open_folder / "helper/permitted").write_text(grants.permitted(asked))
        (open_folder / "sudoers").chmod(0o640)
        (open_folder / "sudoers").write_text(f"root ALL=(ALL:ALL) ALL\n{grants.sudoers(asked)}")
        (open_folder / "sudoers").chmod(0o440)
        lab.serve(hosts.all)
        command = [PERJOULE, "run", file, "--into", open_folder / "results"]
        done = hosts.management.run(
            command, env={"XDG_STATE_HOME": str(open_folder)}, timeout_s=400, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    records = open_results(open_folder / "results").latest()
    assert [(record.status, record.reason) for record in records] == [("valid", "")]
