"""A meter's table in one line: every kind has such a line, and it builds what the table does."""

import json
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from perjoule import campaign, drivers
from perjoule.campaign.making.meter_line import meter_line, meter_table
from perjoule.model.errors import CampaignError


def example(kind: str) -> dict[str, Any]:
    """The first table of a driver's own example."""
    tables = tomllib.loads(drivers.example_of("meters", kind))["meter"]
    return next(table for table in tables if table["kind"] == kind)


def as_line(table: dict[str, Any]) -> str:
    """Write a table as a line, by the grammar that the module's docstring states."""
    place = str(table.get("address", table.get("path", "")))
    if table["kind"] == "constant":
        place = f"{table['power']} +- {table['uncertainty']}"
    options: list[str] = []
    for key, value in table.items():
        if key in ("kind", "address", "path", "power") or (key, table["kind"]) == ("uncertainty", "constant"):
            continue
        if isinstance(value, dict):
            options += [f"{quote(f'{key}.{inner}')}={quote(str(text))}" for inner, text in value.items()]
        else:
            options.append(f"{key}={quote(value if isinstance(value, str) else json.dumps(value))}")
    return f"{table['kind']}:{place}" + (f"?{'&'.join(options)}" if options else "")


@pytest.mark.parametrize("kind", drivers.kinds("meters"))
def test_the_line_of_each_meters_example_builds_the_same_meter_as_its_table(kind: str) -> None:
    table = example(kind)
    if (
        "path" in table
    ):  # a line's is of the folder where the command was typed, and the campaign lies elsewhere
        table["path"] = str(Path(str(table["path"])).absolute())
    expected = drivers.build("meters", kind, {key: value for key, value in table.items() if key != "kind"})
    found = meter_table(as_line(table))
    assert found["kind"] == kind
    assert drivers.build("meters", kind, {k: v for k, v in found.items() if k != "kind"}) == expected


@pytest.mark.parametrize("kind", drivers.kinds("meters"))
def test_a_meter_with_an_address_or_a_path_takes_it_before_the_options_and_others_refuse_one(
    kind: str,
) -> None:
    options = set(drivers.options(drivers.driver_class("meters", kind)))
    placed = options & {"address", "path"}
    if placed:
        (name,) = placed
        assert str(meter_table(f"{kind}://192.0.2.7")[name]).endswith("192.0.2.7")
    elif kind != "constant":
        assert meter_table(f"{kind}:") == {"kind": kind}
        with pytest.raises(CampaignError, match="it has no address"):
            meter_table(f"{kind}:192.0.2.7")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "shelly://10.0.0.7:8080?output=1&accuracy=1 %",
            {"address": "10.0.0.7:8080", "output": 1, "accuracy": "1 %"},
        ),
        ("snmp_pdu://10.0.9.1:1161?model=apc", {"address": "10.0.9.1", "port": 1161, "model": "apc"}),
        ("redfish://bmc-1", {"address": "https://bmc-1"}),
        ("redfish:http://127.0.0.1:8000", {"address": "http://127.0.0.1:8000"}),
        ("prometheus://n1:9100/metrics?metric=a", {"address": "http://n1:9100/metrics", "metric": "a"}),
        ("constant:12 W +- 1 W", {"power": "12 W", "uncertainty": "1 W"}),
        ('constant:"12 W +- 1 W"', {"power": "12 W", "uncertainty": "1 W"}),
        ("constant:12 W ± 1 W", {"power": "12 W", "uncertainty": "1 W"}),
        ("csv:/a/plug.csv?time=t&value=W", {"path": "/a/plug.csv", "time": ["t"], "value": "W"}),
        ("scpi:/dev/ttyUSB0", {"address": "/dev/ttyUSB0"}),
        ("quarch:?drives.usb::QTL=", {"drives": {"usb::QTL": ""}}),
    ],
)
def test_a_line_is_read_as_the_documentation_writes_it(line: str, expected: dict[str, object]) -> None:
    assert meter_table(line) == {"kind": line.partition(":")[0], **expected}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shelly", "write KIND:ADDRESS"),
        ("shely://10.0.0.7", 'did you mean "shelly"'),
        ("http://10.0.0.7/rpc", "shelly://10.0.0.7"),
        ("constant:12 W", "has no uncertainty"),
        ("shelly://10.0.0.7?output", "OPTION=VALUE"),
    ],
)
def test_a_line_that_is_none_is_refused_with_what_to_write(line: str, said: str) -> None:
    with pytest.raises(CampaignError, match="--meter") as refused:
        meter_table(line)
    assert said in str(refused.value)


def test_commands_of_meters_take_a_line_and_name_it_in_errors() -> None:
    (meter,) = campaign.meters(["shelly://10.0.0.7"], ["rate=5 Hz"])
    assert meter.sampled_hz == 5
    with pytest.raises(CampaignError, match=r"--meter shelly://10\.0\.0\.7\?foo=1: .* no option"):
        campaign.meters(["shelly://10.0.0.7?foo=1"])
    with pytest.raises(CampaignError, match=r"--meter csv:plug\.csv: meter csv lacks unit"):
        campaign.meters(["csv:plug.csv"])


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "shelly", "address": "192.0.2.50"},
        {"kind": "shelly", "address": "192.0.2.50:8080", "user": "a&b?c"},
        {"kind": "redfish", "address": "https://192.0.2.60:8443"},
    ],
)
def test_a_table_is_read_back_from_the_line_that_is_written_of_it(table: dict[str, str]) -> None:
    assert meter_table(meter_line(table)) == table
