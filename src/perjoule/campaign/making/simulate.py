"""The same campaign, simulated: same names, order and counts, and nothing real."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perjoule import drivers
from perjoule.campaign.defaults import CLUSTER, COUNTERS, FAKE, MODEL
from perjoule.campaign.layouts import deployed
from perjoule.campaign.source import is_list
from perjoule.campaign.tables import lists_users
from perjoule.drivers.protocols import ListsUsers
from perjoule.model import Json, Spec, Trial, TrialEvent
from perjoule.model.errors import CampaignError

_SAID = (
    "Nothing here was measured: hosts, file systems, loads and meters were simulated. The campaign that "
    "they stand for:"
)
# of a simulated load, which ends by its size, or by time if something happens
SMALL: Mapping[str, Json] = {"size": "8 MiB"}
SHORT: Mapping[str, Json] = {"size": "1 GiB", "duration": "0.4 s"}
METERS = tuple(Spec(kind, {"rate": "50 Hz"}, kind) for kind in (COUNTERS, MODEL))


def simulated(groups: Sequence[Sequence[Trial]]) -> tuple[tuple[Trial, ...], ...]:
    """Replace all drivers by simulated ones; each file system gets a speed that depends on its label."""
    deployments = {deployed(trial): trial for group in groups for trial in group}
    claims = {deployment: _claimed(trial) for deployment, trial in deployments.items()}
    return tuple(tuple(_simulated(trial, claims[deployed(trial)]) for trial in group) for group in groups)


def described(description: str) -> str:
    """Say before a campaign's own description, which is of real parts, that these were simulated; "" stays
    so.
    """
    return f"{_SAID}\n\n{description}" if description.strip() else ""


def _simulated(trial: Trial, claims: Mapping[str, Json]) -> Trial:
    testbed: dict[str, Json] = {"cluster": trial.testbed.options.get("cluster", CLUSTER)}
    testbed |= {"servers": trial.testbed.options["servers"]} if "servers" in trial.testbed.options else {}
    # below the NIC of the cluster, so that nothing is doubted
    speed = 30 + zlib.crc32(trial.filesystem.label.encode()) % 60
    filesystem: dict[str, Json] = {
        "throughput": f"{speed} MiB/s",
        "noise": "3 %",
        "seed": trial.filesystem.label,
        **claims,
    }
    filesystem |= {"aged": trial.filesystem.options["aged"]} if "aged" in trial.filesystem.options else {}
    workload = _workload(trial.workload, SHORT if trial.events else SMALL)
    return replace(
        trial,
        events=_events(trial, workload),
        testbed=Spec(FAKE, testbed, trial.testbed.label),
        filesystem=Spec(FAKE, filesystem, trial.filesystem.label),
        workload=workload,
        meters=METERS,
    )


def _claimed(trial: Trial) -> dict[str, Json]:
    """Return the redundancy that a simulated file system claims: that of the one it stands for, on the hosts that
    it would have.
    """
    try:
        hosts = drivers.testbed(trial.testbed).planned(trial.clients_count)
        redundancy = drivers.filesystem(trial.filesystem).redundancy(
            hosts.without(drivers.joining(trial.events))
        )
    except CampaignError:  # a layout that does not fit these hosts
        redundancy = None
    if redundancy is None:
        return {"copies": 0}
    return {"code": redundancy.text} if redundancy.data_count else {"copies": redundancy.copies_count}


def _events(trial: Trial, workload: Spec) -> tuple[TrialEvent, ...]:
    """Return the events at the same shares of the simulated load's duration."""
    shrunk = (
        [drivers.workload(spec).duration_limit_s for spec in (workload, trial.workload)]
        if trial.events
        else []
    )
    return tuple(replace(event, at_s=event.at_s * shrunk[0] / shrunk[1]) for event in trial.events)


def _workload(spec: Spec, ends: Mapping[str, Json] = SMALL) -> Spec:
    """Return a simulated load in the same direction that ends so (reads for reads and writes at once), the same
    users, or the load itself if it runs there.
    """
    if listing := lists_users("workload", spec.kind):
        option, mark = listing
        users = spec.options[option]
        assert is_list(users)
        return replace(spec, options={**spec.options, option: [_user(table, mark) for table in users]})
    driver = drivers.workload(spec)
    if driver.simulated_with is not None:
        return replace(spec, options={**spec.options, **driver.simulated_with})
    (direction, *_) = driver.directions
    return Spec(FAKE, {"operation": "read" if direction == "mixed" else direction, **ends}, spec.label)


def _user(table: Json, mark: ListsUsers) -> Json:
    assert isinstance(table, Mapping)
    user_keys, options = mark.split(table)
    kind = str(options.pop("kind"))
    loads = _workload(Spec(kind, options))
    return {**user_keys, "kind": loads.kind, **loads.options}
