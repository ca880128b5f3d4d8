"""A paper's claims, and whether each holds here."""

from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.view import Shown, View


def _table(content: Content) -> Table:
    from perjoule.results.claims import claims_table
    from perjoule.results.limitations import graded

    return claims_table(content.claims, graded(content.records))


def _intro(content: Content) -> str:
    from perjoule.results.claims import counts

    return f"{content.paper.authors}: {content.paper.title}. {counts(content.claims)}"


VIEW = View(
    rank=5,
    title="The paper's claims",
    intro=_intro,
    tables=(
        Shown(
            _table,
            "The paper's claims",
            style="prose",
            note="Each case of a claim is judged like the same pair elsewhere in this report. A claim doesn't hold here if "
            "any case is significantly reversed; otherwise the mean over all cases decides (for trends "
            "along clients or sizes: the two ends), with intervals and p corrected for all claims "
            "together. The ratio is what the claim says is larger, over the other, in the deciding case: "
            "above 1 it is as claimed, below 1 it is reversed.",
        ),
    ),
)
