"""The index lists the pages, documents name every room, and every TOML example is a campaign, a part of one, or a need."""

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


def test_the_index_lists_every_page_but_decisions_whose_files_are_named_after_them() -> None:
    index = ROOT / "docs" / "README.md"
    listed = set(re.findall(r"\]\(([^):#]+\.md)", index.read_text()))
    pages = [path.relative_to(index.parent) for path in DOCUMENTS if index.parent in path.parents and path != index]
    pages = [page for page in pages if not re.match(r"explanations/decisions/\d{4}-", str(page))]
    assert [str(page) for page in pages if str(page) not in listed] == []


def test_where_things_live_and_the_decision_on_layers_name_every_room_once_the_highest_layer_first() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"\w+", layer)) - {"__main__"} for layer in contract["layers"]]
    of = {room: at for at, layer in enumerate(layers) for room in layer}
    contributing = re.findall(r"^    ((?:\w+/ )+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    decision = (ROOT / "docs/explanations/decisions/0067-rooms-of-numbers.md").read_text()
    for lines in (contributing, re.findall(r"^\| [^|]+\| (.*`.*) \|$", decision, re.MULTILINE)):
        named = [room for line in lines for room in re.findall(r"(?:(?<=`)|\b)(\w+)(?=`|/)", line) if room in of]
        assert sorted(named) == sorted(of)
        assert [of[room] for room in named] == sorted(of[room] for room in named)
