"""A page to explore a plan with: one HTML file that needs nothing from outside."""

from collections.abc import Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perjoule import __version__
from perjoule.figures.vega import THEMES
from perjoule.planning.answer import Answer, Row
from perjoule.planning.enumeration import constraints
from perjoule.planning.quantities import SPEED, number, speed
from perjoule.planning.texts import HEADERS, KWH_J, about, cells, change_text, main_changes, misses, move_text

PICKS: Mapping[str, str] = {
    "least regret": "Least regret",
    "energy": "Least energy",
    "money": "Least money",
    "carbon": "Least carbon",
    "throughput": "Most throughput",
}
# What an axis can show: a row's field, the unit of print, and whether it follows the sliders.
AXES: Mapping[str, tuple[str, str, float]] = {
    "energy": ("energy_j", "kWh in all years", KWH_J),
    "money": ("money_usd", "USD in all years", 1),
    "carbon": ("carbon_kg", "kgCO2e in all years", 1),
    "throughput": ("throughput_bytes_per_s", SPEED.symbol, SPEED.per),
    "purchase": ("purchase_usd", "USD to buy", 1),
    "embodied": ("embodied_kg", "kgCO2e embodied", 1),
    "idle": ("idle_w", "W idle", 1),
    "capacity": ("capacity_bytes", "TB of user data", 1e12),
}


def page(found: Answer) -> str:
    """Lay an answer out as HTML."""
    need = found.question.need
    pages = Environment(
        loader=PackageLoader("perjoule.planning", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    css = (files("perjoule.report") / "page.css").read_text("utf-8") + _asset("plan.css")
    return pages.get_template("plan.html").render(
        title=f"Plan: {need.name}",
        css=Markup(css),
        script=Markup(_asset("plan.js")),
        data=_data(found),
        found=found,
        need=need,
        number=number,
        speed=speed,
        picks=[(title, found.pick(name), list(about(found.pick(name)))) for name, title in PICKS.items()] if found.rows else [],
        headers=HEADERS,
        rows=[(row, cells(row)) for row in found.rows],
        changes=[change_text(one) for one in main_changes(found)],
        moves=[move_text(one) for one in found.moves],
        misses=misses(found.nearest, constraints(need)) if found.nearest else [],
        axes=AXES,
        quantities=[one for one in found.space.book.quantities if one.status != "stated" or one.source.startswith("stated")],
        version=__version__,
    )


def _asset(name: str) -> str:
    return (files("perjoule.planning") / "page" / name).read_text("utf-8")


def _data(found: Answer) -> dict[str, object]:
    filesystems = sorted({row.choice.filesystem for row in found.rows})
    return {
        "colours": {theme: THEMES[theme]["range"]["category"] for theme in ("light", "dark")},
        "filesystems": filesystems,
        "axes": {name: {"field": field, "label": label, "per": per} for name, (field, label, per) in AXES.items()},
        "grid": found.question.grid.value,
        "electricity": found.question.electricity.value,
        "rows": [_point(row) for row in found.rows],
    }


def _point(row: Row) -> dict[str, object]:
    """Return what the page needs of a row; money and carbon follow from the rest and the sliders."""
    fields = dict.fromkeys(field for field, _, _ in AXES.values())
    return {
        "id": row.id,
        "filesystem": row.choice.filesystem,
        "server": row.machine.server,
        "text": row.text,
        "about": list(about(row)),
        "values": {field: [row.values[field].value, row.values[field].low, row.values[field].high] for field in fields},
        "picks": row.picks,
    }
