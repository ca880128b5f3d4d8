"""Loads that are described as parts of a training job: what epochs and checkpoints cost."""

from collections.abc import Sequence

from perjoule.measures.checkpoint import PER_CHECKPOINT, STALL
from perjoule.measures.nameplate import PER_NAMEPLATE_W
from perjoule.measures.training import COMPUTE, PER_EPOCH, RATE
from perjoule.model import Cell
from perjoule.model.metrics import (
    ACCELERATOR,
    BENCHMARK_RATE,
    DESIGN_W,
    LOAD_CPU,
    NAMEPLATE_W,
    THROUGHPUT,
    metric_of,
)
from perjoule.results.table import PLACE, Table, cell_text, place
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

STATED = (BENCHMARK_RATE, NAMEPLATE_W, DESIGN_W, PER_NAMEPLATE_W.key)  # of submissions alone
EPOCH = (RATE.key, THROUGHPUT, ACCELERATOR, COMPUTE.key, PER_EPOCH.key, LOAD_CPU)
CHECKPOINT = (STALL.key, THROUGHPUT, PER_CHECKPOINT.key, LOAD_CPU)


def _table(cells: Sequence[Cell], having: str, keys: Sequence[str]) -> Table:
    rows = [
        (*place(cell), *(cell_text(cell, key) for key in keys)) for cell in cells if having in cell.metrics
    ]
    return Table((*PLACE, *(metric_of(key).label for key in keys)), tuple(rows))


def _epochs(content: Content) -> Table:
    of_submissions = [key for key in STATED if any(key in cell.metrics for cell in content.cells)]
    return _table(content.cells, RATE.key, (*EPOCH, *of_submissions))


def _checkpoints(content: Content) -> Table:
    return _table(content.cells, STALL.key, CHECKPOINT)


VIEW = View(
    rank=175,
    title="Training jobs",
    tables=(
        Shown(
            _epochs,
            "Epochs",
            note="AU: accelerator utilisation as MLPerf Storage defines it, the time in which accelerators compute by the "
            "time, without the first batch of an epoch. None of it is a result of MLPerf. Of an imported submission, "
            "rates count the time between epochs, which the stated one leaves out; nameplates are no measurement.",
        ),
        Shown(
            _checkpoints,
            "Checkpoints",
            note="Stall: from the start of all ranks until the last has its shard durable, or has read it. Joules of a "
            "write are those until the disks hold it. None of it is a result of MLPerf.",
        ),
    ),
    flag=Flag(
        "training",
        "Training jobs: samples, accelerator utilisation, joules per epoch; checkpoints: stall, joules.",
        none="no trial read epochs or a checkpoint",
        advice='add a [[workload]] of kind = "training" or "checkpoint": see `perjoule docs training`',
    ),
)
