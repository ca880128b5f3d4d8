"""Cut a release of the changelog from the fragments in changelog.d/.

Usage: .venv/bin/python setup/changelog.py [VERSION [DAY]]

Without a version it prints what the next release says. With one, such as 0.2.0, "Unreleased" of CHANGELOG.md
and all fragments become that version of today (or of DAY, 2027-01-31). Fragments are removed; files that name
a release get version and day. A fragment whose first line ends with a colon ("In scripts:") belongs to that
group of its section.
"""

import re
import sys
import textwrap
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 155
BESIDES = "Besides:"  # the group of fragments that name none, where their section has groups
GROUP = re.compile(r"^([^\s|-].*:)\n\n", re.MULTILINE)
SECTIONS = {
    "change": "You may have to change something",
    "numbers": "Numbers that were wrong",
    "new": "New",
    "fixed": "Fixed",
}


def fragments(root: Path = ROOT) -> list[Path]:
    """List the fragments, by name. Raises SystemExit: one has no section."""
    listed = sorted(path for path in (root / "changelog.d").glob("*.md") if path.name != "README.md")
    strange = [
        path.name
        for path in listed
        if len(path.name.split(".")) != 3 or path.name.split(".")[1] not in SECTIONS
    ]
    if strange:
        raise SystemExit(
            f"changelog.d: {', '.join(strange)}: name a fragment WHAT.SECTION.md; sections are "
            f"{', '.join(SECTIONS)}"
        )
    return listed


def joined(unreleased: str, paths: list[Path]) -> str:
    """Return the text of "Unreleased" with the fragments at the end of their groups, or sections."""
    head, *parts = re.split(r"^### (.*)\n", unreleased, flags=re.MULTILINE)
    texts = dict.fromkeys(SECTIONS.values(), "") | dict(zip(parts[::2], parts[1::2], strict=True))
    sections: list[str] = []
    for key, title in SECTIONS.items():
        text = _grown(texts.pop(title), [path for path in paths if path.name.split(".")[1] == key])
        sections += [f"### {title}\n\n{text}\n"] if text else []
    sections += [f"### {title}\n\n{text.strip()}\n" for title, text in texts.items()]
    return "\n".join(part for part in (f"{head.strip()}\n" if head.strip() else "", *sections) if part)


def _grown(text: str, paths: list[Path]) -> str:
    """Return a section with fragments at the end of the groups that they name."""
    lead, *rest = GROUP.split(text)
    groups = {"": lead} | dict(zip(rest[::2], rest[1::2], strict=True))
    for path in paths:
        first, _, more = path.read_text(encoding="utf-8").strip().partition("\n")
        if not first.endswith(":"):
            first, more = BESIDES if rest else "", f"{first} {more}"
        group = next((name for name in groups if first and name.startswith(first[:-1])), first)
        entry = textwrap.fill(
            f"- {' '.join(more.split())}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        groups[group] = f"{groups.get(group, '').rstrip()}\n{entry}\n"
    last = groups.pop(BESIDES, "")
    groups |= {BESIDES: last} if last else {}
    return "\n\n".join(
        "\n\n".join(filter(None, (name, content.strip())))
        for name, content in groups.items()
        if content.strip()
    )


def cut(changelog: str, paths: list[Path], version: str, day: date) -> str:
    """Return the changelog with a release of that day.

    Raises SystemExit: it is not a version, or not newer than the last one.
    """
    head, unreleased, released = re.split(r"^## (?:Unreleased)?", changelog, maxsplit=2, flags=re.MULTILINE)
    last = released.split(maxsplit=1)[0]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or _order(version) <= _order(last):
        raise SystemExit(f"{version}: a version is three numbers and newer than {last}")
    return f"{head}## Unreleased\n\n## {version} ({day})\n\n{joined(unreleased, paths)}\n## {released}"


def _order(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def release(root: Path, version: str, day: date) -> None:
    """Write the release into the files that name it, and remove its fragments."""
    paths = fragments(root)
    path = root / "CHANGELOG.md"
    path.write_text(cut(path.read_text(encoding="utf-8"), paths, version, day), encoding="utf-8")
    for name, pattern, text in (
        ("pyproject.toml", r'^version = ".*"$', f'version = "{version}"'),
        ("src/perjoule/__init__.py", r"^__version__ = .*$", f'__version__ = "{version}"'),
        ("CITATION.cff", r"^version: .*$", f"version: {version}"),
        ("CITATION.cff", r"^date-released: .*$", f'date-released: "{day}"'),
    ):
        file = root / name
        file.write_text(
            re.sub(pattern, text, file.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE),
            encoding="utf-8",
        )
    for fragment in paths:
        fragment.unlink()


def main(words: list[str]) -> None:
    """Print what the next release says, or cut it."""
    if words:
        release(ROOT, words[0], date.fromisoformat(words[1]) if words[1:] else datetime.now(UTC).date())
    else:
        _, unreleased, _ = re.split(
            r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), maxsplit=2, flags=re.MULTILINE
        )
        print(joined(unreleased.removeprefix("Unreleased"), fragments()))


if __name__ == "__main__":
    main(sys.argv[1:])
