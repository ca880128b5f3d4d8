"""Write docs/reference/metrics.md, the list of all metrics, from their registry (perjoule/model/metrics.py),
which gathers them.

Usage: .venv/bin/python setup/metrics.py
"""

from pathlib import Path

from perjoule.model.metrics import BOUNDARIES, PIECES, ROLES, STAGES, Metric, entries

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
HEAD = """# Metrics

The numbers of trials and rows in `perjoule show`, reports, `table.json` and exports: key, label, unit of tables and figures (a
key ends in its SI unit, that of `table.json` and exports), better direction, definition. <!-- Written by setup/metrics.py. -->

"""
TAIL = """
**†** Stop rules (`until`), `compare --metric` and `--fail-if` accept the label, with a boundary also after
"gross", "clients" or "all". A write has the metric a second time (but not with the switch), until its last client's fsync has
returned: `burst_` before the key, "burst" before the label.

**‡** Rests on joules: power of different grades is not ranked.

`{boundary}` stands for

"""
REST = """
Energies, and the work per joule, have half of their 95 % interval (`energy_uncertainty_j`,
`efficiency_uncertainty_bytes_per_j`) and the part that all repetitions share (`energy_shared_uncertainty_j`), if the meter
states its errors; not `cpu_package_` and `device_`.

`{piece}` stands for

"""
PARTS = """
`{role}` stands for

"""
EVENTS = """
`{stage}` of a load during which something happens to servers stands for

"""
USERS = """
With `user/NAME/` before its key, a metric is that of one of several users; `share_ratio`, `busy_s` and `jobs_count` always are.
"""


def page() -> str:
    """Lay out the page."""
    boundaries = "".join(
        f"- {f'`{one.prefix}`' if one.prefix else 'nothing'}: {one.hosts}\n" for one in BOUNDARIES
    )
    roles = "".join(f"- `{role}`: {hosts}\n" for role, hosts in ROLES.items())
    pieces = "".join(f"- `{piece}`: {name}\n" for piece, name in PIECES.items())
    stages = "".join(f"- `{stage}`: {words}\n" for stage, words in STAGES.items())
    return "".join(
        (HEAD, *map(row, entries()), TAIL, boundaries, REST, pieces, PARTS, roles, EVENTS, stages, USERS)
    )


def row(one: Metric) -> str:
    """Lay out an entry."""
    definition = one.definition.format(
        boundary="the boundary", role="the role", piece="the piece", stage="in the stage"
    )
    label = f"{one.label} {'†' * one.headline}{'‡' * one.energy}".strip()
    of = ", ".join(word for word in (one.unit.symbol, one.better) if word)
    return f"- `{one.key}`, {label}{f' ({of})' if of else ''}: {definition}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
