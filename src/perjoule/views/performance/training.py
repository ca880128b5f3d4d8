"""Loads that are described as MLPerf Storage's: what epochs, checkpoints and a key-value cache cost."""

from collections.abc import Sequence
from dataclasses import replace

from perjoule.measures.checkpoint import PER_CHECKPOINT, STALL
from perjoule.measures.kv_cache import BLOCK_P95, BLOCK_P99, PER_TOKEN, READ_RATE
from perjoule.measures.kv_cache import RATE as TOKEN_RATE
from perjoule.measures.nameplate import PER_NAMEPLATE_W
from perjoule.measures.training import COMPUTE, PER_EPOCH, RATE
from perjoule.model import Cell
from perjoule.model.metrics import (
    ACCELERATOR,
    BENCHMARK_RATE,
    DESIGN_W,
    LOAD_CPU,
    NAMEPLATE_W,
    SHARE,
    THROUGHPUT,
    metric_of,
)
from perjoule.results.table import PLACE, Table, cell_text, place
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

STATED = (BENCHMARK_RATE, NAMEPLATE_W, DESIGN_W, PER_NAMEPLATE_W.key)  # of submissions alone
EPOCH = (RATE.key, THROUGHPUT, ACCELERATOR, COMPUTE.key, PER_EPOCH.key, LOAD_CPU)
CHECKPOINT = (STALL.key, THROUGHPUT, PER_CHECKPOINT.key, LOAD_CPU)
SERVED = (TOKEN_RATE.key, READ_RATE.key, BLOCK_P95.key, BLOCK_P99.key, PER_TOKEN.key, LOAD_CPU)
READS = (f"user/decode/{THROUGHPUT}", f"user/decode/{SHARE}")  # of its reads alone


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


def _key_value_cache(content: Content) -> Table:
    table = _table(content.cells, TOKEN_RATE.key, (*READS, *SERVED))
    reads = tuple(f"{metric_of(key).label}, reads" for key in READS)
    return replace(table, headers=(*PLACE, *reads, *table.headers[len(PLACE) + len(READS) :]))


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
        Shown(
            _key_value_cache,
            "Key-value cache",
            note="Tokens generated, and tokens read from the cache; a block is one call. Joules are of reads and writes "
            "together. None of it is a result of MLPerf.",
        ),
    ),
    flag=Flag(
        "training",
        "Training jobs: samples, accelerator utilisation, joules per epoch; checkpoints: stall, joules; "
        "key-value cache: tokens, joules of one.",
        none="no trial read epochs, a checkpoint or a key-value cache",
        advice='add a [[workload]] of kind = "training", "checkpoint" or "kv_cache": see `perjoule docs training`',
    ),
)
