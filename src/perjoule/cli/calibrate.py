"""The command that measures what predictions rest on: calibrate."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import exits, parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.inputs import hardware, whole_numbers
from perjoule.cli.terminal.outputs import OutputFile, OutputFolder, write
from perjoule.model.errors import CampaignError
from perjoule.model.units import counted

if TYPE_CHECKING:  # `--help` and completion need none of it
    from perjoule.model.hardware import Cluster

MOST_COUNT = 1024  # clients, and calls of each in flight


@click.command(
    "calibrate",
    short_help="Measure what predictions of a file system rest on.",
    epilog=examples(
        "sudo perjoule calibrate moosefs --into results/moosefs-calibrated",
        "perjoule calibrate moosefs glusterfs --write calibration.toml",
        "perjoule calibrate --from results/moosefs-calibrated --profiles .",
        "perjoule calibrate --from moosefs --from results/more --profiles .",
    ),
)
@click.argument("kinds", nargs=-1, metavar="[FILESYSTEMS]")
@click.option(
    "--repetitions", metavar="N", type=click.IntRange(min=2), help="Repetitions of each point; 5 by default."
)
@click.option("--clients", metavar="COUNTS", help="Numbers of clients; 1,2,4 by default.")
@click.option(
    "--in-flight", metavar="COUNTS", help="Calls that each client has in flight: 1,4; 1 by default."
)
@parameters.scale("Speed of the virtual hosts; 0.2 by default.")
@click.option(
    "--write", "target", type=OutputFile(), metavar="FILE.toml", help="Only write the campaign; run nothing."
)
@parameters.into
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR|PROFILE",
    help="Fit to results, and to a profile's points; measure nothing. Repeat it to join them.",
)
@parameters.stands_for
@click.option(
    "--profiles",
    "place",
    type=OutputFolder(),
    metavar="DIR",
    help="Folder for FILESYSTEM.json; with --from, the current one.",
)
def calibrate(
    kinds: tuple[str, ...],
    repetitions: int | None,
    clients: str | None,
    in_flight: str | None,
    scale: float | None,
    target: Path | None,
    into: Path | None,
    sources: tuple[Path, ...],
    cluster: str | None,
    place: Path | None,
) -> None:
    """Measure file systems on a virtual cluster whose resources are slowed in turn, and write a profile of
    each.

    A profile holds the measured points, the work per byte by role, the fitted parameters, and the errors
    about points that were left out. `perjoule predict` reads it. After an interruption: `perjoule resume
    DIR`, then `perjoule calibrate --from DIR`.
    """
    from perjoule import campaign
    from perjoule.campaign.making import calibration
    from perjoule.prediction import solving

    if bool(kinds) == bool(sources):
        raise CampaignError(
            "name file systems to measure, or results with --from; not both",
            next="see perjoule calibrate --help",
        )
    if sources:
        measuring = {
            "--repetitions": repetitions,
            "--clients": clients,
            "--in-flight": in_flight,
            "--scale": scale,
        }
        measuring |= {"--write": target, "--into": into}
        if given := [name for name, value in measuring.items() if value]:
            problem = f"{given[0]} is for measuring, but --from measures nothing"
            raise CampaignError(problem, next="remove it; --profiles says where the profile is written")
        solving.require()
        _fit(sources, place or Path(), hardware(cluster) if cluster else None)
        return
    if cluster:
        raise CampaignError(
            "--on is for results, and this measures on virtual hosts", next="add it to --from, or remove it"
        )
    if target and (given := [name for name, value in {"--into": into, "--profiles": place}.items() if value]):
        problem = f"{given[0]} is for a run and its profile, but --write runs nothing"
        raise CampaignError(
            problem,
            next=f"remove it; later: perjoule run {shlex.quote(str(target))} --into DIR, and perjoule calibrate --from DIR",
        )
    clients_counts = (
        whole_numbers("--clients", clients, MOST_COUNT) if clients else calibration.CLIENTS_COUNTS
    )
    if len(clients_counts) < 2:
        problem = "one number of clients says nothing about others"
        raise CampaignError(problem, where="--clients", next="name two or more, such as 1,2,4")
    text = calibration.written(
        kinds,
        repetitions=repetitions or calibration.REPETITIONS_COUNT,
        scale=scale or calibration.SCALE,
        clients=clients_counts,
        in_flight=whole_numbers("--in-flight", in_flight, MOST_COUNT)
        if in_flight
        else calibration.IN_FLIGHT_COUNTS,
    )
    asked = campaign.parse(text, source=target.name if target else "calibration.toml")
    if target is not None:
        write(target, text)
        show_line(
            f"{target}: {counted(len(asked.trials), 'trial')}; perjoule check {shlex.quote(str(target))} says how long "
            "they take"
        )
        return
    from perjoule.cli.measuring import measured

    solving.require()  # before hours of measuring
    results, code = measured(asked, into)
    _fit((results.folder,), place or results.folder)
    click.get_current_context().exit(code)


def _fit(sources: tuple[Path, ...], place: Path, cluster: "Cluster | None" = None) -> None:
    from perjoule.prediction import parameters as numbers
    from perjoule.prediction.scores import scores
    from perjoule.results.calibration import endless, profiles
    from perjoule.results.prediction import parameters_table
    from perjoule.results.scores import scores_table, without_skill
    from perjoule.store.place import make_folders
    from perjoule.store.records import to_json

    for kind, fitted in profiles(sources, cluster).items():
        profile = fitted.profile
        path = place / f"{kind}.json"
        with exits.place(place):
            make_folders(place)
        content = to_json(profile)
        assert isinstance(content, dict)
        write(path, json.dumps({**content, "digest": profile.digest}) + "\n")
        out.print(
            f"{kind} {profile.release}: {counted(len(profile.points), 'point')}, {profile.digest}",
            style="bold",
        )
        show(parameters_table(profile), (), ())
        if tested := scores([law.tests for law in profile.known.values()]):
            show(scores_table({kind: tested}), (), ())
        unknown = [
            f"{direction} {parameter.name}"
            for direction in profile.known
            for parameter in numbers(profile, direction)
            if not parameter.identified
        ]
        if unknown:
            show_line(
                f"not identified: {', '.join(unknown)}: predictions that rest on them have wide bands, or "
                "are ranges"
            )
        for line in (*without_skill(profile), *endless(profile), *fitted.moved):
            show_line(line)
        show_line(f"profile: {path}")
