"""Programs that drivers run: those that this machine lacks, and where they come from."""

from perjoule.machine.programs import programs

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
