"""The command that finds meters on a network."""

from collections.abc import Sequence
from math import isfinite

import click

from perjoule.campaign.making.meter_line import meter_line
from perjoule.cli.parameters import examples
from perjoule.cli.serving import duration
from perjoule.cli.terminal.display import err, show_line, show_table
from perjoule.model.format import number
from perjoule.model.units import counted, seconds_text
from perjoule.monitoring import announced
from perjoule.monitoring.announced import AnnouncedMeter, Announcements, Subnet
from perjoule.results.table import Table

SILENT = (
    "Plugs by Kasa, NETIO, GUDE and most BMCs and PDUs never announce themselves, and Tasmota only after "
    "`SetOption55 1`: with the address that your router lists, `perjoule meters list ADDRESS` says what is there. "
    "Announcements end at a router: for another network of this machine, write --on."
)
_WORDS = ("name", "address", "kind", "now", "for `measure --meter`")


@click.command(
    short_help="Find meters that announce themselves.",
    epilog=examples(
        "perjoule meters find",
        "perjoule meters find --on eth1 --on 192.168.1.0/24",
        'perjoule meters find --for "10 s"',
    ),
)
@click.option(
    "--on",
    "names",
    multiple=True,
    metavar="NETWORK",
    help="Interface, own address or network, as eth0 or 192.168.1.0/24; the default one if absent.",
)
@click.option(
    "--for",
    "duration_s",
    metavar="TIME",
    default="4 s",
    show_default=True,
    callback=duration,
    help="How long to listen.",
)
def find(names: tuple[str, ...], duration_s: float) -> None:
    """Find the meters that announce themselves on a network (mDNS), ask each what it is, and read it.

    Only addresses on the networks that are named are contacted, with the questions of `perjoule meters list`.
    """
    networks = announced.networks(names)
    err.print(f"listening on {', '.join(map(str, networks))} for {seconds_text(duration_s)}")
    announcements = announced.announced(networks, duration_s)
    meters = announced.recognised(announcements.inside)
    if meters:
        _show(meters)
    for line in _notes(announcements, meters, networks):
        show_line(line)


def _show(meters: Sequence[AnnouncedMeter]) -> None:
    rows = tuple(
        (
            meter.name,
            str(meter.table["address"]).rpartition("//")[2],
            str(meter.table["kind"]),
            f"{number(meter.now_w)} W" if isfinite(meter.now_w) else "–",
            meter_line(meter.table),
        )
        for meter in meters
    )
    show_table(Table(_WORDS, rows, words=_WORDS))
    for meter in meters:
        if meter.trouble:
            show_line(f"{meter_line(meter.table)}: {meter.trouble}; {meter.fix}".removesuffix("; "))


def _notes(
    announcements: Announcements, meters: Sequence[AnnouncedMeter], networks: Sequence[Subnet]
) -> list[str]:
    """Say what was announced and is no meter, what was not contacted, and what to do if nothing was found."""
    lines: list[str] = []
    others_count = len(announcements.inside) - len({str(meter.table["address"]) for meter in meters})
    if others_count > 0:
        lines.append(f"{counted(others_count, 'other device')} announced a web page and is no known meter")
    if announcements.outside:
        places = ", ".join(f"{each.name} at {each.address}" for each in announcements.outside[:3])
        more = f" and {len(announcements.outside) - 3} more" if len(announcements.outside) > 3 else ""
        lines.append(f"not contacted, as on none of these networks: {places}{more}")
    if announcements.omitted_count:
        lines.append(f"{announcements.omitted_count} further announcements were not looked at")
    if not meters:
        lines += [f"no meter announces itself on {', '.join(map(str, networks))}", SILENT]
    return lines
