"""The list of all metrics, from their registry, which gathers them."""

import re

from perjoule.model.metrics import BOUNDARIES, PIECES, ROLES, STAGES, Metric, entries

HEAD = """\
The numbers of trials and rows in `perjoule show`, reports, `table.json` and exports: key, label, unit of tables and figures (a
key ends in its SI unit, that of `table.json` and exports), better direction, definition. Net energy is that
of the servers without the switch.

"""
TAIL = """
**†** Stop rules (`until`), `compare --metric` and `--fail-if` accept the label, with a boundary also after
"gross", "clients" or "all". A write has the metric a second time (but not with the switch), until its last client's fsync has
returned: `burst_` before the key, "burst" before the label.

**‡** Rests on joules: power of different grades is not ranked.

**§** Of rows, not of trials.

`derived_` before a ratio of a rebuild: what redundancy explains of it.

`{boundary}` stands for

"""
REST = """
Energies, and the work per joule, have half of their 95 % interval (`energy_uncertainty_j`,
`efficiency_uncertainty_bytes_per_j`) and the part that all repetitions share (`energy_shared_uncertainty_j`), if the meter
states its errors; not `cpu_package_` and `device_`.

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

OF_NET = "energy of the servers without the switch"
OF_ROWS = "; of rows, not of trials"  # by which definitions end
# what is the same metric but for this part of its key, and for the words that its label has for it
FLOWS = {
    "network_received": "received",
    "network_sent": "sent",
    "disk_read": "disk read",
    "disk_written": "disk written",
}
PEAKS = {"jpsi": "J/ψ", "z": "Z"}
FLOW_KEY = re.compile(rf"({'|'.join(FLOWS)})(?=_{{role}}_)")
PEAK_KEY = re.compile(rf"^({'|'.join(PEAKS)})(?=_)")
MOVED = re.compile(r"bytes that (?:disks of )?{role} \w+")


def body() -> str:
    """Lay out the page below its title."""
    boundaries = "".join(
        f"- {f'`{boundary.prefix}`' if boundary.prefix else 'nothing'}: {boundary.hosts}\n"
        for boundary in BOUNDARIES
    )
    roles = "".join(f"- `{role}`: {hosts}\n" for role, hosts in ROLES.items())
    stages = "".join(f"- `{stage}`: {words}\n" for stage, words in STAGES.items())
    alike = "".join(
        f"`{{{part}}}` is {', '.join(f'`{key}`' for key in keys)}.\n"
        for part, keys in {"piece": PIECES, "flow": FLOWS, "peak": PEAKS}.items()
    )
    rows = dict.fromkeys(row(metric) for metric in entries() if not metric.key.startswith("derived_rebuild_"))
    return "".join((HEAD, *rows, TAIL, boundaries, REST, alike, PARTS, roles, EVENTS, stages, USERS))


def row(metric: Metric) -> str:
    """Lay out an entry, alike for all flows and for all peaks."""
    key, name, text = metric.key, metric.label, metric.definition
    if flow := FLOW_KEY.search(key):
        key, name = FLOW_KEY.sub("{flow}", key), name.replace(FLOWS[flow[0]], "{flow}")
        text = MOVED.sub("{role}'s bytes of the flow", text)
    elif peak := PEAK_KEY.search(key):
        key, name = PEAK_KEY.sub("{peak}", key), name.replace(PEAKS[peak[0]], "{peak}")
        text = text.replace(f"the {PEAKS[peak[0]]} peak", "the peak")
    definition = text.format(
        boundary="the boundary", role="the role", piece="the piece", stage="in the stage"
    )
    definition, of_rows, _ = definition.replace(OF_NET, "net energy").partition(OF_ROWS)
    label = f"{name} {'†' * metric.headline}{'‡' * metric.energy}{'§' * bool(of_rows)}".strip()
    of = ", ".join(word for word in (metric.unit.symbol, metric.better) if word)
    return f"- `{key}`, {label}{f' ({of})' if of else ''}: {definition}\n"
