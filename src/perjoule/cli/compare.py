"""The command that compares results with other results, or with a paper."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import parameters
from perjoule.cli.papers import paper_named
from perjoule.cli.parameters import examples
from perjoule.cli.results import measured
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import BY_LABEL
from perjoule.model.units import counted
from perjoule.papers import published

# what computes is imported where it is used: that takes longer than `--help` and an error should
if TYPE_CHECKING:
    from perjoule.results.comparison import ComparisonRow
    from perjoule.results.comparison.limits import Limit
    from perjoule.results.sides import Side
    from perjoule.statistics.changes import Difference


@click.command(
    "compare",
    short_help="Compare results with others, or with a paper.",
    epilog=examples(
        "perjoule compare results/before results/after --change environment.kernel",
        'perjoule compare results/1 results/2 --fail-if "MiB/J < -5 %"',
        "perjoule compare results/demo --between MooseFS CephFS",
        "perjoule compare results/demo --with green-storage",
    ),
)
@parameters.folder
@click.argument("other", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--between", nargs=2, metavar="LABEL LABEL", help="Compare two file systems of one folder.")
@click.option(
    "--with",
    "paper",
    metavar="PAPER|FILE.toml",
    help="Compare results with the numbers of a paper.",
    shell_complete=parameters.completing(published.names),
)
@click.option(
    "--change",
    "declared",
    multiple=True,
    metavar="NAME",
    help="Declare a deliberate difference: filesystem.goal.",
)
@click.option("--any-change", is_flag=True, help="Compare despite undeclared differences, with a doubt.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="METRIC", help='Only this metric: "MiB/J", "W", "s".'
)
@click.option(
    "--across-grades",
    is_flag=True,
    help="Compare measured with modelled power, or with simulated numbers, with a doubt.",
)
@click.option(
    "--fail-if",
    "limits",
    multiple=True,
    metavar="LIMIT",
    help='Exit code 1 if significantly beyond: "MiB/J < -5 %".',
)
@click.option(
    "--report", "target", type=OutputFile(), metavar="FILE.html", help="Write a page with a figure."
)
@parameters.junit
@json_output.option
def compare_command(
    folder: Path,
    other: Path | None,
    between: tuple[str, str] | None,
    paper: str | None,
    declared: tuple[str, ...],
    any_change: bool,
    metrics: tuple[str, ...],
    across_grades: bool,
    limits: tuple[str, ...],
    target: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> None:
    """Compare two results folders, two file systems of one, or one with a paper.

    Lists all differences in configuration and environment first, and stops there (exit code 2) unless
    --change declares them. Then compares the second with the first: ratio with its 95 % interval, p after
    Bonferroni's correction, effect (Hedges' g), a verdict, and how many more repetitions would settle it.
    """
    if sum(target_given is not None for target_given in (other, between, paper)) != 1:
        targets = "name another DIR, --between two labels, or --with a paper"
        raise CampaignError("choose exactly one comparison target", next=targets)
    if paper is not None:
        if declared or any_change or across_grades or limits or junit_file:
            raise CampaignError(
                "--with combines only with --metric, --report and --json", next="remove the other options"
            )
        _with_paper(folder, paper, metrics, target, as_json)
        return
    if junit_file and not limits:
        raise CampaignError("--junit has nothing to judge", next='add --fail-if "MiB/J < -5 %"')
    from perjoule.results import comparison as comparing
    from perjoule.results.comparison import table
    from perjoule.results.comparison.limits import limit

    asked = [limit(text) for text in limits]
    labels = map(comparing.checked_label, metrics or comparing.DEFAULT_LABELS)
    wanted = list(dict.fromkeys([*labels, *(of_limit.metric for of_limit in asked)]))
    first, second = _sides(folder, other, between)
    changes = _changes(
        first, second, ("filesystem", *declared) if between else declared, any_change, show=not as_json
    )
    comparison_found = comparing.compare(first, second, wanted, across_grades=across_grades, changes=changes)
    if as_json:
        json_output.print_json("compare", table.as_data(comparison_found))
    else:
        show(table.comparison_table(comparison_found), (), ())
        for line in (
            *comparison_found.notes,
            *(f"doubt: {doubt}" for doubt in comparison_found.doubts),
            *(f"outlier, kept: {outlier}" for outlier in comparison_found.outliers),
        ):
            show_line(line)
    if target is not None:
        from perjoule.report import comparison

        write(target, comparison.page(comparison_found))
    if junit_file is not None:
        from perjoule.results import junit

        cases = junit.of_limits(comparison_found.rows, asked)
        write(junit_file, junit.document(f"{second.name} over {first.name}", cases))
    if _broken(comparison_found.rows, asked, show=not as_json):
        sys.exit(1)


def _with_paper(folder: Path, name: str, metrics: Sequence[str], target: Path | None, as_json: bool) -> None:
    from perjoule.results import paper_comparison
    from perjoule.results.comparison import checked_label
    from perjoule.summary import summary

    paper = paper_named(name)
    results = measured(folder)
    comparisons = paper_comparison.alongside(
        results, paper, [BY_LABEL[checked_label(metric)].key for metric in metrics]
    )
    if not comparisons:
        problem = f"{paper.name} has no numbers that are comparable with these results"
        if all(cell.reality == "simulated" for cell in summary(results).cells):
            problem = f"all of it was simulated, which is not compared with {paper.name}"
        raise CampaignError(problem, where=str(folder), next=f"list its numbers: perjoule papers {name}")
    bounds = list(paper_comparison.bounds_lines(paper, summary(results).cells))
    if as_json:
        json_output.print_json("compare --with", paper_comparison.as_data(paper, comparisons))
    else:
        show(paper_comparison.alongside_table(comparisons), (), ())
        for line in (*paper_comparison.lines(comparisons), *bounds):
            show_line(line)
    if target is not None:
        from perjoule.report.paper_comparison import page

        write(target, page(folder.name, paper, comparisons, bounds))


def _sides(folder: Path, other: Path | None, labels: tuple[str, str] | None) -> "tuple[Side, Side]":
    from perjoule.results import sides

    if other is None:
        assert labels is not None
        return sides.between(sides.side(measured(folder), folder.name), labels)
    first, second = measured(folder), measured(other)
    names = (str(folder), str(other)) if folder.name == other.name else (folder.name, other.name)
    return sides.side(first, names[0]), sides.side(second, names[1])


def _changes(
    first: "Side", second: "Side", declared: Sequence[str], any_change: bool, *, show: bool
) -> "Sequence[Difference]":
    """List what differs, and refuse what is not declared."""
    from perjoule.results import sides
    from perjoule.results.comparison.table import change_lines
    from perjoule.results.table import few
    from perjoule.statistics.changes import undeclared

    changes = sides.changed(first, second, declared)
    if show:
        out.print(f"{second.name} over {first.name}", style="bold")
        for line in change_lines(changes, declared):
            show_line(f"  {line}")
    suspects = [change.name for change in undeclared(changes)]
    if suspects and not any_change:
        advice = f"declare it with --change {suspects[0]}, or compare anyway with --any-change"
        raise CampaignError(
            f"undeclared differences: {few(suspects)}", where=f"{first.name} and {second.name}", next=advice
        )
    return changes


def _broken(rows: "Sequence[ComparisonRow]", limits: "Sequence[Limit]", *, show: bool) -> bool:
    """Print for each limit in how many rows it is broken, kept, or undecided."""
    broken = False
    for limit in limits:
        judged = [limit.judge(row) for row in rows if row.metric == limit.metric]
        if not judged:
            raise CampaignError(
                f"{limit.metric} was not measured in both", next=f'leave out --fail-if "{limit.text}"'
            )
        broken |= "broken" in judged
        if show:
            tally = ", ".join(f"{kind} in {judged.count(kind)}" for kind in dict.fromkeys(judged))
            show_line(f"--fail-if {limit.text}: {tally} of {counted(len(judged), 'row')}")
    return broken
