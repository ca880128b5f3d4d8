"""A page to explore a plan with: one HTML file that needs nothing from outside."""

from functools import partial
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
    least_regret,
    less_regret,
    main_changes,
    measured_lines,
    misses,
    most_tried,
    move_text,
    quantity_text,
    sure_text,
)

_PICKS = {LEAST_REGRET: LEAST_REGRET} | {
    objective.name: f"{'most' if objective.better == 'higher' else 'least'} {objective.name}"
    for objective in OBJECTIVES
}


def page(answer: Answer) -> str:
    """Lay an answer out as HTML."""
    need = answer.question.need
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
        data=_data(answer),
        answer=answer,
        need=need,
        measures=measures,
        number=estimate,
        totals=TOTALS,
        picks=[_card(answer, name, title) for name, title in _PICKS.items()] if answer.rows else [],
        headers=HEADERS,
        words=WORDS,
        rows=[(row, cells(row)) for row in answer.rows],
        changes=[change_text(change, answer.space.titles) for change in main_changes(answer)],
        heading=heading(answer).capitalize(),
        more=most_tried(answer).capitalize(),
        moves=[move_text(move) for move in answer.moves],
        misses=misses(answer.nearest, constraints(need)) if answer.nearest else [],
        quantity_text=partial(quantity_text, titles=answer.space.titles),
        quantities=[
            quantity
            for quantity in answer.space.book.quantities
            if quantity.status != "stated" or quantity.source.startswith("stated")
        ],
        version=__version__,
    )


def _card(answer: Answer, name: str, title: str) -> tuple[str, Row, list[str]]:
    """Return the title of a pick, its row, and lines about how far it can be trusted."""
    row = answer.pick(name)
    title, remark = (least_regret(answer), less_regret(answer)) if name == LEAST_REGRET else (title, "")
    lines = (sure_text(row), *measured_lines(row), *filter(None, [remark]))
    # no line of a narrow card begins with the sign of a number before it
    return title.capitalize(), row, [line.replace(" %", "\N{NO-BREAK SPACE}%") for line in lines]


def _asset(name: str) -> str:
    return (files("perjoule.planning") / "page" / name).read_text("utf-8")


def _data(answer: Answer) -> dict[str, object]:
    filesystems = sorted({row.choice.title for row in answer.rows})
    return {
        "colours": {theme: THEMES[theme]["range"]["category"] for theme in ("light", "dark")},
        "filesystems": filesystems,
        "axes": {axis.name: {"field": axis.key, "label": axis.label, "per": axis.unit.per} for axis in AXES},
        "aims": [aim.name for aim in AIMS],
        "sliders": {
            "electricity": {
                "value": answer.question.electricity.value,
                "per": PRICE.per,
                "unit": PRICE.symbol,
            },
            "grid": {"value": answer.question.grid.value, "per": GRID.per, "unit": GRID.symbol},
        },
        "rows": [_point(row) for row in answer.rows],
    }


def _point(row: Row) -> dict[str, object]:
    """Return what the page needs of a row; money and carbon follow from the rest and the sliders."""
    values = {axis.key: row.values[axis] for axis in AXES}
    return {
        "id": row.id,
        "filesystem": row.choice.title,
        "server": row.machine.titles[0],
        "text": row.text,
        "about": list(about(row)),
        "values": {key: [band.value, band.low, band.high] for key, band in values.items()},
        "picks": row.picks,
        "contradicted": row.contradicted,
    }
