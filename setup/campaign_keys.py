"""Write docs/reference/campaign.md, the keys above the tables of a campaign, from their dataclass
(perjoule/campaign/header.py).

Usage: .venv/bin/python setup/campaign_keys.py
"""

from pathlib import Path

from perjoule import campaign
from perjoule.campaign.describe import DescribedOption

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "campaign.md"
HEAD = """# Keys of a campaign

A campaign file begins with these keys, all of which may be omitted. After them come the tables: one `[testbed]`,
`[[filesystem]]` and `[[workload]]` at least once, and, if needed, `[[meter]]` and [`[[event]]`](../how-to/events.md).
`perjoule drivers NAME` lists the options of a driver's table. A key that is written below a table's heading belongs to it.
<!-- Written by setup/campaign_keys.py. -->

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


def page() -> str:
    """Lay out the page."""
    lines: list[str] = []
    above = ""
    for one in campaign.top_keys():
        above = above if one.depth_count else one.name
        lines.append(row(one, f"{above}.{one.name}" if one.depth_count else one.name))
    return "".join((HEAD, *lines, TAIL))


def row(one: DescribedOption, key: str) -> str:
    """Lay out a key."""
    takes = TAKES.get(key, f"{one.takes}, or a list of them" if key in LISTED else one.takes)
    default = DEFAULTS.get(key) or ("needed" if one.default == "..." else f"`{one.default}`")
    return f"- `{key}` ({takes}; {default}): {one.description}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
