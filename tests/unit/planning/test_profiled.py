import json
import math
import statistics

import pytest

from perjoule import planning
from perjoule.model.errors import CampaignError
from perjoule.planning import profiled
from perjoule.planning.candidates import space
from perjoule.planning.measures import SERVERS_READ, SERVERS_WRITE
from perjoule.planning.profiled import reached, server_cpu, trust
from perjoule.prediction import LEVELS, band_ratio, shipped
from perjoule.prediction.elsewhere import band_factor
from perjoule.prediction.scores import Rival
from places import EXAMPLES, SOURCES

PROFILES = SOURCES / "prediction" / "profiles"
DISKS = (("written", "write"), ("read", "read"))


@pytest.mark.parametrize("name", sorted(path.stem for path in PROFILES.glob("*.json")))
@pytest.mark.parametrize("direction", ["read", "write"])
def test_the_work_of_a_cpu_is_that_of_the_profiles_points_by_byte_at_the_disks(name, direction) -> None:
    points = [
        one
        for one in json.loads((PROFILES / f"{name}.json").read_text())["points"]
        if one["case"]["direction"] == direction
    ]
    at_disks = [
        one["case"]["flow"]["disk_written_ratio"] + one["case"]["flow"]["disk_read_ratio"] for one in points
    ]
    works = [one["server_mips_s_per_byte"] / ratio for one, ratio in zip(points, at_disks, strict=True)]
    found = server_cpu(name, direction)
    assert found is not None
    assert found.value == pytest.approx(statistics.median(works))
    assert found.low == pytest.approx(min(min(works), statistics.median(works) / 2))
    assert found.high == pytest.approx(max(max(works), statistics.median(works) * 2))


def test_a_stated_work_replaces_the_profiles_and_one_without_either_is_refused() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    quantities = space(planning.parse(text + "\n[filesystem.moosefs]\nread_cpu = 1e-6\n")).book.quantities
    assert next(one.value for one in quantities if one.name == "filesystem moosefs: read_cpu") == 1e-6
    assert next(one.status for one in quantities if one.name == "filesystem moosefs: write_cpu") == "measured"
    assert math.isfinite(sum(one.high for one in quantities))
    beegfs = (
        '\n[choose]\nfilesystems = ["beegfs"]\n\n[filesystem.beegfs]\nfurther_hosts = 1\noptions = [{}]\n'
    )
    with pytest.raises(
        CampaignError, match="write_cpu is not stated, and no profile has it; state write_cpu"
    ):
        planning.answer(planning.parse(text.replace("failures = 1", "failures = 0") + beegfs))


@pytest.mark.parametrize("kind", ["rgw", "seaweed_s3", "garage"])
def test_no_plan_takes_the_networks_of_data_hosts_for_those_of_gateways(kind) -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text().replace("failures = 1", "failures = 0")
    text += (
        f'\n[choose]\nfilesystems = ["{kind}"]\n[filesystem.{kind}]\nfurther_hosts = 2\noptions = [{{}}]\n'
    )
    with pytest.raises(CampaignError, match="its driver does not say which bytes it moves"):
        planning.answer(planning.parse(text + "read_cpu = 2.6e-5\nwrite_cpu = 2.6e-5\n"))


