"""A file of src is read in one go: none is longer than the longest has ever been allowed to be."""

from places import SOURCES

MOST_LINES = 470  # only falls; ruff has no such rule


def test_no_file_is_too_long() -> None:
    files = [path for kind in ("*.py", "*.js", "*.css", "*.html") for path in SOURCES.rglob(kind)]
    assert len(files) > 400
    lengths = {str(path.relative_to(SOURCES)): len(path.read_text().splitlines()) for path in files}
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}
