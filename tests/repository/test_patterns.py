"""No text of a stranger's holds perjoule up: a regular expression takes a time that grows with the text, not with its
square.

Each is tried with long texts that almost match it: what leads to a repetition and then that again and again, and
both together again and again.
"""

import ast
import importlib
import pkgutil
import re
import signal
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import pytest

import perjoule
from places import SOURCES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they are not for everybody
    parser: Any = importlib.import_module("re._parser")
    code: Any = importlib.import_module("re._constants")

LONG_COUNT = 20_000  # characters
LIMIT_S = 0.15  # of the processor's: ten times what the slowest takes, and less than what takes the square
SIGNS = "a7 .-,:=\"'[(x/_|A\\\n\t{}<"
METHODS = {  # what a method of a pattern does with a long text
    "match": "match",
    "fullmatch": "fullmatch",
    **dict.fromkeys(("search", "finditer", "findall", "sub", "split"), "findall"),
}
MANY_COUNT = 20  # repetitions that are bounded by no more take no time worth speaking of
EXEMPT = {  # modules, and why their patterns may take the square
    "perjoule.cli.shipped": "it reads texts that come with perjoule",
    "perjoule.importing.line_protocol": "it finds parts of what was matched as a whole",
    "perjoule.meters._declared": "it cuts its texts before",
    "perjoule.meters.csv.names": "it cuts its texts before",
    "perjoule.model.units": "it cuts its texts before",
    "perjoule.model.withheld": "it cuts its texts before",
}

Parsed = Iterable[tuple[Any, Any]]


def fitting(operator: Any, argument: Any) -> list[str]:
    """Some of the characters that an element of a pattern matches."""
    if operator is code.LITERAL:
        return [chr(argument)]
    single = parser.SubPattern(parser.State())
    single.append((operator, argument))
    compiled: Any = importlib.import_module("re._compiler")
    form = compiled.compile(single)
    return [sign for sign in SIGNS if form.fullmatch(sign)][:4] or ["a"]


def shortest(parsed: Parsed) -> str:
    """A text that a pattern matches, apart from what it only looks at."""
    text = ""
    for operator, argument in parsed:
        if operator is code.BRANCH:
            text += shortest(argument[1][0])
        elif operator is code.SUBPATTERN:
            text += shortest(argument[3])
        elif operator is code.ATOMIC_GROUP:
            text += shortest(argument)
        elif operator in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            text += shortest(argument[2]) * argument[0]
        elif operator in (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN):
            text += fitting(operator, argument)[0]
    return text


def repeated(parsed: Parsed, before: str = "") -> Iterator[tuple[str, str]]:
    """For each repetition of a pattern what leads to it, and what can be repeated there."""
    for operator, argument in parsed:
        inner: list[Parsed] = []
        if operator is code.BRANCH:
            inner = argument[1]
        elif operator is code.SUBPATTERN:
            inner = [argument[3]]
        elif operator is code.ATOMIC_GROUP:
            inner = [argument]
        elif operator in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            _, most_count, element = argument
            inner = [element]
            if most_count > MANY_COUNT:
                (first, *rest) = list(element)
                units = (
                    fitting(*first) if not rest and first[0] in (code.IN, code.ANY, code.NOT_LITERAL) else []
                )
                yield from ((before, unit) for unit in units or [shortest(element) or "a"])
        for branch in inner:
            yield from repeated(branch, before)
        before += shortest([(operator, argument)])


def texts(pattern: str | bytes, flags: int) -> Iterator[str]:
    """Long texts that a pattern almost matches."""
    for before, unit in sorted(set(repeated(parser.parse(pattern, flags)))):
        both = before + unit
        yield before + unit * (LONG_COUNT // len(unit)) + "\0"
        yield before + unit * (LONG_COUNT // len(unit))
        yield both * (LONG_COUNT // len(both)) + "\0"
        yield before * (LONG_COUNT // max(1, len(before))) + "\0"


@cache
def modules() -> Mapping[str, ModuleType]:
    found = pkgutil.walk_packages(perjoule.__path__, "perjoule.")
    names = [each.name for each in found if not each.name.endswith("__main__")]
    return {name: importlib.import_module(name) for name in names if name not in EXEMPT}


@cache
def trees() -> Mapping[str, ast.Module]:
    return {str(path): ast.parse(path.read_text()) for path in SOURCES.rglob("*.py")}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Each call of a method, with what it is called on (a private name of a file with that file) and its name."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value).rpartition(".")[2]
                yield f"{path if owner.startswith('_') else ''}{owner}", node.func.attr, node


def compiled() -> Iterator[tuple[re.Pattern[Any], str]]:
    """Each pattern that a module names, and how it is used."""
    used: dict[str, set[str]] = {}
    for owner, method, _ in calls():
        if method in METHODS:
            used.setdefault(owner, set()).add(METHODS[method])
    for module in modules().values():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                owner = f"{module.__file__ if name.startswith('_') else ''}{name}"
                yield from ((value, method) for method in used.get(owner, set()))


def written() -> Iterator[tuple[re.Pattern[Any], str]]:
    """Each pattern that stands where it is used."""
    for owner, method, node in calls():
        if owner == "re" and method in METHODS and isinstance(node.args[0], ast.Constant):
            named = [name for name in ("MULTILINE", "DOTALL", "IGNORECASE") if name in ast.unparse(node)]
            flags = re.RegexFlag(sum(getattr(re, name) for name in named))
            pattern: Any = node.args[0].value
            yield re.compile(pattern, flags), METHODS[method]


@contextmanager
def limited() -> Generator[None]:
    """Raise TimeoutError in the block once it has had LIMIT_S of the processor: matching looks for signals."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, end)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def too_slow(pattern: re.Pattern[Any], method: str) -> str:
    """Return how the text begins that takes a pattern too long, "" if none does."""
    binary = isinstance(pattern.pattern, bytes)
    for text in texts(pattern.pattern, 0 if binary else pattern.flags):
        try:
            with limited():
                getattr(pattern, method)(text.encode("latin-1", "replace") if binary else text)
        except TimeoutError:
            return f"{text[:60]!r}"
    return ""


@pytest.mark.slow
def test_patterns_are_found() -> None:
    assert len(set(compiled())) > 150
    assert len(set(written())) > 80


@pytest.mark.parametrize(
    ("pattern", "method"), [(r"\d+(\.\d+)+", "findall"), (r"(?m)^\s*x", "findall"), (r"a(.*?) *$", "match")]
)
def test_what_takes_the_square_shows(pattern: str, method: str) -> None:
    assert too_slow(re.compile(pattern), method)


@pytest.mark.slow
def test_no_pattern_takes_the_square_of_a_texts_length() -> None:
    tried = sorted({*compiled(), *written()}, key=str)
    slow = {pattern.pattern: text for pattern, method in tried if (text := too_slow(pattern, method))}
    assert slow == {}
