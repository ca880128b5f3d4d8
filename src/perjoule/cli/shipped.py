"""What comes with perjoule to begin with and to read: new, docs.

Both are links to the folders of a checkout, and copies in a wheel.
"""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import click

from perjoule.cli.pages import LAID_OUT, laid_out
from perjoule.cli.parameters import completing, examples
from perjoule.cli.terminal.display import out, show_line
from perjoule.cli.terminal.outputs import OutputFile, require_new_file, write
from perjoule.model.errors import CampaignError
from perjoule.model.validation import neighbour

_PACKAGE = Path(str(files("perjoule")))
_EXAMPLES = _PACKAGE / "examples"
_NEEDS = "needs"
# Its folders, and what they have.
_KINDS = {
    ".": "campaigns, for `perjoule run`",
    "future-work": "campaigns that papers' authors leave for later",
    _NEEDS: "needs, for `perjoule plan`",
}
_DOCS = _PACKAGE / "docs"
_REFERENCE = "reference"
# The folders of pages for users, and what their pages are for.
_SECTIONS = {
    "tutorials": "first steps",
    "how-to": "one task a page",
    _REFERENCE: "keys, numbers, words",
    "explanations": "how numbers are made",
    "studies": "what was measured with it",
}
_SCHEMA = re.compile(r"^#:schema .*\n")
_DATA = re.compile(r'"([\w-]+\.csv)"')  # files that an example reads
_LINK = re.compile(r"\[((?:`[^`]*`|[^][])+)\]\(([^)\s]+)\)")


def _examples() -> dict[str, Path]:
    """Return the files of examples by name."""
    return {path.stem: path for folder in _KINDS for path in sorted((_EXAMPLES / folder).glob("*.toml"))}


@click.command(
    "new",
    short_help="Write an example to start from: a campaign or a need.",
    epilog=examples(
        "perjoule new                        all examples",
        "perjoule new local                  writes local.toml",
        "perjoule new archive --write need.toml",
    ),
)
@click.argument(
    "name", metavar="[EXAMPLE]", required=False, shell_complete=completing(lambda: list(_examples()))
)
@click.option(
    "--write",
    "target",
    type=OutputFile(new=True),
    metavar="FILE.toml",
    help="The file to write; EXAMPLE.toml by default. No file is replaced.",
)
def new_command(name: str | None, target: Path | None) -> None:
    """Write EXAMPLE, a campaign or a need with comments, into a file of your own; without EXAMPLE, list all."""
    by_name = _examples()
    if name is None:
        if target is not None:
            raise CampaignError("no example is named", next="`perjoule new` lists them")
        _list_examples(by_name)
        return
    example = by_name[_chosen(name, by_name, "example", "`perjoule new` lists all")]
    path = target or Path(f"{example.stem}.toml")
    repository_path = f"examples/{example.relative_to(_EXAMPLES)}"
    contents = {
        path: _SCHEMA.sub("", example.read_text(encoding="utf-8")).replace(repository_path, str(path))
    }
    for data_name in _DATA.findall(contents[path]):
        contents[path.parent / data_name] = (example.parent / data_name).read_text(encoding="utf-8")
    for file in contents:
        require_new_file(file)
    for file, text in contents.items():
        write(file, text)
    command = "plan" if example.parent.name == _NEEDS else "check"
    out.print(f"{', '.join(map(str, contents))}; edit it, then: perjoule {command} {path}", soft_wrap=True)


def _list_examples(by_name: dict[str, Path]) -> None:
    for folder, kind in _KINDS.items():
        out.print(kind, style="bold")
        _show_names(
            {name: _purpose(path) for name, path in by_name.items() if path.parent == _EXAMPLES / folder}
        )


def _show_names(titles: dict[str, str]) -> None:
    """Print names with what each is, in two columns."""
    column = 2 + max(map(len, titles)) + 2
    for name, title in titles.items():
        show_line(f"  {name}".ljust(column) + title, column)


def _purpose(path: Path) -> str:
    """Return what an example is for: its description's first sentence, or the comment it begins with."""
    text = path.read_text(encoding="utf-8")
    description = str(tomllib.loads(text).get("description", "")).strip()
    if description:
        return re.split(r"(?<=[a-z0-9\"])\. |\n", description)[0].rstrip(".")
    return _SCHEMA.sub("", text).splitlines()[0].removeprefix("# ")


def _pages() -> dict[str, Path]:
    """Return the pages of the documentation by name; a name that two sections have is the first one's.

    Those that the code lays out are no files.
    """
    pages: dict[str, Path] = {}
    for section in _SECTIONS:
        no_files = [_DOCS / section / f"{name}.md" for name in LAID_OUT if section == _REFERENCE]
        for path in sorted([*(_DOCS / section).glob("*.md"), *no_files]):
            name = section if path.stem == "README" else path.stem
            pages[f"{section}/{name}" if name in pages else name] = path
    return pages


@click.command(
    "docs",
    short_help="List the documentation's pages, or read one.",
    epilog=examples(
        "perjoule docs                       all pages",
        "perjoule docs meters",
        "perjoule docs glossary | less",
    ),
)
@click.argument("name", metavar="[PAGE]", required=False, shell_complete=completing(lambda: list(_pages())))
def docs_command(name: str | None) -> None:
    """Show PAGE of the documentation in the terminal; without PAGE, list all."""
    pages = _pages()
    if name is None:
        for section, purpose in _SECTIONS.items():
            out.print(f"{section}: {purpose}", style="bold")
            _show_names({page: _title(path) for page, path in pages.items() if path.parent.name == section})
        return
    page = pages[_chosen(name.removesuffix(".md"), pages, "page", "`perjoule docs` lists all")]
    names = {path.resolve(): page_name for page_name, path in pages.items()}

    def linked(link: re.Match[str]) -> str:
        label, address = link.groups()
        if ":" in address:
            return f"{label} ({address})"
        target = names.get((page.parent / address.partition("#")[0]).resolve())
        return f"{label} (`perjoule docs {target}`)" if target else label

    text = laid_out(page.stem) if _is_laid_out(page) else page.read_text(encoding="utf-8")
    text = _LINK.sub(linked, text)
    if not out.is_terminal:
        click.echo(text, nl=False)
        return
    from rich.markdown import Markdown  # only this command needs it

    out.print(Markdown(text))


def _is_laid_out(page: Path) -> bool:
    return page.parent.name == _REFERENCE and page.stem in LAID_OUT


def _title(page: Path) -> str:
    if _is_laid_out(page):
        return LAID_OUT[page.stem]
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def _chosen(name: str, names: dict[str, Path], kind: str, listing: str) -> str:
    """Return a name that there is. Raises CampaignError."""
    if name not in names:
        near = neighbour(name, list(names))
        raise CampaignError(
            f'there is no {kind} "{name}"', next=f'did you mean "{near}"?' if near else listing
        )
    return name
