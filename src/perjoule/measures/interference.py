"""The CPU share of programs outside the trial on the machine of all hosts, which no cap of the testbed
limits.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perjoule.energy.hosts import cores_count
from perjoule.model import Numbers
from perjoule.model.doubts import MACHINE, Doubt
from perjoule.model.metrics import PERCENT, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

STRANGERS = Metric(
    "strangers_cpu_ratio", "% strangers", PERCENT, "CPU time of strangers / the machine's", "lower"
)
METRICS = (STRANGERS,)

# Of the machine's CPU time. On quiet machines up to 10 % is charged to no host and to no kernel thread that
# is still there: interrupts of networks and disks, workers that came and went. From there on capped hosts
# wait for their turn.
MOST_RATIO = 0.1


def measure(load: "Load") -> Numbers:
    """Return the share of strangers; its doubt is among those about the whole trial."""
    ratio = cpu_ratio(load.reading)
    return Numbers() if ratio is None else Numbers.plain({STRANGERS.key: ratio})


def cpu_ratio(reading: "Reading") -> float | None:
    """Return the share of the machine's CPU time that strangers took while clients loaded; None if not
    recorded.

    All programs and kernel threads, less the hosts, perjoule itself, and kernel threads from the first to the
    last sample.
    """
    from perjoule.energy.amount import amount
    from perjoule.trial.counters import window

    record, series = reading.record, reading.series
    count = cores_count(record)
    parts = {s.channel.component: s for s in series if s.channel.quantity == "cpu" and not s.channel.host}
    if record.outcome is None or count is None or not {"machine", "perjoule", "kernel"} <= parts.keys():
        return None
    began_s, ended_s = record.outcome.began_s, record.outcome.ended_s
    covered = parts["machine"].channel.covers
    apart = frozenset(h.name for h in record.hosts if h.name not in covered)
    # What runs on a host that is the whole machine was started by us and counts when it has ended, which is
    # after the window.
    own_span = window(record, began_s, ended_s) if covered else (began_s, ended_s)
    spent_s = [amount(parts["machine"], began_s, ended_s).value, amount(parts["perjoule"], *own_span).value]
    spent_s += [reading.total("cpu", apart, began_s, ended_s).value] if apart else [0.0]
    machine_s, own_s, hosts_s = spent_s
    if machine_s is None or own_s is None or hosts_s is None or ended_s <= began_s:
        return None
    kernel_s = float(parts["kernel"].value[-1] - parts["kernel"].value[0])
    return max(0.0, machine_s - own_s - hosts_s - kernel_s) / (count * (ended_s - began_s))


def doubts(reading: "Reading") -> Iterator[Doubt]:
    """Doubt a trial in which strangers took enough to matter; in tenths, so repetitions say the same."""
    ratio = cpu_ratio(reading)
    if ratio is not None and ratio > MOST_RATIO:
        yield MACHINE.strangers(share_ratio=min(10, round(10 * ratio)) / 10)
