"""The commands about what was not measured, as users type them."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from perjoule import campaign, prediction
from perjoule.cli import cli, exits
from perjoule.store.records import to_json


def said(*words: object) -> str:
    done = CliRunner().invoke(cli, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.output


@cache
def ledger(*words: str) -> str:
    """What is printed of our own profiles; it predicts each published cluster anew."""
    return said("ledger", *words)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert exits.exit_code(lambda: cli.main(list(map(str, words)), standalone_mode=False)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


def test_a_prediction_names_its_bottleneck_and_what_it_extrapolates() -> None:
    told = said("predict", "moosefs", "--on", "odroid-hc4", "--clients", "1,64")
    assert "client network" in told
    assert "extrapolated: another number of clients than measured" in told
    assert "of the variance of MiB/J: " in told


def test_another_size_than_measured_is_extrapolated() -> None:
    words = ("predict", "moosefs", "--on", "odroid-hc4", "--clients", "4", "--size")
    assert "extrapolated: another size than measured (128 MiB)" in said(*words, "1 GiB")
    assert "extrapolated" not in said(*words, "128 MiB")
    assert said(*words, "128 MiB") == said(*words[:-1]), "by default it is the size that was measured"


def test_bands_allow_for_another_machine_but_not_of_virtual_hosts() -> None:
    words = ("predict", "moosefs", "--on", "odroid-hc4", "--clients", "4")
    allowed, name = "the bands allow a factor of ", "another machine than those emulated"
    assert allowed in said(*words) and name in said(*words).splitlines()[-1]
    assert allowed not in said(*words, "--virtual") and name not in said(*words, "--virtual")


def test_the_ledger_has_what_bands_held_with_and_without_another_machine() -> None:
    told = ledger()
    (row,) = (line for line in told.splitlines() if line.startswith("all ") and " published " in line)
    assert "83 %" in row and row.split()[-2:] != ["–", "–"], (
        "the median error of simpler models is beside its own"
    )
    assert "bands hold 83 % of these numbers, without this level 17 %" in told


def test_a_direction_of_which_a_simpler_model_says_no_less_is_told_with_both_errors(tmp_path: Path) -> None:
    words = ("--on", "odroid-hc4", "--clients", "1,4")
    doubt = (
        "seaweedfs, read: of points left out the law errs by 18.5 % (median), the USL over clients by 14.4 %"
    )
    told = said("predict", "seaweedfs", *words, "--figure", tmp_path / "f.svg")
    assert doubt in told
    assert (
        "seaweedfs, write: of points left out dynamic W err more than a constant would (skill -3.4)" in told
    )
    assert "the law errs by 18.5 %" in (tmp_path / "f.svg").read_text()
    assert ledger().count("of points left out the law errs by") == 1 and doubt in ledger()
    rivals = json.loads(said("predict", "seaweedfs", *words, "--json"))["rivals"]
    assert rivals == {
        "read": {
            "model": "USL",
            "model_ratio": pytest.approx(0.144, abs=5e-4),
            "law_ratio": pytest.approx(0.185, abs=5e-4),
        }
    }
    assert "of points left out the law errs by" not in said("predict", "moosefs", *words)
    assert json.loads(said("predict", "moosefs", *words, "--json"))["rivals"] == {}


def test_what_rests_on_a_number_that_was_not_identified_has_no_value(tmp_path: Path) -> None:
    """The boards of the documentation, 64 of them, and one client that is faster than all."""
    text = (Path(__file__).parents[2] / "docs/how-to/boards.md").read_text().split("## Your cluster")[1]
    text = text.split("```text\n")[1].split("```")[0]
    given = 'status = "assumed", source = "x" }'
    fast = f'nic = {{ value = "1000 GiB/s", {given}\nmips = {{ value = 7e7, {given}'
    (tmp_path / "fast.toml").write_text(
        text.replace("[[node]]", f"[board.dell-precision-3650]\n{fast}\n\n[[node]]", 1)
    )
    words = (
        "predict",
        "moosefs",
        "--on",
        tmp_path / "fast.toml",
        "--servers",
        "64",
        "--clients",
        "1,64",
        "--size",
        "64 GiB",
    )
    told = said(*words).splitlines()
    assert (
        "write, clients 1: a range, because it rests on at_once of moosefs, which calibration did not "
        "identify" in told
    )
    assert "– (" in next(line for line in told if line.split()[:2] == ["write", "1"])
    assert "– (" not in next(line for line in told if line.split()[:2] == ["write", "64"])
    said(*words, "--figure", tmp_path / "f.svg")
    assert "at_once of moosefs" in (tmp_path / "f.svg").read_text()


def test_scripts_get_the_same_numbers() -> None:
    data = json.loads(said("predict", "moosefs", "--on", "odroid-hc4", "--clients", "4", "--json"))
    assert data["format"] == "perjoule predict"
    write = next(one for one in data["predictions"] if one["direction"] == "write")
    value, low, high = write["throughput_bytes_per_s"]
    assert low < value < high <= write["bound_bytes_per_s"]
    assert write["efficiency_bytes_per_j"][0] == pytest.approx(value / write["mean_w"][0])


def test_watts_are_shown_by_component_when_asked() -> None:
    words = ("predict", "moosefs", "--on", "odroid-hc4", "--clients", "4")
    headers = ["boards idle", "disks idle", "CPUs at work", "disks at work", "switch"]
    assert "CPUs at work" not in said(*words)
    told = said(*words, "--watts").splitlines()
    place = next(n for n, line in enumerate(told) if "CPUs at work" in line)
    assert [header for header in headers if header in told[place]] == headers
    *parts, whole, switch = map(float, told[place + 1].split()[2:])
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, abs=0.02)
    assert switch > 0


def test_a_figure_has_both_directions_and_the_bound(tmp_path: Path) -> None:
    said("predict", "moosefs", "--on", "odroid-hc4", "--clients", "1..3", "--figure", tmp_path / "f.svg")
    drawn = (tmp_path / "f.svg").read_text()
    assert all(
        word in drawn
        for word in (
            "MiB/s",
            "MiB/J",
            "clients",
            "write",
            "read",
            "dashed: the bound",
            "predicted, not measured",
        )
    )
    said("predict", "moosefs", "--on", "odroid-hc4", "--figure", tmp_path / "f.pdf")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")


def test_a_pledge_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("predict", "moosefs", "--on", "odroid-hc4", "--pledge", tmp_path / "p.json")
    said(*words)
    kept = (tmp_path / "p.json").read_bytes()
    assert "already exists" in refused(capsys, *words)
    assert (tmp_path / "p.json").read_bytes() == kept


def test_the_ledger_has_every_level_beside_simpler_models() -> None:
    data = json.loads(ledger("--json"))
    levels = {one["level"] for one in data["scores"]}
    assert levels == {"clients", "redundancy", "hardware", "size", "published"}
    assert {name for one in data["scores"] for name in one["simpler"]} == {
        "constant",
        "linear",
        "USL",
        "bound",
    }
    assert "0 of " in ledger()
    assert "measured points are above their bound" in ledger()


def test_the_ledger_has_published_clusters_and_names_those_that_can_not_be_predicted() -> None:
    data = json.loads(ledger("--json"))
    assert {one["paper"] for one in data["published"]} == {"green-storage", "cubieboard", "ceph-1tib"}
    assert {one["held"] for one in data["published"] if one["basis"] == "profile"} == {True, False}
    assert {"ssd-vs-hdd", "access-patterns"} <= {paper for paper, _, _ in data["unpredicted"]}
    told = ledger()
    assert (
        "not predicted: ssd-vs-hdd, SSDs and hard disks: the paper prints ratios alone, and uses no "
        "parallel file" in told
    )


def test_the_ledger_has_published_watts_by_load_beside_a_constant_and_a_line() -> None:
    data = json.loads(ledger("--json"))
    by_load = {one["kind"]: one for one in data["published_watts"]}
    assert {
        "idle",
        "first load",
        "reads",
        "fresh writes",
        "sustained writes",
        "CPU",
        "CPU, data sheet",
        "scrub",
    } <= by_load.keys()
    assert by_load["sustained writes"]["holds"] and not by_load["scrub"]["holds"]
    assert by_load["first load"]["line_ratio"] > 0.09 > 0.04 > by_load["first load"]["median_ratio"]
    assert 0.85 <= data["published_watts_source_held_ratio"] <= 0.97
    told = ledger()
    assert "published watts, of points that did not calibrate the model" in told
    assert "SPECpower_ssj2008, wall, metered" in told and "Apache-2.0" in told


SSDS = """
title = "Boards with SSDs"
source = "made up"
switch = "8x2-5g"