@pytest.mark.parametrize("direction", ["write", "read"])
def test_a_file_system_without_a_profile_reaches_what_points_of_the_profiles_reach_of_their_bounds(
    direction,
) -> None:
    shares: list[float] = []
    for path in PROFILES.glob("*.json"):
        data = json.loads(path.read_text())
        fit = data["known"][direction]["fit"]
        for case, measured in ((one["case"], one["throughput_bytes_per_s"]) for one in data["points"]):
            if case["direction"] != direction:
                continue
            there, flow = case["fleet"], case["flow"]
            clients, servers = there["clients_count"], there["servers_count"]
            client_bytes = max(flow["client_sent_ratio"], flow["client_received_ratio"])
            server_bytes = max(flow["storage_sent_ratio"], flow["storage_received_ratio"])
            work = fit["way"]["cpu_ratio"] * fit["works"]["server_mips_s_per_byte"] * server_bytes
            written, read = (
                flow[f"disk_{one}_ratio"] / there[f"disk_{two}_bytes_per_s"] for one, two in DISKS
            )
            times_s = (
                client_bytes / (clients * there["client_network_bytes_per_s"]),
                fit["works"]["client_mips_s_per_byte"] * client_bytes / (clients * there["client_mips"]),
                server_bytes / (servers * there["server_network_bytes_per_s"]),
                work / (servers * there["server_mips"]),
                (written + read) / servers,
            )
            shares.append(measured * max(times_s))
    found = reached(direction)
    middle = statistics.median(shares)
    below = math.hypot(math.log(middle / min(shares)), math.log(band_factor()))
    assert (found.value, found.low, found.high) == pytest.approx(
        (middle, middle * math.exp(-below), max(shares))
    )
    text = (EXAMPLES / "needs" / "archive.toml").read_text().replace("failures = 1", "failures = 0")
    text += (
        '\n[choose]\nfilesystems = ["beegfs"]\n'
        "[filesystem.beegfs]\nfurther_hosts = 1\noptions = [{}]\nread_cpu = 2.6e-5\nwrite_cpu = 2.6e-5\n"
    )
    asked, stated = planning.parse(text), planning.parse(f"{text}read_reached = 1\nwrite_reached = 1\n")
    what = SERVERS_READ if direction == "read" else SERVERS_WRITE
    for row, bound in zip(
        planning.answer(asked, 5).rows[:1], planning.answer(stated, 5).rows[:1], strict=True
    ):
        assert (row.text, row.values[what].value) == (
            bound.text,
            pytest.approx(found.value * bound.values[what].value),
        )


def test_a_law_is_trusted_no_more_than_another_machine_than_those_emulated_allows() -> None:
    apart = band_ratio(shipped("moosefs").known["read"], LEVELS)
    by_hand = math.exp(math.sqrt(math.log(apart) ** 2 + math.log(band_factor()) ** 2))
    found = trust("moosefs", "read")
    assert (found.low, found.value, found.high) == pytest.approx((1 / by_hand, 1, by_hand))
    assert by_hand > max(apart, band_factor())


def test_a_direction_is_not_ranked_by_a_law_that_says_no_more_than_a_simpler_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    text += '\n[choose]\nfilesystems = ["moosefs"]\nservers = ["odroid-hc4"]\n'
    worse = Rival("bound", 0.15, 0.185)
    monkeypatch.setattr(profiled, "rival", lambda _, direction: worse if direction == "read" else None)
    with pytest.raises(CampaignError) as refused:
        planning.answer(planning.parse(text))
    assert str(refused.value) == (
        f"[filesystem.moosefs]: its reads can't be ranked: {worse.text}; state read_reached, or leave it out"
    )
    rows = planning.answer(planning.parse(f"{text}[filesystem.moosefs]\nread_reached = 0.7\n"), 5).rows
    assert rows, "what the need states takes the place of the law"
    assert {bool(row.choice.reading.law) for row in rows} == {False}
    written = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("read ="))
    rows = planning.answer(planning.parse(written), 5).rows
    assert rows, "a need without reads doesn't rank them"
    assert {bool(row.choice.writing.law) for row in rows} == {True}


def test_seaweedfs_is_ranked_for_writes_alone() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    text += '\n[choose]\nfilesystems = ["seaweedfs"]\n[filesystem.seaweedfs]\nfurther_hosts = 2\n'
    text += 'options = [{ replication = "001" }]\n'
    with pytest.raises(
        CampaignError, match=r"its reads can't be ranked: of points left out the law errs by 18.5 %"
    ):
        planning.answer(planning.parse(text))
    written = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("read ="))
    assert planning.answer(planning.parse(written), 5).rows


def test_no_band_goes_beyond_what_the_networks_of_the_servers_let_through() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    found = planning.answer(
        planning.parse(text + '\n[choose]\nfilesystems = ["moosefs"]\nservers = ["odroid-hc4"]\n')
    )
    goodput = next(one for one in found.space.book.quantities if one.name == "network 1g: goodput")
    assert found.rows
    for row in found.rows:
        assert row.values[SERVERS_READ].high <= row.servers_count * goodput.high
        assert (
            row.values[SERVERS_WRITE].high
            <= row.servers_count * goodput.high / row.choice.redundancy.copies_count
        )
