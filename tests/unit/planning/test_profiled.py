import json
import math
import statistics

import pytest

from perjoule import planning
from perjoule.model.errors import CampaignError
from perjoule.planning.candidates import space
from perjoule.planning.profiled import server_cpu
from places import EXAMPLES, SOURCES

PROFILES = SOURCES / "prediction" / "profiles"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROFILES.glob("*.json")))
@pytest.mark.parametrize("direction", ["read", "write"])
def test_the_work_of_a_cpu_is_that_of_the_profiles_points_by_byte_at_the_disks(name, direction) -> None:
    points = [
        one for one in json.loads((PROFILES / f"{name}.json").read_text())["points"] if one["case"]["direction"] == direction
    ]
    at_disks = [one["case"]["flow"]["disk_written_ratio"] + one["case"]["flow"]["disk_read_ratio"] for one in points]
    works = [one["server_mips_s_per_byte"] / ratio for one, ratio in zip(points, at_disks, strict=True)]
    found = server_cpu(name, direction)
    assert found is not None
    assert found.value == pytest.approx(statistics.median(works))
    assert found.low == pytest.approx(min(min(works), statistics.median(works) / 2))
    assert found.high == pytest.approx(max(max(works), statistics.median(works) * 2))


def test_a_stated_work_replaces_the_profiles_and_one_without_either_is_refused() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text()
    quantities = space(planning.parse(text + "\n[filesystem.moosefs]\nread_cpu = 1e-6\n")).book.quantities
    assert next(one.value for one in quantities if one.name == "filesystem moosefs: read_cpu") == 1e-6
    assert next(one.status for one in quantities if one.name == "filesystem moosefs: write_cpu") == "measured"
    assert math.isfinite(sum(one.high for one in quantities))
    beegfs = '\n[choose]\nfilesystems = ["beegfs"]\n\n[filesystem.beegfs]\nfurther_hosts = 1\noptions = [{}]\n'
    with pytest.raises(CampaignError, match="write_cpu is not stated, and no profile has it; state write_cpu"):
        planning.answer(planning.parse(text.replace("failures = 1", "failures = 0") + beegfs))
