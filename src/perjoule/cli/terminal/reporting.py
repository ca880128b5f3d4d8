"""The report at the end of a command that does more than that."""

import shlex
from pathlib import Path

from perjoule import store
from perjoule.figures import rendering
from perjoule.summary import report_is_current, summary


def conclude(results: store.Results, page: Path) -> str:
    """Write the report if it is not of these results, and name it.

    Without what draws it, keep its table, and say what to do.
    """
    if not rendering.installed():
        results.keep_table(summary(results).cells)
        again = f"perjoule report {shlex.quote(str(results.folder))}"
        why = (
            f"no report ({rendering.LIBRARY} is not "
            f"installed{', and the one there is older' if page.exists() else ''})"
        )
        return f"{why}; {rendering.FIX}, and then, here or elsewhere: {again}"
    if not report_is_current(results):
        from perjoule import report

        report.write(results, page)
    return f"report: {page}"
