"""Specifications drawn as SVG and PDF, and the script that draws them in a page.
https://github.com/vega/vl-convert
"""

import re
from importlib.metadata import version
from importlib.util import find_spec

from perjoule.figures.vega import THEMES, Spec
from perjoule.machine import kept
from perjoule.machine.installing import installs
from perjoule.model.errors import MachineError

VERSION = "6.4"  # of Vega-Lite
POINTS_PER_PX = 72 / 96
LIBRARY, LACKING = "vl-convert", "it is not installed, and draws figures and reports"
FIX = installs("perjoule[figures]")


def installed() -> bool:
    """Whether anything can be drawn here: a host that only measures needs no library of figures."""
    return find_spec("vl_convert") is not None


def require() -> None:
    """Refuse to draw without the library. Raises MachineError."""
    if not installed():
        raise MachineError(f"{LIBRARY}: {LACKING}", next=FIX)


def svg(spec: Spec) -> str:
    """Draw a specification as SVG, in the light theme. Raises MachineError: the library is missing."""
    require()
    import vl_convert  # a page needs none of it

    return vl_convert.vegalite_to_svg(spec, vl_version=VERSION, config=THEMES["light"])


def pdf(spec: Spec) -> bytes:
    """Draw a specification as PDF, in the light theme, as large as the SVG: its converter takes a px for a
    point.
    """
    import vl_convert

    def points(match: re.Match[str]) -> str:
        return f'{match[1]}="{float(match[2]) * POINTS_PER_PX:g}"'

    head, tag, body = svg(spec).partition(">")
    return vl_convert.svg_to_pdf(re.sub(r'(?<= )(width|height)="([\d.]+)"', points, head) + tag + body)


def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one self-contained script; bundling it takes seconds, so it is
    kept.

    Raises MachineError: the library is missing.
    """
    require()
    path, origin = (
        kept.in_home("vega.js"),
        f"vl-convert {version('vl-convert-python')}, Vega-Lite {VERSION}\n",
    )
    script = kept.read(path, origin)
    if script is None:
        import vl_convert

        script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VERSION).encode()
        kept.write(path, origin, script)
    return script.decode()
