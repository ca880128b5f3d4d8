"""A small campaign on the simulated testbed, run: what tests of what comes after a campaign begin with."""

from pathlib import Path
from typing import Any

from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.views.content import Content

CAMPAIGN = """
name = "small"
seed = 1
{top}
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "80 MiB/s"
[[workload]]
kind = "simulated"
size = "{size}"
[[meter]]
{meter}
"""
STEADY = 'kind = "simulated"\nwaveform = "constant"\nrate = "200 Hz"'


def measured(folder: Path, top: str, *, size: str = "8 MiB", meter: str = 'kind = "system"') -> store.Results:
    """Run it into a folder, with these lines at its top."""
    asked = campaign.parse(CAMPAIGN.format(top=top, size=size, meter=meter))
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    return results


def content_of(results: Any = None, **values: object) -> Content:
    """The content with these values; what follows from them is computed."""
    content = Content(results)
    vars(content).update(values)
    return content


def changed(content: Content, **values: object) -> Content:
    """The content with these values instead of its own, of the same trials."""
    return content_of(content.results, **({"trials": content.trials, "summary": content.summary} | values))
