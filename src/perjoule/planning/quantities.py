"""Draws of all uncertain values of a plan at once."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from perjoule.catalogue.quantities import Quantity

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass
class Book:
    """All quantities of a plan in a row: parts refer to them by position, so that one vector holds one
    state of the world.
    """

    quantities: list[Quantity] = field(default_factory=list[Quantity])
    _positions: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, quantity: Quantity, name: str) -> int:
        """Enter a quantity, and return its position; what has its name already, several parts share."""
        if name not in self._positions:
            self._positions[name] = len(self.quantities)
            self.quantities.append(replace(quantity, name=name))
        return self._positions[name]

    @property
    def values(self) -> Floats:
        """The values themselves: shape (quantities,)."""
        return np.array([quantity.value for quantity in self.quantities])

    def draws(self, count: int, seed: int) -> Floats:
        """Draw states of the world: shape (count, quantities).

        Each quantity is independent, and its name seeds its draws, so that a further part moves no other's.
        In half of them its logarithm is uniform between low and value, in half between value and high: the
        value is the median, and nothing lies outside of the interval.
        """
        shares = np.array(
            [
                np.random.default_rng([seed, *quantity.name.encode()]).random(count)
                for quantity in self.quantities
            ]
        ).T
        low, value, high = np.array(
            [(quantity.low, quantity.value, quantity.high) for quantity in self.quantities]
        ).T
        # nothing stays nothing, below
        low, value, high = (np.where(value > 0, side, 1.0) for side in (low, value, high))
        drawn = np.where(
            shares < 0.5, low * (value / low) ** (2 * shares), value * (high / value) ** (2 * shares - 1)
        )
        return np.where(self.values > 0, drawn, 0.0)
