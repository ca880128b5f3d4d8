"""The page of a campaign's keys has every key above the tables."""

import re

from perjoule import campaign
from perjoule.campaign.header import TOP_KEYS
from setup import campaign_keys as program


def test_the_page_is_that_of_the_keys() -> None:
    assert program.PAGE.read_text(encoding="utf-8") == program.page(), (
        "run: .venv/bin/python setup/campaign_keys.py"
    )


def test_it_lists_each_key_with_a_meaning_and_those_of_tables_inside() -> None:
    rows = re.findall(r"^- `([\w.]+)` \(.+; .+?\): (.+)$", program.page(), re.MULTILINE)
    assert [key for key, _ in rows if "." not in key] == list(TOP_KEYS)
    assert [key for key, _ in rows if "." in key] == ["until.metric", "until.interval", "until.max"]
    assert [key for key, meaning in rows if not meaning.strip()] == []
    header = campaign.schema()["properties"]
    assert isinstance(header, dict)
    assert set(header) - {"testbed", "filesystem", "workload", "meter", "event"} == set(TOP_KEYS)
