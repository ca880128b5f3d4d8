"""How wrong predictions have been, by profile: the second table of `perjoule ledger`."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from perjoule.model.format import percent
from perjoule.prediction import Profile, bound_shares, names, shipped
from perjoule.prediction.published import Published
from perjoule.prediction.scores import Score, published_score, scores
from perjoule.results.table import Table

BOUND_TOLERANCE_RATIO = 0.01  # by which interfaces and clocks may make a rate look higher than it is


def shipped_scores(published: Sequence[Published]) -> Mapping[str, tuple[Score, ...]]:
    """Score the profiles that come with perjoule, on points left out: together as "all" (and published clusters), then each."""
    profiles = [shipped(name) for name in names()]
    whole = (*scores([known.tests for one in profiles for known in one.known.values()]), published_score(published))
    return {"all": whole, **{one.kind: scores([known.tests for known in one.known.values()]) for one in profiles}}


def scores_table(found: Mapping[str, Sequence[Score]]) -> Table:
    """Lay out scores by profile and level."""
    simpler = list(dict.fromkeys(name for own in found.values() for one in own for name in one.simpler))
    headers = ("profile", "left out", "points", "median", "90 %", "bands hold", "watts: skill", "order: tau", *simpler)
    rows = tuple(
        (
            kind,
            one.level,
            str(one.count),
            f"{percent(one.median_ratio, 1)} %",
            f"{percent(one.p90_ratio, 1)} %",
            "–" if isnan(one.held_ratio) else f"{percent(one.held_ratio)} %",
            "–" if one.power_skill_ratio is None else f"{one.power_skill_ratio:.2f}",
            "–" if one.order_tau is None else f"{one.order_tau:.2f}",
            *(f"{percent(one.simpler[name], 1)} %" if name in one.simpler else "–" for name in simpler),
        )
        for kind, own in found.items()
        for one in own
    )
    return Table(headers, rows, ("profile", "left out"))


def scores_remarks(profiles: Sequence[Profile]) -> Iterator[str]:
    """Say what the columns mean, and how measured points stand to their bounds."""
    yield (
        "median and 90 %: of |predicted / measured - 1|; bands hold: share of points inside the 90 % band of the others' errors "
        "(of published ones: inside that of their prediction); "
        "skill: 1 - squared errors of dynamic watts over those of constant power; last columns: medians of simpler models"
    )
    shares = [share for profile in profiles for share in bound_shares(profile)]
    above = sum(share > 1 + BOUND_TOLERANCE_RATIO for share in shares)
    yield f"{above} of {len(shares)} measured points are above their bound"
