"""Names for tables and figures: the label, or the kind with the options in which its rows differ."""

from collections.abc import Mapping, Sequence

from perjoule.campaign.attachments import takes_file
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.campaign.tables import TableRow, fields_of
from perjoule.model import Spec
from perjoule.model.units import exact_text, units_of

# options that say what something is, not what it has
PARTICIPLES = ("collective", "direct", "exclusive", "mounted", "shared")


def specs(rows: Sequence[TableRow], source: CampaignSource) -> tuple[Spec, ...]:
    """Name every row. Raises CampaignError if two of them have the same name."""
    families: dict[tuple[object, ...], list[TableRow]] = {}
    for row in rows:  # what a table with a label spans stands apart from all others
        families.setdefault((row.kind, *((row.label, row.path) if row.label else ())), []).append(row)
    words = {id(row): _words(row, family) for family in families.values() for row in family}
    named: dict[str, TableRow] = {}
    names = {id(row): " ".join([row.label or row.kind, *filter(None, words[id(row)])]) for row in rows}
    for row in rows:
        label = names[id(row)]
        plain = "".join(filter(str.isalnum, label.lower()))  # what is left of it in the name of a trial
        if plain in named:
            key = "name" if "name" in fields_of(row.name, row.kind) else "label"  # that of a meter's channels
            raise source.error(
                row.path, f'two {row.name}s are called "{label}"', f'give one a different name: {key} = "..."'
            )
        named[plain] = row
    return tuple(Spec(row.kind, row.options, names[id(row)]) for row in rows)


def _words(row: TableRow, family: Sequence[TableRow]) -> list[str]:
    fields = fields_of(row.name, row.kind)
    files = [row.options.get(option) for option, (_, info) in fields.items() if takes_file(info.annotation)]
    if names := [str(file["name"]) for file in files if is_table(file)]:
        return names if not row.label or len(family) > 1 else []  # a file's name is complete
    words: list[str] = []
    for option, (field, info) in fields.items():
        if not takes_file(info.annotation) and len({repr(vars(other.driver)[field]) for other in family}) > 1:
            said = row.options.get(option)
            if is_table(said):
                words.append(
                    " ".join([option, *_inner_words(said, [other.options.get(option) for other in family])])
                )
            else:
                words.append(_word(option, field, row.options, vars(row.driver)[field]))
    return words


def _inner_words(said: Table, others: Sequence[object]) -> list[str]:
    """Return the text for an option's own table: "xfs 4 KiB", plus the options in which the tables differ."""
    tables = [other for other in others if is_table(other)]
    differing = [key for key, value in said.items() if any(other.get(key) != value for other in tables)]
    plain = [str(said[key]) for key in ("kind", "block") if key in said]
    return plain + [f"{key} {_listed(said[key])}" for key in differing if key not in ("kind", "block")]


def _listed(said: object) -> str:
    return "+".join(map(str, said)) if is_list(said) else str(said)


def _word(option: str, field: str, options: Mapping[str, object], value: object) -> str:
    """Return the text for an option: "goal 2", "transfer 4 MiB", "write"."""
    said = options.get(option, value)
    if isinstance(value, bool):
        return option if value else f"not {option}" if option in PARTICIPLES else f"no {option}"
    if said is None:
        return f"no {option}"
    if isinstance(said, list | tuple):
        return f"{option} {'+'.join(map(str, said))}"  # pyright: ignore[reportUnknownArgumentType]  # Json
    units = units_of(field)
    if units is not None and isinstance(said, int | float):  # a default
        return f"{option} {exact_text(said, units)}"
    return str(said) if isinstance(said, str) and not said[:1].isdigit() else f"{option} {said}"
