"""perjoule reproduce as a user has it: the campaign written or run, the verdicts, and the page over many
results.
"""

from pathlib import Path

import pytest

from commanded import command


def test_a_campaign_is_written_and_what_can_not_be_repeated_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "green.toml"
    done = command("reproduce", "green-storage", "--scale", "0.1", "--write", target)
    assert done.returncode == 0
    assert "160 trials" in done.stdout
    assert "can't be repeated: OrangeFS" in done.stderr
    checked = command("check", target)
    assert checked.returncode == 0
    assert "160 trials on 4 deployments" in checked.stdout


def test_the_verdicts_are_printed_and_an_index_leads_to_the_report(tmp_path: Path) -> None:
    target = tmp_path / "small.toml"
    command("reproduce", "green-storage", "--simulate", "--repetitions", "1", "--write", target)
    few = (
        "--set",
        "clients=1",
        "--set",
        "workload.operation=write",
        "--set",
        "settle=5 ms",
        "--shrink",
        "100000",
    )
    done = command("run", target, "--into", tmp_path / "results" / "one", *few)
    assert done.returncode == 0, done.stderr
    assert "Of 38 claims, 0 hold here" in done.stdout
    assert command("report", tmp_path / "results").returncode == 0
    assert "one/report.html" in (tmp_path / "results" / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["green-storag"], 'did you mean "green-storage"?'),
        (["green-storage", "--testbed", "none.toml"], "no such file"),
        (["green-storage", "--scale", "2"], "--scale"),
    ],
)
def test_what_is_wrong_is_reported_in_a_sentence(words: list[str], said: str) -> None:
    done = command("reproduce", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_paper_with_several_studies_has_a_file_and_what_is_missing_for_each(tmp_path: Path) -> None:
    done = command("reproduce", "cubieboard", "--write", tmp_path / "boards.toml")
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["boards-cubieboard.toml", "boards-hep-pc.toml", "boards-hep.toml"]
    assert all(name in done.stdout for name in files)
    assert "can't be repeated by cubieboard: the NAS itself: the paper prints" in done.stderr
    assert "can't be repeated by hep: the desktop PC" in done.stderr
    assert 'kind = "rados"' in (tmp_path / files[0]).read_text()
    assert all('compression = "none"' in (tmp_path / name).read_text() for name in files[1:])


@pytest.mark.slow  # by day: one study, above; what each file has, above
def test_all_studies_run_each_into_its_folder(tmp_path: Path) -> None:
    done = command(
        "reproduce", "cubieboard", "--simulate", "--repetitions", "1", "--shrink", "4096", "--into", tmp_path
    )
    assert {path.name for path in tmp_path.iterdir()} == {"cubieboard", "hep-pc", "hep"}
    assert all((tmp_path / name / "report.html").exists() for name in ("cubieboard", "hep-pc", "hep"))
    assert done.returncode == 0
