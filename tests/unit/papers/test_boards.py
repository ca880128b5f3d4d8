"""The audit of boards that somebody measured at a wall plug, and the catalogue's boards that are of them."""

import re
import tomllib

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from perjoule.cli import cli
from perjoule.papers.boards import MeasuredBoard, boards
from places import SOURCES

BOARDS = SOURCES / "catalogue" / "boards"
SOUND = MeasuredBoard(
    name="Sound board",
    instructions="aarch64",
    issue=1,
    idle_w=3.0,
    stress_w=9.0,
    hpl_w=10.0,
    hpl_gflop_per_s=30.0,
    network_mbit_per_s=940.0,
)


def _rules(**changed: object) -> list[str]:
    return [rule for _, rule, _ in SOUND.model_copy(update=changed).slips]


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        ({}, []),
        ({"stress_w": 2.9}, ["load below idle"]),
        ({"hpl_w": 3.0}, ["load below idle"]),
        ({"hpl_gflop_per_s": 101.0}, ["work for a watt"]),
        ({"hpl_gflop_per_s": 99.0}, []),
        ({"network_mbit_per_s": 2.36}, ["a network's unit"]),
        ({"network_mbit_per_s": 9.9}, ["a network's unit"]),
        ({"network_mbit_per_s": 10.0}, []),
        ({"name": "Sound RISC-V board"}, ["instructions"]),
        ({"name": "Alarm clock"}, []),
        ({"idle_w": 0.99}, ["idle beside load"]),
        ({"idle_w": 1.01}, []),
        ({"network_mbit_per_s": None}, ["not measured"]),
        ({"stress_w": None, "hpl_w": None}, ["not measured"]),
    ],
)
def test_each_slip_is_found_by_its_rule(changed: dict[str, object], rules: list[str]) -> None:
    assert _rules(**changed) == rules


def test_a_slip_says_the_figures_that_show_it() -> None:
    wrong = {"stress_w": 2.9, "hpl_gflop_per_s": 125.0, "network_mbit_per_s": 2.36}
    figures = [figure for *_, figure in SOUND.model_copy(update=wrong).slips]
    assert figures == ["stress-ng 2.9 W, idle 3 W", "12.5 Gflop/J of HPL", "2.36 Mbit/s, likely Gbit/s"]
    (figure,) = (figure for *_, figure in SOUND.model_copy(update={"idle_w": 0.99}).slips)
    assert figure == "0.99 W of 9 W"


@pytest.mark.parametrize("figure", ["idle_w", "stress_w", "hpl_w", "hpl_gflop_per_s", "network_mbit_per_s"])
def test_a_figure_is_positive_and_watts_of_a_board_are_no_megawatts(figure: str) -> None:
    def changed(value: float) -> MeasuredBoard:
        return MeasuredBoard.model_validate({**SOUND.model_dump(), figure: value})

    assert getattr(changed(0.5), figure) == 0.5
    assert getattr(changed(1e5), figure) == 1e5
    for wrong in (0.0, -1.0, *([1.01e5] if figure.endswith("_w") else [])):
        with pytest.raises(ValidationError):
            changed(wrong)


def test_the_known_slips_of_the_reviews_are_found() -> None:
    found = {board.name: {rule for _, rule, _ in board.slips} for board in boards()}
    assert len(found) == 50
    assert "a network's unit" in found["Intel Core Ultra 7 265K"]
    assert "instructions" in found["DC-ROMA RISC-V Mainboard II"]
    assert "idle beside load" in found["Orange Pi 5"]
    assert not found["Raspberry Pi 5 model B"]


def test_every_board_that_passes_is_in_the_catalogue_with_its_watts_and_no_other_gives_idle_watts() -> None:
    passed = {board.issue: board for board in boards() if not board.slips}
    known: dict[int, dict[str, str]] = {}
    for file in BOARDS.glob("*.toml"):
        idle = tomllib.loads(file.read_text()).get("idle_at_wall", {})
        if number := re.search(r"sbc-reviews, issue (\d+)", idle.get("source", "")):
            known[int(number[1])] = idle
    assert len(passed) >= 29 and passed.keys() <= known.keys()
    for issue, board in passed.items():
        assert known[issue]["value"] == f"{board.idle_w:g} W", board.name
    (doubtful,) = known.keys() - passed.keys()
    assert doubtful == 5 and float(known[5]["low"].split()[0]) == 1.0  # the Orange Pi 5: its idle is an end


@pytest.mark.parametrize("issue", [21, 4, 46])
def test_dynamic_watts_are_between_the_loads_and_at_least_27_percent_to_either_side(issue: int) -> None:
    (board,) = (one for one in boards() if one.issue == issue)
    assert board.stress_w and board.hpl_w and board.idle_w
    (text,) = (
        t for file in BOARDS.glob("*.toml") if f"sbc-reviews, issue {issue} " in (t := file.read_text())
    )
    value, low, high = (
        float(tomllib.loads(text)["dynamic_at_wall"][key].split()[0]) for key in ("value", "low", "high")
    )
    loads = sorted((board.stress_w - board.idle_w, board.hpl_w - board.idle_w))
    assert loads[0] <= value * 1.01 and value <= loads[1] * 1.01
    assert low <= min(loads[0], value / 1.26) * 1.01 and high >= max(loads[1], value * 1.26) * 0.99


def test_the_audit_prints_what_no_board_can_do() -> None:
    done = CliRunner().invoke(cli, ["audit", "sbc-reviews"])
    assert done.exit_code == 0, done.output
    assert "Intel Core Ultra 7 265K" in done.output and "2.36 Mbit/s, likely Gbit/s" in done.output
    assert CliRunner().invoke(cli, ["audit", "sbc-reviews", "--strict"]).exit_code == 1
