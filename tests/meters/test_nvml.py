"""NVML: a library of our own in the place of NVIDIA's, spoken to by the real nvidia-ml-py.

It has never met a real GPU here.
"""

import math

import pytest

from perjoule import drivers
from perjoule.meters.nvml import Nvml
from perjoule.model import Spec
from perjoule.model.errors import PerjouleError

pynvml = pytest.importorskip(
    "pynvml", reason="nvidia-ml-py is missing (.venv/bin/pip install 'perjoule[meters]')"
)
OK, NOT_SUPPORTED, LOST = 0, pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_GPU_IS_LOST


class Library:
    """What libnvidia-ml.so.1 exports, as far as it is used."""

    def __init__(self, *gpus):
        self.gpus = gpus  # (name, uuid, millijoules or an error, milliwatts or an error)

    def nvmlInitWithFlags(self, flags):
        return OK

    def nvmlShutdown(self):
        return OK

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = len(self.gpus)
        return OK

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        # A handle is a pointer to what only the library knows: here the number of the GPU, from 1.
        pynvml.cast(pynvml.pointer(handle._obj), pynvml.POINTER(pynvml.c_size_t))[0] = index.value + 1
        return OK

    def _gpu(self, handle):
        return self.gpus[pynvml.cast(handle, pynvml.c_void_p).value - 1]

    def nvmlDeviceGetName(self, handle, name, length):
        name.value = self._gpu(handle)[0].encode()
        return OK

    def nvmlDeviceGetUUID(self, handle, uuid, length):
        uuid.value = self._gpu(handle)[1].encode()
        return OK

    def nvmlDeviceGetTotalEnergyConsumption(self, handle, millijoules):
        return self._answer(self._gpu(handle)[2], millijoules)

    def nvmlDeviceGetPowerUsage(self, handle, milliwatts):
        return self._answer(self._gpu(handle)[3], milliwatts)

    def _answer(self, said, out):
        if isinstance(said, tuple):
            return said[0]
        out._obj.value = said
        return OK


V100 = ["Tesla V100-SXM2-16GB", "GPU-11111111-2222", 7_500_250, 95_000]
A100 = ["NVIDIA A100-SXM4-40GB", "GPU-aaaaaaaa-bbbb", 9_000_000, 310_500]
OLD = ["Quadro K2200", "GPU-99999999-8888", (NOT_SUPPORTED,), 12_345]


@pytest.fixture
def library(monkeypatch):
    def install(*gpus):
        there = Library(*gpus)
        monkeypatch.setattr(pynvml, "nvmlLib", there)
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        return there

    return install


def once(listen, **options):
    heard = listen({"kind": "nvml", **options}, lambda h: bool(h.samples))
    return {(c.component, c.quantity): (v, c) for c, _, v, _ in heard.samples}, heard.doubts


def test_a_machine_without_the_driver_is_reported(listen):
    (check,) = drivers.meter(Spec("nvml", {})).checks()
    assert not check.ok
    assert "driver" in check.detail
    with pytest.raises(PerjouleError, match=r"no NVIDIA driver answers .*install NVIDIA's driver"):
        once(listen)
    assert Nvml.discover([]) == ()


def test_the_energy_counter_comes_first(listen, library):
    library(V100)
    said, doubts = once(listen)
    ((key, (value, channel)),) = said.items()
    assert key == ("gpu-11111111", "energy")
    assert value == pytest.approx(7500.25)
    assert (channel.unit, channel.semantics, channel.grade) == ("J", "counter", "component")
    assert not doubts
    assert Nvml.discover([]) == ({"kind": "nvml"},)


def test_a_gpu_without_a_counter_shows_its_power(listen, library):
    library(V100, OLD)
    said, _ = once(listen)
    assert set(said) == {("gpu-11111111", "energy"), ("gpu-99999999", "power")}
    assert said["gpu-99999999", "power"][0] == pytest.approx(12.345)
    assert said["gpu-99999999", "power"][1].semantics == "average"
    with pytest.raises(PerjouleError, match="Quadro K2200 has no energy counter"):
        once(listen, quantity="energy")


def test_power_that_is_sampled_a_quarter_of_the_time_is_doubted(listen, library):
    library(A100)
    assert once(listen)[1] == []
    said, doubts = once(listen, quantity="power")
    assert said["gpu-aaaaaaaa", "power"][0] == pytest.approx(310.5)
    assert any("A100" in doubt and "quarter" in doubt for doubt in doubts)


def test_gpus_are_chosen_by_uuid(listen, library):
    library(V100, A100)
    assert set(once(listen, gpus=["GPU-aaaaaaaa-bbbb"])[0]) == {("gpu-aaaaaaaa", "energy")}
    with pytest.raises(
        PerjouleError, match="no GPU is called GPU-0; known: GPU-11111111-2222, GPU-aaaaaaaa-bbbb"
    ):
        once(listen, gpus=["GPU-0"])


def test_no_gpu_is_reported(listen, library):
    library()
    with pytest.raises(PerjouleError, match="no GPU found"):
        once(listen)


def test_a_gpu_that_fails_is_a_gap_and_comes_back(listen, library):
    there = library(list(V100))
    asked = []

    def back(heard):
        asked.append(heard)
        there.gpus[0][2] = (LOST,) if len(asked) < 5 else 7_600_000
        energy_j = heard.of("energy")[1]
        return len(energy_j) > 2 and any(map(math.isnan, energy_j)) and energy_j[-1] == 7600.0

    there.gpus = (list(V100),)
    heard = listen({"kind": "nvml", "rate": "100 Hz"}, back)
    assert set(heard.of("energy")[1][~(heard.of("energy")[1] != heard.of("energy")[1])]) <= {7500.25, 7600.0}
