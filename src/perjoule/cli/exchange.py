"""Commands that bring results in from other tools, and out to them: import, export."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from perjoule import importing, stops
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
