"""How long `perjoule check` says that studies take, beside how long they took: by deployment, with its trials.

Of each results folder or bundle: seconds planned for a deployment and its trials, seconds between the record before
its first trial and its last record, and their ratio (goal: 3/4 to 4/3, or FREE_S). Without one within RESUMED_S
before it, a deployment counts without being brought up. Failed trials, and those of another version of the
campaign, are left out.

usage: .venv/bin/python benchmarks/planned_times.py [RESULTS ...]     of the list in docs/list if none is named
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perjoule import campaign
from perjoule.campaign.plan import Plan

BUNDLES = Path(__file__).parents[1] / "docs" / "list" / "bundles"
GOAL = 4 / 3
FREE_S = 15.0  # by which a short deployment may miss it, since nobody waits for that
RESUMED_S = 90.0


def published() -> list[Path]:
    """List the bundles of the list."""
    return sorted(BUNDLES.glob("*.zip"))


@dataclass(frozen=True)
class Part:
    """A deployment with its trials."""

    name: str
    trials_count: int
    planned_s: float
    took_s: float

    @property
    def ratio(self) -> float:
        """What was planned over what it took."""
        return self.planned_s / self.took_s

    @property
    def is_close(self) -> bool:
        """Whether the plan was good enough to go by."""
        return 1 / GOAL < self.ratio < GOAL or abs(self.planned_s - self.took_s) < FREE_S


def parts(results: Path) -> Iterator[Part]:
    """Hold the plan of a campaign against its records, deployment by deployment, in the order of measurement."""
    text, records = _read(results)
    plan = campaign.plan(campaign.parse(text))
    steps = {step.trial.id: step for step in plan.steps}
    before_s: float | None = None
    for records_of_one in _deployments(records, plan):
        first, last_s = records_of_one[0], records_of_one[-1]["clock"]["monotonic_s"]
        of_plan = [steps[record["id"]] for record in records_of_one]
        planned_s = sum(step.duration_s for step in of_plan)
        begun_s = _begun_s(first)
        if before_s is not None and begun_s - before_s < RESUMED_S:
            planned_s += plan.deployments_s[of_plan[0].group_index]
            begun_s = before_s
        yield Part(of_plan[0].trial.filesystem.label, len(of_plan), planned_s, last_s - begun_s)
        before_s = last_s


def _begun_s(record: dict[str, Any]) -> float:
    return min(phase["began_s"] for phase in record["phases"])


def _read(results: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the campaign's text, and the records of valid trials, each with the trial's id, by time."""
    if results.is_dir():
        text = (results / "campaign.toml").read_text()
        named = {path.parts[-3]: path.read_bytes() for path in results.glob("trials/*/*/record.json")}
    else:
        with zipfile.ZipFile(results) as archive:
            text = archive.read("campaign.toml").decode()
            paths = [name for name in archive.namelist() if name.endswith("/record.json")]
            named = {path.split("/")[-3]: archive.read(path) for path in paths}
    records = [{**json.loads(content), "id": name} for name, content in named.items()]
    valid = [record for record in records if record["status"] == "valid"]
    return text, sorted(valid, key=lambda record: record["clock"]["monotonic_s"])


def _deployments(records: Sequence[dict[str, Any]], plan: Plan) -> Iterator[list[dict[str, Any]]]:
    """Divide records where another deployment follows, or the campaign was resumed."""
    group_of = {step.trial.id: step.group_index for step in plan.steps}
    current: list[dict[str, Any]] = []
    for record in records:
        if record["id"] not in group_of:
            continue
        if current:
            before = current[-1]
            resumed = _begun_s(record) - before["clock"]["monotonic_s"] > RESUMED_S
            if resumed or group_of[before["id"]] != group_of[record["id"]]:
                yield current
                current = []
        current.append(record)
    if current:
        yield current


def main(results: Sequence[Path]) -> int:
    """Print all parts; return 1 if one misses the goal."""
    missed = 0
    for path in results:
        held = list(parts(path))
        planned_s, took_s = (sum(getattr(part, end) for part in held) for end in ("planned_s", "took_s"))
        print(f"{path.name}: {planned_s / 60:.1f} of {took_s / 60:.1f} min, {planned_s / took_s:.2f}")
        for part in held:
            missed += not part.is_close
            times = f"{part.planned_s:6.0f} of {part.took_s:6.0f} s"
            mark = "" if part.is_close else "  missed"
            print(f"  {part.ratio:5.2f}  {times}, {part.trials_count:3} trials  {part.name}{mark}")
    print(f"missed: {missed or 'nothing'}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or published()))
