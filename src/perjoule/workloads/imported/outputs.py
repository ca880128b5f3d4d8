"""A file of programs' outputs: whose formats it has, and the output of each host, rank or container in it, without what
launchers and logs put before each line.

pdsh, clush and `srun --label`: https://github.com/chaos/pdsh; `mpirun --tag-output`: https://docs.open-mpi.org;
`kubectl logs --prefix` and `--timestamps`: https://kubernetes.io/docs; `docker compose logs`: https://docs.docker.com;
`journalctl -o short` and `short-iso`: https://systemd.io; files of containers: https://kubernetes.io/docs/concepts/cluster-administration/logging;
jobs: https://docs.gitlab.com/ci/jobs/job_logs; `ts`: https://joeyh.name/code/moreutils
"""

import re
from collections.abc import Mapping
from io import StringIO
from textwrap import dedent

MOST_LEVELS = 3  # of prefixes: a container's time, behind its name
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_TIME_OF_SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
# what comes before a line; the first form that all lines have
_PREFIXES = tuple(
    re.compile(form)
    for form in (
        r"\[pod/(?P<name>[^/\]]+)/[^/\]]+\] ?",
        r"\[[^\],]*,(?P<name>\d+)\]<std(?:out|err|diag)>: ?",
        r"\[(?P<name>\d+)\] ?",
        r"(?P<name>[\w.-]+) *\| ?",
        rf"(?:{_TIME_OF_SYSLOG}|{_TIME}) (?P<name>[\w.-]+) [\w./-]+\[\d+\]: ?",
        rf"(?P<name>){_TIME} (?:std(?:out|err) [FP]|[\da-f]{{2}}[EO])(?:[ +]|$)",  # of a container's file, of GitLab
        rf"(?P<name>)(?:\[{_TIME}\]|{_TIME}|{_TIME_OF_SYSLOG})(?: |$)",
        r"(?P<name>)> ?",  # a quotation
        r"(?P<name>[\w.-]+): ?",
    )
)
_KEYS = {  # of JSON, by format
    "fio": ("fio version",),
    "sadf": ("sysstat", "hosts"),
    "ior": ("Command line", "tests"),
    "rados": ("datas", "started", "finished", "avg_lat"),
    "elbencho": ("phase_type", "iso_start_date"),
}


def formats_of(text: str) -> tuple[str, ...]:
    """Detect the formats of a text by its content, such as those of a terminal's log: of
    `workloads.imported`, or "sadf".
    """
    known = {
        "mdtest": "mdtest-" in text and " was launched with " in text,
        "ior": bool(re.search(r"^IOR-\S+: MPI Coordinated Test", text, re.MULTILINE)),
        "elbencho": bool(re.search(r"^ISO date,.*\boperation,", text, re.MULTILINE)),
    }
    for name, keys in _KEYS.items():
        known[name] = known.get(name, False) or all(re.search(rf'"{key}"\s*:', text) for key in keys)
    return tuple(name for name, is_there in known.items() if is_there)


def outputs_of(text: str) -> Mapping[str, str]:
    """Return the output of each host, rank or container by its name, in the order of their first lines: under "" where no
    prefix names it. Colours, a common indentation, and blank lines between all others are left
    out.
    """
    plain = _without_blanks(_COLOUR.sub("", text))
    outputs = {"": dedent(plain) if plain.lstrip("\n")[:1] in (" ", "\t") else plain}
    for _ in range(MOST_LEVELS):
        outputs = {
            "-".join(filter(None, (outer, inner))): lines
            for outer, output in outputs.items()
            for inner, lines in _without_prefix(output).items()
        }
    return outputs


def _without_blanks(text: str) -> str:
    """Return a text without blank lines if they are every second one, as where ends of lines were doubled."""
    lines = list(StringIO(text))
    return "".join(lines[::2]) if len(lines) > 2 and not any(map(str.strip, lines[1::2])) else text


def _without_prefix(text: str) -> dict[str, str]:
    """Return the lines of each name, if all have a prefix of one form; else the text."""
    first_line = text[: text.find("\n", len(text) - len(text.lstrip()))].lstrip()
    forms = [form for form in _PREFIXES if form.match(first_line)]
    lines = [line for line in text.split("\n") if line.strip()] if forms else []
    for form in forms:
        matches = [match for line in lines if (match := form.match(line))]
        if len(matches) == len(lines):
            lines_of: dict[str, list[str]] = {}
            for match in matches:
                lines_of.setdefault(match["name"], []).append(match.string[match.end() :] + "\n")
            return {name: "".join(own_lines) for name, own_lines in lines_of.items()}
    return {"": text}
