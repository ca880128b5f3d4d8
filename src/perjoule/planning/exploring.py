"""A page to explore a plan with: one HTML file that needs nothing from outside."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perjoule import __version__
from perjoule.figures.vega import THEMES
from perjoule.machine.pages import policy
from perjoule.model.format import estimate
from perjoule.planning import measures
from perjoule.planning.answer import LEAST_REGRET, Answer, Row
from perjoule.planning.enumeration import constraints
from perjoule.planning.measures import AIMS, AXES, GRID, OBJECTIVES, PRICE
from perjoule.planning.texts import (
    HEADERS,
    TOTALS,
    WORDS,
    about,
    cells,
    change_text,
    heading,
    less_regret,
    main_changes,
    measured_lines,
    misses,
    most_tried,
    move_text,
    sure_text,
)

_PICKS = {LEAST_REGRET: LEAST_REGRET} | {
    one.name: f"{'most' if one.better == 'higher' else 'least'} {one.name}" for one in OBJECTIVES
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
        policy=policy(script := _asset("plan.js")),
        script=Markup(script),
        data=_data(found),
        found=found,
        need=need,
        measures=measures,
        number=estimate,
        totals=TOTALS,
        picks=[_card(found, name, title) for name, title in _PICKS.items()] if found.rows else [],
        headers=HEADERS,
        words=WORDS,
        rows=[(row, cells(row)) for row in found.rows],
        changes=[change_text(one) for one in main_changes(found)],
        heading=heading(found).capitalize(),
        more=most_tried(found).capitalize(),
        moves=[move_text(one) for one in found.moves],
        misses=misses(found.nearest, constraints(need)) if found.nearest else [],
        quantities=[
            one
            for one in found.space.book.quantities
            if one.status != "stated" or one.source.startswith("stated")
        ],
        version=__version__,
    )


def _card(found: Answer, name: str, title: str) -> tuple[str, Row, list[str]]:
    """Return the title of a pick, its row, and lines about how far it can be trusted."""
    row = found.pick(name)
    remark = less_regret(found) if name == LEAST_REGRET else ""
    return title.capitalize(), row, [sure_text(row), *measured_lines(row), *filter(None, [remark])]


def _asset(name: str) -> str:
    return (files("perjoule.planning") / "page" / name).read_text("utf-8")


def _data(found: Answer) -> dict[str, object]:
    filesystems = sorted({row.choice.filesystem for row in found.rows})
    return {
        "colours": {theme: THEMES[theme]["range"]["category"] for theme in ("light", "dark")},
        "filesystems": filesystems,
        "axes": {one.name: {"field": one.key, "label": one.label, "per": one.unit.per} for one in AXES},
        "aims": [one.name for one in AIMS],
        "sliders": {
            "electricity": {
                "value": found.question.electricity.value,
                "per": PRICE.per,
                "unit": PRICE.symbol,
            },
            "grid": {"value": found.question.grid.value, "per": GRID.per, "unit": GRID.symbol},
        },
        "rows": [_point(row) for row in found.rows],
    }


def _point(row: Row) -> dict[str, object]:
    """Return what the page needs of a row; money and carbon follow from the rest and the sliders."""
    values = {one.key: row.values[one] for one in AXES}
    return {
        "id": row.id,
        "filesystem": row.choice.filesystem,
        "server": row.machine.server,
        "text": row.text,
        "about": list(about(row)),
        "values": {key: [band.value, band.low, band.high] for key, band in values.items()},
        "picks": row.picks,
        "contradicted": row.contradicted,
    }
