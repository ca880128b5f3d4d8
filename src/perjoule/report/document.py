"""HTML pages: a template, its content and its figures in one file that works offline."""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perjoule.figures import rendering, vega
from perjoule.machine.pages import policy
from perjoule.model.units import counted


def document(
    template: str,
    title: str,
    figures: Mapping[str, vega.Spec],
    timelines: Mapping[str, object] | None = None,
    **values: object,
) -> str:
    """Render a template; a figure is drawn where the template calls `drawn` with its name, "timeline" with
    those of trials.
    """
    pages = Environment(
        loader=PackageLoader("perjoule.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    pages.filters["whole"] = _whole
    library, script = Markup(rendering.javascript().replace("</script", "<\\/script")), _asset("page.js")
    return pages.get_template(template).render(
        title=title,
        policy=policy(library, script),
        figures=figures,
        data={"name": title, "figures": figures, "themes": vega.THEMES, "timelines": timelines or {}},
        css=_asset("page.css"),
        library=library,
        script=script,
        **values,
    )


def headline(verdicts: Iterable[str], labels: Mapping[str, str]) -> str:
    """Count rows by verdict, in the order of `said`: "6 numbers: 2 worse, 4 without a step"."""
    counts = Counter(verdicts)
    each = (f"{counts[verdict]} {label}" for verdict, label in labels.items() if counts[verdict])
    return f"{counted(counts.total(), 'number')}: {', '.join(each)}"


def _whole(text: str) -> str:
    """Keep a number and its interval on one line."""
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def _asset(name: str) -> Markup:
    """Read a file of this package, which is not escaped."""
    return Markup((files("perjoule.report") / name).read_text(encoding="utf-8"))
