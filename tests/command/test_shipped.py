"""Examples and pages that come with perjoule: what `new` writes is a valid campaign or need outside a checkout,
and what messages and pages point to is a page that `docs` shows.
"""

import ast
import re
from pathlib import Path

import click.testing
import pytest

from perjoule import campaign, planning
from perjoule.cli import cli
from perjoule.cli.pages import LAID_OUT
from perjoule.model.errors import CampaignError
from places import EXAMPLES, ROOT, SOURCES

FOLDERS = ("tutorials", "how-to", "reference", "explanations", "studies")
FILES = sorted(EXAMPLES.rglob("*.toml"))
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))
NAMED = re.compile(r"perjoule docs ([a-z][\w/-]+)`")


def printed(*arguments: str) -> str:
    result = click.testing.CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout


@pytest.fixture(scope="module")
def page_names() -> set[str]:
    return {
        line.split()[0] for line in printed("docs").splitlines() if line.startswith("  ") and line[2] != " "
    }


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_examples_are_listed() -> None:
    listing = printed("new")
    assert [path.stem for path in FILES if not re.search(rf"^  {path.stem}  ", listing, re.MULTILINE)] == []


@pytest.mark.parametrize("example", FILES, ids=lambda path: path.stem)
def test_an_example_is_valid_where_it_was_written_and_names_no_file_of_the_checkout(
    example: Path, here: Path
) -> None:
    printed("new", example.stem)
    text = (here / example.name).read_text()
    assert "examples/" not in text
    assert "campaign.schema.json" not in text
    if example.parent.name == "needs":
        planning.read(here / example.name)
    else:
        assert campaign.read(here / example.name).trials


def test_no_file_is_replaced_also_none_beside(here: Path) -> None:
    (here / "day.csv").write_text("mine")
    with pytest.raises(CampaignError, match=r"day\.csv: the file already exists"):
        printed("new", "duty")
    assert sorted(path.name for path in here.iterdir()) == ["day.csv"]
    printed("new", "local", "--write", "mine.toml")
    assert "perjoule run mine.toml" in (here / "mine.toml").read_text()
    (here / "mine.toml").write_text("mine")
    with pytest.raises(CampaignError, match="already exists"):
        printed("new", "local", "--write", "mine.toml")
    assert (here / "mine.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "locl"), 'there is no example "locl"; did you mean "local"?'),
        (("new", "../local"), 'there is no example "../local"; did you mean "local"?'),
        (("new", "--write", "mine.toml"), "no example is named; `perjoule new` lists them"),
        (("docs", "metrs"), 'there is no page "metrs"; did you mean "meters"?'),
        (("docs", "x"), 'there is no page "x"; `perjoule docs` lists all'),
    ],
)
def test_a_name_that_is_not_there_is_refused(arguments: tuple[str, ...], message: str, here: Path) -> None:
    with pytest.raises(CampaignError) as refusal:
        printed(*arguments)
    assert str(refusal.value) == message
    assert list(here.iterdir()) == []


def test_every_page_for_users_is_shown_and_leads_to_others(page_names: set[str]) -> None:
    assert len(page_names) == len(PAGES) + len(LAID_OUT)
    titles = {page.read_text().splitlines()[0] for page in PAGES} | {
        f"# {title}" for title in LAID_OUT.values()
    }
    texts = {name: printed("docs", name) for name in page_names}
    assert {text.splitlines()[0] for text in texts.values()} == titles
    assert [
        (name, link) for name, text in texts.items() for link in NAMED.findall(text) if link not in page_names
    ] == []
    assert [name for name, text in texts.items() if re.search(r"\]\([\w./-]+\)", text)] == []


def test_messages_help_and_examples_point_to_pages_that_come_along(page_names: set[str]) -> None:
    texts = [(path, path.read_text()) for path in FILES]
    for path in SOURCES.rglob("*.py"):
        module = ast.parse(path.read_text())
        explanation = ast.get_docstring(module, clean=False)
        texts += [
            (path, node.value)
            for node in ast.walk(module)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != explanation
        ]
    links = [(path, name) for path, text in texts for name in NAMED.findall(text)]
    assert len(links) > 40
    assert [(path, name) for path, name in links if name not in page_names] == []
    pattern = re.compile(r"\bdocs/[a-z-]+/[\w-]+\.md|see examples/")
    assert [(path, text) for path, text in texts if pattern.search(text)] == []
