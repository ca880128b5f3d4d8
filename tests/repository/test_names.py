"""A name says what is in a module or a class; that others use it, or that it handles something, says nothing."""

import re

from places import SOURCES

VAGUE = {"base", "common", "core", "helper", "helpers", "misc", "shared", "util", "utils"}
VAGUE_CLASS = re.compile(r"^class (\w*(?:Factory|Helper|Manager|Util)s?)\b", re.MULTILINE)


def test_no_module_or_folder_has_a_vague_name() -> None:
    found = [path.relative_to(SOURCES) for path in SOURCES.rglob("*.py")]
    assert len(found) > 400
    assert [str(path) for path in found if {part.strip("_") for part in path.with_suffix("").parts} & VAGUE] == []


def test_no_class_has_a_vague_name() -> None:
    texts = {str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    assert VAGUE_CLASS.findall("class DaemonManager:\n") == ["DaemonManager"]
    assert {path: found for path, text in texts.items() if (found := VAGUE_CLASS.findall(text))} == {}
