"""`perjoule tune`: the settings of a file system and its hosts that do best, found by measuring."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import err, out, show, show_line
from perjoule.model.format import percent, uncertainty_text
from perjoule.model.metrics import BY_LABEL
from perjoule.model.units import counted

# what measures is imported where it is used: that takes longer than `--help` and an error should
if TYPE_CHECKING:
    from perjoule.model import Campaign, Json
    from perjoule.store import Results
    from perjoule.tuning.outcome import TuningOutcome
    from perjoule.tuning.request import Request
    from perjoule.tuning.study import Study
    from perjoule.tuning.tune import RoundProgress

# of one workload with one number of clients: the shortest race and comparison, see tuning.race.budget
LEAST_TRIALS_COUNT = 10


@click.command(
    "tune",
    short_help="Find the settings that do best.",
    epilog=examples(
        "perjoule tune my.toml --for MiB/J --list",
        "perjoule tune my.toml --for MiB/J --trials 40",
        'perjoule tune my.toml --for MiB/s --within "20 W" --only threads',
        "perjoule tune tune.toml --for EDP --trials 16 --into results/tuned",
    ),
)
@parameters.file
@click.option(
    "--for",
    "metric",
    required=True,
    metavar="METRIC",
    help="What to improve: MiB/J, EDP, MiB/s, or any other column with a better direction.",
    shell_complete=parameters.completing(lambda: BY_LABEL),
)
@click.option(
    "--within", "limit", default="", metavar="POWER", help='Limit of the servers\' mean power: "20 W".'
)
@click.option(
    "--trials",
    "trials_count",
    metavar="N",
    type=click.IntRange(min=LEAST_TRIALS_COUNT),
    default=40,
    show_default=True,
    help=f"Measure at most this many; {LEAST_TRIALS_COUNT} or more for each workload and number of clients.",
)
@click.option("--only", multiple=True, metavar="OPTION", help="Tune only this option; repeat it for several.")
@click.option(
    "--filesystem", default="", metavar="LABEL", help="The file system to tune, if the campaign has several."
)
@click.option(
    "--allow-less-durable", "less_durable", is_flag=True, help="Also try values that give up durability."
)
@click.option(
    "--list", "listing", is_flag=True, help="List the options and their values, and measure nothing."
)
@parameters.into
@parameters.overrides
@parameters.shrink
@parameters.simulate
@parameters.ssh_config
@parameters.programs
@parameters.overwrite
@json_output.option
def tune_command(
    file: Path,
    metric: str,
    limit: str,
    trials_count: int,
    only: tuple[str, ...],
    filesystem: str,
    less_durable: bool,
    listing: bool,
    into: Path | None,
    overrides: tuple[str, ...],
    shrink: int | None,
    simulate: bool,
    devices: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the settings of a campaign's file system and hosts that do best, and prove the gain with fresh
    trials.

    A race of settings comes first, each measured on a deployment of its own. Then the best one and the
    campaign's own setting are measured in turns; only these trials count for the gain. Each round is a
    results folder in DIR. Ctrl-C takes everything down; the same command with --into DIR, or `perjoule resume
    DIR`, continues.
    """
    from perjoule import campaign
    from perjoule.campaign.source import owned_text_of
    from perjoule.tuning import folder as folders
    from perjoule.tuning.request import Request
    from perjoule.tuning.study import study

    request = Request(metric, trials_count, limit, filesystem, only, less_durable)
    text, owner = owned_text_of(file)
    options_given = parameters.options(overrides, shrink, simulate=simulate)
    campaign.document(text, source=file.name, overrides=options_given, owner=owner)
    if into is not None and folders.is_tuning(into):
        folders.require_same(into, folders.opened(into), request, text, options_given)
        go_on(into, devices, as_json=as_json)
        return
    planned = study(request, text, options_given, file.name, file.parent)
    if listing:
        _list(planned, as_json=as_json)
        return
    folder = (
        into or Path("results") / f"{planned.tuned_campaign.name}-tuning-{time.strftime('%Y%m%d-%H%M%S')}"
    )
    _begin(planned, request, text, folder)
    go_on(folder, devices, as_json=as_json)


def _begin(planned: "Study", request: "Request", text: str, folder: Path) -> None:
    from perjoule.cli.terminal.outputs import require_folder
    from perjoule.execution import readiness, resources
    from perjoule.tuning import folder as folders

    require_folder(folder)
    readiness.require(
        (
            *readiness.look(planned.tuned_campaign).checks,
            *resources.checks(planned.tuned_campaign.trials, folder),
        )
    )
    folders.begin(
        folder, folders.Begun(request, text, planned.overrides, planned.offered), planned.tuned_campaign.files
    )


def go_on(
    folder: Path, devices: tuple[str, ...], *, as_json: bool = False, again_failed: bool = False
) -> None:
    """Measure what is missing of a tuning (with `again_failed`: failed trials, too), and print what it
    found.
    """
    from perjoule import campaign, drivers
    from perjoule.cli import exits
    from perjoule.cli.terminal.giving import given_back
    from perjoule.model import least_real
    from perjoule.results.limitations import SIMULATED
    from perjoule.tuning import folder as folders
    from perjoule.tuning.study import study
    from perjoule.tuning.tune import tune

    begun, file = folders.opened(folder), folder / folders.CAMPAIGN
    owner = file.stat().st_uid
    campaign.document(begun.text, source=str(file), overrides=begun.overrides, owner=owner)
    planned = study(begun.request, begun.text, begun.overrides, str(file), folder, offered=begun.offered)
    options = counted(len(planned.declared.space.options), "option")
    err.print(
        f"{planned.tuned_campaign.name}: tuning {options}, {planned.declared.space.count} settings, for "
        f"{planned.objective.text}, "
        f"in at most {counted(begun.request.trials_count, 'trial')}; into {folder}"
    )
    with (
        exits.interruptible(f"continue with: perjoule resume {shlex.quote(str(folder))}"),
        given_back(folder),
    ):
        outcome = tune(
            planned, folder, lambda asked, place: _measure(asked, place, devices, again_failed), _tell
        )
    reality = least_real(map(drivers.reality, planned.tuned_campaign.trials))
    if as_json:
        json_output.print_json("tune", {**_content(outcome, folder), "reality": reality})
        return
    _show(outcome, folder)
    if reality == "simulated":
        out.print(SIMULATED)


