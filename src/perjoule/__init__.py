"""perjoule: the open-source lab for the energy efficiency of storage.

In a notebook: `perjoule.read("results/demo").cells().to_pandas()`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perjoule.exporting.frames import Measurements

__version__ = "0.2.0"
__all__ = ["__version__", "read"]


def read(folder: "str | Path") -> "Measurements":
    """Open a results folder: its `numbers`, `trials`, `cells` and `series` as tables for pandas and others.

    Raises:
        MachineError: it is not a results folder, or it is damaged.
    """
    from perjoule.exporting import frames  # the command line begins without what this needs

    return frames.read(folder)
