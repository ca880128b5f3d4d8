"""`perjoule catalogue`: names, and values with their sources, held against the files themselves."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from perjoule.cli import cli
from places import ROOT

FOLDER = ROOT / "src" / "perjoule" / "catalogue"
UNLISTED = {"mean", "failure", "electricity"}  # tables of one part, which have no name


def said(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["catalogue", *words])
    assert done.exit_code == code, done.output
    return done.stdout


@cache
def tables() -> Sequence[tuple[str, str, Any]]:
    """List each named part of the files: its table, its name, what is written of it."""
    return [*read()]


def read() -> Iterator[tuple[str, str, Any]]:
    for path in sorted((FOLDER / "parts").glob("*.toml")):
        for table, found in tomllib.loads(path.read_text()).items():
            if table not in UNLISTED:
                yield from ((table, name, part) for name, part in found.items())
    for folder, table in (("boards", "server"), ("drives", "drive"), ("switches", "network")):
        for path in sorted((FOLDER / folder).glob("*.toml")):
            part = tomllib.loads(path.read_text())
            yield from (("switch", name, switch) for name, switch in part.pop("switch", {}).items())
            yield table, path.stem, part


def sources(part: object) -> Iterator[str]:
    """Give each source within a part."""
    if isinstance(part, Mapping):
        for key, value in cast("Mapping[str, object]", part).items():
            yield from [str(value)] if key == "source" else sources(value)


def test_every_part_and_cluster_of_the_files_is_listed_by_its_name() -> None:
    lines = said().splitlines()
    for table, name, _ in tables():
        if table == "grid":
            assert f" {name} " in lines[-1]
        else:
            heading = next(number for number, line in enumerate(lines) if f"([{table}.NAME]" in line)
            assert any(line.startswith(f"  {name}: ") for line in lines[heading + 1 :]), f"{table} {name}"
    for path in (FOLDER / "clusters").glob("*.toml"):
        written = tomllib.loads(path.read_text())
        for name in written.get("variant", [path.stem]):
            assert any(line.startswith(f"  {name}: ") for line in lines), name


@pytest.mark.parametrize("name", sorted({name for table, name, _ in tables() if table != "grid"}))
def test_a_name_gives_every_source_that_the_files_state_for_it(name: str) -> None:
    text = said(name)
    for table, one, part in tables():
        if one == name:
            assert f"{table} {name}\n" in text
            for source in sources(part):
                assert source in text, f"{table} {name}"


@pytest.mark.parametrize("file", sorted((FOLDER / "clusters").glob("*.toml")), ids=lambda one: one.stem)
def test_clusters_give_every_source_of_their_file(file: Path) -> None:
    written = tomllib.loads(file.read_text())
    text = "".join(said(name) for name in written.get("variant", [file.stem]))
    for source in sources(written):
        assert source in text


def test_values_have_the_units_of_the_files() -> None:
    text = said("odroid-hc4")
    for line in (
        "switch: 15.5 W ± 0.15 W (13.6 W to 17.3 W), measured: Green Storage, section V-C a",
        "memory: 4 GiB, datasheet",
        "price: 90 USD (65 USD to 140 USD), assumed",
        "mips: 4 910 (4 400 to 5 400), assumed",
        "mips: 4 910 ± 300 (4 400 to 5 400), assumed",
        "4 x A (storage): odroid-hc4, 2 x wd-black-1tb",
        "6 servers, 7.276 TiB, 40.9 W idle to 63.7 W measured, 91.1 W fully used, without the switch",
        "load: 12.3 W ± 4.34 W (4.8 W to 19.8 W), bound: mean above the idle 40.9 W of MooseFS",
    ):
        assert line in text, line
    assert "342 gCO2e/kWh" in said("DE")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    done = CliRunner().invoke(cli, ["catalogue", "exos-x21"])
    assert 'no "exos-x21"' in str(done.exception)
    assert 'did you mean "exos-x12"?' in str(done.exception)