def _measure(asked: "Campaign", place: Path, devices: tuple[str, ...], again_failed: bool) -> "Results":
    """Measure what is missing of a round. Raises CampaignError, MachineError: it can't be measured."""
    from perjoule import campaign, store
    from perjoule.cli import exits
    from perjoule.cli.terminal.consent import confirmed
    from perjoule.cli.terminal.progress import ProgressDisplay as Shown
    from perjoule.execution import runner
    from perjoule.execution.remaining import account_of
    from perjoule.model.errors import CampaignError, MachineError

    results = store.create(place, asked.text, asked.name, asked.overrides, asked.files)
    missing = runner.missing(asked, results, again_failed=again_failed)
    if not missing:
        return results
    asked = confirmed(asked, missing, devices)
    account = account_of(campaign.plan(asked), {trial.id for trial in missing})
    err.print(f"{place.name}: {counted(len(missing), 'trial')}")
    try:
        with Shown(account, exits.stopping) as progress:
            runner.run(asked, results, progress, again_failed=again_failed, account=account)
    except (CampaignError, MachineError):
        if runner.missing(asked, results):
            raise
    return results


def _tell(progress: "RoundProgress") -> None:
    err.print(
        f"round {progress.round}: {progress.trials_count} of at most {progress.most_count} trials; "
        f"best so far: {progress.best} ({percent(progress.gain_ratio, 1, sign=True)} % expected); "
        f"another setting is expected to improve on it by {uncertainty_text(progress.improvement_ratio)} % "
        "at most",
        style="bold",
    )


def _said(value: "Json") -> str:
    from perjoule.model.validation import written

    return "as it is" if value is None else written(value)


def _lost(loss: str) -> str:
    return f" (may lose: {loss})" if loss else ""


def _list(planned: "Study", *, as_json: bool) -> None:
    from perjoule.results.table import Table

    options = planned.declared.space.options
    if as_json:
        content = [
            {
                "option": o.name,
                "values": o.values,
                "default": o.values[o.default],
                "less_durable": list(o.less_durable.values()),
            }
            for o in options
        ]
        json_output.print_json("tune --list", {"objective": planned.objective.text, "options": content})
        return
    rows = [
        (
            option.name,
            _said(option.values[option.default]),
            ", ".join(_said(v) + _lost(option.less_durable.get(n, "")) for n, v in enumerate(option.values)),
        )
        for option in options
    ]
    headers = ("option", "default", "values")
    show(Table(headers, tuple(rows), headers), (), ())
    shared = planned.budget
    show_line(
        f"{planned.declared.space.count} settings; a setting takes {counted(planned.work_count, 'trial')}; "
        f"the race has {shared.search_count} of them, and the final comparison {shared.final_count} of each "
        "side at least"
    )


def _show(outcome: "TuningOutcome", folder: Path) -> None:
    from perjoule.results.table import Table, ratio_text

    rows = [
        (i.option, _said(i.best) + _lost(i.may_lose), _said(i.worst), ratio_text(i.ratio), i.matters)
        for i in outcome.importance
    ]
    headers_of_words = ("option", "best", "worst", "importance")
    headers = (*headers_of_words[:3], f"{outcome.objective.metric.label}, best / worst", headers_of_words[3])
    show(Table(headers, tuple(rows), headers_of_words), (), ())
    show_line("Each option by itself, as the race's model estimates it (95 % intervals).")
    for line in (
        *(f"failed: {setting}: {why}" for setting, why in outcome.failed.items()),
        *(f"doubt: {d}" for d in outcome.doubts),
    ):
        show_line(line)
    out.print()
    out.print(outcome.sentence, style="bold", soft_wrap=True)
    settings, trials = counted(outcome.settings_count, "setting"), counted(outcome.trials_count, "trial")
    show_line(f"{settings} in {trials}; the race ended because {outcome.ended}; results: {folder}")
    if outcome.better:
        show_line(f"campaign with this setting: {folder / 'tuned.toml'}")


def _content(outcome: "TuningOutcome", folder: Path) -> dict[str, object]:
    """Return the JSON content."""
    gain = outcome.gain
    return {
        "objective": outcome.objective.text,
        "metric": outcome.objective.metric.key,
        "sentence": outcome.sentence,
        "better": outcome.better,
        "changes": outcome.changes,
        "gives_up": outcome.gives_up,
        "gain": None
        if gain is None
        else {
            "ratio": gain.ratio.mean,
            "low": gain.ratio.low,
            "high": gain.ratio.high,
            "p": gain.p,
            "verdict": gain.word,
        },
        "repetitions_count": outcome.repetitions_count,
        "power_w": outcome.power_w,
        "importance": outcome.importance,
        "settings_count": outcome.settings_count,
        "trials_count": outcome.trials_count,
        "ended": outcome.ended,
        "failed": outcome.failed,
        "doubts": outcome.doubts,
        "results": folder,
        "campaign": folder / "tuned.toml" if outcome.better else None,
    }
