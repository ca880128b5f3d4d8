"""What panels and bars call a load."""

from collections.abc import Iterable, Mapping

Load = tuple[str, str]  # workload, direction


def load_names(loads: Iterable[Load]) -> Mapping[Load, str]:
    """Name loads so that no two are alike: by direction, or by workload where a direction has several; in
    the given order.
    """
    distinct = dict.fromkeys(loads)
    workloads = [workload for workload, _ in distinct]
    directions = [direction for _, direction in distinct]
    return {
        (workload, direction): direction
        if directions.count(direction) == 1
        else workload
        if workloads.count(workload) == 1
        else f"{workload}, {direction}"
        for workload, direction in distinct
    }
