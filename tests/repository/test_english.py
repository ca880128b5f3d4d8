"""What marks translated text is found, also where it is broken over two lines."""

import pytest

from setup import english


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("fio's end is told to 1 s.", 2, "is told"),
        ('what = (\n    f"{name} is not one of what "\n    f"there is"\n)', 3, "what there is"),
        ("    # samples, below which nothing\n    # is said", 3, "is said"),
        ("An energy, with what it may\nbe wrong by.", 2, "may be wrong by"),
        ("so that\nnobody waits", 2, "so that nobody"),
        ("a program that goes on", 2, "goes on"),
        ("of so\nmany hosts at the most", 2, "so many"),
        ("It works all the same.", 2, "all the same"),
        ("a node that is no\ndevice", 2, "is no "),
        ("hosts that are of no job", 2, "are of no"),
        ("def test_a_run_that_goes_on(): ...", 2, "goes on"),
    ],
)
def test_a_sign_of_translated_text_is_found_with_its_place(text, line, phrase, tmp_path, capsys):
    (tmp_path / "planted.md").write_text(f"A first line.\n{text}\n")
    assert english.main([str(tmp_path / "planted.md")]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f'{tmp_path / "planted.md"}:{line}: "{phrase}" reads as translated; write ')


@pytest.mark.parametrize(
    "text",
    [
        "fio reports its end to 1 s",
        "clocks are all the same as before",
        "clients were said to run",
        "instead of a disk",
        "re-told anewly",
        "a host has no disk, there is no other host, and its power is no longer known",
        "a grade that is no worse, in time no larger",
    ],
)
def test_plain_text_passes(text, tmp_path, capsys):
    (tmp_path / "plain.md").write_text(text)
    assert english.main([str(tmp_path / "plain.md")]) == 0
    assert capsys.readouterr().out == ""


def test_the_changelog_is_read_down_to_the_first_release(tmp_path, capsys):
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changes\n\n## Unreleased\n\n- It goes on.\n\n## 0.1.0 (2026-11-22)\n\n- It went on.\n")
    assert english.main([str(path)]) == 1
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    "name",
    ["CHANGELOG.md", "Makefile", "tests/command/test_cli.py", "benchmarks/reading.py", "src/perjoule/monitoring/page/live.js"],
)
def test_what_people_read_is_looked_at(name):
    assert str(english.ROOT / name) in english.ours()
