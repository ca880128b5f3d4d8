"""The views of `perjoule show`: each shows its tables, or says why it has none and where to read more."""

import re

import pytest
from click.testing import CliRunner

from measured import STEADY, measured
from perjoule.cli import cli
from perjoule.model.errors import MachineError
from perjoule.store import Results
from perjoule.views import flags
from perjoule.views.view import Flag
from places import ROOT

every = pytest.mark.parametrize("flag", flags(), ids=[flag.name for flag in flags()])
SHOWN = {"joules": "% not split", "budget": "largest term"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return measured(tmp_path_factory.mktemp("views") / "one", 'settle = "100 ms"', meter=STEADY)


@every
def test_a_view_shows_its_tables_or_says_why_it_has_none(flag: Flag, results: Results) -> None:
    done = CliRunner().invoke(cli, ["show", str(results.folder), f"--{flag.name}"], standalone_mode=False)
    if flag.name in SHOWN:
        assert done.exception is None
        assert SHOWN[flag.name] in done.output
    else:
        assert isinstance(done.exception, MachineError)
        assert done.exception.what == flag.none
        assert str(results.folder) in str(done.exception)


def test_each_view_but_the_one_that_wants_more_results_says_where_to_read_more() -> None:
    pages = {flag.name: re.findall(r"perjoule docs ([\w-]+)", flag.advice) for flag in flags()}
    assert [flag for flag, page_names in pages.items() if not page_names] == ["replacement"]
    docs = {path.stem for path in (ROOT / "docs").glob("*/*.md")}
    assert {page_name for page_names in pages.values() for page_name in page_names} <= docs


def test_several_views_are_shown_in_turn(results: Results) -> None:
    def shown(*flags: str) -> str:
        return CliRunner().invoke(cli, ["show", str(results.folder), *flags], standalone_mode=False).output

    assert (
        shown("--joules", "--budget")
        == shown("--budget", "--joules")
        == shown("--joules") + shown("--budget")
    )
