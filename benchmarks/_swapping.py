"""Put changed code into functions that are loaded already, so that a fork of a process that has imported all
and collected its tests can run them at once.

Only what functions do when they are called can be changed so: not constants, fields and defaults, which are
made on import. What a cache kept, and what another program does, is as before. So a test that fails under
changed code tells the truth, and one that passes does not.
"""

import ast
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

Key = tuple[str, str, int]  # a file, a function's qualified name, its first line


@dataclass(frozen=True)
class Loaded:
    """Functions of some files that this process has, by where they are."""

    functions: dict[Key, list[FunctionType]]

    def swap(self, file: Path, text: str) -> bool:
        """Make this file's functions those of the changed text, and return whether that is all of the change."""
        source = file.read_text()
        now = list(_below((compile(source, str(file), "exec"),)))
        before = list(_below((compile(ast.unparse(ast.parse(source)), str(file), "exec"),)))
        after = list(_below((compile(text, str(file), "exec"),)))
        keys = [_key(chain[-1]) for chain in now]
        changed = [
            n
            for n, (old, new) in enumerate(zip(before, after, strict=True))
            if _own(old[-1]) != _own(new[-1])
        ]
        swapped: set[int] = set()
        for number in changed:
            for depth, code in enumerate(now[number]):
                functions = self.functions.get(_key(code), [])
                if functions and keys.count(_key(code)) == 1:
                    for function in functions:
                        function.__code__ = after[number][depth]
                    swapped.add(number)
        return bool(changed) and swapped == {*changed}


def loaded(files: Sequence[Path]) -> Loaded:
    """Find the functions of these files."""
    gc.unfreeze()  # tests freeze what they collected, and what is frozen is not listed
    names = set(map(str, files))
    functions: dict[Key, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in names:
            functions.setdefault(_key(thing.__code__), []).append(thing)
    return Loaded(functions)


def _below(chain: tuple[CodeType, ...]) -> Iterator[tuple[CodeType, ...]]:
    """A code object and those inside it, each behind those around it."""
    yield chain
    for constant in chain[-1].co_consts:
        if isinstance(constant, CodeType):
            yield from _below((*chain, constant))


def _own(code: CodeType) -> CodeType:
    """A code object without those inside it, and without columns, which a change in the last line of a function
    moves around it, too.
    """
    constants = tuple(constant for constant in code.co_consts if not isinstance(constant, CodeType))
    return code.replace(co_consts=constants, co_linetable=b"")


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno
