"""The how-to of a board, run as it stands: a made-up board is one file, and is listed, planned with,
predicted on and checked.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from day import by_day
from perjoule import campaign, catalogue, drivers, planning
from perjoule.catalogue import folder
from perjoule.model.errors import CampaignError
from perjoule.planning.measuring import written
from perjoule.testbeds.virtual.topology import places
from places import EXAMPLES, ROOT, SOURCES

PAGE = (ROOT / "docs/how-to/boards.md").read_text()
LINES = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
ROCK = (SOURCES / "catalogue" / "boards" / "rock-5b.toml").read_text()
BOARD = (
    ROCK.replace("Rock 5B (RK3588)", "My board")
    .replace('value = "8 GiB"', 'value = "16 GiB"')
    .replace("16500", "17000")
)
CAMPAIGN = """
name = "mine"

[testbed]
kind = "virtual"
cluster = "my-board"
scale = 0.1

[[filesystem]]
kind = "moosefs"

[[workload]]
kind = "fio"
operation = "write"
transfer = "1 MiB"
size = "64 MiB"
"""
NEED = """
capacity = "2 TB"
write = "100 MiB/s"
day = { write = "2 h" }
failures = 0
choose = { servers = ["my-board"], filesystems = ["moosefs"] }
"""


def put(here: Path, text: str = BOARD, name: str = "my-board", table: str = "boards") -> None:
    (here / table).mkdir(parents=True, exist_ok=True)
    (here / table / f"{name}.toml").write_text(text)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, with the board of the how-to."""
    put(tmp_path)
    monkeypatch.setenv(folder.OWN, str(tmp_path))
    return tmp_path


@pytest.mark.slow  # by day: what each of them does, below
def test_the_how_to_of_a_board_has_six_lines_and_they_do_what_they_say(tmp_path: Path) -> None:
    assert len(LINES.splitlines()) == 6
    (tmp_path / "my-board.toml").write_text(BOARD)
    (tmp_path / "my-campaign.toml").write_text(CAMPAIGN)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", LINES],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cluster my-board" in done.stdout and "server my-board" in done.stdout
    assert "moosefs" in done.stdout and "on 4 x My board" in done.stdout


def test_a_new_board_is_planned_with_and_its_candidate_is_a_campaign_on_virtual_hosts(own: Path) -> None:
    answer = planning.answer(planning.parse(NEED), draws_count=5)
    assert {row.machine.server for row in answer.rows} == {"my-board"}
    row = next(row for row in answer.rows if row.machine.drive == "m2-4tb" and row.machine.drives_count == 1)
    asked = campaign.parse(written(answer, row, 0.1))
    testbed: Any = drivers.testbed(asked.trials[0].testbed)
    assert testbed.cluster == "my-board"
    assert (testbed.server_cpu_ratio, testbed.server_network_ratio, testbed.server_disk_ratio) == (1, 1, 1)


def test_a_new_board_is_emulated_with_its_own_speeds_and_memory(own: Path) -> None:
    hosts = places(
        catalogue.cluster("my-board"),
        clients_count=2,
        servers_count=3,
        scale=0.1,
        machine_mips_per_core=20_000,
        memory_ratio=1,
    )
    assert [host.role for host in hosts] == ["storage"] * 3 + ["metadata", "management"] + ["client"] * 2
    for host in hosts:
        assert host.cpu_capacity_cores == pytest.approx(0.1 * 17_000 / 20_000)
        assert host.goodput_bytes_per_s == pytest.approx(0.1 * 280 * 1024**2)
        assert host.memory_bytes == 16 * 1024**3


def test_a_host_of_a_campaign_may_be_a_new_board(own: Path) -> None:
    hosts = 'hosts = [{ name = "a", address = "192.0.2.1", role = "storage", node = "my-board/storage" }]'
    text = CAMPAIGN.replace(
        'kind = "virtual"\ncluster = "my-board"\nscale = 0.1', f'kind = "cluster"\n{hosts}'
    )
    text = text.replace(
        "}]", '}, { name = "b", address = "192.0.2.2", role = "client", node = "my-board/client" }]'
    )
    testbed: Any = drivers.testbed(campaign.parse(text).trials[0].testbed)
    assert [host.node for host in testbed.hosts] == ["my-board/storage", "my-board/client"]


# By day every fifth: each makes a cluster, and has the watts of plans, in tests/unit/planning/test_parts.py.
@pytest.mark.parametrize("name", by_day(catalogue.boards(), *catalogue.boards()[::5]))
def test_every_board_that_plans_are_made_of_is_predicted_on_and_emulated(name: str) -> None:
    from perjoule import prediction

    cluster = catalogue.cluster(name)
    for profile in prediction.names():
        target = prediction.Target(prediction.shipped(profile), cluster, {})
        assert all(
            one.throughput_bytes_per_s[0] > 0 for one in prediction.predictions(target, [1, 4], 2**30)
        ), profile
    for host in places(cluster, clients_count=1, servers_count=4, scale=0.01, machine_mips_per_core=20_000):
        assert host.cpu_capacity_cores and host.goodput_bytes_per_s > 0


def test_every_server_of_plans_is_a_board_that_makes_a_cluster() -> None:
    planned = planning.parse('capacity = "1 TB"\nread = "1 MiB/s"\n').parts.server
    assert set(planned) == set(catalogue.boards())
    assert all(catalogue.standing_for(name) for name in planned)


