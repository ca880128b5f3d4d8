"""Pages that the code lays out: they have each key, word, doubt and metric that there is."""

import re
from itertools import product

import pytest

from perjoule import campaign
from perjoule.campaign.header import TOP_KEYS
from perjoule.cli.pages import LAID_OUT, laid_out
from perjoule.model import errors
from perjoule.model.doubts import KINDS
from perjoule.model.metrics import BOUNDARIES, PIECES, ROLES, STAGES, entries

PARTS = {
    "boundary": [boundary.prefix for boundary in BOUNDARIES],
    "role": list(ROLES),
    "piece": list(PIECES),
    "stage": list(STAGES),
    "flow": ["network_received", "network_sent", "disk_read", "disk_written"],
    "peak": ["jpsi", "z"],
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_a_page_is_a_title_and_markdown_without_gaps_in_its_lists(name: str) -> None:
    title, blank, *lines = laid_out(name).splitlines()
    assert (title, blank) == (f"# {LAID_OUT[name]}", "")
    assert len(lines) > 20
    assert [line for line in lines if re.search(r"\*\*:$|``|\bNone\b", line)] == []


def test_the_list_of_metrics_has_each_of_them_once() -> None:
    listed = [
        key
        for pattern in re.findall(r"^- `([^`]+)`, .*: \S", laid_out("metrics"), re.MULTILINE)
        for key in keys(pattern)
    ]
    assert len(listed) == len(set(listed)) > 150
    registered = {key for metric in entries() for key in keys(metric.key)}
    assert {key for key in registered if not key.startswith("derived_rebuild_")} == set(listed)


def keys(pattern: str) -> list[str]:
    """Return the keys for which one with names in braces stands."""
    choices = [PARTS[part] if f"{{{part}}}" in pattern else [""] for part in PARTS]
    return [pattern.format_map(dict(zip(PARTS, parts, strict=True))) for parts in product(*choices)]


def test_the_list_of_doubts_has_a_line_for_each() -> None:
    page = laid_out("doubts")
    assert [
        doubt.id for kind in KINDS for doubt in kind.templates if f"\n| `{doubt.id}` | " not in page
    ] == []


def test_the_list_of_errors_has_each_below_its_exit_code() -> None:
    _, *sections = laid_out("errors").split("\n## ")
    listed = {(int(part[0]), id) for part in sections for id in re.findall(r"^\| `(.+?)` \| ", part, re.M)}
    known_errors = {getattr(errors, name) for name in errors.__all__} - {errors.PerjouleError}
    assert listed == {(error.exit_code, error.id) for error in known_errors}


def test_the_keys_of_a_campaign_have_a_meaning_each_and_those_of_tables_inside() -> None:
    rows = re.findall(r"^- `([\w.]+)` \(.+; .+?\): (.+)$", laid_out("campaign"), re.MULTILINE)
    assert [key for key, _ in rows if "." not in key] == list(TOP_KEYS)
    assert [key for key, _ in rows if "." in key] == ["until.metric", "until.interval", "until.max"]
    assert [key for key, meaning in rows if not meaning.strip()] == []
    header = campaign.schema()["properties"]
    assert isinstance(header, dict)
    assert set(header) - {"testbed", "filesystem", "workload", "meter", "event"} == set(TOP_KEYS)


def test_a_permitted_table_of_values_is_named_with_its_argument() -> None:
    assert "`-d (agcount agsize" in laid_out("permitted")


def test_a_permitted_word_that_is_switched_on_or_off_is_named_once() -> None:
    page = laid_out("permitted")
    assert "[^]bigalloc" in page
    assert "^bigalloc" not in page.replace("[^]bigalloc", "")
