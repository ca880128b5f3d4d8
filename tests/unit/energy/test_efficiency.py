import pytest

from perjoule import catalogue
from perjoule.energy.efficiency import capacity_bytes_per_idle_w


def test_capacity_per_watt_is_that_of_the_paper():
    assert capacity_bytes_per_idle_w(catalogue.cluster("odroid-hc4")) / 2**40 == pytest.approx(0.178, abs=0.0005)