@pytest.mark.parametrize(
    ("written", "broken", "refusal"),
    [
        ("cores = 8\n", "", r"\[board.my-board\] lacks cores, which a cluster of it needs; add cores"),
        (r'networks = ["2.5g"]', 'networks = ["3g"]', 'no switch of network "3g" has 8 ports'),
        ("m2-4tb = 1", "m3-4tb = 1", 'no drive is called "m3-4tb"; did you mean "m2-4tb"'),
        (
            ', source = "order of 7-zip ratings of the RK3588 (sbc-bench)"',
            "",
            r'\[board.my-board.mips\] lacks "source"',
        ),
        ("mips = {", "mops = {", r'\[board.my-board\] has no key "mops"; did you mean "mips"'),
        ("supply_efficiency", "# supply_efficiency", "supply_efficiency is not stated"),
        ("m2-4tb = 1", "m2-4tb = 3", r"has 1 slots for m2-4tb, and 3 drives for them; correct its slots"),
    ],
)
def test_a_board_that_lacks_what_a_cluster_needs_is_refused(
    own: Path, written: str, broken: str, refusal: str
) -> None:
    assert written in BOARD
    put(own, BOARD.replace(written, broken))
    with pytest.raises(CampaignError, match=refusal) as refused:
        catalogue.cluster("my-board")
    assert refused.value.where == f"{own}/boards/my-board.toml"


def test_a_board_without_a_price_is_left_out_of_plans_and_one_that_is_asked_for_says_what_it_lacks(
    own: Path,
) -> None:
    put(own, "".join(line for line in BOARD.splitlines(keepends=True) if not line.startswith("price")))
    others = planning.parse(NEED.replace("my-board", "rock-5b")).parts.server
    assert "my-board" not in others and "rock-5b" in others
    with pytest.raises(CampaignError) as refused:
        planning.parse(NEED, "need.toml")
    assert str(refused.value) == (
        f'need.toml line 6: plans need price of the server "my-board"; state it in {own}/boards/my-board.toml'
    )
    priced = planning.parse(NEED + '[server.my-board]\nprice = "90 USD"\n').parts.server["my-board"]
    assert priced.price is not None and priced.price.value == 90


@pytest.mark.parametrize(
    ("written", "broken", "refusal"),
    [
        ("price =", "prize =", 'has no key "prize"; did you mean "price"'),
        (r'networks = ["2.5g"]', 'networks = ["3g"]', 'no network "3g"'),
    ],
)
def test_what_is_wrong_with_a_board_is_said_of_its_file_and_not_of_the_need(
    own: Path, written: str, broken: str, refusal: str
) -> None:
    put(own, BOARD.replace(written, broken))
    line = BOARD[: BOARD.index(written)].count("\n") + 1
    with pytest.raises(CampaignError, match=refusal) as refused:
        planning.parse(NEED, "need.toml")
    assert refused.value.where == f"{own}/boards/my-board.toml line {line}"


@pytest.mark.parametrize("text", [BOARD, BOARD.replace("drives =", "# drives =")])
def test_a_board_of_a_clusters_name_is_refused_if_it_makes_a_cluster(own: Path, text: str) -> None:
    put(own, text, "reference-1")
    if "# drives" in text:
        assert catalogue.cluster("reference-1").nodes
    else:
        with pytest.raises(
            CampaignError, match=r'"reference-1" twice, also in .*reference-1\.toml'
        ) as refused:
            catalogue.cluster("reference-1")
        assert refused.value.where == f"{own}/boards/reference-1.toml"


@pytest.mark.parametrize("table", ["boards", "clusters"])
def test_a_pipe_in_a_folder_of_the_catalogue_is_refused_and_not_waited_for(own: Path, table: str) -> None:
    (own / table).mkdir(exist_ok=True)
    os.mkfifo(own / table / "pipe.toml")
    with pytest.raises(CampaignError, match="it is not a file") as refused:
        catalogue.choices()
    assert refused.value.where == f"{own}/{table}/pipe.toml"


def test_a_file_of_a_name_that_the_catalogue_has_is_refused(own: Path) -> None:
    put(own, name="rock-5b")
    with pytest.raises(CampaignError, match='has "rock-5b" twice'):
        catalogue.choices()


def test_a_folder_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(folder.OWN, str(tmp_path / "gone"))
    with pytest.raises(CampaignError, match="is not a folder"):
        catalogue.choices()


def test_a_drive_and_a_switch_of_ones_own_join_those_of_the_catalogue(own: Path) -> None:
    def stated(**values: str) -> str:
        return "".join(
            f'{key} = {{ value = "{value}", status = "assumed", source = "x" }}\n'
            for key, value in values.items()
        )

    watts = {"idle_behind_supply": "1 W", "active_behind_supply": "2 W"}
    put(
        own,
        'technology = "nvme"\n' + stated(capacity="1 TB", read="1 GB/s", write="1 GB/s", **watts),
        "mine",
        "drives",
    )
    switch = "[switch.mine]\nports = 16\nrack_units = 1\n" + stated(
        watts_at_wall="3 W", price="9 USD", embodied="9 kg"
    )
    put(own, switch, "2.5g", "switches")
    put(own, BOARD.replace("m2-4tb", "mine"))
    cluster = catalogue.cluster("my-board")
    assert cluster.nodes[0].disks[0].name == "mine"
    assert cluster.switch_w.value == 3
