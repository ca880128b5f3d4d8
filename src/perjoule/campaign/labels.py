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
    distinctions = {id(row): _words(row, family) for family in families.values() for row in family}
    by_plain_name: dict[str, TableRow] = {}
    names = {id(row): " ".join([row.label or row.kind, *filter(None, distinctions[id(row)])]) for row in rows}
    for row in rows:
        label = names[id(row)]
        plain = "".join(filter(str.isalnum, label.lower()))  # what is left of it in the name of a trial
        if plain in by_plain_name:
            key = "name" if "name" in fields_of(row.name, row.kind) else "label"  # that of a meter's channels
            raise source.error(
                row.path, f'two {row.name}s are called "{label}"', f'give one a different name: {key} = "..."'
            )
        by_plain_name[plain] = row
    return tuple(Spec(row.kind, row.options, names[id(row)]) for row in rows)


def _words(row: TableRow, family: Sequence[TableRow]) -> list[str]:
    fields = fields_of(row.name, row.kind)
    files = [row.options.get(option) for option, (_, info) in fields.items() if takes_file(info.annotation)]
    if names := [str(file["name"]) for file in files if is_table(file)]:
        return names if not row.label or len(family) > 1 else []  # a file's name is complete
    distinctions: list[str] = []
    for option, (field, info) in fields.items():
        if (
            not takes_file(info.annotation)
            and len({repr(vars(sibling.driver)[field]) for sibling in family}) > 1
        ):
            value = row.options.get(option)
            if is_table(value):
                distinctions.append(
                    " ".join(
                        [option, *_inner_words(value, [sibling.options.get(option) for sibling in family])]
                    )
                )
            else:
                distinctions.append(_word(option, field, row.options, vars(row.driver)[field]))
    return distinctions


def _inner_words(inner: Table, siblings: Sequence[object]) -> list[str]:
    """Return the text for an option's own table: "xfs 4 KiB", plus the options in which the tables differ."""
    tables = [sibling for sibling in siblings if is_table(sibling)]
    differing = [key for key, value in inner.items() if any(table.get(key) != value for table in tables)]
    plain = [str(inner[key]) for key in ("kind", "block") if key in inner]
    return plain + [f"{key} {_listed(inner[key])}" for key in differing if key not in ("kind", "block")]


def _listed(value: object) -> str:
    return "+".join(map(str, value)) if is_list(value) else str(value)


def _word(option: str, field: str, options: Mapping[str, object], value: object) -> str:
    """Return the text for an option: "goal 2", "transfer 4 MiB", "write"."""
    written = options.get(option, value)
    if isinstance(value, bool):
        return option if value else f"not {option}" if option in PARTICIPLES else f"no {option}"
    if written is None:
        return f"no {option}"
    if isinstance(written, list | tuple):
        return f"{option} {'+'.join(map(str, written))}"  # pyright: ignore[reportUnknownArgumentType]  # Json
    units = units_of(field)
    if units is not None and isinstance(written, int | float):  # a default
        return f"{option} {exact_text(written, units)}"
    return str(written) if isinstance(written, str) and not written[:1].isdigit() else f"{option} {written}"
