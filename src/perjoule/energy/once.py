"""Functions of a series that compute each result once, for as long as the series exists.

A trial's numbers need the same energies many times: net and gross, the window and its burst, the budget and
its doubts.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from perjoule.model import Series

P = ParamSpec("P")
T = TypeVar("T")


def once(compute: Callable[Concatenate[Series, P], T]) -> Callable[Concatenate[Series, P], T]:
    """Cache a pure function of a series and hashable arguments; its result must not refer to the series."""
    cache: WeakKeyDictionary[Series, dict[object, T]] = WeakKeyDictionary()

    @wraps(compute)
    def cached(series: Series, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        results = cache.setdefault(series, {})
        key = (arguments, *keywords.items())
        if key not in results:
            results[key] = compute(series, *arguments, **keywords)
        return results[key]

    return cached
