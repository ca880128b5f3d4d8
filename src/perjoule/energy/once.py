"""Functions of a series, or of its integral, that compute each result once, for as long as that exists.

A trial's numbers need the same energies many times: net and gross, the window and its burst, the budget and
its doubts.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
_MISSING: Any = object()


def once(compute: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Cache a pure function of an object that never changes, and of hashable arguments, in the object itself."""
    name = f"once {compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def cached(of: S, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        attributes = vars(of)
        results: dict[object, T] | None = attributes.get(name)
        if results is None:
            results = attributes[name] = {}
        key = (arguments, *keywords.items()) if keywords else arguments
        result: Any = results.get(key, _MISSING)
        if result is _MISSING:
            result = results[key] = compute(of, *arguments, **keywords)
        return result

    return cached