[drive.m2-4tb]
sustained_write = { value = "50 MB/s", status = "assumed", source = "made up" }
sustained_behind_supply = { value = "9 W", status = "assumed", source = "made up" }

[[node]]
name = "storage"
role = "storage"
count = 4
board = "rock-5b"
drives = { m2-4tb = 1 }

[[node]]
name = "client"
role = "client"
count = 2
board = "dell-precision-3650"
"""


def test_sustained_writes_are_slower_and_reads_are_as_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four SSDs of 50 MB/s, with one copy, write 200 MB/s at most."""
    (tmp_path / "ssds.toml").write_text(SSDS)
    asked = (
        "predict",
        "moosefs",
        "--on",
        tmp_path / "ssds.toml",
        "--clients",
        "2",
        "--set",
        "goal=1",
        "--json",
    )
    fresh, steady = (
        {one["direction"]: one for one in json.loads(said(*asked, *more))["predictions"]}
        for more in ((), ("--sustained",))
    )
    assert steady["read"] == fresh["read"]
    assert steady["write"]["throughput_bytes_per_s"][0] <= 200e6 < fresh["write"]["throughput_bytes_per_s"][0]
    assert steady["write"]["idle_w"] == fresh["write"]["idle_w"]
    pledge = ("--sustained", "--pledge", str(tmp_path / "p.json"))
    assert "pledge without --sustained" in refused(capsys, *map(str, asked[:-1]), *pledge)
    assert "states its sustained writes" in refused(
        capsys, "predict", "moosefs", "--on", "odroid-hc4", "--sustained"
    )


