"""CONTRIBUTING names every room, and every TOML example is a campaign, a part of one, or a need."""

import re
import tomllib
from pathlib import Path

import pytest

from perjoule import campaign, planning
from places import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```toml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}": found[1]
    for path in DOCUMENTS
    for text in [path.read_text()]
    for found in BLOCK.finditer(text)
    if not found[1].startswith("[project]")  # of a package, which tests/command/test_another.py installs
}


@pytest.mark.parametrize("where", EXAMPLES)
def test_toml_in_the_documents_is_a_campaign_or_a_part_of_one_or_a_need(where: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[storage]\ns[1:2]\n[compute]\nn[001:064]\n")  # which documents name
    whole = EXAMPLES[where]
    if "\ncapacity = " in whole:
        assert planning.parse(whole, where).need.capacity_bytes
        return
    if "[testbed]" not in whole:
        whole = '[testbed]\nkind = "simulated"\n' + whole
    for table in ("filesystem", "workload"):
        if f"[[{table}]]" not in whole:
            whole += f'\n[[{table}]]\nkind = "simulated"\n'
    assert campaign.parse(whole, source=where, folder=tmp_path).trials


def test_the_table_of_the_readme_is_of_the_run_of_its_pictures() -> None:
    (text,) = re.findall(r"^```text\n(file system .*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    headers, *rows = (re.split(r" {2,}", line.strip()) for line in text.splitlines() if line)
    kept = (ROOT / "docs" / "assets" / "terminal.txt").read_text(encoding="utf-8").splitlines()
    whole_headers, *whole = (re.split(r" {2,}", line.strip()) for line in kept if line)
    places = [whole_headers.index(header) for header in headers]
    shown = [[row[place] for place in places] for row in whole if len(row) == len(whole_headers)]
    assert len(rows) > 3
    assert [row for row in rows if row not in shown] == []


def test_where_things_live_names_every_room_once_the_highest_layer_first() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"\w+", layer)) - {"__main__"} for layer in contract["layers"]]
    of = {room: at for at, layer in enumerate(layers) for room in layer}
    lines = re.findall(r"^    ((?:\w+/ )+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    named = [room for line in lines for room in re.findall(r"(\w+)/", line)]
    assert sorted(named) == sorted(of)
    assert [of[room] for room in named] == sorted(of[room] for room in named)


LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What links may name of a page: its headings, as GitHub and the site write them."""
    headings = (LINK.sub("", heading).lower() for heading in HEADING.findall(page.read_text()))
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in headings}


def leads(page: Path, target: str) -> bool:
    """Whether a link of a page leads to a file, and if it names a heading of a page to that."""
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    if anchor and file.suffix == ".md" and file.exists():
        return anchor in anchors(file)
    return file.exists()


@pytest.mark.parametrize(
    "page", [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"], ids=lambda page: page.name
)
def test_each_link_leads_to_a_file_and_a_heading_of_it(page: Path) -> None:
    """But to the pages of our own list, which are made with the site."""
    targets = [
        target for target in LINK.findall(page.read_text()) if not re.match(r"[a-z]+:|ranked/", target)
    ]
    assert [target for target in targets if not leads(page, target)] == []
