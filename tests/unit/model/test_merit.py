from perjoule.model.merit import edp


def test_the_energy_delay_product_weighs_time():
    assert [edp(3.0, 10.0, w) for w in (0, 1, 2)] == [3, 30, 300]
    assert edp(3.0, 10.0) == 30
