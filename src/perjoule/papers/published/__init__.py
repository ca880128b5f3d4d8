"""Papers as data: every number that they print, with its unit, its place and the facts about it.

One TOML file, one paper.
"""

from perjoule.papers.published.paper import QUANTITIES, Axis, Claim, Figure, Paper, PrintedNumber, Uncertainty
from perjoule.papers.published.printed import Printed, printed
from perjoule.papers.published.reading import names, paper, read

__all__ = [
    "QUANTITIES",
    "Axis",
    "Claim",
    "Figure",
    "Paper",
    "Printed",
    "PrintedNumber",
    "Uncertainty",
    "names",
    "paper",
    "printed",
    "read",
]
