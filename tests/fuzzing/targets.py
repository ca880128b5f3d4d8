"""What reads things from outside, each as a function of a seeded generator of chance."""

import hashlib
import io
import json
import math
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any

from perjoule import campaign, catalogue, cli, drivers, exporting, importing, store
from perjoule.catalogue import reading as clusters
from perjoule.cli import exits
from perjoule.cli.terminal import display
from perjoule.drivers.boundary import Boundary
from perjoule.importing.power import logs
from perjoule.importing.sources import sources
from perjoule.meters import _url, _visa, ipmi, plugwise, snmp_pdu
from perjoule.meters._metered import Metered
from perjoule.meters.csv import Csv
from perjoule.meters.scpi import dialects
from perjoule.model import Clock, Outcome, Spec
from perjoule.model.errors import PerjouleError
from perjoule.papers import published
from perjoule.results import verification
from perjoule.results.table import table
from perjoule.store.recordings import read_recording
from perjoule.summary import summary

from .hosts import Hosts
from .mutate import QUANTITIES, changed, toml
from .texts import Texts
from .wires import Wires

TESTS = Path(__file__).parents[1]
TRANSCRIPTS = TESTS / "transcripts"
CAMPAIGN = """
name = "small"
repetitions = 2
seed = 1
[testbed]
kind = "simulated"
scale = 1
[[filesystem]]
kind = "simulated"
throughput = "80 MiB/s"
aged = {full = "80 %"}
[[workload]]
kind = "simulated"
size = "4 MiB"
[[meter]]
kind = "system"
[[meter]]
kind = "simulated"
waveform = "constant"
rate = "50 Hz"
"""
LATE = {"size": "64 MiB", "transfer": "64 KiB", "duration": "5 s"}
LOG = "late_clat_hist.1.log"
ELBENCHO = {"size": "256 MiB", "transfer": "64 KiB", "threads": 2, "folders": 2, "files": 4}
DAY = {"profile": {"name": "day.csv", "text": "hour,load\n0,0 %\n12,50 %\n"}, "hour": "100 ms"}
RAW: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "fio/write": ("fio", {"size": "16 MiB", "transfer": "1 MiB"}),
    "fio/mixed": ("fio", {"size": "16 MiB", "transfer": "1 MiB"}),
    "fio/limited": ("fio", {"size": "256 MiB", "transfer": "4 KiB", "duration": "1.2 s"}),
    "fio/rounds": ("fio", {"size": "16 MiB", "round": "1 s"}),
    "fio/servers": ("fio", {"size": "64 MiB", "transfer": "1 MiB"}),
    "fio/verified": ("fio", {"size": "16 MiB", "transfer": "1 MiB", "verify": "crc32c"}),
    "fio/errors": (
        "fio",
        {"size": "80 MiB", "transfer": "64 KiB", "duration": "20 s", "tolerate_errors": True},
    ),
    "fio/job": ("fio", {"job": {"name": "job.fio", "text": (TRANSCRIPTS / "fio/job/job.fio").read_text()}}),
    "fio/late": ("fio", LATE),
    "mdtest/create": ("mdtest", {"files": 50, "ranks": 2}),
    "mdtest/stat": ("mdtest", {"operation": "stat", "files": 50, "ranks": 2}),
    "ior/write": ("ior", {"size": "8 MiB", "transfer": "1 MiB", "ranks": 2}),
    "ior/stonewall": ("ior", {"size": "4 GiB", "transfer": "16 KiB", "stonewall": "1 s"}),
    "elbencho/write": ("elbencho", ELBENCHO),
    "elbencho/randread": (
        "elbencho",
        {**ELBENCHO, "operation": "randread", "direct": True, "in_flight": 4},
    ),
    "elbencho/objects-write": (
        "elbencho",
        {**ELBENCHO, "access": "buckets", "size": "192 MiB", "transfer": "6 MiB", "in_flight": 2},
    ),
    "rados/bench": ("rados", {}),
    "rados/seq": ("rados", {"operation": "seq"}),
    "hep/local": ("hep", {}),
    "duty": ("duty", DAY),
    "duty of errors": ("duty", {**DAY, "transfer": "64 KiB", "hour": "1600 ms", "tolerate_errors": True}),
}
Target = Callable[[Random], None]
Files = Mapping[str, bytes]  # of a folder, by their paths in it


