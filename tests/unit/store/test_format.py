"""What is kept has a number: whoever changes it raises `FORMAT`, so old results are read and verified as
what they are.
"""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from measured import measured
from perjoule.model import Cell, Record
from perjoule.model.records import FORMAT
from perjoule.store import Head
from perjoule.store.journal import JournalEntry
from perjoule.store.samples import COLUMNS
from perjoule.summary import summary

FORMATS = Path(__file__).with_name("formats.json")
METERS = (
    'kind = "system"\nrate = "50 Hz"\n[[meter]]\nkind = "modelled"\nrate = "50 Hz"\n[[meter]]\nkind = '
    '"simulated"'
)


def shape(cls, seen=()):
    """The fields of a dataclass and of those below it, with their types as written."""
    found = {f"{cls.__name__}.{field.name}": str(field.type) for field in dataclasses.fields(cls)}
    words = set(re.findall(r"\w+", " ".join(found.values())))
    import perjoule.model as model

    for name in sorted(words):
        below = getattr(model, name, None)
        if dataclasses.is_dataclass(below) and below is not cls and name not in seen:
            found |= shape(below, (*seen, cls.__name__, name))
    return found


def kept(folder):
    """What a small campaign leaves: fields, columns, channels, files, metrics."""
    results = measured(folder, 'clients = [1, 2]\nsettle = "30 ms"', size="2 MiB", meter=METERS)
    results.keep_table(summary(results).cells)
    record = results.latest()[0]
    files = sorted(
        str(p.relative_to(results.folder_of(record)))
        for p in results.folder_of(record).rglob("*")
        if p.is_file()
    )
    channels = {
        (s.channel.meter, s.channel.quantity, s.channel.unit, s.channel.semantics)
        for r in results.latest()
        for s in results.series(r)
    }
    return {
        "fields": {
            name: text for cls in (Record, Cell, JournalEntry, Head) for name, text in shape(cls).items()
        },
        "columns": [*COLUMNS],
        "channels": sorted(map(list, channels)),
        "files": files,
        "outcome": sorted(json.loads((results.folder_of(record) / "record.json").read_text())["outcome"]),
        "folder": sorted(
            p.name for p in results.folder.iterdir() if p.name not in ("lock", "summary", "progress.jsonl")
        ),
    }


def test_what_is_kept_changes_with_a_new_format_number_only(tmp_path):
    formats = json.loads(FORMATS.read_text())
    assert max(map(int, formats)) == FORMAT, "add what the new format keeps, and leave that of the older ones"
    now, stated = json.loads(json.dumps(kept(tmp_path / "r"))), formats[str(FORMAT)]
    for part in stated:
        assert now[part] == stated[part], (
            f"{part} of what is kept changed: raise FORMAT, and say how older results verify"
        )


@pytest.mark.parametrize("name", ["results.json", "table.json"])
def test_each_file_of_a_folder_states_the_format(tmp_path, name):
    results = measured(tmp_path / "r", "repetitions = 1", size="1 MiB")
    results.keep_table(())
    assert json.loads((results.folder / name).read_text())["version"] == FORMAT
    assert results.latest()[0].version == FORMAT
