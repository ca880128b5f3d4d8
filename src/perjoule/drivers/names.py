"""Names of many hosts as administrators write them: n[001-064], node[1-4,7], n[1-9/2],m1. Most of
ClusterShell's node sets.

https://clustershell.readthedocs.io/en/latest/tools/nodeset.html
"""

import itertools
import math
import re
from collections.abc import Sequence

MOST_COUNT = 10_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_SIGN = re.compile(r"[,\[\]]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?:/([1-9]\d{0,4}))?)?")
_NUMBERED = re.compile(r"(.*?)(?<!\d)(\d+)(\D*)")


def unfold(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: numbers keep their leading zeros, and the last brackets
    vary fastest.

    Raises:
        ValueError: it is not a pattern, or stands for too many names.
    """
    if operator := next((sign for sign in "!&^*?" if sign in pattern), ""):
        raise ValueError(
            f'"{pattern}": perjoule does not know "{operator}" (list the names, as in n[1-4,7],m1)'
        )
    if len(several := patterns(pattern)) > 1:
        names: list[str] = []
        for listed in several:
            names += unfold(listed)
            if len(names) > MOST_COUNT:  # before more are made
                raise ValueError(f'"{pattern}" stands for too many hosts; at most {MOST_COUNT} are possible')
        return names
    fixed = _BRACKETS.split(pattern)[::2]
    if any("[" in part or "]" in part for part in fixed):
        raise ValueError(f'"{pattern}" has a bracket without its partner')
    numbers = [
        [number for part in inside.split(",") for number in _range(part, pattern)]
        for inside in _BRACKETS.findall(pattern)
    ]
    # before they are made: a few brackets can stand for billions
    if (count := math.prod(map(len, numbers))) > MOST_COUNT:
        raise ValueError(f'"{pattern}" stands for {count} hosts; at most {MOST_COUNT} are possible')
    return [
        "".join(itertools.chain(*zip(fixed, (*digits, ""), strict=True)))
        for digits in itertools.product(*numbers)
    ]


def patterns(text: str) -> list[str]:
    """Split a text at its commas, but for those in brackets."""
    cuts: list[int] = [-1]
    commas: list[int] = []  # since the last bracket
    for sign in _SIGN.finditer(text):
        if sign[0] == ",":
            commas.append(sign.start())
        else:
            cuts += commas if sign[0] == "[" else []
            commas = []
    return [text[begin + 1 : end] for begin, end in itertools.pairwise((*cuts, *commas, len(text)))]


def _range(part: str, pattern: str) -> list[str]:
    match = _RANGE.fullmatch(part.strip())
    if match is None:
        raise ValueError(f'"{pattern}": write numbers in brackets, as in n[001-064] or n[1-4,7]')
    first, last = match[1], match[2] or match[1]
    if int(last) < int(first):
        raise ValueError(f'"{pattern}": {first} is larger than {last}')
    if int(last) - int(first) >= MOST_COUNT:
        raise ValueError(f'"{pattern}" stands for too many hosts; at most {MOST_COUNT} are possible')
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1, int(match[3] or 1))]


def fold(names: Sequence[str]) -> str:
    """Return names as a short text: those that differ in their last number become one pattern."""
    groups: dict[tuple[str, str, int], list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        before, number, after = match.groups() if match else (name, "", "")
        width = len(number) if number.startswith("0") else 0
        groups.setdefault((before, after, width), []).append((int(number or 0), number))
    return ", ".join(_folded(before, after, numbers) for (before, after, _), numbers in groups.items())


def _folded(before: str, after: str, numbers: Sequence[tuple[int, str]]) -> str:
    if len(numbers) == 1:
        return f"{before}{numbers[0][1]}{after}"
    runs: list[list[tuple[int, str]]] = []
    for number in sorted(set(numbers)):
        if runs and number[0] == runs[-1][-1][0] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [run[0][1] if len(run) == 1 else f"{run[0][1]}-{run[-1][1]}" for run in runs]
    return f"{before}[{','.join(texts)}]{after}"
