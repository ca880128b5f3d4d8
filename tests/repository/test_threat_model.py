"""Each claim of the threat model names a test that is there."""

import re

from places import ROOT

PAGE = ROOT / "docs" / "explanations" / "threat-model.md"


def test_every_test_that_the_threat_model_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())
    assert len(named) > 20
    for path, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path}::{name}"
