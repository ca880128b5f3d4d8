"""The keys above the tables of a campaign, from their dataclass."""

from perjoule import campaign
from perjoule.campaign.describe import DescribedOption

HEAD = """\
A campaign file begins with these keys, all of which may be omitted. After them come the tables: one `[testbed]`,
`[[filesystem]]` and `[[workload]]` at least once, and, if needed, `[[meter]]` and [`[[event]]`](../how-to/events.md).
`perjoule drivers NAME` lists the options of a driver's table. A key that is written below a table's heading belongs to it.

Each key with what it takes and its default:

"""
TAIL = """
On the command line, `--set KEY=VALUE` sets any of them; `--shrink N` and `--simulate` are short for two.
`perjoule drivers --schema` prints the JSON Schema of the whole file.
"""
LISTED = ("clients", "servers")  # one number, or several
DEFAULTS = {"name": "the file's name", "seed": "drawn", "servers": "the testbed's", "until": "none"}
TAKES = {
    "reproduces": "the name of a [paper](papers.md)",
    "until.metric": "the [label](metrics.md) of a metric",
    "until.interval": 'such as "5 %"',
    "order": "`shuffled`, `interleaved` or `written`",
    "settle": 'such as "2 s"',
    "quiet": 'such as "60 s", or 0',
    "align": 'such as "30 s", or 0',
    "overwrite": "a list of devices",
}


def body() -> str:
    """Lay out the page below its title."""
    lines: list[str] = []
    above = ""
    for key in campaign.top_keys():
        above = above if key.depth_count else key.name
        lines.append(row(key, f"{above}.{key.name}" if key.depth_count else key.name))
    return "".join((HEAD, *lines, TAIL))


def row(key: DescribedOption, name: str) -> str:
    """Lay out a key."""
    takes = TAKES.get(name, f"{key.takes}, or a list of them" if name in LISTED else key.takes)
    default = DEFAULTS.get(name) or ("needed" if key.default == "..." else f"`{key.default}`")
    return f"- `{name}` ({takes}; {default}): {key.description}\n"
