"""`perjoule check`, the dry run."""

from pathlib import Path

import click

from perjoule import campaign
from perjoule.cli import parameters
from perjoule.cli.display import counted, out, trial_text
from perjoule.cli.parameters import examples
from perjoule.execution import readiness, resources, time_limit
from perjoule.model.units import bytes_text, seconds_text


@click.command(
    short_help="Dry run: the trials in order, bytes, time.",
    epilog=examples("perjoule check examples/green-storage.toml", "perjoule check my.toml --shrink 100"),
)
@parameters.file
@parameters.overrides
@parameters.shrink
def check(file: Path, overrides: tuple[str, ...], shrink: int | None) -> None:
    """Dry run: print the trials in order, their bytes, the space needed and the estimated time. Touches nothing."""
    asked = campaign.read(file, parameters.options(overrides, shrink))
    for error in campaign.impossible(asked).values():
        raise error
    plan = campaign.plan(asked)
    for number, step in enumerate(plan.steps, start=1):
        out.print(f"{number:4}  {trial_text(step.trial)}  {bytes_text(step.moved_bytes)}  {seconds_text(step.duration_s)}")
    out.print(
        f"\n{asked.name}: {counted(len(plan.steps), 'trial')} on {counted(len(asked.groups), 'deployment')}, "
        f"{bytes_text(plan.moved_bytes)} to be moved, about {seconds_text(plan.duration_s)}; seed {asked.seed}"
    )
    for (_, filesystem), error in readiness.unable(asked).items():
        out.print(f"{filesystem} can't be measured on this machine: {error}. The other file systems can.")
    if asked.until is not None:
        out.print(
            f"at most: each combination is repeated {asked.least_count} to {asked.until.most_count} times, "
            f"until {asked.until.metric} is known to ± {asked.until.interval_ratio:.1%}"
        )
    if unfit := time_limit.beforehand(plan, asked.trials):
        out.print(unfit)
    there = resources.checks(asked.trials, Path("results"))
    for one in there:
        out.print(f"{one.name}: {one.detail}")
    readiness.require(there)
