"""Texts that people write and hand on: needs, inventories, days, profiles, pledges, tunings, the progress
of a run.
"""

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

from perjoule import catalogue, planning, prediction
from perjoule.machine.untrusted import from_json
from perjoule.monitoring.watching import ResultsWatch, plain
from perjoule.planning import texts
from perjoule.results import ledger
from perjoule.results import prediction as tables
from perjoule.results.joined import joined_remarks, joined_table
from perjoule.store import progress
from perjoule.testbeds.cluster.inventory import inventory
from perjoule.tuning import folder as tunings
from perjoule.tuning.study import study
from perjoule.workloads.duty.profile import profile_steps

from .mutate import changed, toml

EXAMPLES = Path(__file__).parents[2] / "examples"
TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
PARTS = """
[server.mine]
title = "Mine"
mips = { value = 20000, low = 15000, high = 25000, status = "assumed", source = "x" }
idle_at_wall = "20 W"
dynamic_at_wall = "30 W"
supply_efficiency = 0.9
price = "500 USD"
embodied = "100 kg"
rack_units = 1
slots = { "3.5-inch" = 4 }
port = "1 GiB/s"
networks = ["1 GbE"]
"""
INVENTORIES = (
    "[storage]\nn[001-064] ansible_user=root\n[clients]\nc[1:4] "
    "ansible_port=22\n[all:vars]\nansible_user=x\n",
    "lonely ansible_host=192.0.2.1\n[a:children]\nb\nc\n[b]\nn1\n[c:children]\nd\n[d]\nn[1-4,7]\n",
    "".join(f"[g{n}:children]\ng{n + 1}\ng{n + 1}\n" for n in range(40)) + "[g40]\nn1\n",
    (TRANSCRIPTS / "cluster" / "inventory-exported.json").read_text(),
    "".join(f"[g{n}:children]\ng{n + 1}\n" for n in range(3000)) + "[g3000]\nn1\n",
)


class Texts:
    """Targets that read one text each."""

    results: Path  # measured

    @contextmanager
    def room(self) -> Generator[Path]:
        """Make an empty folder."""
        raise NotImplementedError
        yield

    def __init__(self) -> None:
        super().__init__()
        self.need = (EXAMPLES / "needs" / "archive.toml").read_text()
        self.day = (EXAMPLES / "day.csv").read_bytes()
        self.tuned = (EXAMPLES / "tune.toml").read_text()
        self.profiles = [self._profile(name) for name in prediction.names()]
        self.pledges = [self._pledge(name) for name in prediction.names()]

    @staticmethod
    def _profile(name: str) -> dict[str, Any]:
        found = json.loads(
            files("perjoule.prediction").joinpath("profiles", f"{name}.json").read_text("utf-8")
        )
        return {
            **found,
            "known": {way: {**one, "draws": one["draws"][:4]} for way, one in found["known"].items()},
        }

    @staticmethod
    def _pledge(name: str) -> bytes:
        target = prediction.Target(prediction.shipped(name), catalogue.cluster("odroid-hc4"), {})
        return ledger.pledged(target, tuple(prediction.predictions(target, [1, 4], 2**30))).encode()

    def fuzz_need(self, dice: Random) -> None:
        need = self.need + (PARTS if dice.random() < 0.5 else "")
        if dice.random() < 0.8:  # all of the catalogue takes a second
            need += '[choose]\nservers = ["odroid-hc4"]\nfilesystems = ["moosefs", "cephfs"]\n'
        found = planning.answer(planning.parse(toml(need, dice)), draws_count=10)
        json.dumps(texts.as_data(found), default=str)
        for row in found.rows[:3]:
            list(texts.about(row))

    def fuzz_inventory(self, dice: Random) -> None:
        text = dice.choices(INVENTORIES, (20, 20, 10, 20, 1))[0]  # the last takes 50 ms
        with suppress(ValueError):  # a campaign turns it into its own
            inventory(changed(text.encode(), dice, []).decode("utf-8", "replace"))

    def fuzz_day(self, dice: Random) -> None:
        with suppress(ValueError):  # a campaign turns it into its own
            profile_steps(changed(self.day, dice, []).decode("utf-8", "replace"), 10.0)

    def fuzz_profile(self, dice: Random) -> None:
        """Some with a digest that is right: what was changed is used then."""
        text = changed(json.dumps(dice.choice(self.profiles)).encode(), dice, [])
        with suppress(ValueError, TypeError, AttributeError):
            data = json.loads(text)
            if dice.random() < 0.9:
                data.pop("digest", None)
                data["digest"] = from_json(prediction.Profile, data).digest
                text = json.dumps(data).encode()
        found = prediction.read(text.decode("utf-8", "replace"), "x.json")
        target = prediction.Target(found, catalogue.cluster(dice.choice(("odroid-hc4", "reference-1"))), {})
        predicted = tuple(prediction.predictions(target, [dice.choice((1, 3, 64))], 2**30))
        tables.table(predicted)
        list(tables.remarks(target, predicted, 4))
        ledger.read(ledger.pledged(target, predicted), "x")
        for way in found.known:
            prediction.parameters(found, way)

    def fuzz_pledge(self, dice: Random) -> None:
        text = changed(dice.choice(self.pledges), dice, self.pledges)
        with suppress(ValueError, TypeError, AttributeError):
            data = json.loads(text)
            data.pop("digest", None)
            text = json.dumps({**data, "digest": ledger._digest(data)}).encode()
        pledge = ledger.read(text.decode("utf-8", "replace"), "x.json")
        found = ledger.joined([pledge], [])
        joined_table(found)
        list(joined_remarks(found))

    def fuzz_tuning(self, dice: Random) -> None:
        head = {
            "format": "perjoule tuning",
            "version": 1,
            "request": {
                "metric": dice.choice(("MiB/J", "EDP", "MiB/s", "x")),
                "trials_count": 20,
                "limit": "20 W",
            },
            "overrides": ["workload.size=8 MiB"],
        }
        with self.room() as room:
            text = json.dumps(head).encode()
            (room / tunings.NAME).write_bytes(changed(text, dice, []) if dice.random() < 0.7 else text)
            (room / tunings.CAMPAIGN).write_text(
                toml(self.tuned, dice) if dice.random() < 0.5 else self.tuned
            )
            begun = tunings.opened(room)
            study(begun.request, begun.text, begun.overrides, "x", room)

    def fuzz_progress(self, dice: Random) -> None:
        with self.room() as room:
            shutil.copytree(self.results, room / "x")
            path = room / "x" / progress.NAME
            path.write_bytes(changed(path.read_bytes(), dice, []))
            json.dumps(plain(ResultsWatch(room / "x").snapshot()), default=str)
