"""A path that can't be written is refused before any work: no command here has a campaign, a meter or a
result to work on.
"""

import os
import tempfile
from pathlib import Path

import click
import pytest

from perjoule.cli.compare import compare_command
from perjoule.cli.exchange import export_command, import_command
from perjoule.cli.measuring import demo, run_command
from perjoule.cli.meters.quality import align
from perjoule.cli.meters.recording import record
from perjoule.cli.papers import reproduce_command
from perjoule.cli.results import report_command
from perjoule.cli.terminal.outputs import require_file, require_folder, write
from perjoule.model.errors import CampaignError, MachineError


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (export_command, ["nothing", "--csv"]),
        (export_command, ["nothing", "--parquet"]),
        (export_command, ["nothing", "--bundle"]),
        (compare_command, ["nothing", "nothing", "--report"]),
        (reproduce_command, ["no-paper", "--write"]),
        (record, ["no-meter", "--to"]),
        (align, ["no-meter", "--plot"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_file_that_can_t_be_written_is_refused_before_any_work(
    command: click.Command, words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(MachineError, match=r"there is no folder .*absent; create it first"):
        command.main([*words, str(tmp_path / "absent" / "file")], standalone_mode=False)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (demo, ["--into"]),
        (run_command, ["nothing.toml", "--into"]),
        (reproduce_command, ["no-paper", "--into"]),
        (report_command, ["nothing", "--figures"]),
        (import_command, ["nothing.json", "--"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_folder_that_can_t_be_made_is_refused_before_any_work(
    command: click.Command, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "results")
    argv = [place, *words[:1]] if command is import_command else [*words, place]
    with pytest.raises(MachineError, match="file is not a folder; choose another path"):
        command.main(argv, standalone_mode=False)


def test_a_report_that_can_t_be_written_is_refused_before_results_are_read(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(MachineError, match=r"report\.html: it is a folder; name a file"):
        report_command.main([str(tmp_path)], standalone_mode=False)


def test_a_recording_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "there.csv").touch()
    with pytest.raises(CampaignError, match="already exists"):
        record.main(["no-meter", "--to", str(tmp_path / "there.csv")], standalone_mode=False)


def test_what_can_be_written_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    for path in (tmp_path / "new", tmp_path / "there"):
        require_file(path)
    for path in (tmp_path, tmp_path / "new" / "deeper"):
        require_folder(path)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]  # to ask makes nothing


def test_permissions_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    for require in (require_file, require_folder):
        with pytest.raises(
            MachineError, match="it can't be written; choose another path, or change its permissions"
        ):
            require(tmp_path / "new")


def test_a_file_is_written_whole_with_the_mode_that_it_had_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("before")
    (tmp_path / "page").chmod(0o640)
    (tmp_path / "link").symlink_to("page")
    write(tmp_path / "link", "after")
    write(tmp_path / "new", b"bytes")
    assert (tmp_path / "page").read_text() == "after"
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"page", "link", "new"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by another user")
def test_root_writes_nothing_where_another_user_leads_it() -> None:
    with tempfile.TemporaryDirectory(prefix="outputs-", dir="/tmp") as name:
        secret, shared, theirs = Path(name, "secret"), Path(name, "shared"), Path(name, "shared/theirs")
        secret.write_text("precious")
        shared.mkdir()
        shared.chmod(0o1777)
        theirs.mkdir()
        (shared / "out.csv").symlink_to(secret)
        (shared / "figures").symlink_to(secret.parent)
        os.mkfifo(shared / "pipe")
        for path in shared.iterdir():
            os.chown(path, 65534, 65534, follow_symlinks=False)
        write(shared / "out.csv", "ours")
        assert (secret.read_text(), (shared / "out.csv").read_text()) == ("precious", "ours")
        assert not (shared / "out.csv").is_symlink()
        with pytest.raises(MachineError, match="it is no file that can be replaced, and all users may write"):
            write(shared / "pipe", "ours")
        for require in (require_file, require_folder):
            require(shared / "new")
            for place in (theirs, shared / "figures"):
                with pytest.raises(
                    MachineError, match=rf"{place} belongs to another user \(uid 65534\), who"
                ):
                    require(place / "new")


def test_a_device_is_written_to_and_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "replace", lambda *words: pytest.fail("a device would be replaced"))
    write(Path("/dev/null"), "nothing")
    assert not Path("/dev/null").is_file()
