"""The audit of what submissions to MLPerf Storage state of power: nameplates, which are claims and no measurement.

Provisioned power counts power supplies that only replace others, and leaves clients out. A list that divides
throughput by it ranks how hardware was ordered.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from perjoule.importing.mlperf_folders import RESULTS, SYSTEMS
from perjoule.importing.sources import Source, text_of
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model.units import counted
from perjoule.papers.audit import AuditVerdict
from perjoule.workloads.imported import Component, SystemPower, is_system, system_power

SUPPLIES = "provisioned power = watts of the power supplies that must be active"
DESCRIBED = "each system has results and a description"
_RACK = "rack units of the total = sum over nodes and switches"
_BOUNDARY = "provisioned power covers what holds the data"
_KINDS = (".yaml", ".json", ".pdf")


def systems(folder: Path) -> Iterator[tuple[Path, tuple[AuditVerdict, ...]]]:
    """Audit the descriptions of systems of a submission, by their path. Raises MachineError."""
    described = {
        path.stem
        for path in (folder / SYSTEMS).iterdir()
        if path.suffix.lower() in _KINDS and not path.name.startswith((".", "~"))
    }
    having = {
        path.name for path in (folder / RESULTS).iterdir() if path.is_dir() and not path.name.startswith(".")
    }
    yield folder, tuple(_paired(described, having))
    for path in sorted((folder / SYSTEMS).glob("*.yaml")):
        if not path.name.startswith(".") and is_system(text := text_of(path)):
            yield path, audit_system(text, path.name)


def _paired(described: set[str], having: set[str]) -> Iterator[AuditVerdict]:
    for name in sorted(described | having):
        lacking = SYSTEMS if name not in described else RESULTS if name not in having else ""
        why = f"{lacking}/{name} is absent: the system was renamed, or its rows withdrawn" if lacking else ""
        yield AuditVerdict("disagrees" if lacking else "agrees", DESCRIBED, name, "system", recomputed=why)


def audit_system(text: str, place: str) -> tuple[AuditVerdict, ...]:
    """Judge one description of v3.0 by its own numbers."""
    try:
        return tuple(_verdicts(system_power(text), place))
    except UNEXPECTED as error:
        return (AuditVerdict("unchecked", SUPPLIES, place, "the description", cause=words(error)),)


def rated(read_sources: Sequence[Source]) -> Iterator[str]:
    """Say what the descriptions of imported runs' systems state of power, each once."""
    paths = {path for source in read_sources for path in source.files.values() if source.format == "mlperf"}
    for path in sorted(path for path in paths if path.parent.name == SYSTEMS):
        try:
            power = system_power(text_of(path))
            rating_w, (_, most_w) = power.nameplate_w, power.design_w()
        except UNEXPECTED:
            continue  # its runs failed for it
        if rating_w is not None:
            yield (
                f"{path.stem}: {_kw(rating_w)} on nameplates, of which {_kw(most_w)} must be active: a rating, without "
                "clients; nothing measured is ranked with it"
            )


def _verdicts(power: SystemPower, place: str) -> Iterator[AuditVerdict]:
    units = [component.rack_units for component in power.product]
    if power.rack_units is not None and units:
        yield _rack_units(power, place)
    if power.nameplate_w is None:
        yield _unstated(power, place)
    else:
        yield _supplies(power, power.nameplate_w, place)
    if power.clients:
        yield _clients(power, place)


def _rack_units(power: SystemPower, place: str) -> AuditVerdict:
    total_units = power.rack_units
    if any(component.rack_units is None for component in power.product):
        return AuditVerdict(
            "unchecked", _RACK, place, "rack units", cause="a device does not state its rack units"
        )
    summed = sum(component.quantity * (component.rack_units or 0.0) for component in power.product)
    return AuditVerdict(
        "agrees" if summed == total_units else "disagrees", _RACK, place, "rack units",
        printed=f"{total_units:g}", recomputed=f"{summed:g}", of=_listed(power.product),
        cause="" if summed == total_units else "clients or switches of the test are counted, or a device is not listed",
    )  # fmt: skip


def _supplies(power: SystemPower, nameplate_w: float, place: str) -> AuditVerdict:
    subject, of = "provisioned power", "; ".join(map(_supplies_text, power.product))
    try:
        least_w, most_w = power.design_w()
    except ValueError as error:
        return AuditVerdict("disagrees", SUPPLIES, place, subject, recomputed=str(error))
    alike = most_w >= nameplate_w
    design = _kw(most_w) if least_w == most_w else f"{_kw(least_w)} to {_kw(most_w)}"
    cause = "" if alike else "power supplies that only replace others are counted"
    kind = "agrees" if alike else "disagrees"
    return AuditVerdict(kind, SUPPLIES, place, subject, "", _kw(nameplate_w), design, of, cause)


def _unstated(power: SystemPower, place: str) -> AuditVerdict:
    if power.on_premises and power.storage_location != "local":
        why = "the storage is outside the clients, and its devices or their power supplies are not listed"
        return AuditVerdict("disagrees", SUPPLIES, place, "provisioned power", recomputed=why)
    why = "a cloud states no power" if not power.on_premises else "the clients hold the storage"
    return AuditVerdict("unchecked", SUPPLIES, place, "provisioned power", cause=f"{why}: none is published")


def _clients(power: SystemPower, place: str) -> AuditVerdict:
    devices = counted(sum(component.quantity for component in power.clients), "client")
    rated_w = sum(component.nameplate_w for component in power.clients)
    left_out = f"{devices} left out" + (f", {_kw(rated_w)} on nameplates" if rated_w else ", without watts")
    if power.on_premises and power.storage_location in ("local", "remote_and_local"):
        why = f"{left_out}: they hold storage (storage_location: {power.storage_location})"
        return AuditVerdict("disagrees", _BOUNDARY, place, "clients", recomputed=why)
    return AuditVerdict("unchecked", "watts of all that moves the bytes", place, "clients", cause=left_out)


def _supplies_text(component: Component) -> str:
    each = " + ".join(f"{number_of} x {watts:g} W" for number_of, watts in component.supplies)
    return f"{component.quantity} x {component.name} ({each}, {component.least_active} must be active)"


def _listed(components: Sequence[Component]) -> str:
    return "; ".join(f"{c.quantity} x {c.name} ({c.rack_units:g} U)" for c in components)


def _kw(power_w: float) -> str:
    return f"{power_w / 1e3:.1f} kW"
