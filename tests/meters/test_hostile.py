"""Hostile meters: a read ends in time and in little memory; it is a gap and a sentence, and the meter
comes back.
"""

import io
import os
import sys
import threading
import time
import tracemalloc
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPMessage

import numpy as np
import pytest

import typed
from day import by_day
from perjoule import drivers, simulators
from perjoule.drivers.boundary import Boundary
from perjoule.meters import nvml
from perjoule.meters._metered import Metered
from perjoule.meters._tool import printed
from perjoule.model import Json, Spec
from perjoule.model.errors import PerjouleError, TransientError
from perjoule.model.units import MIB
from perjoule.model.waveform import Waveform
from perjoule.monitoring import recorder
from perjoule.simulators import ipmi, scpi
from perjoule.simulators._behaviour import HOSTILE, Behaviour
from perjoule.simulators._tcp import connections

TIMEOUT_S = 1.0  # a busy machine takes a third of it to load what an answer over SNMP needs
MOST_BYTES = 100 * 2**20
KINDS = (
    "shelly",
    "tasmota",
    "netio",
    "gude",
    "kwollect",
    "redfish",
    "prometheus",
    "scpi",
    "serial",
    "plugwise",
    "snmp_pdu",
    "quarch",
    "powersensor3",
    "smartpower3",
    "scope",
    "kasa",
)


def serve(kind, behaviour):
    if kind in ("scpi", "serial"):
        return scpi.serve(behaviour, cycle_s=0.02, line="tcp" if kind == "scpi" else "serial")
    return simulators.serve(kind, behaviour)


@contextmanager
def metered(kind, options):
    """Connect a meter of these options, and give what reads it."""
    meter = drivers.meter(Spec(kind, {name: value for name, value in options.items() if name != "kind"}))
    assert isinstance(meter, Metered)
    with meter.connect(Boundary("it", "", "total")) as read:
        yield read


def refused(read, why):
    """Read, which must fail with this; give the memory that it took."""
    tracemalloc.start()
    try:
        with pytest.raises((PerjouleError, OSError, ValueError), match=why):
            list(read())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(60)  # one by one, the bytes of an answer would take minutes
@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        # by day each kind and each fault, in half of their pairs
        pytest.param(kind, fault, marks=[pytest.mark.slow] if (n + m) % 2 else [])
        for n, kind in enumerate(KINDS)
        for m, fault in enumerate(HOSTILE)
    ],
)
def test_a_hostile_answer_ends_in_time_and_in_little_memory(kind, fault):
    behaviour = Behaviour(Waveform("constant"), share_ratio=0.0)
    with serve(kind, behaviour) as table:
        options = {**table, "timeout": f"{TIMEOUT_S} s"}
        if kind == "plugwise":  # the limit is for each Circle
            options["circles"] = dict([*typed.table(table["circles"]).items()][:1])
        meter = drivers.meter(Spec(str(options.pop("kind")), options))
        assert isinstance(meter, Metered)
        with meter.connect(Boundary("it", "", "total")) as read:
            while not (heard := list(read())):  # nothing new since: an analyser's cycle
                time.sleep(0.01)
            assert np.isfinite([reading.value for reading in heard]).any()
            behaviour.faults, behaviour.share_ratio = (fault,), 1.0
            tracemalloc.start()
            try:
                with pytest.raises((PerjouleError, OSError, ValueError)) as told:
                    for _ in range(200):
                        list(read())
                        time.sleep(0.01)
                most_bytes = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert most_bytes < MOST_BYTES
    assert str(told.value)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [("shelly", "drip"), ("scpi", "endless line"), ("snmp_pdu", "garbage"), ("serial", "flood")],
)
def test_it_is_a_gap_with_a_sentence_and_the_meter_comes_back(listen, kind, fault):
    behaviour = Behaviour(Waveform("constant"), faults=(fault,), share_ratio=0.0, seed=2)

    def back(heard):
        behaviour.share_ratio = 0.1 if len(heard.samples) else 0.0
        value = heard.of("power")[1]
        return np.isnan(value).any() and np.isfinite(value[-1])

    with serve(kind, behaviour) as table:
        heard = listen({**table, "timeout": f"{TIMEOUT_S} s", "rate": "20 Hz"}, back, timeout_s=20)
    value = heard.of("power")[1]
    assert set(np.round(value[np.isfinite(value)])) == {60.0}
    assert "reads failed, the last with: " in heard.failures[0]


