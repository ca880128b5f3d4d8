import re

import pytest

from perjoule import planning
from perjoule.model.errors import CampaignError
from places import EXAMPLES


def refused(text: str) -> str:
    with pytest.raises(CampaignError) as caught:
        planning.answer(planning.parse(text, "need.toml"), draws_count=5)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('capacity = "2.3 TB"', "", 'need.toml: a need lacks "capacity"; add capacity'),
        ('capacity = "2.3 TB"', "capacity = 5", "need.toml line 3: .*has no unit"),
        (
            'read = "50 MB/s"',
            'zzz = "50 MB/s"',
            'a need has no key "zzz"; known: name, .*, electricity, pue, .*, filesystem$',
        ),
        (
            'read = "50 MB/s"',
            'red = "50 MB/s"',
            'need.toml line 4: a need has no key "red"; did you mean "read"?',
        ),
        (
            "[choose]",
            '[limits]\nmoney = "0 USD"\n\n[choose]',
            "line 18: limits: money is 0; leave it out for no limit",
        ),
        ("years = 2", "years = 0", "line 9: years = 0 is out of range; it must be more than 0"),
        (
            'read = "6 h"',
            'read = "23 h"',
            "line 14: day: reading and writing take more than 24 h of a day; shorten one of them",
        ),
        ('read = "6 h"', 'raed = "6 h"', 'line 15: day has no key "raed"; did you mean "read"?'),
        ('servers = ["box"]', 'servers = ["bix"]', 'there is no server "bix"; did you mean "box"?'),
        ('grid = "360 g/kWh"', 'grid = "DEE"', 'no carbon intensity of "DEE" is known; did you mean "DE"'),
        (
            'idle_at_wall = "10 W"',
            'idle_at_wall = "10 kg"',
            'server.box.idle_at_wall: unknown unit "kg"; known: mW, W, kW, MW',
        ),
        ("mips = 1000", "mips = 0", "server.box.mips is 0; write what it reaches"),
        ('goodput = "100 MB/s"', 'goodput = "0 MB/s"', "network.wire.goodput is 0; write what it reaches"),
        ('idle_at_wall = "10 W"\n', "", r"\[server.box\] needs idle_at_wall or idle_behind_supply"),
        (
            'idle_at_wall = "10 W"',
            'idle = "10 W"',
            r'\[server.box\] has no key "idle"; write idle_at_wall or idle_behind_supply',
        ),
        (
            'idle_behind_supply = "2 W"',
            'idle_at_wall = "2 W"',
            r"plans need it behind the supply; write idle_behind_supply",
        ),
        ('price = "100 USD"\n', "", r"\[server.box\] needs price"),
        ("slots = { bay = 2 }\n", "", r"\[server.box\] needs slots"),
        (
            'idle_behind_supply = "2 W"\nactive_behind_supply = "4 W"\n',
            "",
            r"\[drive.disk\] needs idle_at_wall or idle_behind_supply, or mean_behind_supply",
        ),
        ('technology = "hdd"', 'technology = "tape"', 'no technology "tape"; known: hdd, ssd'),
        ('networks = ["wire"]', 'networks = ["wira"]', 'no network "wira"; did you mean "wire"?'),
        ('network = "wire"\n', 'network = "1g"\n', "no switch has ports of network wire; add"),
        ('fits = ["bay"]', 'fits = ["m2"]', "small: no server to choose from has a slot that a drive fits"),
        (
            "failures = 1",
            "failures = 8",
            "no file system to choose from survives the failure of 8 storage hosts",
        ),
        (
            'price = "100 USD"',
            'price = { value = "1 USD", low = "2 USD" }',
            "low, value and high are not in order",
        ),
        ('read = "50 MB/s"\nwrite = "20 MB/s"', "", "day.read needs a rate|neither read nor write is given"),
    ],
)
def test_a_wrong_need_is_refused_with_its_line_and_what_to_do(small, old, new, said) -> None:
    assert old in small
    assert re.search(said, refused(small.replace(old, new, 1)))


def test_an_own_price_replaces_the_interval_of_the_catalogue() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text() + '\n[drive.exos-x12]\nprice = "700 USD"\n'
    drive = planning.parse(text).parts.drive["exos-x12"]
    assert drive.price is not None
    assert (drive.price.low, drive.price.value, drive.price.high, drive.price.status) == (
        700,
        700,
        700,
        "stated",
    )
    assert drive.embodied is not None and drive.embodied.value == 16.2


def test_a_country_has_the_interval_of_years_to_come(small) -> None:
    question = planning.parse(small.replace('"360 g/kWh"', '"DE"'))
    assert question.grid.value == pytest.approx(0.342 / 3.6e6)
    assert (question.grid.low, question.grid.high) == pytest.approx(
        (0.8 * question.grid.value, 1.2 * question.grid.value)
    )


@pytest.mark.parametrize("written", ["300 g/kWh", "300 gCO2/kWh", "300 gCO2e/kWh", "0.3 kg/kWh"])
def test_carbon_of_electricity_is_read_however_its_unit_is_written(small, written: str) -> None:
    assert planning.parse(small.replace("360 g/kWh", written)).grid.value == pytest.approx(0.3 / 3.6e6)
