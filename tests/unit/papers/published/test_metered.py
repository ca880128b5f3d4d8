"""Published watts under load: what each kind of load must state, and how many of them."""

import pytest

from perjoule.model.errors import CampaignError
from perjoule.papers.published.metered import read

SOURCE = """
title = "Invented"
reference = "nowhere"
boundary = "wall"
grade = "metered"
license = "CC0-1.0"

[[series]]
load = "{load}"
what = "a machine"
watts = [{watts}]
{figures}
"""


@pytest.mark.parametrize(
    ("load", "watts", "figures"),
    [
        ("reads", "0.5", "mib_per_s = [100.0]"),
        ("fresh writes", "3.0, 1e6", "mib_per_s = [0.0, 100.0]"),
        ("sustained writes", "3.0", "mib_per_s = [100.0]"),
        ("CPU", "3.0, 9.0", "share = [0.01, 1.0]"),
        ("supplies", "9.0", "given_watts = [8.0]"),
        ("another load", "9.0", 'names = ["a"]\nidle_watts = [3.0]\nstress_watts = [8.0]'),
        ("disks", "9.0", 'states = ["asleep"]\ndisks = [0, 8]\nidle_watts = [3.0, 9.0]'),
    ],
)
def test_watts_of_a_load_are_with_what_it_was(load, watts, figures):
    (series,) = read(SOURCE.format(load=load, watts=watts, figures=figures), "mine").series
    assert (series.load, series.watts) == (load, tuple(float(text) for text in watts.split(", ")))


@pytest.mark.parametrize(
    ("load", "watts", "figures"),
    [
        ("reads", "9.0", ""),
        ("reads", "9.0, 9.0", "mib_per_s = [100.0]"),
        ("CPU", "9.0", "share = [0.0]"),
        ("CPU", "9.0", "share = [1.01]"),
        ("CPU", "0.0", "share = [1.0]"),
        ("CPU", "1.01e6", "share = [1.0]"),
        ("CPU", "9.0", "share = [1.0]\ndisks = [1]"),
        ("supplies", "9.0", "given_watts = [0.0]"),
        ("another load", "9.0", 'names = ["a"]\nidle_watts = [3.0]'),
        ("disks", "9.0", 'states = ["asleep"]\ndisks = [0, 8]\nidle_watts = [3.0]'),
        ("disks", "9.0", "disks = [0]\nidle_watts = [3.0]"),
        ("sleep", "9.0", ""),
        ("CPU", "9.0", "share = [1.0"),
    ],
)
def test_what_is_not_of_as_many_watts_or_no_share_is_refused(load, watts, figures):
    with pytest.raises(CampaignError):
        read(SOURCE.format(load=load, watts=watts, figures=figures), "mine")
