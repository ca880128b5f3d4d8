"""Tables of meters that name many hosts: patterns of names, and one meter for each host."""

from perjoule.campaign.source import CampaignSource, Path, Table, is_list
from perjoule.drivers.boundary import GROUPS
from perjoule.drivers.names import unfold

HOST = "{host}"  # in an option: the name of the host that a meter covers
NAMING = ("covers", "on")  # options that name hosts


def of_hosts(path: Path, table: Table, source: CampaignSource) -> list[Table]:
    """Return a [[meter]] table with its patterns unfolded (`covers = ["stor-[1-4]"]`), or one for each host
    that it covers.

    The latter if an option has "{host}" in it: `address = "pdu-{host}"`.

    Raises:
        CampaignError: a pattern is none, or "{host}" stands beside no names of hosts, as "servers" is none.
    """
    naming_options: Table = {
        option: _unfolded((*path, option), table[option], source)
        for option in NAMING
        if is_list(table.get(option))
    }
    unfolded: Table = {**table, **naming_options}
    holes = [option for option, value in table.items() if isinstance(value, str) and HOST in value]
    if not holes:
        return [unfolded]
    hosts = naming_options.get("covers")
    if not is_list(hosts) or not hosts or any(HOST in str(host) or host in GROUPS for host in hosts):
        raise source.error(
            (*path, holes[0]), f"{HOST} stands for no host", 'name them: covers = ["stor-[1-4]"]'
        )
    return [
        {
            **unfolded,
            "covers": [host],
            **{option: str(table[option]).replace(HOST, str(host)) for option in holes},
        }
        for host in hosts
    ]


def _unfolded(path: Path, patterns: object, source: CampaignSource) -> list[object]:
    names: list[object] = []
    for pattern in patterns if is_list(patterns) else ():
        try:
            names += unfold(pattern) if isinstance(pattern, str) and "[" in pattern else [pattern]
        except ValueError as error:
            raise source.error(path, str(error), 'write it as covers = ["stor-[1-4]"]') from None
    return names