def test_a_cluster_whose_file_lies_here_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-boards.toml").touch()
    assert 'did you mean the file "my-boards.toml"?' in refused(
        capsys, "predict", "moosefs", "--on", "my-boards"
    )


def test_a_calibration_is_written_and_can_be_checked(tmp_path: Path) -> None:
    said("calibrate", "moosefs", "glusterfs", "--write", tmp_path / "c.toml", "--repetitions", "2")
    assert "192" in said("check", tmp_path / "c.toml")


def test_a_profiles_points_are_fitted_again_and_no_trial_counts_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said("calibrate", "--from", "glusterfs", "--profiles", tmp_path)
    assert "no end" not in told, "its conditions are enough for bands"
    assert all(
        re.search(rf"^glusterfs +{level} ", told, re.MULTILINE)
        for level in ("clients", "redundancy", "hardware")
    )
    shipped, again = (
        prediction.shipped("glusterfs"),
        prediction.read((tmp_path / "glusterfs.json").read_text(), "again"),
    )
    assert again.digest == shipped.digest
    for way, known in shipped.known.items():  # the shipped one was fitted by this law
        assert again.known[way].fit.way.fixed_s == pytest.approx(known.fit.way.fixed_s, rel=0.01)
        assert again.known[way].fit.works == known.fit.works
    # neither a folder nor a profile
    assert CliRunner().invoke(cli, ["calibrate", "--from", "nosuch"]).exception
    twice = refused(capsys, "calibrate", "--from", "glusterfs", "--from", tmp_path / "glusterfs.json")
    assert "glusterfs: the same trial is in two of these; name each results folder and profile once" in twice


def test_calls_in_flight_are_an_axis_of_a_calibration(tmp_path: Path) -> None:
    said(
        "calibrate",
        "cephfs",
        "--write",
        tmp_path / "c.toml",
        "--repetitions",
        "2",
        "--clients",
        "1..3",
        "--in-flight",
        "1,4",
    )
    trials = campaign.read(tmp_path / "c.toml").trials
    assert {trial.workload.options["in_flight"] for trial in trials} == {1, 4}
    assert {trial.clients_count for trial in trials} == {1, 2, 3}
    assert len(trials) == 2 * 3 * 2 * 2 * 8


def test_other_calls_in_flight_than_measured_are_extrapolated() -> None:
    words = ("predict", "cephfs", "--on", "odroid-hc4", "--clients", "2", "--json")
    one, more = (json.loads(said(*words, *calls))["predictions"] for calls in ((), ("--in-flight", "16")))
    assert [found["in_flight_count"] for found in (*one, *more)] == [1, 1, 16, 16]
    assert [found["beyond"] for found in (*one, *more)] == [[], [], ["in flight"], ["in flight"]]
    assert more[1]["throughput_bytes_per_s"][0] > 1.1 * one[1]["throughput_bytes_per_s"][0]
    told = said(*words[:-1], "--in-flight", "16")
    assert "extrapolated: another number of calls in flight than measured (1)" in told
    assert "each client moves 128 MiB in calls of 4 MiB, 16 in flight;" in told