@pytest.mark.parametrize("fault", by_day(HOSTILE, *(fault for fault in HOSTILE if fault != "drip")))
def test_looking_for_meters_ends_whatever_answers(fault):
    from perjoule.simulators._hostile import pour

    def handle(client, stop):
        pour(fault, client.sendall, stop)

    with connections(handle, "127.0.0.1", 0) as port:
        assert not recorder.discovered([place := f"127.0.0.1:{port}"])[place]


def test_a_login_is_sent_and_shown_to_no_other_service():
    from perjoule.meters._url import Place
    from perjoule.simulators._http import HttpAnswer, answering

    asked = []

    def elsewhere(path, headers):
        asked.append(headers)
        return HttpAnswer(b"{}")

    with answering(Behaviour(), elsewhere, "127.0.0.1", 0) as there:
        port = there.rpartition(":")[2]
        query = "/cm?user=admin&password=s3cret"
        aims = {
            "/host": (
                f"http://localhost:{port}{query}",
                "127.0.0.1 redirects to localhost, which is another host",
            ),
            "/port": (
                f"http://127.0.0.1:{port}{query}",
                rf"redirects from http port \d+ to http port {port}$",
            ),
            "/scheme": (f"gopher://x{query}", r"HTTP status 302 \(Found\)$"),
        }

        def found(path, headers):
            if path == "/shelly":
                return HttpAnswer(b'{"a": 1}')
            return HttpAnswer(b"", 302, {"Location": aims.get(path.partition("?")[0], ("/shelly", ""))[0]})

        with answering(Behaviour(), found, "127.0.0.1", 0) as here:
            place = Place(f"http://{here}", 5.0, headers={"Authorization": "Basic secret"})
            assert place.json("/near") == {"a": 1}
            for path, (_, said) in aims.items():
                with pytest.raises(OSError, match=said) as caught:
                    place.json(path + "?user=admin&password=s3cret")
                assert "s3cret" not in str(caught.value)
    assert not asked


def test_a_login_is_not_sent_without_encryption_after_it_was_sent_with():
    from urllib.request import Request

    from perjoule.meters._url import _OfHost

    secure = Request("https://bmc-1/", headers={"Authorization": "Basic secret"})
    with pytest.raises(OSError, match="bmc-1 redirects from https port 443 to http port 80"):
        _OfHost().redirect_request(secure, io.BytesIO(), 302, "Found", HTTPMessage(), "http://bmc-1/")
    plain = Request("http://bmc-1/", headers={"Authorization": "Basic secret"})
    followed = _OfHost().redirect_request(plain, io.BytesIO(), 302, "Found", HTTPMessage(), "https://bmc-1/")
    assert followed is not None
    assert followed.full_url == "https://bmc-1/"


def test_a_plug_that_announces_a_gigabyte_is_left_after_one_mebibyte():
    behaviour = Behaviour(Waveform("constant"), share_ratio=0.0)
    with serve("kasa", behaviour) as table, metered("kasa", {**table, "timeout": "20 s"}) as read:
        assert list(read())
        behaviour.faults, behaviour.share_ratio = ("endless line",), 1.0
        most_bytes = refused(read, "answers of more than 1048576 bytes can't come from a plug")
    assert most_bytes < 8 * MIB


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def a_drip(path):
    """A pipe that has a digit, and will have more."""
    a_pipe(path)
    os.write(os.open(path, os.O_RDWR), b"4")


