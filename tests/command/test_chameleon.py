"""A campaign on nodes of Chameleon, and what becomes of its lease when perjoule is ended; the APIs are a
stand-in, nodes are this machine.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chameleon_api import SECRET, ChameleonApi, chameleon_api
from lending import make_home, notes, perjoule
from sshd import until

CAMPAIGN = """
name = "chameleon"
clients = [2]
repetitions = 1
settle = "100 ms"
quiet = "1 s"
[testbed]
kind = "chameleon"
image = "CC-Ubuntu24.04"
key = "mine"
work = "{folder}/work"
hosts = [{{type = "storage_nvme", role = "client", count = 2}}]
[[filesystem]]
kind = "directory"
path = "{folder}/files"
[[workload]]
kind = "fio"
operation = "write"
size = "4 MiB"
transfer = "64 KiB"
rate = "1 MiB/s"
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ChameleonApi]:
    """A site, a campaign there, and the home of its user."""
    home = make_home(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "chameleon.toml").write_text(CAMPAIGN.format(folder=tmp_path))
    with chameleon_api(home) as cloud:
        yield cloud


def run(folder: Path, *words: str) -> subprocess.Popen[str]:
    login = str(folder / "home" / "clouds.yaml")
    return perjoule(folder, *words, OS_CLIENT_CONFIG_FILE=login, COLUMNS="300")


def test_a_campaign_is_measured_on_leased_nodes_which_are_given_back(
    site: ChameleonApi, tmp_path: Path
) -> None:
    campaign = run(tmp_path, "run", "chameleon.toml", "--into", "results")
    output, _ = campaign.communicate()
    assert campaign.returncode == 0, output
    assert (site.leases, notes(tmp_path)) == ({}, [])
    (text,) = [path.read_text() for path in (tmp_path / "results").rglob("record.json")]
    record = json.loads(text)
    assert record["facts"]["testbed"]["chameleon"]["nodes"] == ["P3-NVME-001", "P3-NVME-002"]
    assert SECRET not in text + output


def test_a_lease_ends_with_perjoule(site: ChameleonApi, tmp_path: Path) -> None:
    site.waits_count = 10**9
    campaign = run(tmp_path, "run", "chameleon.toml")
    until(lambda: bool(site.alive))
    campaign.send_signal(signal.SIGTERM)
    output, _ = campaign.communicate(timeout=30)
    assert "Traceback" not in output
    assert (len(site.made), site.leases) == (1, {})


def test_the_next_command_deletes_the_lease_of_a_perjoule_that_was_killed(
    site: ChameleonApi, tmp_path: Path
) -> None:
    site.waits_count = 10**9
    campaign = run(tmp_path, "run", "chameleon.toml")
    until(lambda: bool(site.alive))
    campaign.kill()
    campaign.communicate()
    assert site.alive == ["lease-0"]
    down = run(tmp_path, "down")
    output, _ = down.communicate()
    assert (down.returncode, site.leases) == (0, {})
    assert "Chameleon lease lease-0 at CHI@TACC" in output


def test_a_wrong_login_is_one_sentence_without_it(site: ChameleonApi, tmp_path: Path) -> None:
    login = tmp_path / "home" / "clouds.yaml"
    login.write_text(login.read_text().replace(SECRET, "app-secret-2"))
    campaign = run(tmp_path, "run", "chameleon.toml")
    output, _ = campaign.communicate()
    assert campaign.returncode != 0
    assert "Chameleon refuses the login (401)" in output
    assert "Traceback" not in output and "app-secret-2" not in output
    assert site.made == []