def test_a_calibration_with_too_few_conditions_for_a_band_says_so_and_what_to_measure(tmp_path: Path) -> None:
    own = prediction.shipped("moosefs")
    first = next(one.case for one in own.points if one.case.fleet.clients_count == 1)
    alike = [
        replace(
            one.case,
            direction=first.direction,
            flow=first.flow,
            fleet=replace(one.case.fleet, clients_count=1),
        )
        for one in own.points
    ]
    few = [
        one
        for one, case in zip(own.points, alike, strict=True)
        if case == first and one.case.fleet.clients_count < 3
    ]
    data = to_json(replace(own, points=tuple(few)))
    assert isinstance(data, dict)
    (tmp_path / "few.json").write_text(json.dumps({**data, "digest": replace(own, points=tuple(few)).digest}))
    told = said("calibrate", "--from", tmp_path / "few.json", "--profiles", tmp_path)
    assert (
        "moosefs, write: 2 conditions left out and predicted, where a 90 % band takes 9, so that bands have "
        "no end;" in told
    )
    assert "server_cpu = [1.0, 0.5] in [testbed]" in told
    said("calibrate", "moosefs", "--write", tmp_path / "c.toml")
    assert "# Bands take 9 conditions" in (tmp_path / "c.toml").read_text()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["predict", "moosfs", "--on", "odroid-hc4"],
            'there is no profile "moosfs"; did you mean "moosefs"?',
        ),
        (["ledger", "a.json"], "results to compare the pledges with are missing; add --with DIR"),
        (["predict", "nosuch", "--on", "odroid-hc4"], 'there is no profile "nosuch"; known: cephfs'),
        (["predict", "moosefs", "--on", "my-boards"], 'no cluster "my-boards"; known: banana-pi-cm4, '),
        (["predict", "moosefs", "--on", "my-boards"], "your own hardware in a file: --on my-boards.toml"),
        (["predict", "moosefs", "--on", "odroid"], 'did you mean "odroid-hc4"?'),
        (["predict", "moosefs", "--on", "my-boards.toml"], "`perjoule docs boards` shows such a file"),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--set", "gaol=2"],
            'moosefs has no option "gaol"; did you mean "goal"?',
        ),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--set", "goal=two"],
            'goal = "two" is not a whole number',
        ),
        (["predict", "moosefs", "--on", "odroid-hc4", "--set", "goal=9"], "goal"),
        (["predict", "moosefs", "--on", "odroid-hc4", "--set", "goal"], "is not OPTION=VALUE"),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--clients", "0"],
            "not whole numbers from 1 to 100000",
        ),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--clients", "4..1"],
            "not whole numbers from 1 to 100000",
        ),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--clients", "1..100000"],
            "not whole numbers from 1 to 100000",
        ),
        (["predict", "moosefs", "--on", "odroid-hc4", "--size", "3"], "has no unit"),
        (
            ["predict", "moosefs", "--on", "odroid-hc4", "--size", "0 B"],
            "--size 0 B is not between 1 B and 1 EiB",
        ),
        (["predict", "moosefs", "--on", "pc-ssd1"], "the testbed has 0 storage hosts"),
        (["predict", "moosefs", "--on", "odroid-hc4", "--figure", "f.png"], "a figure is an SVG or a PDF"),
        (["calibrate"], "name file systems to measure, or results with --from"),
        (
            ["calibrate", "--from", "glusterfs", "--into", "d"],
            "--into is for measuring, but --from measures nothing",
        ),
        (
            ["calibrate", "moosefs", "--write", "c.toml", "--into", "d"],
            "--into is for a run and its profile, but --write runs",
        ),
        (
            ["calibrate", "moosefs", "--write", "c.toml", "--profiles", "d"],
            "remove it; later: perjoule run c.toml --into DIR",
        ),
        (
            ["calibrate", "moosefs", "--clients", "4"],
            "--clients: one number of clients says nothing about others",
        ),
        (["calibrate", "moosefs", "--in-flight", "0"], "--in-flight 0: not whole numbers from 1 to 1024"),
        (
            ["calibrate", "--from", "glusterfs", "--in-flight", "4"],
            "--in-flight is for measuring, but --from measures nothing",
        ),
        (["calibrate", "nosuch"], "can't be calibrated"),
        (["calibrate", "device"], "can't be calibrated"),
        (["ledger", "--with", "."], "pledges to compare the results with are missing; name files that"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_request_is_one_sentence(
    words: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert what in refused(capsys, *words)
