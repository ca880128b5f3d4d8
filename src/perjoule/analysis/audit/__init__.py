"""Recompute what a paper derives from its own numbers, and hold its throughputs against physics.

Rules are functions over numbers and facts (`rules`, `bounds`, `claims`); none knows a paper. What printed digits leave open is
carried through by interval arithmetic (`span`), so that no rounding explains a disagreement. Its likely cause is found by trying
kinds of slips that any paper can have (`causes`).
"""

from collections.abc import Sequence

from perjoule.analysis.audit import bounds, claims, rules
from perjoule.analysis.audit.causes import likely
from perjoule.analysis.audit.recipe import Recipe, Verdict, text
from perjoule.published import Number, Paper

__all__ = ["Verdict", "audit", "judge"]

DERIVED = ("share", "gain", "saving", "ratio", "capacity per watt", "efficiency", "energy", "energy-delay product")


def audit(paper: Paper) -> tuple[Verdict, ...]:
    """Judge a paper by its own numbers: what disagrees, what agrees, what can't be checked and why."""
    recipes = [*rules.recipes(paper.numbers), *bounds.recipes(paper)]
    judged = judge(recipes, paper.numbers)
    reached = {recipe.subject.id for recipe in recipes}
    return (*judged, *claims.verdicts(paper), *_unreached(paper, reached), *bounds.unknown(paper))


def judge(recipes: Sequence[Recipe], numbers: Sequence[Number]) -> tuple[Verdict, ...]:
    """Judge numbers by their recipes."""
    wrong = {recipe.subject.id: recipe for recipe in recipes if not recipe.holds() and recipe.relation == "equals"}
    return tuple(_verdict(recipe, recipes, numbers, wrong) for recipe in recipes)


def _verdict(recipe: Recipe, recipes: Sequence[Recipe], numbers: Sequence[Number], wrong: dict[str, Recipe]) -> Verdict:
    one, holds, central = recipe.subject, recipe.holds(), recipe.central()
    word = {"equals": "", "within": "from "}.get(recipe.relation, f"{recipe.relation} ")
    return Verdict(
        kind="agrees" if holds else "disagrees",
        rule=recipe.rule,
        place=one.place,
        what=one.name,
        id=one.id,
        printed=one.printed,
        recomputed=word + text(central, one),
        of=", ".join(f"{n.printed}{'' if n.place == one.place else f' ({n.place})'}" for n in recipe.inputs[:6]),
        cause="" if holds else likely(recipe, recipes, numbers),
        rests_on=_rests_on(recipe, wrong),
    )


def _rests_on(recipe: Recipe, wrong: dict[str, Recipe]) -> str:
    """Say what a number that follows from one that disagrees would be without that."""
    changed = {n.id: wrong[n.id].result() for n in recipe.inputs if n.id in wrong and n.id != recipe.subject.id}
    if not changed or recipe.holds(changed) or not recipe.holds():
        return ""
    names = ", ".join(f"{n.printed} ({n.place})" for n in recipe.inputs if n.id in changed)
    central = recipe.central({id: wrong[id].central() for id in changed})
    return f"rests on {names}, which disagrees: {text(central, recipe.subject)} without that"


def _unreached(paper: Paper, reached: set[str]) -> list[Verdict]:
    """Derived numbers that no rule reaches, those with the same reason in one verdict per place."""
    found = [n for n in paper.numbers if n.id not in reached and (n.quantity in DERIVED or n.unchecked)]
    default = "the paper prints nothing from which it follows"
    return [Verdict("unchecked", "", n.place, n.name, n.id, n.printed, cause=n.unchecked or default) for n in found]
