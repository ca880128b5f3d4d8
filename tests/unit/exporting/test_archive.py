"""Bundles from strangers: what is refused, in one sentence, before anything is unpacked; and what other
programs write.
"""

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from attacks.bundles import HOSTILE
from perjoule import exporting
from perjoule.exporting import archive, zipped
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.importing.power import logs
from perjoule.importing.sources import sources
from perjoule.machine import portable
from perjoule.model.errors import CampaignError, MachineError
from perjoule.publishing import checked
from unit.exporting.conftest import REAL


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_bundle_is_refused_in_a_sentence(what, bundle: Path, tmp_path: Path, monkeypatch) -> None:
    path, scratch = tmp_path / "hostile.zip", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    HOSTILE[what](bundle, path)
    for read in (exporting.verify_bundle, checked):
        with pytest.raises(MachineError) as refusal:
            read(path)
        assert str(refusal.value).startswith(f"{path}: ")
        assert str(refusal.value).isprintable()
        assert len(str(refusal.value)) < 500
        assert not list(scratch.iterdir())


def test_what_other_programs_write_is_read(bundle: Path, tmp_path: Path) -> None:
    subprocess.run(["unzip", "-q", bundle, "-d", tmp_path / "files"], check=True)
    subprocess.run(["zip", "-q", "-r", tmp_path / "zip.zip", "."], cwd=tmp_path / "files", check=True)
    piped = subprocess.run(
        ["zip", "-q", "-r", "-", "."], cwd=tmp_path / "files", stdout=subprocess.PIPE, check=True
    )
    (tmp_path / "streamed.zip").write_bytes(piped.stdout)  # with sizes after the data, as a pipe wants them
    with (
        zipfile.ZipFile(bundle) as source,
        zipfile.ZipFile(tmp_path / "wide.zip", "w", zipfile.ZIP_DEFLATED) as sink,
    ):
        for entry in source.infolist():
            with sink.open(entry.filename, "w", force_zip64=True) as file:
                file.write(source.read(entry))
    for name in ("zip", "streamed", "wide"):
        assert exporting.verify_bundle(tmp_path / f"{name}.zip").differences == ()


def test_more_files_than_16_bits_count_are_read() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for number in range(66_000):
            made.writestr(str(number), b"")
    zipped.check(content)
    with zipfile.ZipFile(content) as made:
        assert len(made.infolist()) == 66_000


def test_a_bundle_above_the_ceiling_is_read_when_it_is_raised(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MachineError, match=r"it unpacks to \d.*, more than 1000 B; .*--most"):
        exporting.verify_bundle(bundle, 1000)
    assert exporting.verify_bundle(bundle, 10**12).differences == ()


def test_a_bundle_leaves_the_reserve_of_the_disk(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = os.statvfs("/")
    total_bytes = disk.f_blocks * disk.f_frsize
    monkeypatch.setattr(archive, "reserve_bytes", lambda total: total_bytes)
    refused = pytest.raises(MachineError, match=r"not enough space to unpack it \(.* in reserve")
    with open_archive(bundle) as opened, refused, unpacked(opened):
        pass


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "trials/x-1/attempt-1/raw/client-1_bw.1.log",
        "CITATION.cff",
        ".hidden",
        "Größe/µ",
        "nul-1",
        "日本",
    ],
)
def test_usual_names_are_kept(path: str) -> None:
    assert portable.fault(path) == ""


def test_results_with_a_name_that_no_bundle_can_have_are_not_bundled(results, tmp_path: Path) -> None:
    odd = results.folder / "notes "
    odd.write_text("x")
    try:
        with pytest.raises(
            MachineError,
            match=r'"notes " has a part that begins or ends with a blank.*, so no bundle can have it',
        ):
            exporting.write_bundle(results, tmp_path / "x.zip", "table", exporting.Description("x"))
    finally:
        odd.unlink()


@pytest.mark.parametrize("name", ["a?.json", "a.json ", "\u202ea.json", "nul.json"])
def test_a_file_whose_name_no_bundle_could_have_is_not_imported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes((REAL / "ior/iterations.json").read_bytes())
    for find in (lambda: sources([str(tmp_path)], "UTC"), lambda: logs(tmp_path / name, (), (), "UTC")):
        with pytest.raises(CampaignError, match="so no bundle of the results could have it; rename it"):
            find()
