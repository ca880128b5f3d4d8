"""The report's page: content and figures to one HTML file that works offline."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape

from perjoule import __version__, published
from perjoule.analysis.fairness import mixes
from perjoule.analysis.scaling import scaling
from perjoule.analysis.winners import BY, Finding
from perjoule.figures import vega
from perjoule.model import Cell, Interval, Record
from perjoule.model.units import MIB
from perjoule.report import claims, mixed_users, muons, paper_comparison, scalability
from perjoule.report.content import Content
from perjoule.report.document import document, html_table
from perjoule.report.drawings import drawings
from perjoule.report.metered import budget_table, unexplained_table
from perjoule.report.methods import methods
from perjoule.results.table import amplification_table, number, pair_texts, table, winners_table, with_meter


def page(found: Content, root: str) -> str:
    """Lay the report out as HTML; `root` is the path from it to the results folder."""
    specs = dict(drawings(found))
    timelines = {trial: asdict(line) for trial, line in found.timelines.items()}
    return document(found.name, "\n".join(_body(found, specs, root)), specs, timelines)


def _body(found: Content, specs: Mapping[str, vega.Spec], root: str) -> Iterator[str]:
    yield f'<header><div><h1>{escape(found.name)}</h1></div><button id="theme">light / dark</button></header>'
    yield from (f"<p>{escape(part)}</p>" for part in found.description.split("\n\n") if part)
    yield _badges(found)
    yield _cards(found.cells, found.winners)
    yield "<h2>Results</h2>"
    yield _table(found.cells)
    yield (
        "<p><small>Mean ± half of the 95 % interval over repetitions (? where one repetition gives none). If that exceeds a "
        "third of the mean: the median, with every repetition in brackets. A second ± is the meter's uncertainty, common to "
        "all rows. Max is the largest repetition, an order statistic. W, J and MiB/J are those of the servers, without switch "
        "and clients. EDP is energy times duration for the same work, divided by the best. Click a header to sort.</small></p>"
    )
    yield from _reproduced(found)
    yield from _winners(found)
    yield from _users(found)
    yield from _scaling(found)
    yield from _failed(found.records)
    yield "<h2>Figures</h2>"
    yield from (_figure(name, found, root) for name in specs)
    yield from _muons(found.cells)
    yield from _budgets(found)
    yield from _amplification(found.cells)
    yield from _doubts(found)
    yield from _all_metrics(found.cells)
    yield from _methods(found)
    yield from _circumstances(found)


def _badges(found: Content) -> str:
    valid_count = sum(r.status == "valid" for r in found.records)
    failed_count = len(found.records) - valid_count
    systems = list(dict.fromkeys(cell.filesystem for cell in found.cells))
    marks = [f"{len(systems)} file systems", f"{valid_count} valid trials", *found.clusters]
    marks += [f"seed {found.seed}"] if found.seed is not None else []
    warned = [f"{failed_count} failed trials"] if failed_count else []
    warned += [f"emulated at scale {found.scale:g}"] if found.scale != 1 else []
    warned += ["power is modelled"] if found.modelled else []
    items = [f"<li>{escape(m)}</li>" for m in marks] + [f'<li class="warn">{escape(w)}</li>' for w in warned]
    return f'<ul class="badges">{"".join(items)}</ul>'


def _cards(cells: Sequence[Cell], winners: Sequence[Finding]) -> str:
    """Return the best with the most clients, and which other it is significantly better than."""
    most = max((c.clients_count for c in cells), default=0)
    cards: list[str] = []
    for direction in ("write", "read", "mixed"):
        for metric, unit in BY.items():
            chosen = [c for c in cells if c.direction == direction and c.clients_count == most and metric in c.metrics]
            if chosen:
                cards.append(_card(chosen, metric, unit, f"{direction}, {most} client{'s' if most > 1 else ''}", winners))
    return f'<div class="cards">{"".join(cards)}</div>' if cards else ""


def _card(cells: Sequence[Cell], metric: str, unit: str, heading: str, winners: Sequence[Finding]) -> str:
    best = max(cells, key=lambda c: c.metrics[metric].mean)
    work = ("", best.workload, best.direction, best.clients_count, metric)
    found = next((w for w in winners if (w.among, w.workload, w.direction, w.clients_count, w.metric) == work), None)
    if found is None:
        verdict = "the only one measured"
    else:  # the same best, verdict and numbers as in the table of winners
        best = next(c for c in cells if (c.filesystem, c.workload) == (found.best, found.workload))
        verdict = found.verdict
        if not found.grades:
            ratio, p = pair_texts(next(iter(found.verdicts.values())))
            verdict += f" ({ratio} over {found.compared[1]}, p {p if p.startswith('<') else f'= {p}'})"
    if len({c.workload for c in cells}) > 1:
        heading = f"{best.workload}, {heading}"
    value = f"{with_meter(best, metric, MIB)} {unit}"
    return (
        f'<div class="card"><small>{escape(heading)}</small><b>{escape(value)}</b>{escape(best.legend)}'
        f'<br><small class="verdict">{escape(verdict)}</small></div>'
    )


def _table(cells: Sequence[Cell]) -> str:
    laid = table(cells)
    words = [header in ("file system", "redundancy", "workload", "direction") for header in laid.headers]
    return html_table(laid.headers, laid.rows, words)


def _reproduced(found: Content) -> Iterator[str]:
    if found.claims:
        paper = published.paper(found.reproduces)
        yield f"<h2>The paper's claims</h2><p>{escape(f'{paper.authors}: {paper.title}. {claims.counts(found.claims)}')}</p>"
        laid = claims.claims_table(found.claims, claims.graded(found.records))
        words = [header not in ("p", "cases") for header in laid.headers]
        yield f'<div class="prose">{html_table(laid.headers, laid.rows, words)}</div>'
        yield f"<p><small>{escape(claims.NOTE)}</small></p>"
    if found.held:
        laid = paper_comparison.alongside_table(found.held)
        yield "<h2>Measured here and published</h2>"
        yield html_table(laid.headers, laid.rows, [header in paper_comparison.WORDS for header in laid.headers])
        yield f"<p><small>{escape(paper_comparison.NOTE)}</small></p><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in paper_comparison.lines(found.held))
        yield "</ul>"


def _methods(found: Content) -> Iterator[str]:
    if paragraphs := methods(found):
        yield '<h2>Methods</h2><p class="quiet"><small>Generated from the records; ready to paste.</small></p>'
        yield from (f"<p>{escape(text)}</p>" for text in paragraphs)


def _winners(found: Content) -> Iterator[str]:
    if found.winners:
        laid = winners_table(found.winners)
        yield "<h2>Best for each workload</h2>"
        yield html_table(laid.headers, laid.rows, [header not in ("clients", "p") for header in laid.headers])
        yield (
            "<p><small>Over the average of the others, with its 95 % interval. Over the second: the ratio of geometric means, "
            "with interval and p corrected for all pairs of file systems. Significantly better: that interval excludes 1, and "
            "the ratio is at least 2 %. A class of workloads gives each of them the same weight.</small></p>"
        )


def _users(found: Content) -> Iterator[str]:
    laid = mixed_users.users_table(mixes(found.points))
    if laid.rows:
        yield "<h2>Users together and alone</h2>"
        yield html_table(laid.headers, laid.rows, [header in ("file system", "workload", "user") for header in laid.headers])
        yield f"<p><small>{escape(mixed_users.NOTE)}</small></p>"


def _scaling(found: Content) -> Iterator[str]:
    grown = scaling(found.cells)
    if grown:
        yield "<h2>Scaling with storage hosts</h2>"
        laid, laws = scalability.scaling_table(grown), scalability.laws_table(grown)
        yield html_table(laid.headers, laid.rows, [h in ("file system", "workload", "direction", "of") for h in laid.headers])
        yield html_table(laws.headers, laws.rows, [header != "clients" for header in laws.headers])
        yield f"<p><small>{escape(scalability.NOTE)}</small></p>"


def _muons(cells: Sequence[Cell]) -> Iterator[str]:
    laid = muons.muons_table(cells)
    if laid.rows:
        yield "<h2>The muon analysis</h2>"
        yield html_table(laid.headers, laid.rows, [header in ("file system", "workload") for header in laid.headers])
        yield f"<p><small>{escape(muons.NOTE)}</small></p>"


def _budgets(found: Content) -> Iterator[str]:
    laid, apart = budget_table(found.metered), unexplained_table(found.metered)
    if laid.rows:
        words = ("file system", "workload", "direction", "energy", "largest term", "unknown")
        yield "<h2>Uncertainty of the energies</h2>"
        yield html_table(laid.headers, laid.rows, [header in words for header in laid.headers])
        yield (
            "<p><small>± is half of the 95 % interval of one trial and k its coverage factor; the terms are standard "
            "uncertainties in % of the energy, averaged over repetitions. Net: the servers; gross: with the switch; "
            "dynamic: net without idle; controller: net without disks.</small></p>"
        )
    if apart.rows:
        yield "<h3>Power that the meters do not explain</h3>"
        yield html_table(apart.headers, apart.rows, [True, True, *[False] * 5])


def _amplification(cells: Sequence[Cell]) -> Iterator[str]:
    laid = amplification_table(cells)
    if laid.rows:
        yield "<h2>Bytes per user byte</h2>"
        yield html_table(laid.headers, laid.rows, [header in ("file system", "workload", "direction") for header in laid.headers])
        yield (
            "<p><small>Measured from the baseline to the end of the tail; in parentheses, what redundancy alone explains. "
            "Network bytes include headers: up to 4.6 % more than the data, and 2.3 % of them in the other direction for "
            "acknowledgements."
            "</small></p>"
        )


def _failed(records: Sequence[Record]) -> Iterator[str]:
    failed = [r for r in records if r.status == "failed"]
    if failed:
        yield "<h2>Failed trials</h2><ul>"
        yield from (f'<li><span class="bad">{escape(r.trial.id)}</span>: {escape(r.reason)}</li>' for r in failed)
        yield "</ul>"


def _figure(name: str, found: Content, root: str) -> str:
    chooser = ""
    if name == "timeline":
        options = [
            f'<option value="{escape(r.trial.id)}" data-folder="{escape(f"{root}/trials/{r.trial.id}/attempt-{r.attempt}/")}">'
            f"{escape(r.trial.id)}</option>"
            for r in found.records
            if r.trial.id in found.timelines
        ]
        chooser = f'<select id="trial" aria-label="trial">{"".join(options)}</select><a id="raw">raw files</a> '
    tools = f'{chooser}<button data-save="{name}">save as SVG</button>'
    return f'<figure id="{name}"><div class="drawing"></div><div class="tools">{tools}</div></figure>'


def _doubts(found: Content) -> Iterator[str]:
    yield from _said("Doubts", found.doubts, found.cells, [cell.doubts for cell in found.cells])
    yield from _said("Omitted", (), found.cells, [cell.omitted for cell in found.cells])


def _said(heading: str, whole: Sequence[str], cells: Sequence[Cell], said: Sequence[Sequence[str]]) -> Iterator[str]:
    """List doubts of the campaign as a whole, then those of rows, with their places."""
    places: dict[str, list[str]] = {}
    for cell, own in zip(cells, said, strict=True):
        for words in own:
            places.setdefault(words, []).append(f"{cell.filesystem} {cell.direction}, {cell.clients_count} clients")
    if places or whole:
        yield f"<h2>{heading}</h2><ul>"
        yield from (f"<li>{escape(words)} <small>(the campaign)</small></li>" for words in whole)
        for words, where in sorted(places.items(), key=lambda item: -len(item[1])):
            rows = "all rows" if len(where) == len(cells) else "; ".join(where[:6]) + (" …" if len(where) > 6 else "")
            yield f"<li>{escape(words)} <small>({escape(rows)})</small></li>"
        yield "</ul>"


def _all_metrics(cells: Sequence[Cell]) -> Iterator[str]:
    names = list(dict.fromkeys(name for cell in cells for name in cell.metrics))

    def text(interval: Interval | None) -> str:
        return number(interval.mean) if interval and abs(interval.mean) >= 1e-3 else f"{interval.mean:.3g}" if interval else "–"

    headers = ("file system", "direction", "clients", *names)
    rows = [(c.filesystem, c.direction, str(c.clients_count), *(text(c.metrics.get(n)) for n in names)) for c in cells]
    yield "<h2>All metrics</h2><details><summary>Means in SI units</summary>"
    yield html_table(headers, rows, [True, True, *[False] * (len(names) + 1)])
    yield "</details>"


def _circumstances(found: Content) -> Iterator[str]:
    deployments: dict[str, list[Record]] = {}  # the facts of a deployment are gathered once, and are its own
    for record in found.records:
        if record.facts:
            text = json.dumps([record.trial.filesystem.label, record.facts], sort_keys=True, default=str)
            deployments.setdefault(text, []).append(record)
    for records in deployments.values():
        count = f"{len(records)} trial{'s' if len(records) > 1 else ''}"
        yield _json(f"Deployment of {records[0].trial.filesystem.label} ({count}), as its daemons report it", records[0].facts)
    if found.records:
        yield _json("Machine and software", found.records[-1].environment)
    overrides = "".join(f"# set {o}\n" for o in found.overrides)
    yield f"<details><summary>The campaign</summary><pre>{escape(overrides + found.text)}</pre></details>"
    yield (
        "<details><summary>How these numbers are made</summary>"
        "<p>The headline window of a read runs from the first client's start to the last client's end; that of a write ends "
        "when the servers' disks hold the data. Laying out files and dropping caches come before. Mean power is energy over "
        "time. Energy is computed by each meter's semantics; a failed read is a gap, and a window with less than 95 % covered "
        "by samples has no energy.</p>"
        "<p>Modelled power comes from the catalogue's idle and dynamic coefficients and the hosts' CPU and disk counters. It "
        "is not a measurement: use it to compare how file systems use the same hardware. On an emulated testbed, CPU, network "
        "and disk run at the scale, and time is dilated by it; power is not scaled.</p></details>"
    )
    yield f'<p class="quiet"><small>perjoule {__version__}</small></p>'


def _json(title: str, value: object) -> str:
    text = json.dumps(value, indent=1, default=str)
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
