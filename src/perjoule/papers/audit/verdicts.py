"""Recipes to verdicts: whether the number follows, the likely slip if not, and what depends on it."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from perjoule.papers.audit.causes import likely
from perjoule.papers.audit.recipe import AuditVerdict, Recipe, text
from perjoule.papers.audit.span import exactly
from perjoule.papers.published import PrintedNumber

_SHOWN = 6  # inputs of a place


def judge(recipes: Sequence[Recipe], numbers: Sequence[PrintedNumber]) -> tuple[AuditVerdict, ...]:
    """Judge numbers by their recipes."""
    wrong = {
        recipe.subject.id: recipe for recipe in recipes if not recipe.holds() and recipe.relation == "equals"
    }
    return tuple(_verdict(recipe, recipes, numbers, wrong) for recipe in recipes)


def _verdict(
    recipe: Recipe, recipes: Sequence[Recipe], numbers: Sequence[PrintedNumber], wrong: Mapping[str, Recipe]
) -> AuditVerdict:
    number, holds, central = recipe.subject, recipe.holds(), recipe.central()
    before = {"equals": "", "within": "from ", "at most": "at most ", "at least": "at least "}[
        recipe.relation
    ]
    result = {"at most": exactly(central.high), "at least": exactly(central.low)}.get(
        recipe.relation, central
    )
    return AuditVerdict(
        kind="agrees" if holds else "disagrees",
        rule=recipe.rule,
        place=number.place,
        what=number.name,
        id=number.id,
        printed=number.printed,
        recomputed=before + text(result, number),
        of=_of(recipe),
        cause="" if holds else likely(recipe, recipes, numbers),
        rests_on=_rests_on(recipe, wrong),
    )


def _of(recipe: Recipe) -> str:
    """List the inputs, by place."""
    groups = [
        (place, list(group)) for place, group in groupby(recipe.inputs, key=lambda number: number.place)
    ]
    texts = [
        ", ".join(number.printed for number in group[:_SHOWN])
        + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        + (f" ({place})" if place != recipe.subject.place else "")
        for place, group in groups
    ]
    return ", ".join(texts)


def _rests_on(recipe: Recipe, wrong: Mapping[str, Recipe]) -> str:
    """Return what a number derived from a wrong one would be with the right one."""
    changed = {
        n.id: wrong[n.id].result() for n in recipe.inputs if n.id in wrong and n.id != recipe.subject.id
    }
    if not changed or recipe.holds(changed) or not recipe.holds():
        return ""
    names = ", ".join(f"{n.printed} ({n.place})" for n in recipe.inputs if n.id in changed)
    central = recipe.central({id: wrong[id].central() for id in changed})
    return f"rests on {names}, which disagrees: {text(central, recipe.subject)} without that"