def corpus(*patterns: str) -> list[Path]:
    found = sorted(path for pattern in patterns for path in TRANSCRIPTS.glob(pattern) if path.is_file())
    assert found, patterns
    return found


def contents(paths: list[Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def files_in(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def raw_files(name: str) -> Files:
    """The raw folder of a load: what a transcript holds, with what perjoule puts beside it."""
    if name == "fio/late":
        clocks = [{"monotonic_s": 676.0, "utc_s": 1795714676.0}] * 2
        notes = {"run.json": {"clients": ["late"], "clocks": clocks}, "prepared.json": {"doubts": []}}
        found = {
            one: content
            for one, content in files_in(TRANSCRIPTS / name).items()
            if not one.endswith(".strace")
        }
        return found | {one: json.dumps(note).encode() for one, note in notes.items()}
    if name.startswith("duty"):
        load = files_in(TRANSCRIPTS / ("fio/errors" if "errors" in name else "fio/limited"))
        ran = json.loads(load["run.json"])
        began_s, names = ran["clocks"][0]["monotonic_s"], ran["clients"]
        idle = {
            "direction": "idle",
            "began_s": began_s - 2,
            "ended_s": began_s,
            "moved_bytes": 0,
            "operations_count": 0,
        }
        kept = {
            "results": [{"host": one, **idle} for one in names],
            "mounted_count": len(names),
            "least_gap_s": 10.0,
        }
        paced = {"full_bytes_per_s": 2**30, "clients_count": len(names), "steps_count": 2}
        found = {"duty.json": json.dumps(paced).encode(), "step-0/idle.json": json.dumps(kept).encode()}
        return found | {f"step-1/{one}": content for one, content in load.items()}
    return files_in(TRANSCRIPTS / name)


class Targets(Hosts, Texts, Wires):
    """All targets, with a folder of their own and results that were measured once."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.campaigns = [
            path.read_text()
            for path in (
                *sorted((TESTS.parent / "examples").glob("*.toml")),
                *sorted((Path(published.__file__).parent / "campaigns").glob("*.toml")),
                *(p for p in sorted((TESTS / "broken_campaigns").glob("*.toml")) if p.name != "binary.toml"),
            )
        ]
        self.papers = [path.read_text() for path in sorted(Path(published.__file__).parent.glob("*.toml"))]
        self.clusters = [
            path.read_text() for path in sorted(Path(catalogue.__file__).parent.glob("clusters/*.toml"))
        ]
        self.imports = corpus("imported/*/*", "fio/*/*.json", "ior/*/*.json", "rados/*/client*.json")
        self.others = contents(self.imports)
        self.logs = corpus("csv/*.csv")
        self.said = contents(corpus("shelly/*.json", "tasmota/*.json", "redfish/*.json", "prometheus/*"))
        self.lines = contents(corpus("scpi/*.txt", "scope/*.txt", "ipmi/*.txt"))
        self.raw = {name: raw_files(name) for name in RAW}
        self.results, self.bundle = self._measured()
        self.kept = files_in(self.results)

    def _measured(self) -> tuple[Path, bytes]:
        kept = self.folder / "kept"
        (self.folder / "campaign.toml").write_text(CAMPAIGN)
        assert self._typed("run", str(self.folder / "campaign.toml"), "--into", str(kept)) == 0, self.printed
        assert self._typed("export", str(kept), "--bundle", str(self.folder / "x.zip")) == 0, self.printed
        return kept, (self.folder / "x.zip").read_bytes()

    def _typed(self, *words: str) -> int:
        """Type a command, in this process; give the exit code. What nobody foresaw is raised."""
        said = io.StringIO()
        terminals = (display.out, display.err)
        with redirect_stdout(said), redirect_stderr(said):
            before = [one._file for one in terminals]
            for one in terminals:
                one.file = said
            try:
                code = exits.exit_code(lambda: cli.cli.main(list(words), standalone_mode=False))
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                for one, file in zip(terminals, before, strict=True):
                    one._file = file
        self.printed = said.getvalue()
        assert "\x1b" not in self.printed, f"an escape sequence reached the terminal: {self.printed!r}"
        return code

    def targets(self) -> dict[str, tuple[int, Target]]:
        """Each target with its weight."""
        return {name: (weight, getattr(self, f"fuzz_{name}")) for name, weight in self.weights().items()}

    @classmethod
    def weights(cls) -> dict[str, int]:
        """How often each target is drawn, of some 1300; none may be rare."""
        slow = (
            "import",
            "results",
            "bundle",
            "commands",
            "need",
            "profile",
            "progress",
            "history",
            "aged",
            "list",
        )
        waiting = ("snmp_meter", "kasa_meter")  # for answers that never come
        rarer = {"raw": 120, "page_request": 20, "tuning": 10, **dict.fromkeys((*slow, *waiting), 7)}
        names = (name.removeprefix("fuzz_") for name in dir(cls) if name.startswith("fuzz_"))
        return {name: rarer.get(name, 60) for name in names}

    def fuzz_campaign(self, dice: Random) -> None:
        asked = campaign.parse(toml(dice.choice(self.campaigns), dice), folder=TESTS.parent / "examples")
        campaign.plan(asked)

    def fuzz_overrides(self, dice: Random) -> None:
        keys = [
            "repetitions",
            "clients",
            "seed",
            "workload.size",
            "testbed.scale",
            "filesystem.goal",
            "x",
            "meter.rate",
            "",
            "workload.duration",
        ]
        value = dice.choice(
            [
                *QUANTITIES,
                "[1, 2]",
                "1",
                "{a = 1}",
                "[" * 200,
                "nan",
                "inf",
                "99999999999999999999",
                "1\nx = 2",
            ]
        )
        campaign.parse(
            dice.choice(self.campaigns),
            overrides=[f"{dice.choice(keys)}={value}"],
            folder=TESTS.parent / "examples",
        )

    def fuzz_files_of_ours(self, dice: Random) -> None:
        if dice.random() < 0.5:
            published.read(toml(dice.choice(self.papers), dice), "x")
        else:
            clusters.read_all(toml(dice.choice(self.clusters), dice), "x", "x.toml")

    def fuzz_import(self, dice: Random) -> None:
        with self.room() as room:
            for n in range(dice.choice((1, 1, 2))):
                number = dice.randrange(len(self.imports))
                (room / f"{n}{self.imports[number].suffix}").write_bytes(
                    changed(self.others[number], dice, self.others)
                )
            if dice.random() < 0.2:
                shutil.copytree(TRANSCRIPTS / "imported/io500", room / "io500")
                one = dice.choice(sorted((room / "io500").iterdir()))
                one.write_bytes(changed(one.read_bytes(), dice, []))
            found, _ = sources([str(room)], "UTC")
            results = importing.create(room / "into")
            importing.bring(results, found)
            self._read(results)

    def fuzz_runs(self, dice: Random) -> None:
        with self.room() as room:
            number = dice.randrange(len(self.imports))
            (room / "x").write_bytes(changed(self.others[number], dice, self.others))
            for source in sources([str(room / "x")], "UTC")[0]:
                if source.format == "sadf":
                    importing.counters(source)
                else:
                    importing.loads(importing.runs(source), "")

    def fuzz_power_log(self, dice: Random) -> None:
        with self.room() as room:
            if dice.random() < 0.3:
                (room / "x.csv").write_bytes(changed(RECORDING, dice, []))
                read_recording(room / "x.csv")
                return
            path = dice.choice(self.logs)
            (room / "x.csv").write_bytes(changed(path.read_bytes(), dice, []))
            said = ["unit=W", "semantics=average", "grade=wall", "value=P1", "time=Time", "delimiter=;"]
            logs(
                room / "x.csv",
                dice.choice((said, said[:3], [*said, f"window={dice.choice(QUANTITIES)}"])),
                (),
                "UTC",
            )

    def fuzz_raw(self, dice: Random) -> None:
        name = dice.choice(sorted(RAW))
        assert self._parsed(name, dice.choice(sorted(self.raw[name])), dice).results

    def fuzz_latencies(self, dice: Random) -> None:
        """Every accepted log must be one that a load can have: its calls are counted, and their windows
        follow each other.
        """
        outcome = self._parsed("fio/late", LOG, dice)
        for one in outcome.series:
            assert (one.duration_s >= 0).all(), one.channel
            assert (one.value >= 0).all(), one.channel

    def _parsed(self, name: str, odd: str, dice: Random) -> Outcome:
        """Parse a raw folder of which one file is changed."""
        kind, options = RAW[name]
        with self.room() as room:
            write_files(room, {**self.raw[name], odd: changed(self.raw[name][odd], dice, self.others)})
            return drivers.workload(Spec(kind, options)).outcome(room)

    def fuzz_http_meter(self, dice: Random) -> None:
        kind, options = dice.choice(
            (
                ("shelly", {"address": "x"}),
                ("tasmota", {"address": "x"}),
                ("redfish", {"address": "http://x"}),
                ("redfish", {"address": "http://x", "quantity": "energy", "login": "session"}),
                (
                    "prometheus",
                    {
                        "address": "http://x",
                        "metric": "power",
                        "unit": "W",
                        "semantics": "average",
                        "grade": "wall",
                    },
                ),
                (
                    "prometheus",
                    {
                        "address": "http://x",
                        "metric": "power",
                        "unit": "W",
                        "semantics": "average",
                        "grade": "wall",
                        "server": True,
                    },
                ),
            )
        )
        links = {"Chassis": {"@odata.id": "/c"}, "Members": [{"@odata.id": "/1"}]}
        links |= {name: {"@odata.id": f"/{name}"} for name in ("Power", "EnvironmentMetrics")}
        redfish = json.dumps(links).encode()

        def asked(place: Any, path: str, **_: Any) -> tuple[bytes, Mapping[str, str]]:
            said = dice.choice(
                [*self.said, redfish, redfish, b'{"gen": 2}', b'{"WattRes": 3, "EnergyRes": 5}']
            )
            return (changed(said, dice, self.said) if dice.random() < 0.5 else said), {
                "X-Auth-Token": "x",
                "Location": "/s",
            }

        with patched(_url.Place, "send", asked):
            self._metered(kind, options)

    def fuzz_line_meter(self, dice: Random) -> None:
        identities = [
            b"ZES,LMG450,1,1\n",
            b"ZES,LMG670,1,1\n",
            b"YOKOGAWA,WT310,1,1\n",
            b"AGILENT TECHNOLOGIES,DSO6014A,1,1\n",
        ]
        answers = [
            *self.lines,
            b"0.5\n",
            b"1;0.5;60\n",
            b'+0,"No error"\n',
            b"#800000003abc\n",
            b"#9999999999\n",
            b"0,0,3,1,0,0,0,1,1,128\n",
        ]

        class Wire:
            def write(self, message: bytes) -> None:
                self.asked = message

            def read(self, timeout_s: float) -> bytes:
                if timeout_s < 0.05:
                    raise TimeoutError("quiet")
                said = dice.choice(identities if b"IDN" in self.asked else answers)
                said = changed(said, dice, answers) if dice.random() < 0.3 else said
                return said[:4096] or b"\n"

            def close(self) -> None:
                pass

        @contextmanager
        def instrument(address: str, **_: Any) -> Generator[_visa.Instrument]:
            yield _visa.Instrument(address, Wire(), 0.06)

        kind = dice.choice(("scpi", "scope"))
        module = sys.modules[drivers.driver_class("meters", kind).__module__]
        with patched(module, "instrument", instrument):
            self._metered(kind, {"address": "x:1", "timeout": "60 ms"})

    def fuzz_words_of_meters(self, dice: Random) -> None:
        said = changed(dice.choice(self.lines), dice, self.lines).decode("utf-8", "replace")
        allowed = (PerjouleError, ValueError)
        for call in (
            lambda: ipmi.power_w(said),
            lambda: dialects.fields(said, ("power",)),
            lambda: dialects.range_w(said),
            lambda: plugwise.stick.received(plugwise.stick.HEAD + said.encode()),
            lambda: plugwise.stick.calibration(said),
            lambda: plugwise.stick.pulses(said),
            lambda: snmp_pdu.raritan(
                lambda _: [dice.choice((3, 5, None, -1, 0, 2**31, 2**63)) for _ in range(4)], "power", 1, 1, 1
            ),
        ):
            with suppress(*allowed):
                call()
        meter = drivers.build(
            "meters",
            "csv",
            {
                "path": "x",
                "value": "P1",
                "time": ["Time"],
                "unit": "W",
                "semantics": "average",
                "grade": "wall",
            },
        )
        assert isinstance(meter, Csv)
        list(meter.samples(said, Clock(0.0, 0.0)))

    def fuzz_results(self, dice: Random) -> None:
        with self._damaged(dice) as folder:
            results = store.open_results(folder)
            verification.verify(results)
            self._read(results)

    def fuzz_bundle(self, dice: Random) -> None:
        with self.room() as room:
            if dice.random() < 0.5:
                (room / "x.zip").write_bytes(changed(self.bundle, dice, [self.bundle]))
            else:
                with (
                    zipfile.ZipFile(io.BytesIO(self.bundle)) as old,
                    zipfile.ZipFile(room / "x.zip", "w", zipfile.ZIP_DEFLATED) as new,
                ):
                    names = old.namelist()
                    odd = dice.choice(names)
                    for name in names:
                        content = old.read(name)
                        new.writestr(
                            dice.choice((name, name, "../x", f"{name}/y")) if name == odd else name,
                            changed(content, dice, []) if name == odd else content,
                        )
            exporting.verify_bundle(room / "x.zip")

    def fuzz_commands(self, dice: Random) -> None:
        """The same as a user has it: whole commands."""
        match dice.randrange(4):
            case 0:
                with self.room() as room:
                    (room / "x.toml").write_text(toml(dice.choice(self.campaigns), dice))
                    self._typed("check", str(room / "x.toml"))
            case 1:
                with self.room() as room:
                    number = dice.randrange(len(self.imports))
                    (room / f"x{self.imports[number].suffix}").write_bytes(
                        changed(self.others[number], dice, self.others)
                    )
                    self._typed("import", str(room / "into"), str(room / f"x{self.imports[number].suffix}"))
            case 2:
                with self._damaged(dice) as folder:
                    self._typed(dice.choice(("show", "report", "verify")), str(folder))
            case _:
                with self._damaged(dice) as folder:
                    self._typed("compare", str(self.results), str(folder))

    @staticmethod
    def _metered(kind: str, options: Mapping[str, Any]) -> None:
        meter = drivers.meter(Spec(kind, options))
        assert isinstance(meter, Metered)
        with meter.connect(Boundary("x", "", "total")) as read:
            for _ in range(2):
                for reading in read():
                    assert isinstance(reading.value, float | int), reading
                    math.isfinite(reading.value)

    @staticmethod
    def _read(results: store.Results) -> None:
        if results.done():
            cells = summary(results).cells
            table(cells)
            display.notes(cells, ())

    @contextmanager
    def room(self) -> Generator[Path]:
        room = self.folder / "room"
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir()
        yield room

    @contextmanager
    def _damaged(self, dice: Random) -> Generator[Path]:
        with self.room() as room:
            write_files(room / "results", self.kept)
            names = [name for name in self.kept if not name.endswith(".html")]
            for path in (room / "results" / name for name in dice.sample(names, dice.choice((1, 1, 2)))):
                if dice.random() < 0.1:
                    path.unlink()
                    continue
                content = path.read_bytes()
                text = path.suffix == ".toml"
                path.write_bytes(
                    toml(content.decode(), dice).encode() if text else changed(content, dice, [])
                )
            if dice.random() < 0.5:
                self._honest(room / "results")
            yield room / "results"

    @staticmethod
    def _honest(folder: Path) -> None:
        """Let the journal's checksums be right: what is read then is damaged nevertheless."""
        journal = folder / "journal.jsonl"
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            lines = [json.loads(line) for line in journal.read_text().splitlines()]
            for line in lines:
                attempt = folder / "trials" / line["trial"] / f"attempt-{line['attempt']}"
                for name in line["files"]:
                    if (attempt / name).is_file():
                        line["files"][name] = hashlib.sha256((attempt / name).read_bytes()).hexdigest()
            journal.write_text("".join(json.dumps(line) + os.linesep for line in lines))


RECORDING = (
    b"utc_s,duration_s,value,meter,host,component,quantity,unit,semantics,grade,more,asked_utc_s,arrived_utc_s\r\n"
    b"1700000000.000000,0,60,shelly,storage-1,all,power,W,instantaneous,wall,,1700000000.0,1700000000.1\r\n"
    * 2
)


@contextmanager
def patched(holder: Any, name: str, value: Any) -> Generator[None]:
    before = getattr(holder, name)
    setattr(holder, name, value)
    try:
        yield
    finally:
        setattr(holder, name, before)
