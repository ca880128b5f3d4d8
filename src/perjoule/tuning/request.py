"""A request to tune, as a user makes it and a folder keeps it: apart from the study, because every `run`
imports it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """What a user asks of a tuning."""

    metric: str
    trials_count: int
    limit: str = ""  # of the power: "20 W"
    filesystem: str = ""  # which one of the campaign, by label or kind; "": its only one
    only: tuple[str, ...] = ()  # options to tune; (): all
    less_durable: bool = False
