"""Specifications drawn as SVG and PDF, and the script that draws them in a page. https://github.com/vega/vl-convert"""

from importlib.metadata import version

from perjoule.figures.vega import THEMES, Spec
from perjoule.machine import kept

VERSION = "6.4"  # of Vega-Lite


def svg(spec: Spec) -> str:
    """Draw a specification as SVG, in the light theme."""
    import vl_convert  # a page needs none of it

    return vl_convert.vegalite_to_svg(spec, vl_version=VERSION, config=THEMES["light"])


def pdf(spec: Spec) -> bytes:
    """Draw a specification as PDF, in the light theme."""
    import vl_convert

    return vl_convert.vegalite_to_pdf(spec, vl_version=VERSION, config=THEMES["light"])


def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one self-contained script; bundling it takes seconds, so it is kept."""
    path, origin = kept.in_home("vega.js"), f"vl-convert {version('vl-convert-python')}, Vega-Lite {VERSION}\n"
    found = kept.read(path, origin)
    if found is None:
        import vl_convert

        found = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VERSION).encode()
        kept.write(path, origin, found)
    return found.decode()
