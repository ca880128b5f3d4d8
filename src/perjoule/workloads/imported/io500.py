"""The folder of an IO500: each of its phases is a run. https://io500.org, https://github.com/IO500/io500

result.txt has rates and local times of day, to a second; the tables of ranks have the amounts.
"""

import csv
import re
from collections.abc import Iterator, Mapping

from perjoule.model import Outcome
from perjoule.workloads import ior
from perjoule.workloads.imported.mdtest import brief, direction, results
from perjoule.workloads.imported.run import Run, Texts, Told, moment_s

RESULT, SUMMARY, CONFIG = "result.txt", "result_summary.txt", "config.ini"
DATE = "%Y-%m-%d %H:%M:%S"
STARTS = "IO500 reports the start of a phase to 1 s"
_SECTION = re.compile(r"^\[([\w-]+)\]\n(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r"^([\w-]+) *= *(.*?) *$", re.MULTILINE)
_INVALID = re.compile(r"^; ERROR INVALID (.*\S)", re.MULTILINE)
_NODES = re.compile(r"^nodes +: (\d+)|task\(s\) on (\d+) node\(s\)", re.MULTILINE)
_MACHINE = re.compile(r"^Machine +: \S+ (\S+)", re.MULTILINE)
_OPERATION = {"write": "creation", "delete": "removal"}


def phases(texts: Texts) -> tuple[str, ...]:
    """Name the measured phases of a folder."""
    return tuple(
        name for name, keys in _SECTION.findall(texts[RESULT]) if "score" in dict(_KEY.findall(keys)) and name != "SCORE"
    )


def files_of(phase: str, names: Mapping[str, object]) -> tuple[str, ...]:
    """Name the files that describe a phase."""
    wanted = (RESULT, SUMMARY, CONFIG, f"{phase}.txt", f"{phase}.csv", "ior-easy-write.txt")
    return tuple(name for name in wanted if name in names)


def runs(texts: Texts, told: Told) -> tuple[Run, ...]:
    """Read all phases. Raises ValueError, LookupError."""
    head = dict(_KEY.findall(texts[RESULT].partition("\n[ior")[0]))
    known = [text for name, text in texts.items() if name.endswith(".txt")]
    machine = next((found[1] for text in known if (found := _MACHINE.search(text))), "")
    nodes = [int(found[1] or found[2]) for text in known if (found := _NODES.search(text))]
    hosts = told.hosts(machine, max(nodes, default=1))
    datadir = dict(_KEY.findall(texts.get(CONFIG, ""))).get("datadir", "")
    sections = dict(_SECTION.findall(texts[RESULT]))
    return tuple(
        _phase(name, sections[name], texts.get(f"{name}.csv", ""), head, hosts, datadir, told.zone) for name in phases(texts)
    )


def _phase(name: str, section: str, ranks: str, head: Mapping[str, str], hosts: tuple[str, ...], datadir: str, zone: str) -> Run:
    keys = dict(_KEY.findall(section))
    score, delta_s, began_s = float(keys["score"]), float(keys["t_delta"]), moment_s(keys["t_start"], DATE, zone)
    transfer = re.search(r" -t[ =](\d+)([kmg]?)\b", keys.get("exe", ""))
    size_bytes = int(transfer[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[transfer[2]] if transfer else None
    moves = name.startswith("ior-")
    doubts = [STARTS, *(f"IO500 calls it invalid: {words}" for words in _INVALID.findall(section))]
    if len(hosts) > 1:
        doubts.append("IO500 reports the sum of all nodes: each node is assigned an equal share")
    per_s = score * (2**30 if moves else 1000)
    if not per_s:
        return Run(name, (), size_bytes, datadir, None, "IO500 reports no rate for it")
    rows = list(csv.DictReader(ranks.splitlines()))
    if moves and rows and "runtime-with-openclose" in rows[0]:
        count = sum(round(float(row["throughput-withopenclose"]) * float(row["runtime-with-openclose"])) for row in rows)
    elif "total-files" in keys:
        count = int(keys["total-files"])
    elif not moves and (exact := list(_items(rows))):
        count = exact[0]
    else:
        count = round(per_s * delta_s)
        doubts.append("the amount of work is rate times time, and that time includes what IO500 does around a phase")
    took_s = count / per_s
    if moves:
        way = "read" if name.endswith("read") else "write"
        done = ior.results(dict.fromkeys(hosts, (began_s, began_s + took_s)), way, count, size_bytes or 1)
    else:
        word = name.rsplit("-", 1)[-1]
        done = results(hosts, "read" if word == "find" else direction(_OPERATION.get(word, word)), began_s, took_s, count)
    outcome = Outcome(head.get("version", "io500"), done, (*doubts, *brief(took_s)))
    ranks_count = f"{head['procs']} ranks" if head.get("procs", "1") != "1" else ""
    return Run(name, tuple(filter(None, (ranks_count,))), size_bytes, datadir, outcome)


def _items(rows: list[dict[str, str]]) -> Iterator[int]:
    """Return the number of operations in mdtest's table of ranks, without making the tree."""
    for row in rows:
        if row.get("rank") == "all":
            for key, rate in row.items():
                if key.startswith(("rate-File", "rate-Directory")) and rate:
                    yield round(float(rate) * float(row[key.replace("rate-", "time-")]))
