"""The data set of the muon analysis: events with muons in ROOT files, generated from a seed, with known
peaks.

A program of its own on a client: `python -m perjoule.workloads._muons.data FOLDER SEED EVENTS PARTS
COMPRESSION NUMBER...`

Each event has 0 to n muons. Pairs of opposite charge come from Z bosons (a Breit-Wigner shape), from J/psi
mesons and from a falling continuum; other muons are alone. The detector's mass resolution is applied before
the decay, so it is known exactly.
"""

import importlib
import math
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TREE = "Events"
MUON_GEV = 0.1056584
RESOLUTION_RATIO = 0.01  # of a pair's mass
LEAST_PT_GEV, MOST_ETA = 2.0, 2.4  # what the detector sees of muons
CONTINUUM_GEV = (1.0, 200.0)
Z_GEV = (60.0, 120.0)  # where its Breit-Wigner shape is cut off
COLUMNS = {"pt": "f4", "eta": "f4", "phi": "f4", "mass": "f4", "charge": "i4", "dxy": "f4", "dz": "f4"}
MUON = f"var * {{{', '.join(f'{name}: {np.dtype(kind).name}' for name, kind in COLUMNS.items())}}}"
EVENTS_AT_ONCE = 500_000  # bounds what a program holds in memory
EVENT_BYTES = 61  # on average, before compression; nearly half are the offsets of jagged columns
COMPRESSIONS = {"none": "", "zlib": "ZLIB", "lz4": "LZ4", "zstd": "ZSTD"}
LONE_MEAN = 0.8  # muons of an event that belong to no pair
# ROOT's date of all that is in the files: 1 January 2015
WRITTEN_CODE = (2015 - 1995) << 26 | 1 << 22 | 1 << 17


@dataclass(frozen=True)
class Particle:
    """A particle that decays to two muons: https://pdg.lbl.gov"""

    mass_gev: float
    width_gev: float  # natural; what it is below the detector's resolution can't be seen
    events_ratio: float  # share of events that have one

    @property
    def resolution_gev(self) -> float:
        """The standard deviation of its mass as the detector sees it."""
        return RESOLUTION_RATIO * self.mass_gev


Z = Particle(91.1876, 2.4952, 0.04)
JPSI = Particle(3.0969, 0.0, 0.04)
CONTINUUM_RATIO = 0.22  # share of events with a pair of it


def masses_gev(rng: np.random.Generator, kinds: Array) -> Array:
    """Draw the mass of a pair for each event: NaN if it has none. `kinds` are uniform between 0 and 1."""
    masses = np.full(len(kinds), np.nan)
    bounds = np.cumsum([Z.events_ratio, JPSI.events_ratio, CONTINUUM_RATIO])
    which = np.searchsorted(bounds, kinds, side="right")
    z, jpsi, continuum = (which == n for n in range(3))
    low, high = (math.atan((edge - Z.mass_gev) / (Z.width_gev / 2)) for edge in Z_GEV)
    masses[z] = (
        Z.mass_gev
        + Z.width_gev / 2 * np.tan(rng.uniform(low, high, int(z.sum())))
        + rng.normal(0, Z.resolution_gev, z.sum())
    )
    masses[jpsi] = rng.normal(JPSI.mass_gev, JPSI.resolution_gev, jpsi.sum())
    roots = rng.uniform(CONTINUUM_GEV[1] ** -0.5, CONTINUUM_GEV[0] ** -0.5, int(continuum.sum()))
    masses[continuum] = roots**-2.0  # a density that falls with the power 1.5 of the mass
    return masses


def pairs(rng: np.random.Generator, mass: Array) -> list[tuple[Array, Array, Array]]:
    """Boost and decay pairs of these masses (GeV): (pt, eta, phi) of each first muon and of each second."""
    vector: Any = importlib.import_module("vector")
    count = len(mass)
    pt, rapidity, phi = (
        rng.exponential(15.0, count),
        rng.normal(0, 1.2, count),
        rng.uniform(-np.pi, np.pi, count),
    )
    parent = vector.array(
        {"pt": pt, "phi": phi, "pz": np.sqrt(mass**2 + pt**2) * np.sinh(rapidity), "mass": mass}
    )
    momentum = np.sqrt(mass**2 / 4 - MUON_GEV**2)
    cosine, around = rng.uniform(-1, 1, count), rng.uniform(-np.pi, np.pi, count)
    sine = np.sqrt(1 - cosine**2)
    direction = np.array([sine * np.cos(around), sine * np.sin(around), cosine]) * momentum
    legs = [
        vector.array({"px": x, "py": y, "pz": z, "mass": np.full(count, MUON_GEV)}).boost_p4(parent)
        for x, y, z in (direction, -direction)
    ]
    return [(leg.pt, leg.eta, leg.phi) for leg in legs]


