"""Options worth tuning, as a driver declares them: the values to try, and which of them give up durability."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.model import Json


@dataclass(frozen=True)
class Tunable:
    """Marks an option whose values trade speed for energy: `Annotated[int, Tunable((16, 32, 64), scale=True)]`.

    What decides how often or how safely data are stored is the user's need, not a setting: do not mark it, or name what it
    gives up. Do not mark either what would only move work to where no meter sees it.
    """

    values: tuple[Json, ...]  # worth trying, as a campaign writes them
    scale: bool = False  # numbers whose ratio matters: neighbours behave alike; otherwise choices without an order
    less_durable: Mapping[str | bool, str] = field(
        default_factory=dict[str | bool, str]
    )  # value -> what may be lost: "data in memory"
    key: str = ""  # of an option that is a table: the key in it
    otherwise: Json = None  # the value of that key when the table lacks it

    def lost(self, value: Json) -> str:
        """Return what may be lost with a value; "" if nothing."""
        return self.less_durable.get(value, "") if isinstance(value, str | bool) else ""
