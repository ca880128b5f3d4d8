"""The order in which trials run: blocks of repetitions, shuffled inside.

Trials that share testbed and file system are one group, on one deployment; each trial with events is a group
of its own, so that nothing of what happened in it, nor the work to heal it, reaches another. In a group, each
repetition is a block with every combination once, so a drift of the machine affects all of them alike (a
randomised complete block design). A read comes right behind the write of the same load and clients, whose
files it finds; all other reads lay out their own (`execution.layouts`). With order = "interleaved" the file
systems take turns, too: a repetition includes all of them, each freshly deployed.
"""

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from perjoule.campaign.header import Header
from perjoule.campaign.pairs import FileSystemPair
from perjoule.campaign.reading import behind_their_writes
from perjoule.model import Spec, Trial, TrialEvent


def most_repetitions(header: Header) -> int:
    """Return the largest number of repetitions of each combination."""
    return max(header.repetitions_count, header.until.max_count) if header.until else header.repetitions_count


def groups(
    header: Header,
    seed: int,
    pairs: Sequence[FileSystemPair],
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
    for pair in pairs:
        for repetition in repetitions:
            block = [
                Trial(
                    pair.testbed, pair.filesystem, workload, tuple(meters), clients_count, repetition, events
                )
                for workload, clients_count in product(pair.workloads, header.clients_count)
            ]
            shuffle(block)
            blocks[repetition].append(block if header.order == "written" else behind_their_writes(block))
    if header.order == "interleaved":  # all file systems in each repetition, each on a deployment of its own
        for deployments in blocks.values():
            shuffle(deployments)
        trial_groups = [tuple(block) for deployments in blocks.values() for block in deployments]
        return _apart(trial_groups) if events else tuple(trial_groups)
    trial_groups = [
        tuple(trial for block in of_one for trial in block) for of_one in zip(*blocks.values(), strict=True)
    ]
    shuffle(trial_groups)
    return _apart(trial_groups) if events else tuple(trial_groups)


def _apart(trial_groups: Sequence[Sequence[Trial]]) -> tuple[tuple[Trial, ...], ...]:
    """Give each trial a group of its own."""
    return tuple((trial,) for group in trial_groups for trial in group)
