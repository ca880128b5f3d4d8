"""What a reviewer is told of results that were imported."""

import zipfile
from pathlib import Path

from click.testing import CliRunner

from perjoule.cli import cli
from unit.importing.foreign import POWER, fio, job, moved


def test_the_appendix_of_imported_trials_does_not_say_that_perjoule_could_run_them(tmp_path: Path) -> None:
    report, power = tmp_path / "a.json", tmp_path / "power.csv"
    ended_s = 1_795_000_100
    report.write_text(fio(job(write=moved(65536 * 16000, 60_000)), ended_ms=ended_s * 1000))
    power.write_text(
        "t,w\n" + "".join(f"{ended_s - 90 + second},{50 + second % 3}\n" for second in range(120))
    )
    declared = [word for option in POWER for word in ("--set", option)]
    words = [
        "import",
        str(tmp_path / "into"),
        str(report),
        "--power",
        str(power),
        *declared,
        "--filesystem",
        "nfs",
    ]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    words = ["export", str(tmp_path / "into"), "--artifact", str(tmp_path / "a.zip"), "--license", "CC0-1.0"]
    done = CliRunner().invoke(cli, [*words, "--author", "Ada L"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        appendix = packed.read("README.md").decode()
    assert "perjoule run" not in appendix and "can't run them again" in appendix
    assert "doesn't read it" not in appendix
    (row,) = [line for line in appendix.splitlines() if line.startswith("| nfs ")]
    assert row.endswith("| wall |")
