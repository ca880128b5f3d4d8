"""What a host says about its power states, as facts, and what a campaign wants of them as single settings.

No host is touched.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.testbeds._power.options import Power

_POLICY = re.compile(r"devices/system/cpu/cpufreq/policy(\d+)/(\w+)")
_IDLE = re.compile(r"devices/system/cpu/cpu(\d+)/cpuidle/state(\d+)/(name|disable)")
_ASPM = "module/pcie_aspm/parameters/policy"
_FREQUENCIES = {"cpu_min_hz": "scaling_min_freq", "cpu_max_hz": "scaling_max_freq"}  # in kHz
_WORDS = {
    "cpu_governor": ("scaling_governor", "scaling_available_governors"),
    "cpu_preference": ("energy_performance_preference", "energy_performance_available_preferences"),
}
# The kernel changes these with others, so they are put back with them.
_FOLLOWING = ("energy_performance_preference", "scaling_min_freq", "scaling_max_freq")


class PowerSetting(NamedTuple):
    """One state: an attribute below the root of sysfs, or a drive by its ID; `wanted` is "" where only
    `former` is put back.
    """

    option: str
    how: Literal["file", "apm", "nvme"]
    place: str
    former: str
    wanted: str


@dataclass
class DriveStates:
    """A named drive: its folder in sysfs, values by attribute's path, and what its tools say."""

    folder: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, str] = field(default_factory=dict[str, str])

    def file(self, ending: str) -> tuple[str, str]:
        """Return path and value of the attribute whose path ends so; empty texts if it has none."""
        return next(((path, value) for path, value in self.files.items() if path.endswith(ending)), ("", ""))


@dataclass
class States:
    """The states of a host."""

    boot: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])
    drives: dict[str, DriveStates] = field(default_factory=lambda: defaultdict[str, DriveStates](DriveStates))

    @property
    def policies(self) -> Mapping[str, Mapping[str, str]]:
        """The attributes of each cpufreq policy, a group of CPUs that share a clock."""
        policies: dict[str, dict[str, str]] = defaultdict(dict)
        for path, value in self.files.items():
            if match := _POLICY.fullmatch(path):
                policies[path.rpartition("/")[0]][match[2]] = value
        return policies

    @property
    def idle(self) -> Mapping[int, Sequence[tuple[str, str, bool]]]:
        """The idle states of each CPU from the shallowest to the deepest: name, path, and whether it is
        enabled.
        """
        states_of: dict[int, list[tuple[int, str, str, bool]]] = defaultdict(list)
        for path, value in self.files.items():
            if (match := _IDLE.fullmatch(path)) and match[3] == "disable":
                name = self.files.get(f"{path.rpartition('/')[0]}/name", "")
                states_of[int(match[1])].append((int(match[2]), name, path, value == "0"))
        return {cpu: [state[1:] for state in sorted(states)] for cpu, states in sorted(states_of.items())}


def states(answer: str) -> States:
    """Parse the answer of the script READ; unknown lines are skipped."""
    host_states = States()
    for line in answer.splitlines():
        name, _, content = line.partition("\t")
        drive, tab, value = content.partition("\t")
        if name == "boot":
            host_states.boot = content
        elif not tab:
            host_states.files[name] = content.strip()
        elif name == "drive":
            host_states.drives[drive].folder = value
        elif "/" in name:
            host_states.drives[drive].files[name] = value.strip()
        else:
            host_states.drives[drive].tools[name] = value.strip()
    return host_states


def current(value: str) -> str:
    """Return the chosen one of "[default] performance powersave"; a plain value as it is."""
    match = re.search(r"\[([^\[\]]+)\]", value)
    return match[1] if match else value


