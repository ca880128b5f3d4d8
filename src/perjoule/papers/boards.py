"""Boards that somebody measured at a wall plug, and an audit of their own: what no such board can do.

load below idle        stress-ng or HPL take no more than idle
work for a watt        HPL does more for a watt than any CPU
a network's unit       Ethernet below 10 Mbit/s: a figure in Gbit/s
instructions           its name says others
idle beside load       idle is less than a ninth of stress-ng: asleep, or a slip
not measured           watts idle and under stress-ng, or the network, are missing
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from perjoule.papers.audit.recipe import AuditVerdict

NAME = "sbc-reviews"
MOST_GFLOP_PER_J = 10.0  # none of these boards that is right has 8
LEAST_MBIT_PER_S = 10.0  # Ethernet's slowest
LEAST_IDLE_RATIO = 1 / 9
Slip = tuple[Literal["disagrees", "unchecked"], str, str]  # the rule, and what it found
_Watts = Annotated[float, Field(gt=0, le=1e5)]
_SAID = (("RISC-V", "riscv64"), ("Arm ", "aarch64"), ("AMD", "x86_64"), ("Intel", "x86_64"))  # in names


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MeasuredBoard(_Strict):
    """What a review says of a board."""

    name: str
    instructions: Literal["aarch64", "riscv64", "x86_64"]
    issue: int
    idle_w: _Watts | None = None
    stress_w: _Watts | None = None
    hpl_w: _Watts | None = None
    hpl_gflop_per_s: Annotated[float, Field(gt=0)] | None = None
    network_mbit_per_s: Annotated[float, Field(gt=0)] | None = None

    @property
    def slips(self) -> tuple[Slip, ...]:
        """What is wrong with its figures, or lacking; none: it passes."""
        return tuple(_slips(self))


class _Source(_Strict):
    reference: str
    license: str
    board: tuple[MeasuredBoard, ...]


@cache
def boards() -> tuple[MeasuredBoard, ...]:
    """Return all boards as they were printed, slips included."""
    text = files("perjoule.papers.published").joinpath("boards", f"{NAME}.toml").read_text("utf-8")
    return _Source.model_validate(tomllib.loads(text)).board


def audited() -> tuple[AuditVerdict, ...]:
    """Audit all boards."""
    return tuple(verdict for board in boards() for verdict in _verdicts(board))


def _verdicts(board: MeasuredBoard) -> Iterator[AuditVerdict]:
    place = f"issue {board.issue}"
    for kind, rule, figures in board.slips:
        yield AuditVerdict(kind, rule, place, board.name, recomputed=figures)
    if not board.slips:
        yield AuditVerdict("agrees", "what a board can do", place, board.name)


def _slips(board: MeasuredBoard) -> Iterator[Slip]:
    idle_w, stress_w, hpl_w, gflop_per_s = board.idle_w, board.stress_w, board.hpl_w, board.hpl_gflop_per_s
    for load, watts in (("stress-ng", stress_w), ("HPL", hpl_w)):
        if idle_w is not None and watts is not None and watts <= idle_w:
            yield "disagrees", "load below idle", f"{load} {watts:g} W, idle {idle_w:g} W"
    if gflop_per_s is not None and hpl_w is not None and gflop_per_s > MOST_GFLOP_PER_J * hpl_w:
        yield "disagrees", "work for a watt", f"{gflop_per_s / hpl_w:.3g} Gflop/J of HPL"
    if (rate := board.network_mbit_per_s) is not None and rate < LEAST_MBIT_PER_S:
        yield "disagrees", "a network's unit", f"{rate:g} Mbit/s, likely Gbit/s"
    for word, instructions in _SAID:
        if word in board.name and instructions != board.instructions:
            yield "disagrees", "instructions", f"{board.instructions}, and its name says {word.strip()}"
    if idle_w is not None and stress_w is not None and idle_w < LEAST_IDLE_RATIO * stress_w:
        yield "disagrees", "idle beside load", f"{idle_w:g} W of {stress_w:g} W"
    lacking = {"watts idle": idle_w, "watts under stress-ng": stress_w, "network": board.network_mbit_per_s}
    if missing := [name for name, value in lacking.items() if value is None]:
        yield "unchecked", "not measured", ", ".join(missing)
