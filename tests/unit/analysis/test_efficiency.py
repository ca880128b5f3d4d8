import pytest

from perjoule import catalogue
from perjoule.analysis.efficiency import capacity_bytes_per_idle_w, edp


def test_the_energy_delay_product_weighs_time():
    assert [edp(3.0, 10.0, w) for w in (0, 1, 2)] == [3, 30, 300]
    assert edp(3.0, 10.0) == 30


def test_capacity_per_watt_is_that_of_the_paper():
    assert capacity_bytes_per_idle_w(catalogue.cluster("odroid-hc4")) / 2**40 == pytest.approx(0.178, abs=0.0005)