def facts(host_states: States) -> dict[str, Json]:
    """Return the states for the record: what the host does not have is None, what its CPUs do not share is
    a list.
    """
    policies, idle = host_states.policies.values(), host_states.idle.values()

    def shared(values: Sequence[Json]) -> Json:
        different = [value for n, value in enumerate(values) if value not in values[:n]]
        return different[0] if len(different) == 1 else different or None

    def of_policies(name: str) -> list[str]:
        return [policy[name] for policy in policies if name in policy]

    state_facts: dict[str, Json] = {"cpu_driver": shared([*of_policies("scaling_driver")])}
    state_facts |= {option: shared([*of_policies(name)]) for option, (name, _) in _WORDS.items()}
    for option, name in _FREQUENCIES.items():
        state_facts[option] = shared(
            [clock_khz * 1000 for text in of_policies(name) if (clock_khz := khz(text))]
        )
    state_facts["cpu_idle_driver"] = host_states.files.get("devices/system/cpu/cpuidle/current_driver")
    state_facts["cpu_idle_states"] = shared(
        ["+".join(name for name, _, enabled in of if enabled) for of in idle]
    )
    state_facts["pcie_aspm"] = current(host_states.files[_ASPM]) if _ASPM in host_states.files else None
    if host_states.drives:
        state_facts["drives"] = {id: _of_drive(drive) for id, drive in host_states.drives.items()}
    return state_facts


def khz(text: str) -> int:
    """Return a frequency; 0 where a driver reports none ("<unsupported>")."""
    return int(text) if re.fullmatch(r"[0-9]{1,8}", text) else 0


def _of_drive(drive: DriveStates) -> dict[str, Json]:
    tolerance = drive.file("latency_tolerance_us")[1]
    control, delay_ms = drive.file("power/control")[1], drive.file("autosuspend_delay_ms")[1]
    return {
        "sata_link": drive.file("link_power_management_policy")[1] or None,
        "disk_apm": drive.tools.get("apm") or None,
        "disk_spin_down_s": int(delay_ms) / 1000
        if control == "auto" and re.fullmatch(r"-?[0-9]{1,12}", delay_ms)
        else None,
        "nvme_state": _state(drive),
        "nvme_tolerance_s": int(tolerance) / 1e6
        if re.fullmatch(r"[0-9]{1,12}", tolerance)
        else tolerance or None,
    }


def _state(drive: DriveStates) -> int | None:
    """Return the power state of a controller: bits 0 to 4 of feature 2 (NVMe Base Specification, Power
    Management).
    """
    answer = drive.tools.get("nvme", "")
    return int(answer, 16) & 0x1F if re.fullmatch(r"[0-9a-fA-F]{1,8}", answer) else None


def settings(power: Power, host_states: States, place: str) -> tuple[PowerSetting, ...]:
    """Return what has to be set and put back.

    Raises MachineError: the host lacks it, or does not offer the value.
    """
    return (
        *_of_policies(power, host_states, place),
        *_idle_states(power, host_states, place),
        *_aspm(power, host_states, place),
        *_of_drives(power, host_states, place),
    )


def _refusal(place: str, option: str, value: object, offered: Sequence[str]) -> MachineError:
    if not offered:
        return MachineError(
            f"has no {option}", where=place, next="remove it from power, or this host from its `on`"
        )
    return MachineError(
        f'does not offer {option} = "{value}"', where=place, next=f"choose one of: {', '.join(offered)}"
    )


def _of_policies(power: Power, host_states: States, place: str) -> Iterator[PowerSetting]:
    options_set = {
        option: value for option in (*_WORDS, *_FREQUENCIES) if (value := getattr(power, option)) is not None
    }
    if options_set and not host_states.policies:
        raise _refusal(place, next(iter(options_set)), "", ())
    for folder, policy in host_states.policies.items():
        ours: set[str] = set()
        for option, value in options_set.items():
            if option in _WORDS:
                name, choices = _WORDS[option]
                offered, text = policy.get(choices, "").split(), str(value)
                if name not in policy or text not in offered:
                    raise _refusal(place, option, value, offered)
            else:
                name, text = _FREQUENCIES[option], str(round(float(value) / 1000))
                limits = [khz(policy.get(f"cpuinfo_{end}_freq", "")) for end in ("min", "max")]
                if name not in policy or not limits[0] <= int(text) <= limits[1]:
                    offered = (
                        [f"{limits[0] / 1000:g} MHz to {limits[1] / 1000:g} MHz"] if name in policy else []
                    )
                    raise _refusal(place, option.removesuffix("_hz"), f"{value / 1e6:g} MHz", offered)
            ours.add(name)
            yield PowerSetting(option, "file", f"{folder}/{name}", policy[name], text)
        for name in _FOLLOWING:
            if options_set and name in policy and name not in ours:
                yield PowerSetting("", "file", f"{folder}/{name}", policy[name], "")


