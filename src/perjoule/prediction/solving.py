"""Robust least squares by scipy, which only those install who fit profiles: it takes 114 MB.

https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.least_squares.html
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perjoule.machine.installing import installs
from perjoule.model.errors import MachineError

ROBUST = 0.03  # of ln(throughput): larger errors count less than by their square
FIX = installs("perjoule[calibration]")


def require() -> None:
    """Refuse to fit without the library. Raises MachineError."""
    if find_spec("scipy") is None:
        raise MachineError("scipy: it is not installed, and fits profiles", next=FIX)


def least_squares(
    errors: Callable[[NDArray[np.float64]], NDArray[np.float64]], start: ArrayLike
) -> tuple[NDArray[np.float64], float]:
    """Return where errors of ln(throughput) are least, robustly, and what they cost there.

    Raises MachineError: the library is missing.
    """
    require()
    from scipy import optimize  # predictions need none of it

    solution: Any = optimize.least_squares(errors, np.asarray(start), loss="soft_l1", f_scale=ROBUST)
    return solution.x, float(solution.cost)
