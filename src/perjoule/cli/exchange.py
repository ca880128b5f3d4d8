"""Commands that bring results in from other tools, and out to them: import, export."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from perjoule import campaign, importing, stops
from perjoule.cli.results import measured
from perjoule.display import counted, err, out, trial_text
from perjoule.errors import CampaignError
from perjoule.importing import Brought
from perjoule.importing.missing import missing
from perjoule.importing.power import logs
from perjoule.importing.sources import sources
from perjoule.options import examples
from perjoule.workloads.imported import check_zone, local_zone

_path = click.Path(path_type=Path)


@click.command(
    "import",
    short_help="Bring in what other tools measured.",
    epilog=examples(
        "perjoule import results/lab fio/*.json",
        "perjoule import results/lab run/ --filesystem lustre --role oss-1=storage",
        "perjoule import results/lab client-1=a.json client-2=b.json",
        "perjoule import results/lab ior.json --power lmg.csv --set value=P1 --set unit=W",
        '           --set semantics="window mean" --set window="1 s" --set grade=wall --covers servers',
    ),
)
@click.argument("into", type=_path, metavar="INTO")
@click.argument("files", nargs=-1, required=True, metavar="[CLIENT=]FILE|FOLDER...")
@click.option("--filesystem", default="", metavar="NAME", help="What was measured; by default the folder that was worked in.")
@click.option("--power", multiple=True, type=_path, metavar="FILE", help="A log of power: CSV, or TOML with [[meter]] tables.")
@click.option("--set", "declared", multiple=True, metavar="KEY=VALUE", help="What the log is, as `perjoule drivers csv` says.")
@click.option("--covers", multiple=True, metavar="NAME", help="What it covers: hosts, servers, clients, switch; default: all.")
@click.option("--role", "roles", multiple=True, metavar="NODE=ROLE", help="Role of a host: storage, metadata, management.")
@click.option("--timezone", metavar="ZONE", help="Of times that name none; this machine's by default.")
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
    """Bring what other tools measured into the results folder INTO, joined by the time of day.

    Reads fio, IOR, rados bench and sadf as JSON, mdtest's text, folders of IO500 and logs of power, each known by its content.
    A client's name is that of its file, or CLIENT=FILE. See docs/how-to/import.md.
    """
    zone = timezone or local_zone()
    try:
        check_zone(zone)
    except ValueError as error:
        raise CampaignError(str(error), where="--timezone") from None
    known = _roles(roles)
    found, strange = sources(files, zone)
    metered = [log for path in power for log in logs(path, declared, covers, zone)]
    doubt = "" if timezone else f"times that name no zone are taken to be in {zone}, this machine's"
    with stops.place(into):
        results = importing.create(into)
        brought = importing.bring(results, found, metered, filesystem=filesystem, roles=known, zone_doubt=doubt)
        _tell(brought)
        for path in strange:
            err.print(f"{path}: passed over, its content is nothing known", style="yellow")
        from perjoule import report

        if results.done():
            out.print(f"report: {report.write(results, into / 'report.html')}")


def _roles(words: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, _, role = word.partition("=")
        if not name or role not in importing.ROLES:
            advice = f"write NODE=ROLE with {', '.join(importing.ROLES)}"
            raise CampaignError(f'"{word}" gives no host a role', where="--role", next=advice)
        found[name] = role
    return found


def _tell(brought: Brought) -> None:
    """Print what came in, and what is missing."""
    for record in brought.records:
        began = ended = ""
        if record.outcome:
            began, ended = (
                datetime.fromtimestamp(t, UTC).strftime(form)
                for t, form in ((record.outcome.began_s, "%Y-%m-%d %H:%M:%S"), (record.outcome.ended_s, "%H:%M:%S"))
            )
        window = f"{began} to {ended} UTC" if began else f"failed: {record.reason}"
        series = brought.series[record.trial.id]
        out.print(f"{trial_text(record.trial)}: {window}, {counted(len(series), 'channel')}", soft_wrap=True)
    hosts = ", ".join(f"{name} ({role})" for name, role in brought.hosts.items())
    here = f", {brought.known_count} were here already" if brought.known_count else ""
    out.print(f"{counted(len(brought.records), 'trial')} brought in{here}; hosts: {hosts}", soft_wrap=True)
    for words in missing(brought):
        out.print(f"missing: {words}", style="yellow", soft_wrap=True)


@click.command(
    "export",
    short_help="Give results to others: CSV, Parquet, one file.",
    epilog=examples(
        "perjoule export results/demo --csv demo.csv --parquet demo.parquet",
        "perjoule export results/demo --bundle demo.zip --license CC-BY-4.0 --author 'Ada Lovelace'",
        "perjoule verify demo.zip",
    ),
)
@click.argument("folder", type=_path, metavar="DIR")
@click.option("--csv", "csv_file", type=_path, metavar="FILE", help="All metrics of trials and cells as one long table.")
@click.option("--parquet", type=_path, metavar="FILE", help="The same as Parquet.")
@click.option("--bundle", type=_path, metavar="FILE.zip", help="Raw data, series, report, checksums and citation (RO-Crate).")
@click.option("--license", "license_name", default="", metavar="SPDX", help="Of the bundle: CC-BY-4.0, or a URL.")
@click.option("--author", "authors", multiple=True, metavar="NAME", help="Whom to cite; may be given several times.")
def export_command(
    folder: Path,
    csv_file: Path | None,
    parquet: Path | None,
    bundle: Path | None,
    license_name: str,
    authors: tuple[str, ...],
) -> None:
    """Give the results in DIR to others: as one long table for any program, or as one file that `perjoule verify` checks."""
    from perjoule import exporting, report

    if not (csv_file or parquet or bundle):
        raise CampaignError("nothing is to be written", next="name a file: --csv, --parquet or --bundle")
    results = measured(folder)
    rows = list(exporting.rows(results, report.cells(results)))
    table = exporting.csv_text(rows)
    if csv_file:
        with stops.place(csv_file):
            csv_file.write_text(table, encoding="utf-8", newline="")
        out.print(f"{csv_file}: {counted(len(rows), 'row')}", soft_wrap=True)
    if parquet:
        with stops.place(parquet):
            exporting.write_parquet(rows, parquet)
        out.print(f"{parquet}: {counted(len(rows), 'row')}", soft_wrap=True)
    if bundle:
        with stops.place(bundle):
            if not (folder / "report.html").exists():
                report.write(results, folder / "report.html")
            asked = campaign.of_results(results.campaign_text, results.overrides, results.folder)
            name = asked.name if asked else folder.resolve().name
            said = exporting.Said(name, asked.description.strip() if asked else "", license_name, authors)
            count = exporting.write_bundle(results, bundle, table, said)
        out.print(f"{bundle}: {counted(count, 'file')}; `perjoule verify` checks it", soft_wrap=True)
        if not license_name:
            err.print("it has no license, so that nobody may use it: say --license CC-BY-4.0, for example", style="yellow")
