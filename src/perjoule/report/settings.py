"""Which settings of file systems were not their own, and why: sentences of the methods."""

from collections.abc import Iterator, Mapping

from perjoule.model import Record, value_at
from perjoule.model.units import listed

REASONS = {  # for settings that are not a file system's own
    "emulation": "to fit emulated hosts on one machine",
    "comparability": "for trials that differ in nothing else",
    "observation": "to know its state in time",
    "start": "to be soon like one that has long run",
}
NONE = "none"  # in the place of an empty value


def changed(systems: Mapping[str, Record]) -> Iterator[str]:
    """Say which settings were not the file systems' own, and why; those with the same ones together."""
    labels: dict[str, list[str]] = {}
    for label, record in systems.items():
        reasons = value_at(record.facts, "filesystem", "changed")
        each = reasons.items() if isinstance(reasons, Mapping) else ()
        texts = (
            f"{', '.join(f'{name} {value or NONE}' for name, value in values.items())} "
            f"({REASONS.get(reason, reason)})"
            for reason, values in each
            if isinstance(values, Mapping)
        )
        labels.setdefault("; ".join(texts), []).append(label)
    for text, names in labels.items():
        if text:
            yield f"Settings of {listed(names)} that were changed from the file system's own: {text}."
