"""Commands that make results of others: import, export, recalculate."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from perjoule.cli import exits, parameters
from perjoule.cli.parameters import examples
from perjoule.cli.results import measured
from perjoule.cli.terminal import reporting
from perjoule.cli.terminal.display import err, out, show
from perjoule.cli.terminal.giving import given_back
from perjoule.cli.terminal.outputs import OutputFile, OutputFolder, require_file, write
from perjoule.figures import rendering
from perjoule.model import Record
from perjoule.model.errors import CampaignError
from perjoule.model.units import counted
from perjoule.summary.campaign import campaign_of, name_of

# `importing`, `exporting` and `report` are imported where they are used, as in `results`.

ROLES = ("storage", "metadata", "management", "client")
_NAMED = 12  # clients
_path = click.Path(path_type=Path)
# https://spdx.github.io/spdx-spec/v2.3/SPDX-license-list/, and families whose licenses have a version each
_LICENSE = re.compile(
    r"(?!(?:CC-BY(?:-[A-Z]+)*|Apache|[AL]?GPL|EUPL|MPL|ODbL)$)[A-Za-z0-9.+-]+|.+://.+", re.IGNORECASE
)


@click.command(
    "import",
    short_help="Import what other tools measured.",
    epilog=examples(
        "perjoule import results/lab fio/*.json",
        "perjoule import results/lab run/ --filesystem lustre --role oss-1=storage",
        "perjoule import results/lab client-1=a.json client-2=b.json",
        "perjoule import results/io500 submission-688/",
        "perjoule import results/mlperf closed/ACME/ --timezone UTC",
        "perjoule import results/lab ior.json --power power.csv --covers servers \\",
        "  --set value=watts --set unit=W --set grade=wall --set window='1 s' \\",
        "  --set semantics='window mean'",
    ),
)
@click.argument("into", type=OutputFolder(), metavar="INTO")
@click.argument("files", nargs=-1, required=True, metavar="[CLIENT=]FILE|FOLDER")
@click.option(
    "--filesystem",
    default="",
    metavar="NAME",
    help="What was measured; by default, the tool's working folder.",
)
@click.option(
    "--power",
    multiple=True,
    type=_path,
    metavar="FILE",
    help="A log of power: CSV, line protocol, or TOML with [[meter]] tables.",
)
@click.option(
    "--set",
    "declared",
    multiple=True,
    metavar="KEY=VALUE",
    help="Describe the log; see `perjoule drivers csv`.",
)
@click.option(
    "--covers",
    multiple=True,
    metavar="NAME",
    help="What it covers: hosts, servers, clients, switch; default: all.",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="NODE=ROLE",
    help="Role of a host: storage, metadata, management.",
)
@click.option("--timezone", metavar="ZONE", help="Zone of times without one; this machine's by default.")
def import_command(
    into: Path,
    files: tuple[str, ...],
    filesystem: str,
    power: tuple[Path, ...],
    declared: tuple[str, ...],
    covers: tuple[str, ...],
    roles: tuple[str, ...],
    timezone: str | None,
) -> None:
    """Import what other tools measured into the results folder INTO, joined by the time of day.

    Reads fio, rados bench and sadf as JSON, IOR as JSON or text, elbencho as JSON or CSV, mdtest's text,
    folders of IO500 and MLPerf Storage, and power logs, each recognised by its content. A client is named after its file, or by
    CLIENT=FILE. See `perjoule docs import`.
    """
    from perjoule import importing
    from perjoule.importing.missing import damaged, missing
    from perjoule.importing.mlperf_power import rated
    from perjoule.importing.power import logs
    from perjoule.importing.sources import sources, why_not
    from perjoule.importing.submissions import score_text
    from perjoule.workloads.imported import check_zone, local_zone, submission

    zone = timezone or local_zone()
    try:
        check_zone(zone)
    except ValueError as error:
        raise CampaignError(str(error), where="--timezone") from None
    roles_given = _roles(roles)
    read_sources, strange = sources(files, zone)
    metered = [log for path in power for log in logs(path, declared, covers, zone)]
    assumed = "" if timezone else zone
    with exits.place(into):
        results = importing.create(into)
        brought = importing.bring(
            results, read_sources, metered, filesystem=filesystem, roles=roles_given, zone_assumed=assumed
        )
        for line in brought.remarks:
            err.print(line, style="yellow")
        for record in brought.records:
            _tell(record, len(brought.series[record.trial.id]))
        here = f", {brought.known_count} already present" if brought.known_count else ""
        out.print(
            f"{counted(len(brought.records), 'trial')} imported{here}; hosts: {_hosts_text(brought.hosts)}",
            soft_wrap=True,
        )
        for source in read_sources:
            if source.format == "io500" and brought.records:
                out.print(f"{source.path.name}: {score_text(submission(source.texts()))}", soft_wrap=True)
        for line in rated(read_sources):
            out.print(line, soft_wrap=True)
        for line in damaged(brought):
            out.print(f"damaged: {line}", style="yellow", soft_wrap=True)
        for line in missing(brought):
            out.print(f"missing: {line}", style="yellow", soft_wrap=True)
        for _, fault in brought.unread:
            err.print(f"left out: {fault}", style="yellow")
        for path in strange:
            err.print(f"{path}: skipped: {why_not(path)}", style="yellow")
        for path, left_out in {source.path: source.left_out for source in read_sources}.items():
            for tool in left_out:
                err.print(f"{path}: partly skipped: in it is {tool}", style="yellow")
        if results.done():
            out.print(reporting.conclude(results, into / "report.html"))


def _roles(texts: tuple[str, ...]) -> Mapping[str, str]:
    roles: dict[str, str] = {}
    for text in texts:
        name, _, role = text.partition("=")
        if not name or role not in ROLES:
            advice = f"write NODE=ROLE with {', '.join(ROLES)}"
            raise CampaignError(f'"{text}" does not assign a role', where="--role", next=advice)
        roles[name] = role
    return roles


def _hosts_text(roles: Mapping[str, str]) -> str:
    """Name the hosts; the clients of a large machine are counted."""
    clients = [name for name, role in roles.items() if role == "client"]
    names = {name: role for name, role in roles.items() if len(clients) <= _NAMED or role != "client"}
    many = [] if len(clients) <= _NAMED else [f"{clients[0]} and {len(clients) - 1} other clients"]
    return ", ".join([*many, *(f"{name} ({role})" for name, role in names.items())])


def _tell(record: Record, channels_count: int) -> None:
    """Print an imported trial."""
    outcome = f"failed: {record.reason}"
    if record.outcome:
        began, ended = (
            datetime.fromtimestamp(t, UTC) for t in (record.outcome.began_s, record.outcome.ended_s)
        )
        outcome = f"{began:%Y-%m-%d %H:%M:%S} to {ended:%H:%M:%S} UTC, {counted(channels_count, 'channel')}"
    out.print(f"{record.trial.text}: {outcome}", soft_wrap=True)


@click.command(
    "export",
    short_help="Export results: CSV, Parquet, LaTeX, or one verifiable file.",
    epilog=examples(
        "perjoule export results/demo --csv demo.csv --parquet demo.parquet",
        "perjoule export results/demo --bundle demo.zip --license CC-BY-4.0",
        "perjoule verify demo.zip",
        "perjoule export results/demo --artifact artifact.zip --license CC-BY-4.0",
    ),
)
@parameters.folder
@click.option(
    "--csv",
    "csv_file",
    type=OutputFile(),
    metavar="FILE",
    help="All metrics of trials and cells as one long table.",
)
@click.option("--parquet", type=OutputFile(), metavar="FILE", help="The same as Parquet.")
@click.option(
    "--latex",
    type=OutputFile(),
    metavar="FILE",
    help="The rows as a table for a paper: LaTeX, with the package booktabs.",
)
@click.option(
    "--bundle",
    type=OutputFile(),
    metavar="FILE.zip",
    help="Raw data, series, report, checksums and citation (RO-Crate).",
)
@click.option(
    "--artifact",
    type=OutputFile(),
    metavar="FILE.zip",
    help="For reviewers of a paper: the bundle, an appendix, and a replay that ends in PASS.",
)
@click.option(
    "--license",
    "license_name",
    default="",
    metavar="SPDX",
    help="License of the bundle: CC-BY-4.0, or a URL.",
)
@click.option(
    "--author", "authors", multiple=True, metavar="NAME", help="Author to cite; repeat for several."
)
def export_command(
    folder: Path,
    csv_file: Path | None,
    parquet: Path | None,
    latex: Path | None,
    bundle: Path | None,
    artifact: Path | None,
    license_name: str,
    authors: tuple[str, ...],
) -> None:
    """Export the results in DIR: one long table for other programs, or one file that `perjoule verify`
    checks.
    """
    from perjoule import exporting
    from perjoule.views.content import Content

    if not (csv_file or parquet or latex or bundle or artifact):
        raise CampaignError(
            "nothing to write", next="name a file: --csv, --parquet, --latex, --bundle or --artifact"
        )
    results = measured(folder)
    page = folder / "report.html"
    if license_name and not _LICENSE.fullmatch(license_name):
        raise CampaignError(
            f'"{license_name}" is no SPDX identifier',
            where="--license",
            next="write it with its version, as in CC-BY-4.0 (https://spdx.org/licenses), or the license's URL",
        )
    if (bundle or artifact) and not page.exists():
        require_file(page)
        rendering.require()
    content = Content(results)
    rows = list(exporting.rows(results, content.cells))
    table = exporting.csv_text(rows)
    if csv_file:
        write(csv_file, table)
        out.print(f"{csv_file}: {counted(len(rows), 'row')}", soft_wrap=True)
    if parquet:
        with exits.place(parquet):
            exporting.write_parquet(rows, parquet)
        out.print(f"{parquet}: {counted(len(rows), 'row')}", soft_wrap=True)
    if latex:
        write(latex, exporting.latex_text(content.cells, name_of(results), content.power_notes))
        out.print(f"{latex}: {counted(len(content.cells), 'row')}", soft_wrap=True)
    for target in filter(None, (bundle, artifact)):
        with exits.place(target):
            if not page.exists():
                from perjoule import report

                report.write(results, page)
            asked = campaign_of(results)
            description = exporting.Description(
                name_of(results), asked.description.strip() if asked else "", license_name, authors
            )
            if target is bundle:
                count = exporting.write_bundle(results, target, table, description)
                check = "`perjoule verify` checks it"
            else:
                from perjoule.publishing.artifact import write_artifact

                count = write_artifact(content, target, table, description)
                check = "its README.md is the appendix, its replay.sh ends in PASS"
        out.print(f"{target}: {counted(count, 'file')}; {check}", soft_wrap=True)
    if (bundle or artifact) and not license_name:
        err.print(
            "it has no license, so others may not use it; add one, for example --license CC-BY-4.0",
            style="yellow",
        )


@click.command(
    "recalculate",
    short_help="Model watts again with corrected coefficients.",
    epilog=examples(
        "perjoule recalculate results/demo --into results/demo-again",
        "perjoule recalculate demo.zip --into results/demo-again",
        "perjoule verify results/demo-again",
    ),
)
@parameters.folder
@click.option(
    "--into",
    type=OutputFolder(),
    required=True,
    metavar="NEW",
    help="The new results folder: absent or empty.",
)
def recalculate_command(folder: Path, into: Path) -> None:
    """Compute the modelled watts of a results folder, or of a bundle, again, after the catalogue's
    coefficients were corrected.

    Work is read from the counters in DIR, which is only read, and must verify. All that was measured is
    copied to NEW byte for byte; what meters read never changes. NEW and its report state what moved. See
    `perjoule docs recalculate`.
    """
    from perjoule import exporting, report
    from perjoule.store import open_results
    from perjoule.views.content import Content
    from perjoule.views.power import recalculated

    rendering.require()
    with exits.place(into):
        recalculation = exporting.recalculate(folder, into, report.write)
    with given_back(into, [into]):
        cells = Content(open_results(into)).cells
    show(recalculated.coefficients_table(recalculation), (), ())
    show(recalculated.rows_table(recalculation, cells), (), ())
    out.print(f"report: {into / 'report.html'}", soft_wrap=True)
