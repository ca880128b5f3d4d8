"""Programs that drivers run: those that this machine lacks, and where they come from."""

import os
from pathlib import Path

import pytest

from perjoule.machine.programs import guards, programs
from perjoule.model.options import PROGRAMS

MAKERS = "https://juicefs.com/docs/community/getting-started/installation"


def test_a_program_of_a_package_is_fixed_by_apt_and_one_of_its_makers_by_their_page() -> None:
    packaged, foreign = programs({"no-such-a": "some-package", "no-such-b": MAKERS}, "storage")
    assert (packaged.ok, packaged.fix, packaged.package) == (
        False,
        "apt install some-package",
        "some-package",
    )
    assert (foreign.ok, foreign.detail, foreign.package) == (False, "not on the PATH", "")
    assert foreign.fix == f"install no-such-b as {MAKERS} says, on the PATH"
    assert (foreign.look, foreign.on) == ("program no-such-b", "storage")


def test_a_program_that_is_there_is_found_wherever_it_comes_from() -> None:
    (shell,) = programs({"sh": MAKERS})
    assert shell.ok and shell.detail.endswith("/sh")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger from programs of other users")
def test_an_installation_that_another_user_could_change_is_run_by_root_only_on_the_users_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROGRAMS, raising=False)
    (tmp_path / "bin").mkdir()
    assert [check.ok for check in guards(str(tmp_path), "all")] == [True, True, True]
    os.chown(tmp_path / "bin", 4711, 4711)
    first, *_ = guards(str(tmp_path), "all")
    detail = f"root is not safe there: {tmp_path}/bin: belongs to another user"
    assert (first.ok, first.detail, first.on) == (False, detail, "all")
    assert first.look == f"guarded {tmp_path}/bin"
    monkeypatch.setenv(PROGRAMS, str(tmp_path))
    assert guards(str(tmp_path)) == guards("") == ()
