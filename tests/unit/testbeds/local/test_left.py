"""What a killed run on this machine has made elsewhere, as in a file system of others: removed by its note, which
stays as long as it is needed.
"""

from pathlib import Path

import pytest

from perjoule.drivers.protocols import MADE
from perjoule.machine.removal import mark
from perjoule.testbeds.local import sweep


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return what a killed run has noted, without making it."""
    scratch = tmp_path / "tmp" / "perjoule-local-abcdefgh"
    (scratch / MADE).mkdir(parents=True)
    mark(scratch)
    path = tmp_path / "mounted" / "perjoule-0123456789"
    (scratch / MADE / path.name).write_text(f"{path}\n")
    return path


def test_it_is_removed_with_the_note_and_the_folder_of_the_run(made: Path, tmp_path: Path) -> None:
    (made / "of-client").mkdir(parents=True)
    (made / "of-client" / "data").write_text("64 MiB")
    (made.parent / "theirs").write_text("keep")
    assert sweep(tmp_path / "tmp") == ((tmp_path / "tmp" / "perjoule-local-abcdefgh",), ())
    assert [path.name for path in made.parent.iterdir()] == ["theirs"]


def test_it_is_not_forgotten_while_its_file_system_is_not_mounted(made: Path, tmp_path: Path) -> None:
    removed, (reason,) = sweep(tmp_path / "tmp")
    assert removed == () and reason.endswith(f"its {made} may be there yet; mount {made.parent}")
    made.mkdir(parents=True)
    assert len(sweep(tmp_path / "tmp")[0]) == 1
    assert not made.exists()


def test_what_can_not_be_removed_is_named_until_it_can(made: Path, tmp_path: Path) -> None:
    made.parent.mkdir()
    made.symlink_to(tmp_path)  # which nothing of ours follows
    removed, (reason,) = sweep(tmp_path / "tmp")
    assert removed == () and reason.endswith(f"its {made} can't be removed")
    made.unlink()
    assert len(sweep(tmp_path / "tmp")[0]) == 1


def test_a_run_that_was_killed_before_it_made_it_leaves_nothing(made: Path, tmp_path: Path) -> None:
    made.parent.mkdir()
    assert len(sweep(tmp_path / "tmp")[0]) == 1
