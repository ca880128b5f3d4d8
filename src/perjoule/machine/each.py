"""The same work for each of many things side by side, such as a question to all hosts."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE_COUNT = 64


def each(things: Iterable[T], work: Callable[[T], R]) -> list[R]:
    """Run a function for all (usually hosts) in parallel, and return the results in order; the first error
    is raised.
    """
    with ThreadPoolExecutor(AT_ONCE_COUNT) as pool:
        return list(pool.map(work, things))
