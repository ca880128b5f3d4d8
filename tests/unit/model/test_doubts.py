"""A doubt is a sentence with a kind, in memory, in files, and in copies."""

import ast
import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import perjoule
from perjoule.machine.untrusted import from_json
from perjoule.model import Doubt, Outcome
from perjoule.model.doubts import CACHE, KINDS, METERS, UNSTATED, Template
from perjoule.store.records import to_json

SAID = "a cache served the read"


def test_a_doubt_is_its_words() -> None:
    assert CACHE.doubt(SAID) == SAID == METERS.doubt(SAID)
    assert list(dict.fromkeys([CACHE.doubt(SAID), Doubt(SAID)])) == [SAID]
    assert json.dumps(CACHE.doubt(SAID)) == json.dumps(SAID)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one.about("h")],
)
def test_a_copy_keeps_the_kind(copied) -> None:
    assert copied(CACHE.doubt(SAID)).kind == CACHE
    assert copied(CACHE.doubt(SAID)).endswith(SAID)


def test_a_stored_doubt_keeps_its_kind() -> None:
    outcome = Outcome("fio", (), (CACHE.doubt(SAID), Doubt("moon")))
    stored = to_json(outcome)
    assert isinstance(stored, dict)
    assert stored["doubts"] == [{"kind": "cache", "text": SAID}, {"kind": "", "text": "moon"}]
    read = from_json(Outcome, stored)
    assert read == outcome
    assert [doubt.kind for doubt in read.doubts] == [CACHE, UNSTATED]


def test_doubts_of_before_kinds_were_stored_still_read() -> None:
    (doubt,) = from_json(Outcome, {"engine": "fio", "results": [], "doubts": [SAID]}).doubts
    assert (doubt, doubt.kind) == (SAID, UNSTATED)


def test_a_percentage_without_a_space_reads_as_one_with_it() -> None:
    (stored,) = from_json(
        Outcome, {"engine": "fio", "results": [], "doubts": [{"kind": "cache", "text": "90% of it"}]}
    ).doubts
    assert stored == CACHE.doubt("90 % of it") == CACHE.doubt("90% of it")
    assert str(stored) == "90 % of it"
    assert stored.about("client-1") == "client-1: 90 % of it"


@pytest.mark.parametrize(
    "stored", [{"kind": "moon", "text": SAID}, {"kind": "cache"}, {"text": SAID}, 3, None, [SAID]]
)
def test_what_is_not_a_doubt_is_refused(stored) -> None:
    with pytest.raises(ValueError, match="doubt"):
        from_json(Outcome, {"engine": "fio", "results": [], "doubts": [stored]})


def test_kinds_have_distinct_keys_and_titles() -> None:
    assert len({kind.key for kind in KINDS}) == len({kind.title for kind in KINDS}) == len(KINDS)


def modules(word: str) -> dict[Path, ast.Module]:
    """Our modules in which a word occurs, parsed: all of them take seconds."""
    texts = {path: path.read_text() for path in Path(perjoule.__file__).parent.rglob("*.py")}
    return {path: ast.parse(text) for path, text in texts.items() if word in text}


def test_no_module_makes_a_doubt_without_a_kind() -> None:
    made: list[str] = []
    for path, module in modules("Doubt").items():
        if path.name != "kind.py":
            calls = (node for node in ast.walk(module) if isinstance(node, ast.Call))
            made += [
                f"{path}:{call.lineno}"
                for call in calls
                if isinstance(call.func, ast.Name) and call.func.id == "Doubt"
            ]
    assert made == []


TEMPLATES = [template for kind in KINDS for template in kind.templates]
UNITS = ("_s", "_w", "_j", "_ohm", "_bytes", "_ratio", "_count")
BARE = {"count", "p", "r", "pull", "rate"}  # numbers without a unit, or whose unit is another value


def sample(template: Template[...]) -> Doubt:
    """A doubt with a value of each type, texts that tell of which value they are."""
    kinds = template.sentence.__annotations__
    made: dict[str, Callable[[str], Any]] = {
        "str": lambda name: f"<{name}>",
        "int": lambda _: 1,
        "float": lambda _: 0.25,
        "bool": lambda _: True,
        "Sequence": lambda name: [f"<{name}>", "<more>"],
    }
    return template(**{name: made[kinds[name].__name__](name) for name in template.values})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if [*kind.templates]], ids=lambda kind: kind.prefix)
