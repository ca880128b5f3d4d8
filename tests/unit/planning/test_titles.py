"""What people call the parts of a plan."""

from dataclasses import replace

from perjoule import planning
from perjoule.planning import parts
from perjoule.planning.texts import about, cells, change_text, quantity_text
from perjoule.planning.titles import titles
from places import EXAMPLES


def test_a_part_is_called_by_its_title_without_what_is_in_brackets_or_behind_a_comma() -> None:
    called = titles(parts.shipped())
    assert called["server orange-pi-5-max"] == "Orange Pi 5 Max"
    assert called["drive hdd-24tb"] == "HDD of 24 TB"
    assert called["network 2.5g-usb"] == "2.5 GbE by USB 3"
    assert called["switch gs110emx"] == "Netgear GS110EMX"
    assert called["filesystem cephfs"] == "CephFS"


def test_parts_that_would_be_called_alike_have_their_whole_titles_and_untitled_ones_their_names() -> None:
    every = parts.shipped()
    board = every.server["rock-5b"]
    twins = {"old": replace(board, title="Box (2019)"), "new": replace(board, title="Box (2024)")}
    copies = {"first": replace(board, title="Rack"), "second": replace(board, title="Rack")}
    called = titles(replace(every, server={**twins, **copies, "mine": replace(board, title="")}))
    assert [called[f"server {name}"] for name in twins] == ["Box (2019)", "Box (2024)"]
    assert [called[f"server {name}"] for name in (*copies, "mine")] == ["first", "second", "mine"]


def test_every_part_that_comes_with_perjoule_has_a_title() -> None:
    every = parts.shipped()
    names = {
        f"{table} {name}"
        for table in ("server", "drive", "network", "switch", "filesystem")
        for name in getattr(every, table)
    }
    called = titles(every)
    assert set(called) == names
    assert [key for key, title in called.items() if title == key.partition(" ")[2]] == []


def test_a_plan_names_parts_as_people_do_and_once_as_a_need_does() -> None:
    found = planning.answer(planning.read(EXAMPLES / "needs" / "archive.toml"), draws_count=20)
    names = {name for table in ("server", "drive", "switch") for name in getattr(found.question.parts, table)}
    names = {name for name in names if "-" in name}
    for row in found.rows:
        first, keys, *further = about(row)
        assert {row.machine.server, row.machine.drive} <= {*keys.replace(",", "").split()}
        texts = (
            *cells(row),
            first,
            *further,
            *(change_text(change, found.space.titles) for change in found.changes),
        )
        assert [text for text in texts if names & {*text.replace(",", "").split()}] == []
    assert quantity_text("filesystem cephfs: read_reached", found.space.titles) == (
        "CephFS: read throughput over its prediction"
    )
