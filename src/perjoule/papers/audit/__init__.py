"""Recompute a paper's derived numbers from its own inputs, and check its throughputs against physical bounds.

Rules are functions over numbers and facts (`rules`, `bounds`, `axes`, `claims`); none knows a paper. Interval
arithmetic (`span`) carries the rounding of printed digits through, so rounding never explains a disagreement.
The likely cause is found by trying common slips (`causes`).
"""

from perjoule.papers.audit import axes, bounds, claims, rules
from perjoule.papers.audit.own import audit_cells
from perjoule.papers.audit.recipe import AuditVerdict, Recipe, Values
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.audit.verdicts import judge
from perjoule.papers.published import Paper

__all__ = ["AuditVerdict", "Recipe", "Span", "Values", "audit", "audit_cells", "exactly", "judge"]

DERIVED = (
    "share",
    "gain",
    "saving",
    "ratio",
    "capacity per watt",
    "efficiency",
    "energy",
    "energy-delay product",
)


def audit(paper: Paper) -> tuple[AuditVerdict, ...]:
    """Judge a paper by its own numbers: what disagrees, what agrees, what can't be checked and why."""
    recipes = [*rules.recipes(paper.numbers), *bounds.recipes(paper), *axes.recipes(paper)]
    judged = judge(recipes, paper.numbers)
    reached = {recipe.subject.id for recipe in recipes}
    return (
        *judged,
        *axes.fit(paper),
        *claims.verdicts(paper),
        *_unreached(paper, reached),
        *bounds.unknown(paper),
    )


def _unreached(paper: Paper, reached: set[str]) -> list[AuditVerdict]:
    """Return derived numbers without a rule, those with the same reason in one verdict per place."""
    numbers = [n for n in paper.numbers if n.id not in reached and (n.quantity in DERIVED or n.unchecked)]
    default = "the paper prints no numbers to derive it from"
    return [
        AuditVerdict("unchecked", "", n.place, n.name, n.id, n.printed, cause=n.unchecked or default)
        for n in numbers
    ]
