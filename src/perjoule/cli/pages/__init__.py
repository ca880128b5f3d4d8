"""Pages of the reference that are laid out from the code, which has their words; `perjoule docs` and the
site show them.
"""

from importlib import import_module

# The title of each, by the module that lays it out.
LAID_OUT = {
    "campaign": "Keys of a campaign",
    "doubts": "Doubts",
    "errors": "Errors",
    "metrics": "Metrics",
    "permitted": "Words that a campaign may pass on",
}


def laid_out(name: str) -> str:
    """Return a page of LAID_OUT, in Markdown. Its module is imported now: most load drivers."""
    body = import_module(f"{__name__}.{name}").body()
    return f"# {LAID_OUT[name]}\n\n{body}"
