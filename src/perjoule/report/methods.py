"""The methods section: what was done, in words fit for a paper, from the records alone."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perjoule import __version__, published
from perjoule.campaign.source import read_toml
from perjoule.model import Channel, Json, Record
from perjoule.report.content import Content
from perjoule.table import number
from perjoule.units import bytes_text

DOUBTS_COUNT = 6  # named; the others are counted
_SHOWN_OPTIONS = (
    "operation",
    "transfer",
    "size",
    "shared",
    "direct",
    "duration",
    "goal",
    "layout",
    "redundancy",
    "copies",
    "stripe",
)
_GRADES = {
    "wall": "measured at the mains",
    "PDU": "measured by a power distribution unit",
    "BMC": "told by the hosts' management controllers",
    "component": "measured of components",
    "modelled": "modelled from counters of CPU and disks with the catalogue's coefficients, not measured",
    "nameplate": "taken from nameplates, not measured",
    "counter": "counted by the hosts' own hardware",
    "simulated": "simulated, not measured",
}


def methods(found: Content) -> tuple[str, ...]:
    """Write the section, a text for each paragraph; empty where no trial is valid."""
    valid = [record for record in found.records if record.status == "valid" and record.outcome is not None]
    if not valid:
        return ()
    document = read_toml(found.text, "campaign.toml")[0] if found.text.strip() else {}
    paragraphs = (
        _what(valid),
        _where(valid),
        _order(found, valid, document),
        _power(found),
        _intervals(document, most_count=max(len(i.values) for cell in found.cells for i in cell.metrics.values())),
        _refused(found),
        _cite(found, valid),
    )
    return tuple(" ".join(sentences) for sentences in map(tuple, paragraphs) if sentences)


def _what(valid: Sequence[Record]) -> Iterator[str]:
    systems = {r.trial.filesystem.label: r for r in sorted(valid, key=lambda r: r.trial.filesystem.label)}
    yield f"We {'compared' if len(systems) > 1 else 'measured'} {_list([_system(r) for r in systems.values()])}."
    engines = _list(sorted({r.outcome.engine for r in valid if r.outcome}))
    loads = {r.trial.workload.label: _options(r.trial.workload.options) for r in valid}
    yield f"The load was made by {engines}: {_list([f'{label}{options}' for label, options in sorted(loads.items())])}."
    kept = {label: r.redundancy.sentence for label, r in systems.items() if r.redundancy}
    if kept:
        yield f"Redundancy: {'; '.join(f'{label} {sentence}' for label, sentence in kept.items())}."
    counts = sorted({r.trial.clients_count for r in valid})
    yield f"{_list([str(count) for count in counts])} client{'s' if counts != [1] else ''} loaded at a time."


def _system(record: Record) -> str:
    facts = record.facts.get("filesystem")
    version = facts.get("version") if isinstance(facts, Mapping) else None
    label, kind = record.trial.filesystem.label, record.trial.filesystem.kind
    said = str(version).partition(" (")[0] if version else ""
    named = said if said and said.split()[0].isalpha() else f"{kind} {said}".strip() if label.lower() != kind else said
    return f"{label}{_options(record.trial.filesystem.options, named)}"


def _options(options: Mapping[str, Json], first: str = "") -> str:
    said = [f"{key} {_value(options[key])}" for key in _SHOWN_OPTIONS if key in options]
    words = [*([first] if first else []), *said]
    return f" ({', '.join(words)})" if words else ""


def _value(value: Json) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _where(valid: Sequence[Record]) -> Iterator[str]:
    last = valid[-1]
    roles: dict[str, int] = {}
    for host in last.hosts:
        roles[host.role] = roles.get(host.role, 0) + 1
    hosts = _list([f"{count} {role} host{'s' if count > 1 else ''}" for role, count in roles.items()])
    clusters = _list(sorted({r.cluster for r in valid if r.cluster}))
    kinds = {r.trial.testbed.kind for r in valid}
    if "virtual" in kinds:
        yield f"The {hosts} were network namespaces of one machine that stand for {clusters} of perjoule's catalogue"
        scales = {r.scale for r in valid}
        scale = f" times {scales.pop():g}, and time is dilated by it" if scales != {1.0} and len(scales) == 1 else ""
        yield f"by its rates of CPU, network and disks{scale}: the cluster is emulated."
    elif "simulated" in kinds:
        yield f"The {hosts} were simulated: nothing real was measured."
    else:
        yield f"The testbed ({_list(sorted(kinds))}) had {hosts}{f', {clusters}' if clusters else ''}."
    facts = last.environment
    memory = facts.get("memory_bytes")
    machine = [str(facts[key]) for key in ("cpu_model",) if facts.get(key)]
    machine += [f"{facts['cores_count']} cores"] if facts.get("cores_count") else []
    machine += [bytes_text(memory)] if isinstance(memory, int) else []
    machine += [f"{facts['distribution']}" for key in ("distribution",) if facts.get(key)]
    machine += [f"kernel {facts['kernel']}"] if facts.get("kernel") else []
    if machine:
        yield f"The machine: {', '.join(machine)}."


def _order(found: Content, valid: Sequence[Record], document: Mapping[str, Any]) -> Iterator[str]:
    repetitions: dict[object, int] = {}
    for record in valid:
        key = (record.trial.testbed.label, record.trial.filesystem.label, record.trial.workload.label, record.trial.clients_count)
        repetitions[key] = repetitions.get(key, 0) + 1
    least, most = min(repetitions.values()), max(repetitions.values())
    times = f"{least}" if least == most else f"{least} to {most}"
    failed_count = sum(r.status == "failed" for r in found.records)
    failed = f"; {failed_count} more failed and are not in the numbers" if failed_count else ""
    times = f"{times} times" if most > 1 else "once"
    yield f"Each of {len(repetitions)} combinations was measured {times}, {len(valid)} trials in all{failed}."
    order = _asked(found, document, "order", "shuffled")
    seed = f" (seed {found.seed})" if found.seed is not None else ""
    told = {
        "shuffled": f"Those that share a deployment ran in an order shuffled within each repetition{seed}.",
        "interleaved": f"File systems took turns in each repetition, deployed afresh, in a shuffled order{seed}.",
        "written": "They ran in the order written.",
    }
    yield told.get(order, "")
    began_s, ended_s = (pick(r.clock.utc_s for r in valid) for pick in (min, max))
    yield f"Trials were recorded from {_utc(began_s)} to {_utc(ended_s)} UTC."
    settle = _asked(found, document, "settle", "1 s")
    quiet = _asked(found, document, "quiet", "30 s")
    yield f"Meters ran {settle} before and after each measured window."
    yield "A window begins with the first client's start. A read's ends with the last client's end."
    if any("burst_duration_s" in cell.metrics for cell in found.cells):
        yield "A write's ends when the servers' disks hold the data: after each load all servers synced at once."
    else:
        yield "A write's ends with the last client's fsync."
    if quiet != "0":
        yield f"After each load we waited up to {quiet} for idle servers."


def _asked(found: Content, document: Mapping[str, Any], key: str, default: str) -> str:
    overridden = [o.partition("=")[2].strip() for o in found.overrides if o.partition("=")[0].strip() == key]
    return overridden[-1].strip('"') if overridden else str(document.get(key, default))


def _utc(moment_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment_s))


def _power(found: Content) -> Iterator[str]:
    if not found.channels:
        yield "No power was measured."
        return
    meters: dict[tuple[str, str], list[Channel]] = {}
    for channel in found.channels:
        meters.setdefault((channel.meter, channel.grade), []).append(channel)
    for (meter, grade), channels in meters.items():
        components = _list(sorted({c.component for c in channels}))
        hosts = len({c.host for c in channels if c.host})
        where = f"{hosts} host{'s' if hosts != 1 else ''}" if hosts else "a group of hosts"
        seconds = [found.channels[c] for c in channels if found.channels[c] > 0]
        rate = f", a sample every {number(sorted(seconds)[len(seconds) // 2])} s" if seconds else ""
        count, semantics = len(channels), _list(sorted({c.semantics for c in channels}))
        told = f"{count} channel{'s' if count > 1 else ''} ({components}) of {where}, {semantics} values{rate}"
        yield f'Power was {_GRADES.get(grade, grade)} (meter "{meter}"): {told}.'
    budgets = [
        b for one in found.metered for e in one.energies.values() for name, b in e.budgets.items() if name == "net" and b.value_j
    ]
    shares = sorted(b.expanded_j / b.value_j for b in budgets)
    yield "Energy is that of the servers without switch and clients, by each channel's semantics; a failed read is a gap."
    if shares and shares[-1]:
        span = f"{shares[0]:.1%} to {shares[-1]:.1%}"
        yield f"Its expanded uncertainty (95 %) is {span} of a trial's energy, by a budget after the GUM."
    if found.modelled:
        yield "That of modelled watts comes from the coefficients of the catalogue; what two file systems share of it cancels."


def _intervals(document: Mapping[str, Any], most_count: int) -> Iterator[str]:
    if most_count == 1:
        yield "Values are those of one repetition, which has no interval and by which no difference can be called significant."
        return
    yield "Values are means over repetitions with 95 % intervals by Student's t."
    if until := document.get("until"):
        known = f"{until.get('metric')} was known to ± {until.get('interval')} or to the most repetitions allowed"
        yield f"Repetitions went on until {known}; intervals are widened for that."
    yield "Differences are called significant where the ratio of geometric means is 2 % at least and its interval excludes 1:"
    yield "Student's t on logarithms after Welch, with Bonferroni's correction for all pairs of file systems that did the same"
    yield "work, an allowance for the campaign's drift, and what all repetitions share."


def _refused(found: Content) -> Iterator[str]:
    failed = [record for record in found.records if record.status == "failed"]
    reasons = dict.fromkeys(record.reason for record in failed)
    if reasons:
        yield f"Trials failed because: {'; '.join(list(reasons)[:DOUBTS_COUNT])}."
    counts = Counter(words for cell in found.cells for words in (*cell.doubts, *cell.omitted))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    refused = [item for item in ordered if any(word in item[0] for word in ("refused", "left out", "omitted"))]
    doubted = [item for item in ordered if item not in refused]
    if refused:
        yield f"What was refused: {_counted(refused, len(found.cells))}."
    if doubted:
        yield f"What speaks against the numbers: {_counted(doubted, len(found.cells))}."
    if not ordered:
        yield "Nothing was found that speaks against a trial."


def _counted(doubts: Sequence[tuple[str, int]], rows_count: int) -> str:
    named = "; ".join(f"{doubt} (in {count} of {rows_count} rows)" for doubt, count in doubts[:DOUBTS_COUNT])
    return named + (f"; and {len(doubts) - DOUBTS_COUNT} more" if len(doubts) > DOUBTS_COUNT else "")


def _cite(found: Content, valid: Sequence[Record]) -> Iterator[str]:
    modules = valid[-1].environment.get("modules")
    version = modules.get("perjoule") if isinstance(modules, Mapping) else None
    day = time.strftime("%Y-%m-%d", time.gmtime(max(r.clock.utc_s for r in valid)))
    seed = f", seed {found.seed}" if found.seed is not None else ""
    yield f'To cite: perjoule {version or __version__}, campaign "{found.name}"{seed}, results of {day}.'
    if found.reproduces in published.names():
        paper = published.paper(found.reproduces)
        yield f"The study repeated is {paper.authors}: {paper.title}. {paper.reference}."


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
