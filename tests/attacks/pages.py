"""Words that would be markup, script or a link where a page forgets what they are."""

import json
from pathlib import Path

from perjoule import campaign, report, store
from perjoule.execution import runner

RAN = "window.ran = 1"
MARKUP = (
    f"<script>{RAN}</script>",
    f"\"><img src=x onerror='{RAN}'>",
    f"</script><script>{RAN}</script>",
    f"</title><svg onload='{RAN}'>",
    f"<!--<script>{RAN}//-->",
    f"javascript:{RAN}",
    f"\u2028{RAN}//\u2029",
    "{{ 7 * 7 }}",
    f"' + ({RAN}) + '",
    f"datum['{RAN}']",
)
CAMPAIGN = """
name = "hostile"
description = {words}
repetitions = 2
seed = 1
settle = "20 ms"
quiet = "1 ms"
[testbed]
kind = "simulated"
label = {words}
[[filesystem]]
kind = "simulated"
label = {words}
throughput = "80 MiB/s"
[[filesystem]]
kind = "simulated"
label = "plain"
throughput = "40 MiB/s"
[[workload]]
kind = "simulated"
label = {words}
size = "2 MiB"
[[meter]]
kind = "simulated"
waveform = "constant"
rate = "200 Hz"
"""


def hostile_results(folder: Path, words: str = " ".join(MARKUP)) -> store.Results:
    """A campaign measured on simulated hosts, whose author put markup wherever words may stand, with its
    report.
    """
    asked = campaign.parse(CAMPAIGN.format(words=json.dumps(words)))
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    report.write(results, folder / "report.html")
    return results
