"""What a measuring host has to install stays small, and the command says so."""

import pytest

from setup import sizes


def test_the_base_is_no_larger_than_it_may_be() -> None:
    assert sum(sizes.by_extra()["base"].values()) <= sizes.MOST_MB, (
        "put what only some need into an extra: setup/sizes.py"
    )


def test_each_extra_is_counted_by_what_it_adds(capsys: pytest.CaptureFixture[str]) -> None:
    found = sizes.by_extra()
    assert "vl-convert-python" in found["figures"] and "vl-convert-python" not in found["base"]
    assert (
        {"uproot", "awkward"} <= found["hep"].keys()
        and "numpy" in found["base"]
        and "numpy" not in found["hep"]
    )
    assert found["base"]["numpy"] > 10
    sizes.main()
    heads = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if " MB " in line]
    assert heads == list(found)