def test_the_words_of_a_kind_name_all_that_they_are_made_of(kind) -> None:
    for template in kind.templates:
        doubt = sample(template)
        assert doubt.id == template.id == f"{kind.prefix}.{template.sentence.__name__}"
        texts = [
            text
            for value in doubt.values.values()
            for text in ([value] if isinstance(value, str) else value if isinstance(value, list) else [])
        ]
        assert [text for text in texts if text not in doubt] == [], template.id
        assert "{" not in doubt and not doubt.endswith((".", " ", ":")), template.id
        assert len((template.sentence.__doc__ or "").split(". ")) <= 3
        assert (template.sentence.__doc__ or "").rstrip().endswith("."), template.id


def test_ids_are_distinct_and_values_end_in_their_unit() -> None:
    assert len({template.id for template in TEMPLATES}) == len(TEMPLATES) > 150
    for template in TEMPLATES:
        for name in template.values:
            if template.sentence.__annotations__[name] in (int, float):
                assert name.endswith((*UNITS, *BARE)), f"{template.id}: {name}"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.id)
def test_a_stored_doubt_keeps_its_id_and_values(template) -> None:
    doubt = sample(template)
    stored = to_json((doubt.about("storage-1"),))
    (read,) = from_json(Outcome, {"engine": "", "results": [], "doubts": stored}).doubts
    assert (read.id, read.kind, read) == (template.id, template.kind, f"storage-1: {doubt}")
    assert read.values == {**doubt.values, "of": "storage-1"}


@pytest.mark.parametrize(
    ("stored", "id"),
    [
        ("no meter covers a whole server", "meters.none_covers"),  # of format 1, which has no kinds
        ({"kind": "meters", "text": "no meter covers a whole server"}, "meters.none_covers"),
        ({"kind": "cache", "text": "no meter covers a whole server"}, ""),  # of another kind: not certain
        ({"kind": "meters", "text": "plug: the window has zero length"}, ""),  # has a value: not certain
        ("somebody's own words", ""),
        ({"kind": "meters", "id": "meters.made_up", "text": "made up"}, ""),  # of another release, or forged
        (
            {"kind": "meters", "id": "meters.made_up", "text": "no meter covers a whole server"},
            "meters.none_covers",
        ),
    ],
)
def test_an_older_doubt_has_an_id_where_its_sentence_is_certain(stored, id) -> None:
    (doubt,) = from_json(Outcome, {"engine": "", "results": [], "doubts": [stored]}).doubts
    assert doubt.id == id


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "cache.none_covers"},  # of another kind
        {"id": "meters.<script>"},
        {"id": "none_covers"},
        {"id": "meters.none_covers", "values": ["plug"]},
        {"id": "meters.none_covers", "values": {"a b": 1}},
        {"id": "meters.none_covers", "values": {"channel": {"a": 1}}},
        {"id": "meters.none_covers", "values": {"channels": [1]}},
    ],
)
def test_an_id_of_another_form_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="doubt"):
        from_json(
            Outcome, {"engine": "", "results": [], "doubts": [{"kind": "meters", "text": SAID, **wrong}]}
        )


def test_a_number_that_is_not_finite_is_stored_as_null() -> None:
    doubt = METERS.unread(channel="plug", longest_s=float("inf"))
    assert json.loads(json.dumps(doubt.data, allow_nan=False))["values"] == {
        "channel": "plug",
        "longest_s": None,
    }


def test_doubts_are_alike_by_id_and_by_texts_that_name_no_place() -> None:
    one, other = (
        METERS.reads_failed(meter=meter, count=count, all_count=9, error="no route to 10.0.0.1")
        for meter, count in (("a", 1), ("b", 2))
    )
    third = METERS.reads_failed(meter="a", count=1, all_count=9, error="timed out")
    assert one.likeness == other.likeness != third.likeness
    assert (
        METERS.far_above(channel="a", count=1, highest_w=1.0).likeness
        != METERS.spikes(channel="a", count=1, highest_w=1.0).likeness
    )


def test_no_module_makes_a_doubt_of_words_alone() -> None:
    """But for those of a meter that is not perjoule's, and what a row lacks."""
    made: dict[str, int] = {}
    for path, module in modules(".doubt").items():
        calls = (
            node for node in ast.walk(module) if isinstance(node, ast.Attribute) and node.attr == "doubt"
        )
        if count := sum(ast.unparse(call.value).isupper() for call in calls):
            made[path.name] = count
    assert made == {"trial.py": 1, "limitations.py": 1}
