"""What `perjoule meters list` finds: everything that answers, in the order of the addresses, all asked at
once.
"""

import threading
import tomllib
from contextlib import ExitStack
from types import SimpleNamespace

from commanded import command
from perjoule import drivers, simulators
from perjoule.model.waveform import Waveform
from perjoule.monitoring import recorder
from perjoule.simulators import Behaviour

NOBODY = "127.0.0.1:1"


def test_what_answers_is_found_in_the_order_of_the_addresses():
    with ExitStack() as stack:
        plug, other, strip = (
            stack.enter_context(simulators.serve(kind, Behaviour(Waveform("constant", 40, 40))))
            for kind in ("shelly", "tasmota", "kasa")
        )
        addresses = [str(strip["address"]), NOBODY, str(plug["address"]), str(other["address"])]
        meters = [
            [(table["kind"], table["address"]) for table in tables]
            for place, tables in recorder.discovered(addresses).items()
            if place
        ]
        assert meters == [
            [("kasa", strip["address"])],
            [],
            [("shelly", plug["address"])],
            [("tasmota", other["address"])],
        ]


def test_all_addresses_are_queried_at_once_and_this_machines_meters_listed_once(monkeypatch):
    together = threading.Barrier(4)

    def discover(addresses):
        together.wait(timeout=30)
        return ({"kind": "here"}, *({"kind": "there", "address": address} for address in addresses))

    monkeypatch.setattr(drivers, "kinds", lambda part: ("one",))
    monkeypatch.setattr(drivers, "meter_class", lambda kind: SimpleNamespace(discover=discover))
    there = {address: [{"kind": "there", "address": address}] for address in "abc"}
    assert recorder.discovered("abca") == {"": [{"kind": "here"}], **there}


def test_what_answers_is_printed_as_a_table_and_as_the_line_that_measure_takes(monkeypatch):
    monkeypatch.setattr(drivers, "usable", lambda part: ("shelly",))  # whatever this machine has
    with simulators.serve("shelly", Behaviour(Waveform("constant", 40, 40))) as table:
        ran = command("meters", "list", str(table["address"]), NOBODY)
        listed = ran.stdout
    assert f"no meter answers at {NOBODY}: " in ran.stderr
    line = f"# perjoule measure PATH --meter shelly://{table['address']}\n[[meter]]\n"
    assert line in listed
    assert tomllib.loads(listed)["meter"][-1]["address"] == table["address"]