def muons(
    seed: int, number: int, cluster: int, events_count: int
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Generate a cluster of events of file `number`: muons per event, and the columns of all muons, by
    event and falling pt.
    """
    rng = np.random.default_rng([seed, number, cluster])
    mass = masses_gev(rng, rng.random(events_count))
    paired = np.flatnonzero(np.isfinite(mass))
    lone = np.repeat(np.arange(events_count), rng.poisson(LONE_MEAN, events_count))
    alone = (
        rng.exponential(8.0, len(lone)),
        rng.normal(0, 1.2, len(lone)),
        rng.uniform(-np.pi, np.pi, len(lone)),
    )
    pt, eta, phi = (np.concatenate(column) for column in zip(*pairs(rng, mass[paired]), alone, strict=True))
    event = np.concatenate([paired, paired, lone])
    first = rng.choice([-1, 1], len(paired))
    charge = np.concatenate([first, -first, rng.choice([-1, 1], len(lone))])
    accepted = np.flatnonzero((pt > LEAST_PT_GEV) & (np.abs(eta) < MOST_ETA))
    order = accepted[np.lexsort((-pt[accepted], event[accepted]))]
    apart = {name: rng.normal(0, width, len(pt)) for name, width in (("dxy", 0.003), ("dz", 0.01))}
    columns = {
        "pt": pt,
        "eta": eta,
        "phi": phi,
        "mass": np.full(len(pt), MUON_GEV),
        "charge": charge,
        **apart,
    }
    ordered = {name: columns[name][order].astype(kind) for name, kind in COLUMNS.items()}
    return np.bincount(event[order], minlength=events_count), ordered


def part_of(events_count: int, part: int, parts_count: int) -> tuple[int, int]:
    """Return the first event of a part (from 0) of a file's events, and the first one after it."""
    return events_count * part // parts_count, events_count * (part + 1) // parts_count


def clusters(events_count: int, parts_count: int) -> list[int]:
    """Return the events in each cluster of a file: a part is whole clusters, so no two tasks read the same
    bytes of data.
    """
    parts = (part_of(events_count, part, parts_count) for part in range(parts_count))
    return [
        min(EVENTS_AT_ONCE, end - begun)
        for first, end in parts
        for begun in range(first, end, EVENTS_AT_ONCE)
    ]


def write(path: Path, seed: int, number: int, events_count: int, parts_count: int, compression: str) -> None:
    """Write one ROOT file with a TTree; the same arguments give the same bytes (with the same versions of
    the libraries).
    """
    uproot: Any = importlib.import_module("uproot")
    awkward: Any = importlib.import_module("awkward")
    uproot._util.datetime_to_code = _written  # there is no option for the dates in a file's records
    packed = getattr(uproot, COMPRESSIONS[compression])(1) if COMPRESSIONS[compression] else None
    with uproot.recreate(
        path, compression=packed, uuid_function=lambda: uuid.UUID(int=seed << 32 | number)
    ) as file:
        tree = file.mktree(TREE, {"Muon": MUON})
        for cluster, cluster_count in enumerate(clusters(events_count, parts_count)):
            per_event, columns = muons(seed, number, cluster, cluster_count)
            tree.extend(
                {
                    "Muon": awkward.zip(
                        {name: awkward.unflatten(column, per_event) for name, column in columns.items()}
                    )
                }
            )


def _written(_: object) -> int:
    return WRITTEN_CODE


def file_name(number: int) -> str:
    """Return the file name for a number (from 0)."""
    return f"muons-{number + 1:04d}.root"


def main(
    folder: str, seed: str, events_count: str, parts_count: str, compression: str, *numbers: str
) -> None:
    """Write the files of these numbers into a folder."""
    for number in map(int, numbers):
        write(
            Path(folder) / file_name(number),
            int(seed),
            number,
            int(events_count),
            int(parts_count),
            compression,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
