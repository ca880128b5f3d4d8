"""Commands about what was not measured: calibrate, predict, ledger."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from perjoule.cli import exits, json_output, parameters
from perjoule.cli.display import out, show, show_line
from perjoule.cli.inputs import hardware, json_text
from perjoule.cli.outputs import OutputFile, OutputFolder, write
from perjoule.cli.parameters import examples
from perjoule.model.errors import CampaignError
from perjoule.model.units import BYTES, counted, quantity

if TYPE_CHECKING:  # `--help` and completion need none of it
    from perjoule.figures.vega import Spec
    from perjoule.model import Json
    from perjoule.model.hardware import Cluster
    from perjoule.prediction import Profile

MOST_HOSTS_COUNT = 100_000  # of a role
MOST_ROWS_COUNT = 200
MOST_BYTES = 2**60  # of a client
WORTH_COUNT = 4  # assumptions that are printed


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
@click.option("--repetitions", metavar="N", type=click.IntRange(min=2), help="Repetitions of each point; 5 by default.")
@parameters.scale("Speed of the virtual hosts; 0.2 by default.")
@click.option("--write", "target", type=OutputFile(), metavar="FILE.toml", help="Only write the campaign; run nothing.")
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
    "--profiles", "place", type=OutputFolder(), metavar="DIR", help="Folder for FILESYSTEM.json; with --from, the current one."
)
def calibrate(
    kinds: tuple[str, ...],
    repetitions: int | None,
    scale: float | None,
    target: Path | None,
    into: Path | None,
    sources: tuple[Path, ...],
    cluster: str | None,
    place: Path | None,
) -> None:
    """Measure file systems on a virtual cluster whose resources are slowed in turn, and write a profile of each.

    A profile holds the measured points, the work per byte by role, the fitted parameters, and the errors about points that were
    left out. `perjoule predict` reads it. After an interruption: `perjoule resume DIR`, then `perjoule calibrate --from DIR`.
    """
    from perjoule import campaign
    from perjoule.campaign import calibration

    if bool(kinds) == bool(sources):
        raise CampaignError(
            "name file systems to measure, or results with --from; not both", next="see perjoule calibrate --help"
        )
    if sources:
        measuring = {"--repetitions": repetitions, "--scale": scale, "--write": target, "--into": into}
        if given := [name for name, value in measuring.items() if value]:
            what = f"{given[0]} is for measuring, but --from measures nothing"
            raise CampaignError(what, next="remove it; --profiles says where the profile is written")
        _fit(sources, place or Path(), hardware(cluster) if cluster else None)
        return
    if cluster:
        raise CampaignError("--on is for results, and this measures on virtual hosts", next="add it to --from, or remove it")
    if target and (given := [name for name, value in {"--into": into, "--profiles": place}.items() if value]):
        what = f"{given[0]} is for a run and its profile, but --write runs nothing"
        raise CampaignError(what, next=f"remove it; later: perjoule run {target} --into DIR, and perjoule calibrate --from DIR")
    text = calibration.written(kinds, repetitions=repetitions or calibration.REPETITIONS_COUNT, scale=scale or calibration.SCALE)
    asked = campaign.parse(text, source=target.name if target else "calibration.toml")
    if target is not None:
        write(target, text)
        show_line(f"{target}: {counted(len(asked.trials), 'trial')}; perjoule check {target} says how long they take")
        return
    from perjoule.cli.measuring import measured

    results, code = measured(asked, into)
    _fit((results.folder,), place or results.folder)
    click.get_current_context().exit(code)


def _fit(sources: tuple[Path, ...], place: Path, cluster: "Cluster | None" = None) -> None:
    from perjoule.prediction import parameters as numbers
    from perjoule.prediction.scores import scores
    from perjoule.results.calibration import profiles
    from perjoule.results.prediction import parameters_table
    from perjoule.results.scores import scores_table
    from perjoule.store.records import to_json

    for kind, fitted in profiles(sources, cluster).items():
        found = fitted.profile
        path = place / f"{kind}.json"
        with exits.place(place):
            place.mkdir(parents=True, exist_ok=True)
        data = to_json(found)
        assert isinstance(data, dict)
        write(path, json.dumps({**data, "digest": found.digest}) + "\n")
        out.print(f"{kind} {found.release}: {counted(len(found.points), 'point')}, {found.digest}", style="bold")
        show(parameters_table(found), (), ())
        if tested := scores([known.tests for known in found.known.values()]):
            show(scores_table({kind: tested}), (), ())
        unknown = [f"{way} {one.name}" for way in found.known for one in numbers(found, way) if not one.identified]
        if unknown:
            show_line(f"not identified: {', '.join(unknown)}: predictions that rest on them have wide bands, or are ranges")
        for line in fitted.moved:
            show_line(line)
        show_line(f"profile: {path}")


@click.command(
    "predict",
    short_help="Predict throughput and energy on a cluster you don't have.",
    epilog=examples(
        "perjoule predict cephfs --on odroid-hc4 --clients 1..16",
        "perjoule predict moosefs --on my-boards.toml --servers 8 --set goal=2",
        "perjoule predict glusterfs --on odroid-hc4 --figure glusterfs.svg",
        "perjoule predict cephfs --on odroid-hc4 --clients 4 --watts",
        "perjoule predict glusterfs --on reference-1 --clients 4 --json",
        "perjoule predict moosefs --on odroid-hc4 --pledge moosefs.pledge.json",
    ),
)
@click.argument("name", metavar="PROFILE|FILE.json")
@click.option("--on", "cluster", required=True, metavar="CLUSTER|FILE.toml", help="Hardware: of the catalogue, or your own.")
@click.option("--clients", default="1..4", show_default=True, metavar="COUNTS", help="4, 1,2,8 or 1..64.")
@click.option(
    "--servers",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_HOSTS_COUNT),
    help="Storage hosts; as many as the cluster has by default.",
)
@click.option("--size", default="1 GiB", show_default=True, metavar="SIZE", help="What each client moves.")
@click.option("--set", "settings", multiple=True, metavar="OPTION=VALUE", help="An option of the file system: goal=2.")
@click.option("--virtual", is_flag=True, help="As virtual hosts: page caches as large as this machine's memory.")
@click.option("--watts", is_flag=True, help="Show where the servers' watts go as well.")
@click.option("--figure", type=OutputFile(), metavar="FILE.svg|.pdf", help="Draw it against the number of clients.")
@click.option("--pledge", type=OutputFile(new=True), metavar="FILE.json", help="Freeze it, for `perjoule ledger`.")
@json_output.option
def predict(
    name: str,
    cluster: str,
    clients: str,
    servers: int | None,
    size: str,
    settings: tuple[str, ...],
    virtual: bool,
    watts: bool,
    figure: Path | None,
    pledge: Path | None,
    as_json: bool,
) -> None:
    """Predict what a file system would do on hardware that you don't have, with 90 % bands.

    PROFILE comes with perjoule, or is a file that `perjoule calibrate` wrote. The bands combine the model's errors about points
    that were left out with the uncertainty of the hardware's values; the output names what would narrow them most.
    """
    from perjoule.prediction import Target, predictions
    from perjoule.results import prediction as tables

    if figure is not None and figure.suffix not in (".svg", ".pdf"):
        raise CampaignError("a figure is an SVG or a PDF", where=str(figure), next="name it FILE.svg or FILE.pdf")
    counts = _counts(clients)
    try:
        client_bytes = round(quantity(size, BYTES))
    except ValueError as error:
        raise CampaignError(f"--size {size}: {error}", next='write "1 GiB"') from None
    if not 0 < client_bytes <= MOST_BYTES:
        raise CampaignError(f"--size {size} is not between 1 B and 1 EiB", next='write "1 GiB"')
    target = Target(_profile(name), hardware(cluster), _settings(settings), memory=not virtual, servers_count=servers)
    found = tuple(predictions(target, counts, client_bytes))
    if pledge is not None:
        from perjoule.results import ledger

        write(pledge, ledger.pledged(target, found))
    if figure is not None:
        _draw(figure, tables.figure(target, found))
    if as_json:
        json_output.print_json("predict", {"profile": target.profile.kind, "cluster": target.cluster.name, "predictions": found})
        return
    kind = f"{target.profile.kind} {target.profile.release}".strip()
    out.print(f"{kind}, {found[0].redundancy.text}, on {target.cluster.title}", style="bold")
    show(tables.table(found), (), ())
    if watts:
        show(tables.watts_table(found), (), ())
    for line in tables.remarks(target, found, WORTH_COUNT):
        show_line(line)
    if pledge is not None:
        show_line(f"pledged: {pledge}; once it is measured: perjoule ledger {pledge} --with DIR")


def _draw(path: Path, spec: "Spec") -> None:
    from perjoule.figures.rendering import pdf, svg

    write(path, pdf(spec) if path.suffix == ".pdf" else svg(spec))


def _counts(text: str) -> list[int]:
    """Read "4", "1,2,8" or "1..64". Raises CampaignError."""
    where, advice = f"--clients {text}", "write 4, 1,2,8 or 1..64"
    counts: list[int] = []
    for part in text.replace(" ", "").split(","):
        found = re.fullmatch(r"(\d{1,6})(?:\.\.(\d{1,6}))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        counts += range(first, min(last, first + MOST_ROWS_COUNT) + 1)
    if not 0 < min(counts, default=0) <= max(counts) <= MOST_HOSTS_COUNT or len(counts) > MOST_ROWS_COUNT:
        raise CampaignError(f"not numbers of clients, {MOST_ROWS_COUNT} of them at most", where=where, next=advice)
    return list(dict.fromkeys(counts))


def _profile(name: str) -> "Profile":
    from perjoule import prediction

    if not name.endswith(".json"):
        return prediction.shipped(name)
    return prediction.read(json_text(Path(name)), name)


def _settings(written: tuple[str, ...]) -> "Mapping[str, Json]":
    """Read OPTION=VALUE, the value as TOML or else as text. Raises CampaignError."""
    from perjoule.campaign.source import value

    found: dict[str, object] = {}
    for text in written:
        option, equals, said = (part.strip() for part in text.partition("="))
        if not equals or not option:
            raise CampaignError(f"--set {text} is not OPTION=VALUE", next="write --set goal=2")
        found[option] = value(said)
    return cast("Mapping[str, Json]", found)  # what the driver does not take, it refuses
