"""A paper's claims and their verdicts here, as a table and for the page."""

from collections.abc import Iterator, Sequence

from perjoule.model import Cell, Record
from perjoule.model.format import p_text, ratio_text
from perjoule.papers import published
from perjoule.papers.claims import Judged, judged
from perjoule.papers.facts import measured
from perjoule.results.limitations import graded
from perjoule.results.table import Table


def claims_lines(paper: str, records: Sequence[Record], cells: Sequence[Cell]) -> Iterator[str]:
    """Say whether each claim of a paper holds in a campaign, whose cells these are.

    Raises CampaignError: no such paper.
    """
    verdicts = judged(published.paper(paper), measured(records, cells))
    yield counts(verdicts)
    yield from lines(verdicts, graded(records))


def claims_table(verdicts: Sequence[Judged], came: str = "") -> Table:
    """Lay out verdicts, a row for each claim; `came` is how all numbers were obtained ("emulated at scale
    0.1").
    """
    rows = tuple(
        (
            judged.verdict,
            judged.claim.text,
            judged.claim.place,
            "–" if judged.ratio is None else ratio_text(judged.ratio),
            "–" if judged.p is None else p_text(judged.p),
            str(judged.cases_count or "–"),
            ", ".join(part for part in (came if judged.cases_count else "", _grade(judged)) if part) or "–",
            durable_text(judged.durable) or "–",
            judged.why or "–",  # last, where the page has room for a sentence
        )
        for judged in verdicts
    )
    headers = ("verdict", "claim", "place", "ratio", "p", "cases", "grade", "until on disk", "why")
    return Table(headers, rows, {*headers} - {"ratio", "p", "cases"})


def lines(verdicts: Sequence[Judged], came: str = "") -> Iterator[str]:
    """Return each verdict in a line or two, for a terminal."""
    rows = claims_table(verdicts, came).rows
    for (verdict, claim, place, ratio, p, _, grade, _, why), judgement in zip(rows, verdicts, strict=True):
        yield f"{verdict}: {claim} ({place})"
        details = (
            [f"ratio {ratio}, p {p if p.startswith('<') else f'= {p}'}, {grade}"] if judgement.ratio else []
        )
        details += [why] if judgement.why else []
        if text := durable_text(judgement.durable):
            details.append(f"until disks held the data: {text}")
        yield from (f"    {text}" for text in details)


def durable_text(durable: Judged | None) -> str:
    """Return the verdict until disks held the data, with its ratio; "" if nothing differs."""
    if durable is None:
        return ""
    return durable.verdict + (f", {ratio_text(durable.ratio)}" if durable.ratio else "")


def _grade(judgement: Judged) -> str:
    return f"{judgement.grade} watts" if judgement.grade else ""


def counts(verdicts: Sequence[Judged]) -> str:
    """Return how many claims hold, as a sentence."""
    counted = {
        verdict: sum(judged.verdict == verdict for judged in verdicts)
        for verdict in ("holds here", "doesn't hold here", "can't tell")
    }
    hold, fail, open_ = counted.values()
    parts = (
        f"{hold} hold{'s' if hold == 1 else ''} here",
        f"{fail} do{'es' if fail == 1 else ''} not",
        f"{open_} {'is' if open_ == 1 else 'are'} inconclusive",
    )
    return f"Of {len(verdicts)} claims, {', '.join(parts)}."
