"""The power states that hosts offer to a tuning. No host is touched."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from perjoule.drivers.protocols import Offered
from perjoule.model import Json
from perjoule.model.units import HERTZ, exact_text
from perjoule.testbeds._power.options import Power
from perjoule.testbeds._power.states import States, khz

T = TypeVar("T")
_GOVERNOR_OF_PROGRAMS = "userspace"  # leaves the clock to whoever writes it
_MOST_COUNT = 5  # clocks
_STEP_KHZ = 100_000  # of clocks where a driver lists none


def offers(states_of_hosts: Sequence[States], power: Power) -> Mapping[str, Offered]:
    """Return the values that all of these hosts offer for the tunable options of `power`, by their names
    in [testbed].
    """
    policies = [policy for host in states_of_hosts for policy in host.policies.values()]
    idle = [states for host in states_of_hosts for states in host.idle.values()]
    offered: dict[str, Offered] = {}
    if policies and all(host.policies for host in states_of_hosts):
        if power.cpu_preference is None:  # some governors refuse a preference
            listed = (policy.get("scaling_available_governors", "").split() for policy in policies)
            governors = [governor for governor in _shared(listed) if governor != _GOVERNOR_OF_PROGRAMS]
            offered["cpu_governor"] = _offered(
                governors, (policy.get("scaling_governor", "") for policy in policies), str
            )
        clocks = [
            clock_khz for clock_khz in _clocks_khz(policies) if clock_khz * 1000 >= (power.cpu_min_hz or 0)
        ]
        limits = {khz(policy.get("scaling_max_freq", "")) for policy in policies}
        if len(limits) == 1 and clocks:
            clocks = sorted({*clocks, *limits})
        offered["cpu_max"] = _offered(clocks, limits, _clock)
    if idle and all(host.idle for host in states_of_hosts):
        names = _shared([name for name, *_ in states] for states in idle)
        offered["cpu_deepest_idle"] = _offered(names, map(_deepest, idle), str)
    return {f"power.{name}": offer for name, offer in offered.items() if offer.values}


def _offered(values: Sequence[T], values_now: Iterable[T], text: Callable[[T], str]) -> Offered:
    distinct = set(values_now)
    shared: Json = text(distinct.pop()) if len(distinct) == 1 and distinct <= set(values) else None
    return Offered(tuple(map(text, values)), shared)


def _shared(listed: Iterable[Sequence[str]]) -> Sequence[str]:
    """Return the words of the first list that all have."""
    first, *further = listed
    return [value for value in dict.fromkeys(first) if all(value in values for values in further)]


def _clocks_khz(policies: Sequence[Mapping[str, str]]) -> Sequence[int]:
    """Return clocks that all CPUs may be limited to, from the lowest to the highest: listed ones, or steps
    of 100 MHz.
    """
    lowest = max(khz(policy.get("cpuinfo_min_freq", "")) for policy in policies)
    highest = min(khz(policy.get("cpuinfo_max_freq", "")) for policy in policies)
    if not all("scaling_max_freq" in policy for policy in policies) or not 0 < lowest < highest:
        return ()
    listed = [policy.get("scaling_available_frequencies", "").split() for policy in policies]
    if all(listed):
        clocks_khz = sorted(
            clock_khz for clock_khz in map(khz, _shared(listed)) if lowest <= clock_khz <= highest
        )
    else:
        clocks_khz = [
            lowest,
            *range(lowest // _STEP_KHZ * _STEP_KHZ + _STEP_KHZ, highest, _STEP_KHZ),
            highest,
        ]
    last, count = len(clocks_khz) - 1, min(_MOST_COUNT, len(clocks_khz))
    return list(dict.fromkeys(clocks_khz[round(n * last / max(1, count - 1))] for n in range(count)))


def _clock(one_khz: int) -> str:
    return exact_text(one_khz * 1000, HERTZ)


def _deepest(states: Sequence[tuple[str, str, bool]]) -> str:
    """Return the deepest idle state of a CPU that is enabled, if all above it are, too; "" otherwise."""
    enabled = [name for name, _, on in states if on]
    return enabled[-1] if enabled and enabled == [name for name, *_ in states][: len(enabled)] else ""
