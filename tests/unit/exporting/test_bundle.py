"""Results for others, and back: the long table, the bundle that checks itself, and what it refuses."""

import csv
import io
import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from perjoule import exporting, store
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.machine.spreadsheets import unmarked
from perjoule.model.errors import MachineError
from perjoule.summary import summary
from typed import present
from unit.exporting.conftest import SAID


def crate(bundle: Path) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(bundle) as opened:
        document = json.loads(opened.read("ro-crate-metadata.json"))
    return {entity["@id"]: entity for entity in document["@graph"]}


def rewritten(bundle: Path, target: Path, change) -> Path:
    """The same bundle with its files as `change` gives them: name and content, or None."""
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as sink:
        for entry in source.infolist():
            changed = change(entry.filename, source.read(entry))
            if changed is not None:
                sink.writestr(*changed)
    return target


# The table


def test_every_metric_of_every_trial_and_cell_is_a_row_with_its_unit(results: store.Results) -> None:
    cells = summary(results).cells
    rows = list(exporting.rows(results, cells))
    assert all(row.unit for row in rows)
    of_trials = [row for row in rows if row.of == "trial" and row.metric == "throughput_bytes_per_s"]
    assert len(of_trials) == len(results.latest()) == 7
    (mean,) = [
        r
        for r in rows
        if r.of == "cell" and (r.workload, r.metric) == ("ior write 1 MiB", "throughput_bytes_per_s")
    ]
    own = [row.value for row in of_trials if row.workload == "ior write 1 MiB"]
    assert mean.value == pytest.approx(sum(own) / 3)
    assert (mean.n, mean.unit) == (3, "B/s")
    assert present(mean.low) < mean.value < present(mean.high)


def test_csv_and_parquet_hold_the_same_numbers(results: store.Results, tmp_path: Path) -> None:
    rows = list(exporting.rows(results, summary(results).cells))
    exporting.write_parquet(rows, tmp_path / "x.parquet")
    columns = pq.read_table(tmp_path / "x.parquet").to_pydict()
    read = list(csv.DictReader(io.StringIO(exporting.csv_text(rows), newline="")))
    assert columns["value"] == [float(row["value"]) for row in read] == [row.value for row in rows]
    assert columns["metric"] == [row["metric"] for row in read]
    assert columns["doubts"] == [row["doubts"] for row in read]


# The bundle


