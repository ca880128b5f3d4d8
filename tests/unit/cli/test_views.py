"""The views of `perjoule show`: each shows its tables, or says why it has none and where to read more."""

import re

import pytest
from click.testing import CliRunner

from measured import STEADY, measured
from perjoule.cli import cli
from perjoule.cli.views import VIEWS, View
from perjoule.model.errors import MachineError
from perjoule.store import Results
from places import ROOT

every = pytest.mark.parametrize("view", VIEWS, ids=[view.flag for view in VIEWS])
SHOWN = {"joules": "% not split", "budget": "largest term"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return measured(tmp_path_factory.mktemp("views") / "one", "", meter=STEADY)


@every
def test_a_view_shows_its_tables_or_says_why_it_has_none(view: View, results: Results) -> None:
    done = CliRunner().invoke(cli, ["show", str(results.folder), f"--{view.flag}"], standalone_mode=False)
    if view.flag in SHOWN:
        assert done.exception is None
        assert SHOWN[view.flag] in done.output
    else:
        assert isinstance(done.exception, MachineError)
        assert done.exception.what == view.none
        assert str(results.folder) in str(done.exception)


def test_each_view_but_the_one_that_wants_more_results_says_where_to_read_more() -> None:
    documents = {view.flag: re.findall(r"docs/\S+\.md", view.advice) for view in VIEWS}
    assert [flag for flag, named in documents.items() if not named] == ["replacement"]
    assert all((ROOT / name).exists() for named in documents.values() for name in named)


def test_several_views_are_shown_in_turn(results: Results) -> None:
    def shown(*flags: str) -> str:
        return CliRunner().invoke(cli, ["show", str(results.folder), *flags], standalone_mode=False).output

    assert shown("--joules", "--budget") == shown("--budget", "--joules") == shown("--joules") + shown("--budget")
