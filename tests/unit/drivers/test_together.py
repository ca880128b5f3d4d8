"""Meters that run at once: each channel is of one of them."""

from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from perjoule.drivers import together
from perjoule.drivers.protocols import Hosts
from perjoule.model import Channel
from perjoule.model.errors import CampaignError
from perjoule.monitoring.recorder import Memory


def plug(watts: float, channel: Channel) -> Any:
    """A meter that says one number, as two outlets of one strip do that share one boundary."""

    @contextmanager
    def record(hosts, sink) -> Generator[list[str]]:
        sink.append(channel, 1.0, watts)
        yield [f"{watts:g}"]

    return SimpleNamespace(record=record, outlets=lambda hosts: ())  # which only its sensors would say


def of(component: str, **more) -> Channel:
    return Channel("snmp_pdu", "", component, "power", "W", "average", "PDU", **more)


def test_two_meters_with_samples_of_one_channel_are_refused():
    """50.4 and 120.4 W would be 85.4 W on average, not 170.8 W."""
    kept = Memory()
    both = (plug(50.4, of("group", covers=("osd-1",))), plug(120.4, of("group", covers=("osd-1",))))
    with (
        pytest.raises(
            CampaignError,
            match=r"two meters have samples of snmp_pdu:osd-1/group/power.*; say in covers what each feeds",
        ),
        together.recording(both, Hosts(()), kept),
    ):
        pass
    assert [len(series.value) for series in kept.series()] == [1]


def test_a_channel_is_the_same_whatever_a_meter_says_of_its_accuracy():
    from perjoule.model import Specification

    both = (plug(1.0, of("total")), plug(2.0, of("total", specification=Specification(resolution=1.0))))
    with (
        pytest.raises(CampaignError, match="two meters have samples"),
        together.recording(both, Hosts(()), Memory()),
    ):
        pass


def test_meters_with_channels_of_their_own_keep_their_doubts_apart():
    kept = Memory()
    with together.recording((plug(50.4, of("board")), plug(120.4, of("disks"))), Hosts(()), kept) as doubts:
        pass
    assert doubts == (["50.4"], ["120.4"])
    assert sorted(float(series.value[0]) for series in kept.series()) == [50.4, 120.4]