def _idle_states(power: Power, host_states: States, place: str) -> Iterator[PowerSetting]:
    deepest = power.cpu_deepest_idle
    if deepest is None:
        return
    if not host_states.idle:
        raise _refusal(place, "cpu_deepest_idle", deepest, ())
    for idle_states in host_states.idle.values():
        names = [name for name, *_ in idle_states]
        if deepest not in names:
            raise _refusal(place, "cpu_deepest_idle", deepest, names)
        for number, (_, path, enabled) in enumerate(idle_states):
            text = "0" if number <= names.index(deepest) else "1"
            yield PowerSetting("cpu_deepest_idle", "file", path, "0" if enabled else "1", text)


def _aspm(power: Power, host_states: States, place: str) -> Iterator[PowerSetting]:
    if power.pcie_aspm is None:
        return
    answer = host_states.files.get(_ASPM, "")
    offered = answer.replace("[", "").replace("]", "").split()
    if power.pcie_aspm not in offered:
        raise _refusal(place, "pcie_aspm", power.pcie_aspm, offered)
    yield PowerSetting("pcie_aspm", "file", _ASPM, current(answer), power.pcie_aspm)


def _of_drives(power: Power, host_states: States, place: str) -> Iterator[PowerSetting]:
    drives = {id: host_states.drives[id] for id in power.devices if id in host_states.drives}
    if power.devices and not drives:
        raise MachineError(
            "has none of the devices of power", where=place, next="correct devices, or remove it from `on`"
        )
    for id, drive in drives.items():
        name = f"{place}: {id}"
        if "partition" in drive.tools:
            raise MachineError("is a partition", where=name, next="name the whole drive")
        spin_down_s, tolerance_s = power.disk_spin_down_s, power.nvme_tolerance_s
        if power.sata_link is not None:
            yield _of_file("sata_link", drive, "link_power_management_policy", power.sata_link, name)
        if spin_down_s is not None:
            yield _of_file(
                "disk_spin_down", drive, "autosuspend_delay_ms", str(round(spin_down_s * 1000)), name
            )
            yield _of_file("disk_spin_down", drive, "power/control", "auto", name)
        if tolerance_s is not None:
            yield _of_file(
                "nvme_tolerance", drive, "latency_tolerance_us", str(round(tolerance_s * 1e6)), name
            )
        if power.disk_apm is not None:
            former = drive.tools.get("apm", "")
            if not (former.isdigit() or former == "off"):
                raise _refusal(name, "disk_apm", power.disk_apm, ())
            yield PowerSetting(
                "disk_apm", "apm", id, former, str(power.disk_apm) if power.disk_apm < 255 else "off"
            )
        if power.nvme_state is not None:
            state, most = _state(drive), drive.tools.get("npss", "")
            count = 0 if state is None or not re.fullmatch(r"[0-9]{1,2}", most) else 1 + int(most)
            if power.nvme_state >= count:
                powers = [str(number) for number in range(count)]
                raise _refusal(name, "nvme_state", power.nvme_state, powers)
            yield PowerSetting(
                "nvme_state", "nvme", id, str(int(drive.tools["nvme"], 16)), str(power.nvme_state)
            )


def _of_file(option: str, drive: DriveStates, ending: str, text: str, place: str) -> PowerSetting:
    path, former = drive.file(ending)
    if not path:
        raise _refusal(place, option, text, ())
    return PowerSetting(option, "file", path, former, text)
