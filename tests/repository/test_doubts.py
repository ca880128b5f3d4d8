"""The page of doubts is that of the code, and no doubt lacks its line."""

from pathlib import Path

from perjoule.model.doubts import KINDS
from setup import doubts as program


def test_the_docs_list_the_doubts() -> None:
    page = Path(program.PAGE).read_text(encoding="utf-8")
    assert page == program.page(), "run: .venv/bin/python setup/doubts.py"
    assert [
        id for kind in KINDS for id in (one.id for one in kind.templates) if f"| `{id}` |" not in page
    ] == []
