"""What hosts, batch systems, streams of meters and browsers say; and results in their hundreds: histories
and lists.
"""

import io
import shutil
import tarfile
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from pydantic import TypeAdapter

from perjoule import publishing, store
from perjoule.meters.nvme import answers
from perjoule.meters.powersensor3 import frames
from perjoule.meters.quarch import stripes
from perjoule.meters.smartpower3 import lines
from perjoule.monitoring import server
from perjoule.monitoring.watching import ResultsWatch
from perjoule.results.history import history
from perjoule.testbeds._power import states
from perjoule.testbeds._power.options import Power
from perjoule.testbeds.cluster import archive, facts
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping.heard import Heard
from perjoule.testbeds.slurm import commands, ranks
from perjoule.trial.ageing import ageing
from perjoule.views.life.ageing import ageing_table, wear_table

from .mutate import changed

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
DISK = "/dev/disk/by-id/ata-disk"
POWER = (
    "boot\tx\nmodule/pcie_aspm/parameters/policy\t[default] performance powersave\n"
    "devices/system/cpu/cpuidle/current_driver\tintel_idle\n"
    + "".join(
        f"devices/system/cpu/cpufreq/policy{n}/{name}\t{value}\n"
        for n in (0, 2)
        for name, value in {
            "scaling_driver": "intel_pstate",
            "scaling_governor": "performance",
            "scaling_available_governors": "performance powersave",
            "scaling_min_freq": "800000",
            "scaling_max_freq": "3600000",
            "cpuinfo_min_freq": "800000",
            "cpuinfo_max_freq": "3600000",
        }.items()
    )
    + "".join(
        f"devices/system/cpu/cpu0/cpuidle/state{n}/{name}\t{value}\n"
        for n in (0, 1)
        for name, value in {"name": f"C{n}", "disable": "0"}.items()
    )
    + f"drive\t{DISK}\tdevices/x\napm\t{DISK}\t128\nnpss\t{DISK}\t4\nnvme\t{DISK}\t00000002\n"
    + f"devices/x/power/control\t{DISK}\ton\ndevices/x/power/autosuspend_delay_ms\t{DISK}\t-1\n"
)
WANTED = (
    {"cpu_governor": "powersave"},
    {"cpu_max": "2 GHz"},
    {"cpu_deepest_idle": "C1"},
    {"pcie_aspm": "powersave"},
    {"devices": [DISK], "disk_apm": 127, "disk_spin_down": "60 s"},
    {"devices": [DISK], "nvme_state": 3, "nvme_tolerance": "0 s"},
)
ANSWERS = (
    b"answer 1 0 6 4\noutputerr\nanswer 0 0 0 0\nanswer 2 127 0 9\nnot found",
    b"user root\ncores 4\nprobed\nhas\nlacks\nstated\nremoved /var/tmp/x\nrefused it\nready\n",
)


