"""Options worth tuning, as a driver declares them: the values to try, and which of them give up
durability.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.model import Json


@dataclass(frozen=True)
class Tunable:
    """Marks an option whose values trade speed for energy: `Annotated[int, Tunable((16, 32, 64),
    scale=True)]`.

    What decides how often or how safely data are stored is the user's need, not a setting: do not mark it, or
    name what it gives up. Do not mark either what would only move work to where no meter sees it. An option
    of a table, such as `beneath`, is tuned only in campaigns that have the table.
    """

    values: tuple[Json, ...] = ()  # worth trying, as a campaign writes them; (): those of `Testbed.offered`
    # numbers whose ratio matters: neighbours behave alike; otherwise choices without an order
    scale: bool = False
    less_durable: Mapping[str | bool, str] = field(
        default_factory=dict[str | bool, str]
    )  # value -> what may be lost: "data in memory"
    key: str = ""  # of an option that is a table without options of its own: the key in it
    # the value of the option, or of that key, where the campaign has none; None: see the driver's default
    otherwise: Json = None

    def lost(self, value: Json) -> str:
        """Return what may be lost with a value; "" if nothing."""
        return self.less_durable.get(value, "") if isinstance(value, str | bool) else ""


@dataclass(frozen=True)
class Offered:
    """The values of an option that all hosts offer which a campaign names for it."""

    values: tuple[Json, ...]  # as a campaign writes them
    # the value that it has on all of them; None if they differ, or if it is not among the values
    now: Json = None
