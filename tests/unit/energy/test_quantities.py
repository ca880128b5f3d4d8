"""What the other quantity of meters would give that show both."""

from perjoule.energy.quantities import other_quantity


def test_the_other_choice_is_the_quantity_left_out_beside_what_has_but_one(made):
    counter, power = made.channel("storage-1", "all", "energy", "counter"), made.channel("storage-1")
    alone = made.channel("storage-2")
    channels = [counter, power, alone]
    assert other_quantity(channels, [counter, alone]) == [power, alone]
    assert other_quantity(channels, [power, alone]) == [counter, alone]
    assert other_quantity([power, alone], [power, alone]) == []