@pytest.mark.parametrize(
    "text",
    ["=cmd|'/c calc'!A1", "+1", "-5", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "'", "'=1", "", "a=1", "5"],
)
def test_no_text_of_a_csv_file_is_a_formula_and_numbers_stay_numbers(
    text: str, results: store.Results, tmp_path: Path
) -> None:
    row = next(exporting.rows(results, summary(results).cells))._replace(
        filesystem=text, value=-5.0, low=-6.5
    )
    (cells,) = csv.DictReader(io.StringIO(exporting.csv_text([row]), newline=""))
    assert not cells["filesystem"].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))
    assert unmarked(cells["filesystem"]) == text
    assert (cells["value"], cells["low"]) == ("-5.0", "-6.5")
    exporting.write_parquet([row], tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist()[0]["filesystem"] == text


def test_what_was_bundled_verifies_and_the_same_results_give_the_same_bytes(
    bundle: Path, results: store.Results
) -> None:
    again = bundle.with_name("again.zip")
    exporting.write_bundle(results, again, "table", SAID)
    assert again.read_bytes() == bundle.read_bytes()
    found = exporting.verify_bundle(bundle)
    assert found.differences == ()
    assert found.checked_count > 80


@pytest.mark.heavy
def test_a_byte_changed_anywhere_in_a_file_is_found_and_named(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as opened:
        entries = opened.infolist()
    for entry in entries:
        damaged = bytearray(content)
        damaged[entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2] ^= 0x10
        path = tmp_path / "damaged.zip"
        path.write_bytes(damaged)
        differences = exporting.verify_bundle(path).differences
        assert differences
        assert all(words.startswith(f"{entry.filename}:") for words in differences), (
            entry.filename,
            differences,
        )


def test_a_number_changed_with_its_zip_checksum_is_found(bundle: Path, tmp_path: Path) -> None:
    def faster(name, content):
        return name, content.replace(b"633.2937", b"933.2937")

    differences = exporting.verify_bundle(rewritten(bundle, tmp_path / "x.zip", faster)).differences
    assert differences
    assert all("iterations.json: differs from the file that was bundled" in words for words in differences)


def test_files_that_are_missing_or_were_added_are_named(bundle: Path, tmp_path: Path) -> None:
    less = rewritten(
        bundle, tmp_path / "x.zip", lambda name, content: None if name == "report.html" else (name, content)
    )
    assert exporting.verify_bundle(less).differences == ("report.html: is not in the bundle",)
    with zipfile.ZipFile(less, "a") as opened:
        opened.writestr("report.html", "another")
        opened.writestr("more.txt", "more")
    words = exporting.verify_bundle(less).differences
    assert words == (
        "more.txt: was not there when the bundle was written",
        "report.html: differs from the file that was bundled",
    )


def test_a_number_changed_with_all_its_checksums_is_found_by_recomputing(
    bundle: Path, tmp_path: Path
) -> None:
    with open_archive(bundle) as archive, unpacked(archive) as folder:
        table = folder / "table.json"
        changed = json.loads(table.read_text())
        changed["cells"][0]["metrics"]["duration_s"]["mean"] *= 1.01
        table.write_text(json.dumps(changed))
        (folder / "checksums.sha256").unlink()
        exporting.write_bundle(store.open_results(folder), tmp_path / "forged.zip", "table", SAID)
    differences = exporting.verify_bundle(tmp_path / "forged.zip").differences
    assert any("duration_s" in words for words in differences)
    assert not any("/tmp" in words for words in differences)


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", "C:/evil", "./evil", "a//evil", ""]
)
def test_a_name_that_would_lead_out_of_the_folder_is_refused(name: str, bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(tmp_path / "x.zip", "w") as sink:
        sink.writestr(zipfile.ZipInfo(name), "evil")
        sink.writestr("checksums.sha256", source.read("checksums.sha256"))
    with pytest.raises(MachineError, match="does not belong in a bundle"):
        exporting.verify_bundle(tmp_path / "x.zip")
    with pytest.raises(MachineError, match="does not belong in a bundle"), open_archive(tmp_path / "x.zip"):
        pass


def test_a_link_in_a_bundle_is_refused(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as sink:
        sink.writestr(entry, "/etc/passwd")
    with pytest.raises(MachineError, match="does not belong in a bundle"):
        exporting.verify_bundle(tmp_path / "x.zip")


def test_a_file_that_has_become_a_link_is_in_no_bundle(tmp_path: Path) -> None:
    """Whoever owns the folder could have anything published that its reader can read."""
    secret, folder = tmp_path / "secret", tmp_path / "results"
    secret.write_text("mine")
    folder.mkdir()
    (folder / "kept").write_text("theirs")
    for name, target in (("log", secret), ("raw", tmp_path)):
        (folder / name).symlink_to(target)
    for name in ("log", "raw/secret"):
        files = {"kept": folder / "kept", "log": folder / name}
        with pytest.raises(MachineError, match=f"it has become a file outside of {folder}"):
            exporting.write_zip(tmp_path / "x.zip", files, inside=folder)
    assert {path.name for path in tmp_path.iterdir()} == {"secret", "results"}


def test_what_is_not_a_bundle_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("nothing")
    with pytest.raises(MachineError, match="not a bundle"):
        exporting.verify_bundle(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as sink:
        sink.writestr("a", "b")
    with pytest.raises(MachineError, match="no checksums"):
        exporting.verify_bundle(tmp_path / "x.zip")


# RO-Crate 1.1


def test_the_crate_describes_itself_and_its_root(bundle: Path) -> None:
    entities = crate(bundle)
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert descriptor["about"] == {"@id": "./"}
    assert root["@type"] == "Dataset"
    assert (root["name"], root["description"]) == (SAID.name, SAID.description)
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert root["datePublished"]


def test_every_file_is_a_part_of_the_crate_with_its_size_and_checksum(bundle: Path) -> None:
    entities = crate(bundle)
    listed = {part["@id"] for part in entities["./"]["hasPart"]}
    with zipfile.ZipFile(bundle) as opened:
        sizes = {entry.filename: entry.file_size for entry in opened.infolist()}
        sums = dict(line.split("  ")[::-1] for line in opened.read("checksums.sha256").decode().splitlines())
    assert listed == sizes.keys() - {"ro-crate-metadata.json"}
    for name in listed:
        assert entities[name]["@type"] == "File"
        assert entities[name]["contentSize"] == str(sizes[name])
        assert entities[name].get("sha256") == sums.get(name)
    assert sums.keys() == sizes.keys() - {"checksums.sha256"}


def test_no_entity_of_the_crate_refers_to_one_that_is_not_there(bundle: Path) -> None:
    entities = crate(bundle)

    def references(value):
        if isinstance(value, dict):
            yield from (
                [value["@id"]]
                if set(value) == {"@id"}
                else [r for v in value.values() for r in references(v)]
            )
        elif isinstance(value, list):
            yield from (r for one in value for r in references(one))

    used = {r for entity in entities.values() for r in references(entity)}
    assert used - entities.keys() == {"https://w3id.org/ro/crate/1.1"}


def test_the_citation_has_what_the_format_needs(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as opened:
        lines = opened.read("CITATION.cff").decode().splitlines()
    assert lines[0] == "cff-version: 1.2.0"
    assert {'title: "a study"', '  - name: "Ada Lovelace"', 'license: "CC-BY-4.0"', "type: dataset"} <= set(
        lines
    )
    assert [line for line in lines if line.startswith("message: ")]


def test_a_bundle_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made,
        made.open("trials/record.json", "w", force_zip64=True) as sink,
    ):
        for _ in range(32):
            sink.write(b"0" * 2**20)
    for call in (exporting.verify_bundle, lambda path: open_archive(path).__enter__()):
        with pytest.raises(
            MachineError,
            match=r"trials/record.json\" unpacks from 3\d.* KiB to 32 MiB, more than any results",
        ):
            call(path)


def test_a_bundle_whose_directory_points_nowhere_is_refused(bundle: Path, tmp_path: Path) -> None:
    content = bytearray(bundle.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 42 : at + 46] = b"\xff\xff\xff\x7f"
    (tmp_path / "x.zip").write_bytes(content)
    try:
        assert exporting.verify_bundle(tmp_path / "x.zip").differences
    except MachineError as error:
        assert "damaged" in str(error)
