"""Papers as data: every number that they print, with its unit, its place and the facts about it. One TOML file, one paper."""

from perjoule.published.paper import QUANTITIES, Claim, Figure, Number, Paper, Uncertainty
from perjoule.published.printed import Printed, printed
from perjoule.published.reading import names, paper, read

__all__ = ["QUANTITIES", "Claim", "Figure", "Number", "Paper", "Printed", "Uncertainty", "names", "paper", "printed", "read"]
