"""How wrong predictions have been, by profile: the second table of `perjoule ledger`."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from perjoule.model.format import percent
from perjoule.prediction import Profile, bound_shares, names, shipped
from perjoule.prediction.published import Published
from perjoule.prediction.scores import Score, published_score, rival, scores, skill
from perjoule.results.table import Table

BOUND_TOLERANCE_RATIO = 0.01  # by which interfaces and clocks may make a rate look higher than it is


def shipped_scores(published: Sequence[Published]) -> Mapping[str, tuple[Score, ...]]:
    """Score the profiles that come with perjoule, on points left out: together as "all" (and published
    clusters), then each.
    """
    profiles = [shipped(name) for name in names()]
    total = (
        *scores([law.tests for profile in profiles for law in profile.known.values()]),
        published_score(published),
    )
    return {
        "all": total,
        **{profile.kind: scores([law.tests for law in profile.known.values()]) for profile in profiles},
    }


def scores_table(scores_of: Mapping[str, Sequence[Score]]) -> Table:
    """Lay out scores by profile and level."""
    simpler = list(
        dict.fromkeys(
            name
            for profile_scores in scores_of.values()
            for score in profile_scores
            for name in score.simpler
        )
    )
    headers = (
        "profile",
        "left out",
        "points",
        "median",
        "90 %",
        "bands hold",
        "watts: skill",
        "order: tau",
        *simpler,
    )
    rows = tuple(
        (
            kind,
            score.level,
            str(score.count),
            f"{percent(score.median_ratio, 1)} %",
            f"{percent(score.p90_ratio, 1)} %",
            "–" if isnan(score.held_ratio) else f"{percent(score.held_ratio)} %",
            "–" if score.power_skill_ratio is None else f"{score.power_skill_ratio:.2f}",
            "–" if score.order_tau is None else f"{score.order_tau:.2f}",
            *(f"{percent(score.simpler[name], 1)} %" if name in score.simpler else "–" for name in simpler),
        )
        for kind, profile_scores in scores_of.items()
        for score in profile_scores
    )
    return Table(headers, rows, ("profile", "left out"))


def scores_remarks(profiles: Sequence[Profile]) -> Iterator[str]:
    """Say what the columns mean, and how measured points stand to their bounds."""
    yield (
        "median and 90 %: of |predicted / measured - 1|; bands hold: share of points inside the 90 % band "
        "of the others' errors (of published ones: inside that of their prediction, which knows the other "
        "clusters alone); skill: 1 - squared errors of dynamic watts over those of constant power; last "
        "columns: medians of simpler models (of published ones: a constant rate of each server)"
    )
    shares = [share for profile in profiles for share in bound_shares(profile)]
    above = sum(share > 1 + BOUND_TOLERANCE_RATIO for share in shares)
    yield f"{above} of {len(shares)} measured points are above their bound"
    for profile in profiles:
        yield from without_skill(profile)


def without_skill(profile: Profile) -> Iterator[str]:
    """Name the directions of a profile in which a simpler model says no less of throughput, or a constant of
    dynamic watts.
    """
    for direction, known in profile.known.items():
        if simpler_model := rival(known.tests):
            yield f"{profile.kind}, {direction}: {simpler_model.text}: its bands count, not its values"
        power_skill_ratio = skill(known.tests)
        if power_skill_ratio is not None and power_skill_ratio <= 0:
            yield (
                f"{profile.kind}, {direction}: of points left out dynamic W err more than a constant would "
                f"(skill {power_skill_ratio:.1f}): bands of W count, not values"
            )
