"""The figure of a prediction holds the numbers that it was given."""

from perjoule.figures.prediction import Predicted, prediction

POINTS = [
    Predicted("MiB/s", "write", 1, 100.0, 90.0, 110.0, 111.0),
    Predicted("MiB/s", "write", 4, 280.0, 250.0, 300.0, 445.0),
    Predicted("MiB/J", "write", 4, 5.6, 5.0, 6.1),
]


def test_each_axis_is_a_panel_with_its_values_bands_and_bounds() -> None:
    spec = prediction(POINTS, title="moosefs", notes=("predicted, not measured",))
    rate, work = spec["concat"]
    assert [
        (row["clients"], row["value"], row["low"], row["high"], row["bound"])
        for row in rate["data"]["values"]
    ] == [
        (1, 100.0, 90.0, 110.0, 111.0),
        (4, 280.0, 250.0, 300.0, 445.0),
    ]
    assert [row["bound"] for row in work["data"]["values"]] == [None]
    assert [panel["layer"][0]["encoding"]["y"]["title"] for panel in spec["concat"]] == ["MiB/s", "MiB/J"]
    assert spec["title"]["subtitle"] == ["predicted, not measured"]
