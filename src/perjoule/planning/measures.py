"""What a plan computes of a candidate: key, unit, words, which way is better. Nothing else in this room
spells them.

Tables, the page, constraints, picks and JSON read it here. To add a measure, add it here, and its formula to
`outcome`.
"""

from dataclasses import dataclass
from typing import Literal

from perjoule.model.format import estimate
from perjoule.model.metrics import ENERGY as OF_ENERGY
from perjoule.model.metrics import IDLE as OF_IDLE
from perjoule.model.metrics import IDLE_POWER, RATES, Unit, metric_of
from perjoule.model.units import BYTES, JOULES, KG_PER_J, USD_PER_J

SPEED, WATT = metric_of(RATES[0]).unit, metric_of(OF_IDLE[1]).unit
TB, TIB, KWH = Unit("TB", "B", BYTES["TB"]), Unit("TiB", "B", BYTES["TiB"]), Unit("kWh", "J", JOULES["kWh"])
USD, KG, KG_CO2 = Unit("USD", "USD"), Unit("kg", "kg"), Unit("kgCO2e", "kg")
# of electricity
PRICE, GRID = Unit("USD/kWh", "USD/J", USD_PER_J["USD/kWh"]), Unit("g/kWh", "kg/J", KG_PER_J["g/kWh"])
_PER_TB_YEAR, _PER_TIB = Unit("MJ per TB-year", "J per TB-year", 1e6), Unit("kJ per TiB", "J per TiB", 1e3)


@dataclass(frozen=True, eq=False)
class Measure:
    """Of candidates; its values are in SI units, but for what its key says."""

    key: str  # in JSON
    unit: Unit  # as it is printed
    qualifier: str = ""  # after the unit: "kWh in all years"
    better: Literal["higher", "lower"] = "lower"
    name: str = ""  # of an axis of the page, and of a pick; "": neither
    objective: bool = False  # no candidate of the front is beaten in all of these
    integer: bool = False  # a limit of it is a whole number

    def number(self, value: float) -> str:
        """Print a value in its unit, without it."""
        return estimate(value / self.unit.per)

    def text(self, value: float) -> str:
        """Print a value with its unit: "412 W"."""
        return f"{self.number(value)} {self.unit.symbol}".rstrip()

    @property
    def label(self) -> str:
        """Its unit with the words after it."""
        return f"{self.unit.symbol} {self.qualifier}".rstrip()


ENERGY = Measure(OF_ENERGY, KWH, "in all years", name="energy", objective=True)
MONEY = Measure("money_usd", USD, "in all years", name="money", objective=True)
CARBON = Measure("carbon_kg", KG_CO2, "in all years", name="carbon", objective=True)
THROUGHPUT = Measure(RATES[0], SPEED, better="higher", name="throughput", objective=True)  # of the need's mix
PURCHASE = Measure("purchase_usd", USD, "to buy", name="purchase")
EMBODIED = Measure("embodied_kg", KG_CO2, "embodied", name="embodied")
IDLE = Measure(IDLE_POWER, WATT, "idle", name="idle")
CAPACITY = Measure("capacity_bytes", TB, "of user data", "higher", name="capacity")
READ = Measure("read_bytes_per_s", SPEED, better="higher")  # the most that could be read, sustained
WRITE = Measure("write_bytes_per_s", SPEED, better="higher")
# the same, however many clients there are
SERVERS_READ = Measure("servers_read_bytes_per_s", SPEED, better="higher")
SERVERS_WRITE = Measure("servers_write_bytes_per_s", SPEED, better="higher")
# whose network lets the rates of the need through
CLIENTS = Measure("needed_clients_count", Unit("", "1"), integer=True)
PEAK = Measure("peak_w", WATT)  # at the rates of the need
IDLE_ENERGY = Measure("idle_j", KWH)
RACK_UNITS = Measure("rack_units", Unit("", "1"))
LOSSES = Measure("losses_per_year", Unit("losses a year", "1/year"))  # of data, at most
STORED = Measure("stored_j_per_tb_year", _PER_TB_YEAR)
STORED_WHOLE = Measure("energy_j_per_tb_year", _PER_TB_YEAR)
MOVED = Measure("moved_j_per_tib", _PER_TIB)
MOVED_WHOLE = Measure("energy_j_per_tib", _PER_TIB)

AXES = (ENERGY, MONEY, CARBON, THROUGHPUT, PURCHASE, EMBODIED, IDLE, CAPACITY)
OBJECTIVES = tuple(axis for axis in AXES if axis.objective)
AIMS = tuple(objective for objective in OBJECTIVES if objective.better == "lower")
