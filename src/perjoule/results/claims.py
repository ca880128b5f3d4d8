"""A paper's claims and their verdicts here, as a table and for the page."""

from collections.abc import Iterator, Sequence

from perjoule.model import Cell, Record
from perjoule.model.format import p_text, ratio_text
from perjoule.papers import published
from perjoule.papers.claims import Judged, judged
from perjoule.papers.facts import measured
from perjoule.results.table import Table
from perjoule.trial.reading import emulated_scales


def graded(records: Sequence[Record]) -> str:
    """Return how these numbers were obtained, unless real hosts were measured."""
    words = [
        *(["simulated"] if any(r.traits.reality == "simulated" for r in records) else []),
        *(f"emulated at scale {scale:g}" for scale in emulated_scales(records)),
    ]
    return ", ".join(words)


def claims_lines(paper: str, records: Sequence[Record], cells: Sequence[Cell]) -> Iterator[str]:
    """Say whether each claim of a paper holds in a campaign, whose cells these are. Raises CampaignError: no such paper."""
    found = judged(published.paper(paper), measured(records, cells))
    yield counts(found)
    yield from lines(found, graded(records))


def claims_table(found: Sequence[Judged], came: str = "") -> Table:
    """Lay out verdicts, a row for each claim; `came` is how all numbers were obtained ("emulated at scale 0.1")."""
    rows = tuple(
        (
            one.verdict,
            one.claim.text,
            one.claim.place,
            "–" if one.ratio is None else ratio_text(one.ratio),
            "–" if one.p is None else p_text(one.p),
            str(one.cases_count or "–"),
            ", ".join(word for word in (came if one.cases_count else "", _grade(one)) if word) or "–",
            one.why or "–",
        )
        for one in found
    )
    headers = ("verdict", "claim", "place", "ratio", "p", "cases", "grade", "why")
    return Table(headers, rows, {*headers} - {"ratio", "p", "cases"})


def lines(found: Sequence[Judged], came: str = "") -> Iterator[str]:
    """Return each verdict in a line or two, for a terminal."""
    for (verdict, claim, place, ratio, p, _, grade, why), one in zip(claims_table(found, came).rows, found, strict=True):
        yield f"{verdict}: {claim} ({place})"
        told = [f"ratio {ratio}, p {p if p.startswith('<') else f'= {p}'}, {grade}"] if one.ratio else []
        told += [why] if one.why else []
        yield from (f"    {text}" for text in told)


def _grade(one: Judged) -> str:
    return f"{one.grade} watts" if one.grade else ""


def counts(found: Sequence[Judged]) -> str:
    """Return how many claims hold, as a sentence."""
    told = {
        verdict: sum(one.verdict == verdict for one in found) for verdict in ("holds here", "doesn't hold here", "can't tell")
    }
    hold, fail, open_ = told.values()
    said = (
        f"{hold} hold{'s' if hold == 1 else ''} here",
        f"{fail} do{'es' if fail == 1 else ''} not",
        f"{open_} {'is' if open_ == 1 else 'are'} inconclusive",
    )
    return f"Of {len(found)} claims, {', '.join(said)}."
