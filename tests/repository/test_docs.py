"""Every TOML example in the documents is a campaign, or a part of one."""

import re
from pathlib import Path

import pytest

from perjoule import campaign
from places import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(document.read_text()) if kind == language]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_toml_in_the_documents_is_a_campaign_or_a_part_of_one(document: Path) -> None:
    for text in blocks(document, "toml"):
        whole = text if "[testbed]" in text else '[testbed]\nkind = "simulated"\n' + text
        if "[[filesystem]]" not in whole:
            whole += '\n[[filesystem]]\nkind = "simulated"\n'
        if "[[workload]]" not in whole:
            whole += '\n[[workload]]\nkind = "simulated"\n'
        assert campaign.parse(whole, source=document.name).trials
