"""Ages a file system before its trials while their meters record, and waits until it is quiet."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from perjoule import drivers
from perjoule.drivers import together
from perjoule.drivers.protocols import Ages, Hosts, Mounted, able
from perjoule.execution import settling
from perjoule.model import Campaign, Doubt, Json, Record, Series, Trial
from perjoule.store import Results
from perjoule.store.ageing import ageing_series, new_ageing
from perjoule.trial.ageing import energy_j


@dataclass(frozen=True)
class AgedDeployment:
    """What a deployment went through, what meters saw meanwhile, and doubts about the trials that follow."""

    facts: Mapping[str, Json]
    series: tuple[Series, ...]
    doubts: tuple[Doubt, ...]

    def of(self, record: Record) -> Record:
        """Return a record that has it, with the joules of the record's hosts."""
        aged = replace(
            record, facts={**record.facts, "aged": self.facts}, doubts=(*record.doubts, *self.doubts)
        )
        return replace(
            aged, facts={**record.facts, "aged": {**self.facts, "energy_j": energy_j(aged, self.series)}}
        )


def age(
    campaign: Campaign, trial: Trial, hosts: Hosts, mounted: Mounted, results: Results
) -> AgedDeployment | None:
    """Age the file system of a trial, if the campaign wants that.

    Raises:
        WorkloadError: it can't be filled so far.
    """
    target = drivers.filesystem(trial.filesystem).aged
    if target is None or not target.full_ratio:
        return None
    with results.place() as place, new_ageing(place) as (folder, sink), ExitStack() as meters:
        meters.enter_context(together.recording(map(drivers.meter, trial.meters), hosts, sink))
        idle_bytes_per_s = settling.rate_bytes_per_s(hosts, campaign.settle_s)
        began_s = time.monotonic()
        ageing_facts = able(mounted, Ages).age(target)
        ended_s = time.monotonic()
        tail = settling.tail(
            hosts,
            mounted,
            settle_s=campaign.settle_s,
            quiet_s=campaign.quiet_s,
            idle_bytes_per_s=idle_bytes_per_s,
        )
    facts = {
        **ageing_facts,
        "began_s": began_s,
        "ended_s": ended_s,
        "quiet_s": tail.phase.ended_s,
        "folder": folder,
    }
    return AgedDeployment(
        facts, ageing_series(results.folder, folder), tuple(doubt.about("ageing") for doubt in tail.doubts)
    )
