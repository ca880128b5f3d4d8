"""The muon analysis of a file or a part of it: the masses of pairs of opposite charge, as a histogram. Runs
on Dask's workers.

Uproot reads (https://uproot.readthedocs.io), Awkward Array and Vector compute, Hist counts
(https://scikit-hep.org).
"""

import importlib
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perjoule.workloads._muons.data import EVENTS_AT_ONCE, MUON_GEV, TREE, part_of

BINS_COUNT = 2000  # equal in the logarithm of the mass
LOW_GEV, HIGH_GEV = 0.3, 300.0
READ = ("pt", "eta", "phi", "mass", "charge")  # of a muon's columns


def counted(events: Any) -> NDArray[np.int64]:
    """Count the pairs of opposite charge in bins of their mass; `events` has the columns Muon_pt and so
    on.
    """
    awkward: Any = importlib.import_module("awkward")
    vector: Any = importlib.import_module("vector")
    hist: Any = importlib.import_module("hist")
    vector.register_awkward()
    muons = awkward.zip({name: events[f"Muon_{name}"] for name in READ}, with_name="Momentum4D")
    first, second = awkward.unzip(awkward.combinations(muons, 2))
    opposite = first.charge * second.charge < 0
    mass = (first[opposite] + second[opposite]).mass
    axis = hist.axis.Regular(BINS_COUNT, LOW_GEV, HIGH_GEV, transform=hist.axis.transform.log)
    histogram = hist.Hist(axis, storage=hist.storage.Int64()).fill(awkward.flatten(mass))
    return histogram.values().astype(np.int64)


def warm() -> None:
    """Load all libraries and run the analysis once, so the measured window doesn't include that."""
    awkward: Any = importlib.import_module("awkward")
    importlib.import_module("uproot")
    event = {
        "pt": [40.0, 30.0],
        "eta": [0.1, -0.2],
        "phi": [0.0, 3.0],
        "mass": [MUON_GEV, MUON_GEV],
        "charge": [1, -1],
    }
    counted(awkward.Array([{f"Muon_{name}": values for name, values in event.items()}]))


def analyse(places: dict[str, tuple[str, str]], file: str, part: int, parts_count: int) -> dict[str, Any]:
    """Analyse a part of a file on this worker; `places` has its host and folder of the data set by the
    worker's address.

    Bytes are those requested from the file, as stored. Times are UTC.
    """
    uproot: Any = importlib.import_module("uproot")
    distributed: Any = importlib.import_module("distributed")
    name, directory = places[str(distributed.get_worker().address)]
    began_utc_s = time.time()
    events_count, counts = 0, np.zeros(BINS_COUNT, dtype=np.int64)
    # Reads, not a mapping of the file into memory: some file systems (direct I/O in FUSE) have none.
    reader = uproot.source.file.MultithreadedFileSource
    with uproot.open({str(Path(directory) / file): TREE}, handler=reader, num_workers=1) as tree:
        first, end = part_of(tree.num_entries, part, parts_count)
        columns = [f"Muon_{column}" for column in READ]
        for events in tree.iterate(columns, step_size=EVENTS_AT_ONCE, entry_start=first, entry_stop=end):
            events_count += len(events)
            counts += counted(events)
        read_bytes = int(tree.file.source.num_requested_bytes)
    task = {
        "began_utc_s": began_utc_s,
        "ended_utc_s": time.time(),
        "bytes": read_bytes,
        "events": events_count,
    }
    return {"task": {"file": file, "part": part, "worker": name, **task}, "counts": counts.tolist()}
