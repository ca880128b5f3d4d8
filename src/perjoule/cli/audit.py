"""The command that recomputes published and stored numbers: audit."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from perjoule.cli import parameters
from perjoule.cli.papers import paper_named
from perjoule.cli.parameters import examples
from perjoule.cli.results import CAMPAIGN, measured
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show_line
from perjoule.model.errors import CampaignError
from perjoule.model.units import counted
from perjoule.papers import boards, published
from perjoule.papers.audit import AuditVerdict, audit, audit_cells

_SHOWN = 4  # places for one reason


@click.command(
    "audit",
    short_help="Recompute the derived numbers of a paper or results folder.",
    epilog=examples(
        "perjoule audit green-storage",
        "perjoule audit all --strict",
        "perjoule audit results/demo --json",
        "perjoule audit submission-688/  # of IO500",
        "perjoule audit closed/ACME/  # of MLPerf Storage",
        "perjoule audit sbc-reviews  # boards at a wall plug",
    ),
)
@click.argument(
    "target",
    metavar="PAPER|all|FILE.toml|DIR",
    shell_complete=parameters.completing(lambda: ("all", boards.NAME, *published.names())),
)
@click.option("--strict", is_flag=True, help="Exit code 1 when something disagrees.")
@click.option("--all", "everything", is_flag=True, help="Also list what agrees.")
@json_output.option
def audit_command(target: str, strict: bool, everything: bool, as_json: bool) -> None:
    """Recompute every derived number of a paper, a results folder, or submissions to IO500 or MLPerf Storage,
    and check it against physical bounds.

    Prints what agrees, what doesn't (printed, recomputed, likely cause) and what can't be checked, and why.
    """
    audited = _audited(target)
    if as_json:
        json_output.print_json("audit", {"verdicts": audited})
    else:
        for name, verdicts in audited.items():
            _show(name, verdicts, everything)
    if strict and any(verdict.kind == "disagrees" for verdicts in audited.values() for verdict in verdicts):
        sys.exit(1)


def _audited(target: str) -> dict[str, Sequence[AuditVerdict]]:
    if target == "all":
        return {name: audit(published.paper(name)) for name in published.names()}
    if target == boards.NAME:
        return {target: boards.audited()}
    if target not in published.names() and "/" in target and not Path(target).exists():
        raise CampaignError(
            "no such folder or file",
            where=target,
            next="name a paper without a path, as `perjoule papers` lists it",
        )
    if target not in published.names() and Path(target).is_dir():
        from perjoule.importing.mlperf_audit import submitted_to_mlperf
        from perjoule.importing.submissions import submitted

        folder = Path(target)
        submissions: dict[str, Sequence[AuditVerdict]] = {}
        if not (folder / CAMPAIGN).exists():
            submissions = {**submitted(folder), **submitted_to_mlperf(folder)}
        return submissions or {target: _of_results(folder)}
    return {target: audit(paper_named(target))}


def _of_results(folder: Path) -> tuple[AuditVerdict, ...]:
    from perjoule.results import verification
    from perjoule.summary import summary

    results = measured(folder)
    stored = results.table()
    clusters = {record.cluster for record in results.latest() if record.status == "valid"}
    computed = summary(results).cells
    implausible = {doubt for cell in computed for doubt in cell.doubts if doubt.disqualifies}
    cells = stored if stored is not None else computed
    verdicts = audit_cells(cells, clusters.pop() if len(clusters) == 1 else "", implausible)
    rule = "the stored data reproduce the shown numbers"
    differences = verification.verify(results).differences
    return (
        *verdicts,
        *(
            AuditVerdict("disagrees", rule, "files", "stored numbers", recomputed=difference)
            for difference in differences
        ),
    )


def _show(name: str, verdicts: Sequence[AuditVerdict], everything: bool) -> None:
    kinds = {kind: [v for v in verdicts if v.kind == kind] for kind in ("disagrees", "agrees", "unchecked")}
    checks_count = len(kinds["agrees"]) + len(kinds["disagrees"])
    out.print(f"{name}: {counted(checks_count, 'check')}, {len(kinds['disagrees'])} disagree", style="bold")
    resting = [v for v in kinds["agrees"] if v.rests_on]
    if kinds["disagrees"]:
        out.print("Disagrees", style="red")
        for verdict in kinds["disagrees"]:
            _show_disagreement(verdict)
    if resting:
        out.print("Agrees, but depends on a number that disagrees", style="yellow")
        for verdict in resting:
            show_line(f"  {verdict.place}: {verdict.what}: {verdict.printed}")
            show_line(f"    {verdict.rests_on}")
    if kinds["unchecked"]:
        out.print("Can't be checked", style="yellow")
        _show_unchecked(kinds["unchecked"])
    if everything:
        out.print("Agrees", style="green")
        for verdict in kinds["agrees"]:
            digits = (
                f": printed {verdict.printed}, recomputed {verdict.recomputed}" if verdict.printed else ""
            )
            show_line(f"  {verdict.place}: {verdict.what}{digits} ({verdict.rule})")
    elif kinds["agrees"]:
        rules = {
            rule: sum(v.rule == rule for v in kinds["agrees"])
            for rule in dict.fromkeys(v.rule for v in kinds["agrees"])
        }
        out.print("Agrees", style="green")
        for rule, count in rules.items():
            show_line(f"  {count:4d}  {rule}")


def _show_disagreement(verdict: AuditVerdict) -> None:
    show_line(f"  {verdict.place}: {verdict.what}")
    if verdict.printed:
        show_line(f"    printed {verdict.printed}, recomputed {verdict.recomputed} ({verdict.rule})")
        show_line(f"    of {verdict.of}")
        show_line(f"    likely cause: {verdict.cause or 'no single error explains it'}")
    else:
        show_line(f"    {verdict.of + ': ' if verdict.of else ''}{verdict.recomputed}")


def _show_unchecked(verdicts: Sequence[AuditVerdict]) -> None:
    """Print each reason once, with the numbers that it keeps from being checked."""
    for cause, rule in dict.fromkeys((v.cause, v.rule) for v in verdicts):
        verdicts_of = [v for v in verdicts if (v.cause, v.rule) == (cause, rule)]
        show_line(f"  {cause}{f' ({rule})' if rule else ''}")
        places = {
            place: [v for v in verdicts_of if v.place == place]
            for place in dict.fromkeys(v.place for v in verdicts_of)
        }
        for place, group in list(places.items())[:_SHOWN]:
            numbers = (
                ", ".join(v.printed for v in group)
                if len(group) > 1 and group[0].printed
                else "; ".join(map(_named, group))
            )
            show_line(f"    {place}: {numbers}")
        if len(places) > _SHOWN:
            out.print(f"    and {len(places) - _SHOWN} more")


def _named(verdict: AuditVerdict) -> str:
    return f"{verdict.printed}, {verdict.what}" if verdict.printed else verdict.what
