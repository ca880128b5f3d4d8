"""The command that compares predictions with measurements."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.inputs import hardware, json_text
from perjoule.model.errors import CampaignError

if TYPE_CHECKING:
    from perjoule.results.ledger import Joined


@click.command(
    "ledger",
    short_help="Compare predictions with what was measured later.",
    epilog=examples(
        "perjoule ledger",
        "perjoule ledger moosefs.pledge.json --with results/moosefs-16",
        "perjoule ledger pledges/*.json --with results/a --with results/b --json",
        "perjoule ledger p.json --with results/real --on my-boards.toml",
    ),
)
@click.argument("pledges", nargs=-1, type=click.Path(path_type=Path), metavar="[PLEDGES]")
@click.option(
    "--with",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Results measured since.",
)
@parameters.stands_for
@json_output.option
def ledger(pledges: tuple[Path, ...], folders: tuple[Path, ...], cluster: str | None, as_json: bool) -> None:
    """Show how wrong predictions have been.

    Without PLEDGES: errors of the profiles that come with perjoule, about points that were left out, next to
    simpler models, about clusters of papers, and of the power model about watts that others published. With
    pledges written by `perjoule predict --pledge`: each
    prediction of MiB/s, W and MiB/J next to the trials that began after it.
    """
    if pledges and not folders:
        raise CampaignError(
            "results to compare the pledges with are missing",
            next="add --with DIR, a folder that `perjoule run` wrote",
        )
    if (folders or cluster) and not pledges:
        raise CampaignError(
            "pledges to compare the results with are missing",
            next="name files that `perjoule predict --pledge` wrote",
        )
    if pledges:
        _joined(pledges, folders, cluster, as_json=as_json)
    else:
        _shipped(as_json=as_json)


def _joined(
    pledges: tuple[Path, ...], folders: tuple[Path, ...], cluster: str | None, *, as_json: bool
) -> None:
    from perjoule import store
    from perjoule.results import ledger as book
    from perjoule.results.joined import joined_remarks, joined_table

    read = [book.read(json_text(path), str(path)) for path in pledges]
    hardware_given = hardware(cluster) if cluster else None
    joined = book.joined(read, [store.open_results(folder) for folder in folders], hardware_given)
    if as_json:
        json_output.print_json("ledger", {"joined": [_content(join) for join in joined]})
    else:
        show(joined_table(joined), (), ())
        for line in joined_remarks(joined):
            show_line(line)
    if any(join.held is False for join in joined):
        sys.exit(1)


def _content(join: "Joined") -> dict[str, object]:
    """Return a joined prediction as JSON: error and held of throughput, then of each metric."""
    by_metric = {side.metric.key: {"error": side.error, "held": side.held} for side in join.sides}
    return {**vars(join), **next(iter(by_metric.values())), "by_metric": by_metric}


def _shipped(*, as_json: bool) -> None:
    from perjoule import prediction
    from perjoule.prediction import metered, published
    from perjoule.results import scores
    from perjoule.results.metered import metered_remarks, metered_table
    from perjoule.results.published import published_remarks, published_table

    compared, unpredicted = published.compared(), published.UNPREDICTED
    scores_of = scores.shipped_scores(compared)
    judged = metered.points()
    by_kind = metered.kind_scores(judged)
    if as_json:
        by_profile = {kind: profile_scores for kind, profile_scores in scores_of.items() if kind != "all"}
        rows = [{**vars(row), "error": row.error, "held": row.held} for row in compared]
        json_output.print_json(
            "ledger",
            {
                "scores": scores_of["all"],
                "by_profile": by_profile,
                "published": rows,
                "unpredicted": unpredicted,
                "published_watts": [
                    {**vars(score), "holds": score.holds, "verdict": score.verdict} for score in by_kind
                ],
                "published_watts_held_ratio": metered.whole_held_ratio(judged),
                "published_watts_source_held_ratio": metered.source_held_ratio(judged),
            },
        )
        return
    out.print("errors of throughput, of points that were left out, and of published clusters", style="bold")
    show(scores.scores_table(scores_of), (), ())
    for line in scores.scores_remarks([prediction.shipped(name) for name in prediction.names()]):
        show_line(line)
    out.print("published clusters, to which nothing was fitted", style="bold")
    show(published_table(compared), (), ())
    for line in published_remarks(compared, unpredicted):
        show_line(line)
    out.print("published watts, of points that did not calibrate the model", style="bold")
    show(metered_table(by_kind), (), ())
    for line in metered_remarks(judged):
        show_line(line)
