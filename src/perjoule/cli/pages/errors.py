"""The list of all kinds of errors, from their classes."""

from collections.abc import Iterator
from inspect import cleandoc

from perjoule.model import errors
from perjoule.model.errors import CampaignError, Interrupted, MachineError, PerjouleError, WorkloadError

HEAD = """\
An error is a sentence for people: where, what, and what to do. Scripts compare its exit code, or its `id`, which the record of
a failed trial has, and `--json`. One without a dot is of none of the kinds that follow it. After a `transient` one, a run deploys
afresh and goes on.
"""
TITLES = {
    CampaignError.exit_code: "Wrong request",
    MachineError.exit_code: "Machine not ready",
    WorkloadError.exit_code: "Load failed",
    Interrupted.exit_code: "Interrupted",
}


def body() -> str:
    """Lay out the page below its title: a table for each exit code."""
    return HEAD + "".join(line for code in TITLES for line in section(code))


def section(code: int) -> Iterator[str]:
    """Lay out the errors with an exit code."""
    yield f"\n## {code}: {TITLES[code]}\n\n| id | meaning, and what to do |\n|---|---|\n"
    for kind in kinds():
        if kind.exit_code == code:
            yield f"| `{kind.id}` | {' '.join(cleandoc(kind.__doc__ or '').split())} |\n"


def kinds() -> list[type[PerjouleError]]:
    """List the kinds of errors by their ids."""
    listed: list[type[PerjouleError]] = [getattr(errors, name) for name in errors.__all__]
    return sorted((kind for kind in listed if kind is not PerjouleError), key=lambda kind: kind.id)