# What a file of the kernel's can become, and what is reported about it.
BROKEN = {
    "silence": (a_pipe, "is not a file of the kernel's attributes"),
    "drip": (a_drip, "is not a file of the kernel's attributes"),
    "endless": (
        lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
        "is not a file of the kernel's attributes",
    ),
    "endless line": (lambda path: path.write_text("9" * 8 * MIB), "has more than 4096 bytes"),
    "huge": (lambda path: path.write_text("9" * 400), "is larger than any number of the kernel"),
    "garbage": (lambda path: path.write_bytes(bytes(range(256))), "invalid literal"),
    "empty": (lambda path: path.write_text(""), "invalid literal"),
    "gone": (lambda path: path.unlink(), "No such file"),
}


@pytest.fixture(params=["rapl", "hwmon"])
def sensor(request, tmp_path):
    """A meter of the kernel's files, its options, and the folder of its files."""
    if request.param == "rapl":
        folder, said = (
            tmp_path / "intel-rapl:0",
            {"name": "package-0", "max_energy_range_uj": "262143328850", "energy_uj": "7"},
        )
    else:
        folder, said = (
            tmp_path / "hwmon0",
            {"name": "ina226", "shunt_resistor": "10000", "power1_input": "5000000"},
        )
    folder.mkdir()
    for name, text in said.items():
        (folder / name).write_text(f"{text}\n")
    return request.param, {"root": str(tmp_path)}, folder


@pytest.mark.timeout(60)  # a pipe would be waited for without end
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_of_the_kernel_is_a_sentence_at_once(sensor, fault):
    kind, options, folder = sensor
    make, said = BROKEN[fault]
    (shown,) = [path for path in folder.iterdir() if path.name in ("energy_uj", "power1_input")]
    with metered(kind, options) as read:
        assert np.isfinite([reading.value for reading in read()]).all()
        make(shown)
        most_bytes = refused(read, said)
    assert most_bytes < MIB


@pytest.mark.parametrize("fault", BROKEN)
def test_what_describes_a_sensor_may_be_broken_too(sensor, fault, listen):
    kind, options, folder = sensor
    for name in ("name", "max_energy_range_uj", "shunt_resistor"):
        if (folder / name).exists():
            BROKEN[fault][0](folder / name)
    tracemalloc.start()
    try:
        if kind == "rapl":  # without its range a counter means nothing
            with pytest.raises(PerjouleError, match="the range of the counter can't be read"):
                listen({"kind": kind, **options}, any)
        else:
            assert listen({"kind": kind, **options}, lambda heard: heard.samples).samples[0][2] == 5.0
        drivers.meter(Spec(kind, options)).checks()
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_bytes < 8 * MIB


class Gpu:
    """NVIDIA's library with one GPU that counts, until `said` is what it says."""

    class NVMLError(Exception):
        value = 999

    NVML_ERROR_GPU_IS_LOST, NVML_ERROR_NOT_SUPPORTED = 15, 3

    def __init__(self):
        self.said, self.asked_count = (lambda: 7_500_250), 0
        self.nvmlInit = self.nvmlShutdown = lambda: None
        self.nvmlDeviceGetCount = lambda: 1
        self.nvmlDeviceGetHandleByIndex = lambda index: index
        self.nvmlDeviceGetUUID = lambda gpu: b"GPU-11111111-2222"
        self.nvmlDeviceGetName = lambda gpu: b"Tesla"

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu):
        self.asked_count += 1
        return self.said()


@pytest.fixture
def gpu(monkeypatch):
    library = Gpu()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(nvml, "_CALL_S", TIMEOUT_S)
    return library


