"""Write docs/reference/metrics.md, the list of all metrics, from their registry (perjoule/model/metrics.py), which gathers them.

Usage: .venv/bin/python setup/metrics.py
"""

from pathlib import Path

from perjoule.model.metrics import BOUNDARIES, PIECES, ROLES, STAGES, Metric, entries

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
HEAD = """# Metrics

The numbers of trials and rows in `perjoule show`, reports, `table.json` and exports. A key ends in its SI unit: `table.json`
and exports hold values in that unit; tables and figures use the unit listed here. <!-- Written by setup/metrics.py. -->

| key | label | unit | better | definition |
|---|---|---|---|---|
"""
TAIL = """
**†** Stop rules (`until`), `compare --metric` and `--fail-if` accept the label, and of keys with a boundary also "gross",
"clients" or "all" before the label. A write has the metric a second time (but not with the switch), until its last client's
fsync has returned, with `burst_` before the key and "burst" before the label.

**‡** The metric rests on joules: if the power of two values is of different grades, they are not ranked.

`{boundary}` stands for

"""
REST = """
Energies, and the work per joule, have an uncertainty if the meter states its errors (except those of `cpu_package_` and
`device_`): half of the 95 % interval of one trial (`energy_uncertainty_j`, `efficiency_uncertainty_bytes_per_j`), and the part of
it that all repetitions on one meter share (`energy_shared_uncertainty_j`).

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
    boundaries = "".join(f"- {f'`{one.prefix}`' if one.prefix else 'nothing'}: {one.hosts}\n" for one in BOUNDARIES)
    roles = "".join(f"- `{role}`: {hosts}\n" for role, hosts in ROLES.items())
    pieces = "".join(f"- `{piece}`: {name}\n" for piece, name in PIECES.items())
    stages = "".join(f"- `{stage}`: {words}\n" for stage, words in STAGES.items())
    return "".join((HEAD, *map(row, entries()), TAIL, boundaries, REST, pieces, PARTS, roles, EVENTS, stages, USERS))


def row(one: Metric) -> str:
    """Lay out an entry."""
    definition = one.definition.format(boundary="the boundary", role="the role", piece="the piece", stage="in the stage")
    label = f"{one.label} {'†' * one.headline}{'‡' * one.energy}".strip()
    unit, better = one.unit.symbol or "1", one.better or "–"
    return f"| `{one.key}` | {label} | {unit} | {better} | {definition} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
