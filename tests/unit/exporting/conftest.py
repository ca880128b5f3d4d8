"""Imported results and their bundle."""

from pathlib import Path

import pytest

from perjoule import exporting, importing, report, store
from perjoule.importing.sources import sources
from places import TRANSCRIPTS

REAL = TRANSCRIPTS / "imported"
SAID = exporting.Description("a study", "what it is about", "CC-BY-4.0", ("Ada Lovelace",))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    folder = tmp_path_factory.mktemp("export") / "results"
    made = importing.create(folder)
    importing.bring(
        made, sources([str(REAL / "ior/iterations.json"), str(REAL / "rados/write.json")], "UTC")[0]
    )
    report.write(made, folder / "report.html")
    return made


@pytest.fixture(scope="module")
def bundle(results: store.Results) -> Path:
    target = results.folder.parent / "study.zip"
    exporting.write_bundle(results, target, "table", SAID)
    return target