def test_a_driver_that_hangs_is_left_alone_until_it_answers(gpu):
    back = threading.Event()
    with metered("nvml", {}) as read:
        gpu.said = lambda: back.wait(20) and 7_600_000
        count = gpu.asked_count
        refused(read, "the NVIDIA driver does not answer within 1 s")
        for _ in range(3):
            refused(read, "the NVIDIA driver still doesn't answer")
        assert gpu.asked_count == count + 1  # no thread for each
        back.set()
        heard, until_s = [], time.monotonic() + 10
        while not heard and time.monotonic() < until_s:
            with suppress(PerjouleError):
                heard = list(read())
            time.sleep(0.01)
        assert [reading.value for reading in heard] == [7600.0]


def test_a_driver_that_fails_is_a_gap_and_a_name_that_is_not_text_is_refused(gpu):
    def fails():
        raise Gpu.NVMLError("unknown error")

    with metered("nvml", {}) as read:
        gpu.said = fails
        assert np.isnan(next(iter(read())).value)
    gpu.nvmlDeviceGetUUID = lambda gpu: bytes(range(256))
    with pytest.raises(ValueError, match="utf-8"), metered("nvml", {}):
        pass


ENDLESS = """#!/bin/sh
while :; do echo "Instantaneous power reading: 120 Watts of nothing, and so on, and so on"; done
"""


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """A folder of programs that never stop printing."""
    for name in ("ipmitool", "nvme", "sstat", "scontrol"):
        (tmp_path / name).write_text(ENDLESS)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


@pytest.mark.parametrize("timeout_s", [30.0, 0.001])
def test_a_tool_that_never_stops_printing_is_ended_in_little_memory(endless, timeout_s):
    tracemalloc.start()
    try:
        with pytest.raises(
            TransientError,
            match=r"^meter bmc: .*/nvme (printed more than 1 MiB|did not answer within 0.001 s)$",
        ):
            printed([str(endless / "nvme"), "smart-log"], timeout_s=timeout_s, place="meter bmc")
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 * MIB


@pytest.mark.parametrize("kind", ["ipmi", "slurm"])
def test_meters_that_start_such_a_tool_say_so(endless, kind):
    with ipmi.serve(Behaviour(Waveform("constant"))) as bmc:
        options = {
            "ipmi": {**bmc, "tool": str(endless / "ipmitool"), "timeout": "30 s"},
            "slurm": {"job": "7"},
        }[kind]
        meter = drivers.meter(Spec(kind, {name: value for name, value in options.items() if name != "kind"}))
        assert isinstance(meter, Metered)
        with (
            pytest.raises(TransientError, match="printed more than 1 MiB"),
            meter.connect(Boundary("it", "", "total")) as read,
        ):
            list(read())


ROW = f"2026-01-01T00:00:00Z,60.5,{200 * '-'}\n"
LOG: dict[str, Json] = {
    "time": ["t"],
    "value": "P",
    "unit": "W",
    "semantics": "instantaneous",
    "grade": "wall",
}


def log_meter(path):
    made = drivers.meter(Spec("csv", {"path": str(path), **LOG}))
    assert isinstance(made, Metered)
    return made


def test_an_old_log_is_read_in_little_memory(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,P,note\n" + 40_000 * ROW)
    tracemalloc.start()
    try:
        with log_meter(path).connect(Boundary("it", "", "total")) as read:
            assert list(read()) == []
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 8 * MIB
    assert most_bytes < 8 * MIB  # a chunk of it, as lines


def test_a_line_without_an_end_is_a_sentence_and_the_log_continues(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,P,note\n" + ROW)
    with log_meter(path).connect(Boundary("it", "", "total")) as read:
        with path.open("a") as file:
            file.write(2 * MIB * "x" + "\n")
        with pytest.raises(ValueError, match=r"^a line is longer than 1 MiB; it begins with 'xxxx"):
            list(read())
        with path.open("a") as file:
            file.write(f"{datetime.now(UTC).isoformat()},61.5,\n")
        values = [reading.value for _ in range(3) for reading in heard(read)]
    assert values[-1] == 61.5


def heard(read):
    try:
        return list(read())
    except ValueError:  # the rest of that line
        return []
