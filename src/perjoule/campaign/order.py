"""The order in which trials run: blocks of repetitions, shuffled inside.

Trials that share testbed and file system are one group, on one deployment; each trial with events is a group of its own, so
that nothing of what happened in it, nor the work to heal it, reaches another. In a group, each repetition is a block with every
combination once, so a drift of the machine affects all of them alike (a randomised complete block design). With order =
"interleaved" the file systems take turns, too: a repetition includes all of them, each freshly deployed.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from perjoule.campaign.header import Header
from perjoule.model import Spec, Trial, TrialEvent


def most_repetitions(header: Header) -> int:
    """Return the largest number of repetitions of each combination."""
    return max(header.repetitions_count, header.until.max_count) if header.until else header.repetitions_count


def groups(
    header: Header,
    seed: int,
    testbeds: Sequence[Spec],
    filesystems: Sequence[Spec],
    workloads: Sequence[Spec],
    meters: Sequence[Spec],
    *,
    events: tuple[TrialEvent, ...] = (),
) -> tuple[tuple[Trial, ...], ...]:
    """Put all trials in order. The same seed gives the same order, on any machine and in any process."""
    shuffled = random.Random(seed)

    def shuffle(things: list[Any]) -> None:
        if header.order != "written":
            shuffled.shuffle(things)

    repetitions = range(1, most_repetitions(header) + 1)
    blocks: dict[int, list[list[Trial]]] = {repetition: [] for repetition in repetitions}
    for testbed, filesystem in product(testbeds, filesystems):
        filesystem = replace(filesystem, label=label_on(filesystem, testbed, testbeds))
        for repetition in repetitions:
            block = [
                Trial(testbed, filesystem, workload, tuple(meters), clients_count, repetition, events)
                for workload, clients_count in product(workloads, header.clients_count)
            ]
            shuffle(block)
            blocks[repetition].append(block)
    if header.order == "interleaved":  # all file systems in each repetition, each on a deployment of its own
        for deployments in blocks.values():
            shuffle(deployments)
        found = [tuple(block) for deployments in blocks.values() for block in deployments]
        return _apart(found) if events else tuple(found)
    found = [tuple(trial for block in of_one for trial in block) for of_one in zip(*blocks.values(), strict=True)]
    shuffle(found)
    return _apart(found) if events else tuple(found)


def _apart(found: Sequence[Sequence[Trial]]) -> tuple[tuple[Trial, ...], ...]:
    """Give each trial a group of its own."""
    return tuple((trial,) for group in found for trial in group)


def label_on(filesystem: Spec, testbed: Spec, testbeds: Sequence[Spec]) -> str:
    """Return a file system's label, with what distinguishes testbeds if there are several: tables show only file systems."""
    if len(testbeds) == 1:
        return filesystem.label
    others = [{key: value for key, value in one.options.items() if key != "servers"} for one in testbeds]
    servers = testbed.options.get("servers")
    if any(options != others[0] for options in others):
        return f"{filesystem.label} on {testbed.label}"
    return f"{filesystem.label}, {servers} server{'' if servers == 1 else 's'}"
