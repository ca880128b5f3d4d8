"""The command that predicts what was not measured: predict."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.inputs import hardware, json_text, whole_numbers
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.model.errors import CampaignError
from perjoule.model.units import BYTES, quantity

if TYPE_CHECKING:  # `--help` and completion need none of it
    from perjoule.figures.vega import Spec
    from perjoule.model import Json
    from perjoule.prediction import Profile

MOST_HOSTS_COUNT = 100_000  # of a role
MOST_BYTES = 2**60  # of a client
MOST_CALLS_COUNT = 1024  # of a client in flight, as a load may have
WORTH_COUNT = 4  # assumptions that are printed


@click.command(
    "predict",
    short_help="Predict throughput and energy on a cluster you don't have.",
    epilog=examples(
        "perjoule predict cephfs --on odroid-hc4 --clients 1..16",
        "perjoule predict moosefs --on my-boards.toml --servers 8 --set goal=2",
        "perjoule predict glusterfs --on odroid-hc4 --figure glusterfs.svg",
        "perjoule predict cephfs --on odroid-hc4 --clients 4 --watts",
        'perjoule predict cephfs --on "4x raspberry-pi-5 + 2x exos-5e8, 2.5g"',
        "perjoule predict glusterfs --on reference-1 --clients 4 --json",
        "perjoule predict moosefs --on my-ssds.toml --sustained",
        "perjoule predict moosefs --on odroid-hc4 --pledge moosefs.pledge.json",
    ),
)
@click.argument("name", metavar="PROFILE|FILE.json")
@click.option(
    "--on",
    "cluster",
    required=True,
    metavar="CLUSTER|FILE.toml",
    help="Hardware: of the catalogue, hosts + disks, or your own.",
)
@click.option("--clients", default="1..4", show_default=True, metavar="COUNTS", help="4, 1,2,8 or 1..64.")
@click.option(
    "--servers",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_HOSTS_COUNT),
    help="Storage hosts; as many as the cluster has by default.",
)
@click.option(
    "--size",
    metavar="SIZE",
    help="What each client moves; by default as much as when the profile was measured.",
)
@click.option(
    "--in-flight",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_CALLS_COUNT),
    help="Calls that each client has in flight; by default as many as when the profile was measured.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="An option of the file system: goal=2."
)
@click.option(
    "--virtual", is_flag=True, help="As virtual hosts: page caches as large as this machine's memory."
)
@click.option("--sustained", is_flag=True, help="SSDs write in their steady state, not as fresh ones.")
@click.option("--watts", is_flag=True, help="Show where the servers' watts go as well.")
@click.option(
    "--figure", type=OutputFile(), metavar="FILE.svg|.pdf", help="Draw it against the number of clients."
)
@click.option(
    "--pledge", type=OutputFile(new=True), metavar="FILE.json", help="Freeze it, for `perjoule ledger`."
)
@json_output.option
def predict(
    name: str,
    cluster: str,
    clients: str,
    servers: int | None,
    size: str | None,
    in_flight: int | None,
    settings: tuple[str, ...],
    virtual: bool,
    sustained: bool,
    watts: bool,
    figure: Path | None,
    pledge: Path | None,
    as_json: bool,
) -> None:
    """Predict what a file system would do on hardware that you don't have, with 90 % bands.

    PROFILE comes with perjoule, or is a file that `perjoule calibrate` wrote. The bands combine the model's
    errors about points that were left out with the uncertainty of the hardware's values; the output names
    what would narrow them most.
    """
    from perjoule.prediction import Target, predictions
    from perjoule.prediction.scores import rival
    from perjoule.results import prediction as tables

    if figure is not None and figure.suffix not in (".svg", ".pdf"):
        raise CampaignError(
            "a figure is an SVG or a PDF", where=str(figure), next="name it FILE.svg or FILE.pdf"
        )
    if sustained and pledge is not None:
        message = (
            "later trials would be compared with it whether their SSDs were in their steady state or not"
        )
        raise CampaignError(message, where="--sustained --pledge", next="pledge without --sustained")
    counts = whole_numbers("--clients", clients, MOST_HOSTS_COUNT)
    client_bytes = _client_bytes(size) if size else None
    target = Target(
        _profile(name),
        hardware(cluster),
        _settings(settings),
        memory=not virtual,
        servers_count=servers,
        sustained=sustained,
    )
    predicted = tuple(
        predictions(target, counts, client_bytes or round(target.profile.client_bytes), in_flight)
    )
    if pledge is not None:
        from perjoule.results import ledger

        write(pledge, ledger.pledged(target, predicted))
    if figure is not None:
        _draw(figure, tables.figure(target, predicted))
    if as_json:
        rivals = {direction: rival(known.tests) for direction, known in target.profile.known.items()}
        json_output.print_json(
            "predict",
            {
                "profile": target.profile.kind,
                "cluster": target.cluster.name,
                "rivals": {direction: model for direction, model in rivals.items() if model},
                "predictions": predicted,
            },
        )
        return
    kind = f"{target.profile.kind} {target.profile.release}".strip()
    out.print(f"{kind}, {predicted[0].redundancy.text}, on {target.cluster.title}", style="bold")
    show(tables.table(predicted), (), ())
    if watts:
        show(tables.watts_table(predicted), (), ())
    for line in tables.remarks(target, predicted, WORTH_COUNT):
        show_line(line)
    if pledge is not None:
        show_line(
            f"pledged: {pledge}; once it is measured: perjoule ledger {shlex.quote(str(pledge))} --with DIR"
        )


def _draw(path: Path, spec: "Spec") -> None:
    from perjoule.figures.rendering import pdf, svg

    write(path, pdf(spec) if path.suffix == ".pdf" else svg(spec))


def _client_bytes(size: str) -> int:
    """Read "1 GiB". Raises CampaignError."""
    try:
        size_bytes = round(quantity(size, BYTES))
    except ValueError as error:
        raise CampaignError(f"--size {size}: {error}", next='write "1 GiB"') from None
    if not 0 < size_bytes <= MOST_BYTES:
        raise CampaignError(f"--size {size} is not between 1 B and 1 EiB", next='write "1 GiB"')
    return size_bytes


def _profile(name: str) -> "Profile":
    from perjoule import prediction

    if not name.endswith(".json"):
        return prediction.shipped(name)
    return prediction.read(json_text(Path(name)), name)


def _settings(written: tuple[str, ...]) -> "Mapping[str, Json]":
    """Read OPTION=VALUE, the value as TOML or else as text. Raises CampaignError."""
    from perjoule.campaign.source import value

    settings: dict[str, object] = {}
    for text in written:
        option, equals, value_text = (part.strip() for part in text.partition("="))
        if not equals or not option:
            raise CampaignError(f"--set {text} is not OPTION=VALUE", next="write --set goal=2")
        settings[option] = value(value_text)
    return cast("Mapping[str, Json]", settings)  # what the driver does not take, it refuses
