"""Functions of a series that compute each result once, for as long as the series exists.

A trial's numbers need the same energies many times: net and gross, the window and its burst, the budget and
its doubts.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from perjoule.model import Series

P = ParamSpec("P")
T = TypeVar("T")


def once(compute: Callable[Concatenate[Series, P], T]) -> Callable[Concatenate[Series, P], T]:
    """Cache a pure function of a series and hashable arguments, in the series itself."""
    name = f"once {compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def cached(series: Series, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        results: dict[object, T] = vars(series).setdefault(name, {})
        key = (arguments, *keywords.items())
        if key not in results:
            results[key] = compute(series, *arguments, **keywords)
        return results[key]

    return cached