def _packed() -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in (("./a.json", b"{}"), ("./" + "b" * 200, b"x" * 700), ("./folder/c", b"c")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


REQUESTS = (
    b"GET /data?token=x HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n",
    b"GET http://[/?token=%FF&token=x HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n",
)


class Hosts:
    """Targets that hosts, and many results, are behind."""

    results: Path  # measured
    bundle: bytes  # of them

    def room(self) -> AbstractContextManager[Path]:
        """Make an empty folder."""
        raise NotImplementedError

    def _damaged(self, dice: Random) -> AbstractContextManager[Path]:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.slurm = {path.stem: path.read_bytes() for path in sorted((TRANSCRIPTS / "slurm").glob("*.txt"))}
        self.probe = (TRANSCRIPTS / "cluster" / "probe.txt").read_bytes()
        self.counters = (TRANSCRIPTS / "cluster" / "counters.txt").read_bytes()
        self.stripes = (TRANSCRIPTS / "quarch" / "qis-1.43.txt").read_bytes()

    def fuzz_slurm(self, dice: Random) -> None:
        name = dice.choice(sorted(self.slurm))
        said = changed(self.slurm[name], dice, list(self.slurm.values())).decode("utf-8", "replace")
        for job in commands.parsed_jobs(said):
            assert job.left_s >= 0
            assert isinstance(job.end, str)
        commands.parsed_partitions(said)
        commands.parsed_addresses(said)
        commands.message(said)
        ranks.kinds(said)

    def fuzz_power_states(self, dice: Random) -> None:
        found = states.states(changed(POWER.encode(), dice, []).decode("utf-8", "replace"))
        states.facts(found)
        states.settings(TypeAdapter(Power).validate_python(dice.choice(WANTED)), found, "x")

    def fuzz_keeper(self, dice: Random) -> None:
        """A host's lines, answers, clock and counters.

        What no keeper says raises ValueError, which ends the connection.
        """
        heard = Heard()
        with suppress(ValueError):
            content = changed(dice.choice(ANSWERS), dice, list(ANSWERS))
            while content:
                cut = dice.randrange(1, len(content) + 1)
                heard.take(content[:cut])
                content = content[cut:]
                for sent in heard.answers(2) if dice.random() < 0.9 else ():
                    assert sent.number <= 2
                if dice.random() < 0.2:
                    heard.line()
        probed = facts.probe(changed(self.probe, dice, []).decode("utf-8", "replace"), "h1")
        text = changed(self.counters, dice, [self.probe]).decode("utf-8", "replace")
        answered = time.monotonic(), dice.choice((0.001, 5.0)), text
        keeper = SimpleNamespace(probe=probed, ask_counters=lambda: lambda: answered)
        host = SshHost("h1", "client", "10.0.0.1", None, Path("/x"), cast("Any", keeper), None)
        found = host.counters()
        assert all(number is None or 0 <= number < facts.MOST_COUNT for number in vars(found).values())
        host.disturbances()

    def fuzz_archive(self, dice: Random) -> None:
        """What a run's folder on a host comes back as; a ReadError becomes a sentence with the host's
        name.
        """
        content = _packed()
        if dice.random() < 0.6:  # a header whose sum is right again
            header = bytearray(changed(content[:512], dice, [content])[:512].ljust(512, b"\0"))
            header[148:156] = b" " * 8
            header[148:156] = b"%06o\0 " % sum(header)
            content = bytes(header) + content[512:]
        with self.room() as room, suppress(tarfile.TarError):
            for name, held in archive.files(
                io.BytesIO(changed(content, dice, [content]) if dice.random() < 0.5 else content)
            ):
                archive.write(held, room / name)

    def fuzz_stream_meter(self, dice: Random) -> None:
        """Quarch, PowerSensor3, SmartPower3 and NVMe drives: a ValueError is a gap, as of any meter."""
        match dice.randrange(4):
            case 0:
                text = changed(self.stripes, dice, []).decode("utf-8", "replace")
                stripes.stripes(text, stripes.layout(text))
            case 1:
                frames.pairs(dice.randbytes(frames.SENSORS_COUNT * frames.SENSOR_BYTES))
                stream, whole = frames.Frames(), bytes([0xF0, 0x40] * 9) * 6
                for _ in range(5):
                    levels, passed_s = stream.levels(
                        changed(whole, dice, [whole]) if dice.random() < 0.7 else whole
                    )
                    assert len(levels) == len(passed_s)
            case 2:
                sent = TRANSCRIPTS.joinpath("smartpower3", "lines.txt").read_bytes()
                for line in lines.Lines().readings(changed(sent, dice, [sent])):
                    assert all(0 <= power_w < 100 for power_w in line.power_w)
            case _:
                control = " ".join(str(byte) for byte in dice.randbytes(4096))
                said = (
                    f"nvme0 smart {' '.join(['1'] * 12)}\nnvme0 measurement {' '.join(['2'] * 64)}\nnvme0 "
                    f"control {control}\n"
                )
                drive = answers.drive("nvme0", changed(said.encode(), dice, []).decode("utf-8", "replace"))
                assert drive.measures in (True, False)

    def fuzz_page_request(self, dice: Random) -> None:
        page = server.Page(ResultsWatch(self.results).snapshot, "x")

        class Handler(server._Handler):
            served = page

        browser = Browser(changed(dice.choice(REQUESTS), dice, list(REQUESTS)))
        Handler(cast("Any", browser), ("127.0.0.1", 1), cast("Any", SimpleNamespace(admit=lambda _: None)))
        assert b"Traceback" not in browser.said.getvalue()

    def fuzz_history(self, dice: Random) -> None:
        with self._damaged(dice) as folder:
            history([store.open_results(self.results), store.open_results(folder)], ["MiB/J"])

    def fuzz_aged(self, dice: Random) -> None:
        with self._damaged(dice) as folder:
            records = store.open_results(folder).latest()
            for record in records:
                ageing(record)
            ageing_table(records)
            wear_table(records, ())

    def fuzz_list(self, dice: Random) -> None:
        """Publish a changed bundle, and build the site of a folder that has it."""
        with self.room() as room:
            (room / "x.zip").write_bytes(changed(self.bundle, dice, [self.bundle]))
            if dice.random() < 0.5:
                publishing.add(room / "x.zip", room / "list")
            else:
                (room / "list" / "bundles").mkdir(parents=True)
                shutil.copy(room / "x.zip", room / "list" / "bundles")
                publishing.build(room / "list", room / "site")


class Browser:
    """The socket of one who asks."""

    def __init__(self, asked: bytes) -> None:
        self.asked, self.said = io.BytesIO(asked), io.BytesIO()

    def makefile(self, *_: Any, **__: Any) -> io.BytesIO:
        return self.asked

    def sendall(self, data: bytes) -> None:
        self.said.write(data)

    def settimeout(self, _: float) -> None:
        """It never waits."""
