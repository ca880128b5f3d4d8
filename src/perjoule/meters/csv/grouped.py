"""Points that may be separators of thousands: a log in which "1.234" is 1234 looks like one of three
decimals.

All its cells together can tell. Decimals begin with 0 somewhere, or have another number of digits; groups of
thousands have three, and what is below a thousand has none.
"""

import re

import numpy as np

from perjoule.model.series import Floats

LEAST_COUNT = 3  # cells with a point, from which they are no chance
MOST = 100.0  # with three decimals each: a thousand times as many watts are those of no log
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_BELOW = re.compile(r"[+-]?(?:0|[1-9]\d{0,2})")


def doubtful(values: Floats) -> bool:
    """Whether the texts of numbers may be such; only these can tell, because 1.250 is 1.25."""
    size = np.abs(values)
    broken = size[size != np.round(size)]
    thousands = broken * 1000
    return bool(
        len(broken) >= LEAST_COUNT
        and size.max() < 1000
        and broken.min() >= 1
        and np.allclose(thousands, np.round(thousands))
    )


class Points:
    """Looks at the cells of a log whose separators are not declared."""

    def __init__(self) -> None:
        self.settled = False  # whether a cell can have nothing but decimals
        self._grouped_count = self._below_count = 0
        self._example, self._most = "", 0.0

    def cell(self, text: str) -> None:
        """Take a cell."""
        if self.settled:
            return
        if _GROUPED.fullmatch(text):
            self._grouped_count += 1
            self._example, self._most = self._example or text, max(self._most, abs(float(text)))
        elif _BELOW.fullmatch(text):
            self._below_count += 1
        else:
            self.settled = any(character.isdigit() for character in text)

    @property
    def doubtful(self) -> bool:
        """Whether all cells so far may have separators of thousands."""
        plausible = self._below_count > 0 or self._most < MOST
        return not self.settled and self._grouped_count >= LEAST_COUNT and plausible

    def end(self) -> None:
        """Look at a whole log. Raises ValueError: its points may be decimals or separators of thousands."""
        if self.doubtful:
            below = ", and those below a thousand have none" if self._below_count else ""
            large = self._example.replace(".", "")
            raise ValueError(
                f"{self._example!r} may be {large} with a separator of thousands: every number with a point "
                "has three digits "
                f'behind it{below} (set decimal = "." or thousands = ".")'
            )
