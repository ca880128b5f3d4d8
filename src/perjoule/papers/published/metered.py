"""Watts under load that others published: one TOML file, one source.

`watts` are as its boundary says. Of each series, by `load`:

reads, fresh writes, sustained writes    `mib_per_s` of the drive
CPU                                      `share` of the highest load, and idle if it is known
supplies                                 `given_watts`, what the supply gives
another load                             watts idle and under another load, of one machine each
disks                                    idle with numbers of disks, then `states` of the last number
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from perjoule.model.errors import CampaignError

Load = Literal["reads", "fresh writes", "sustained writes", "CPU", "supplies", "another load", "disks"]
Watts = tuple[Annotated[float, Field(gt=0, le=1e6)], ...]
_OF_LOAD: dict[str, tuple[str, ...]] = {
    "reads": ("mib_per_s",),
    "fresh writes": ("mib_per_s",),
    "sustained writes": ("mib_per_s",),
    "CPU": ("share",),
    "supplies": ("given_watts",),
    "another load": ("names", "idle_watts", "stress_watts"),
    "disks": ("states",),
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MeteredSeries(_Strict):
    """Watts of one machine or drive under one kind of load, or of many machines (another load)."""

    load: Load
    what: str
    machine: str = ""  # where a source has several
    maker: str = ""  # of the machine, and the year of its result: machines of both others judge it
    year: int | None = None
    watts: Watts
    mib_per_s: tuple[float, ...] = ()
    share: tuple[Annotated[float, Field(gt=0, le=1)], ...] = ()
    given_watts: Watts = ()
    idle_watts: Watts = ()
    stress_watts: Watts = ()
    names: tuple[str, ...] = ()
    disks: tuple[int, ...] = ()
    states: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        for key in _OF_LOAD[self.load]:
            if len(getattr(self, key)) != len(self.watts):
                raise ValueError(
                    f"{self.load}: {key} has {len(getattr(self, key))} values, not {len(self.watts)}"
                )
        if len(self.disks) != (len(self.idle_watts) if self.load == "disks" else 0):
            raise ValueError(f"{self.load}: idle_watts are not of as many numbers of disks")
        return self


class MeteredSource(_Strict):
    """Where watts are from, what they include, and how good they are."""

    title: str
    reference: str
    year: int | None = None
    boundary: str  # "wall", "wall, less the switch", "DC rails"
    grade: Literal["metered", "nameplate", "bound"]
    license: str
    notes: tuple[str, ...] = ()
    series: tuple[MeteredSeries, ...]


@cache
def sources() -> dict[str, MeteredSource]:
    """Return all by name. Raises CampaignError: a file is wrong."""
    folder = files("perjoule.papers.published").joinpath("watts")
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".toml"))
    return {
        name.removesuffix(".toml"): read(folder.joinpath(name).read_text("utf-8"), name) for name in names
    }


def read(text: str, name: str) -> MeteredSource:
    """Read a source. Raises CampaignError: it is not TOML, or a key is wrong or lacks values."""
    try:
        return MeteredSource.model_validate(tomllib.loads(text))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        fault = error.errors()[0] if isinstance(error, ValidationError) else None
        what = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" if fault else f"not TOML: {error}"
        raise CampaignError(what, where=name, next="see those that come with perjoule") from None
