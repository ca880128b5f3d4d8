"""A doubt is a sentence with a kind, in memory, in files, and in copies."""

import ast
import copy
import json
import pickle
from pathlib import Path

import pytest

import perjoule
from perjoule.machine.untrusted import from_json
from perjoule.model import Doubt, Outcome
from perjoule.model.doubts import CACHE, KINDS, METERS, UNSTATED
from perjoule.store.records import to_json

SAID = "a cache served the read"


def test_a_doubt_is_its_words() -> None:
    assert CACHE.doubt(SAID) == SAID == METERS.doubt(SAID)
    assert list(dict.fromkeys([CACHE.doubt(SAID), Doubt(SAID)])) == [SAID]
    assert json.dumps(CACHE.doubt(SAID)) == json.dumps(SAID)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one.of("h")]
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
    (stored,) = from_json(Outcome, {"engine": "fio", "results": [], "doubts": [{"kind": "cache", "text": "90% of it"}]}).doubts
    assert stored == CACHE.doubt("90 % of it") == CACHE.doubt("90% of it")
    assert str(stored) == "90 % of it"
    assert stored.of("client-1") == "client-1: 90 % of it"


@pytest.mark.parametrize("stored", [{"kind": "moon", "text": SAID}, {"kind": "cache"}, {"text": SAID}, 3, None, [SAID]])
def test_what_is_not_a_doubt_is_refused(stored) -> None:
    with pytest.raises(ValueError, match="doubt"):
        from_json(Outcome, {"engine": "fio", "results": [], "doubts": [stored]})


def test_kinds_have_distinct_keys_and_titles() -> None:
    assert len({kind.key for kind in KINDS}) == len({kind.title for kind in KINDS}) == len(KINDS)


@pytest.mark.heavy
def test_no_module_makes_a_doubt_without_a_kind() -> None:
    made: list[str] = []
    for path in Path(perjoule.__file__).parent.rglob("*.py"):
        if path.name != "doubts.py":
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            made += [f"{path}:{call.lineno}" for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Doubt"]
    assert made == []
