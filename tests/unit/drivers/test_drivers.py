"""The contract of every driver found on disk: what holds for one that someone adds, without a list
anywhere.
"""

import dataclasses
import importlib
import os
import re
import sys
import threading
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

import pytest
from pydantic import BeforeValidator

from perjoule import campaign, drivers
from perjoule.campaign.schema import driver_schema
from perjoule.campaign.tables import fields_of
from perjoule.drivers.boundary import names
from perjoule.drivers.protocols import Check, planned
from perjoule.model import UNIT_SUFFIXES, option_name
from perjoule.model.errors import CampaignError
from places import TRANSCRIPTS

DRIVERS = [(part, kind) for part in drivers.PROTOCOLS for kind in drivers.kinds(part)]

PARSES = re.compile(r"json\.loads|re\.(match|search|fullmatch|findall|finditer)\b")

every = pytest.mark.parametrize(("part", "kind"), DRIVERS, ids=[f"{part}-{kind}" for part, kind in DRIVERS])


def module(part: str, kind: str) -> ModuleType:
    return importlib.import_module(f"perjoule.{part}.{kind}")


def takes(annotation: object, kind: type) -> bool:
    """Whether an option takes values of a type (a bool is not an int)."""
    return annotation is kind or any(takes(a, kind) for a in get_args(annotation))


def test_every_part_has_drivers() -> None:
    assert {part for part, _ in DRIVERS} == set(drivers.PROTOCOLS), (
        "a part has no driver: is its package complete?"
    )


@every
def test_a_driver_says_in_its_docstring_what_it_speaks_to(part: str, kind: str) -> None:
    said = module(part, kind).__doc__ or ""
    assert len(said.strip().partition("\n")[0]) > 20, (
        "say what the driver is in the first line of the module's docstring"
    )
    if kind not in ("simulated", "modelled", "back"):  # these speak to nothing
        assert re.search(r"https?://\S+\.\S+", said), (
            "link the tool's documentation in the module's docstring"
        )


@every
def test_a_driver_is_one_frozen_dataclass_with_a_docstring(part: str, kind: str) -> None:
    driver = drivers.driver_class(part, kind)
    assert dataclasses.is_dataclass(driver), "decorate the class with pydantic's dataclass"
    said = (driver.__doc__ or "").strip()
    assert said, "give the class a docstring: what the driver runs"
    assert not said.startswith(f"{driver.__name__}("), (
        "give the class a docstring: this one was written by dataclasses"
    )
    assert cast("Any", driver).__dataclass_params__.frozen, "make the dataclass frozen"
    positional = [field.name for field in dataclasses.fields(driver) if not field.kw_only]
    assert not positional, f"make the dataclass kw_only: {positional} can be given by position"


@every
def test_the_example_of_a_driver_is_a_table_of_a_campaign(part: str, kind: str) -> None:
    document: dict[str, Any] = tomllib.loads(module(part, kind).EXAMPLE)
    name = part.removesuffix("s")
    assert list(document) == [name], f"have EXAMPLE hold tables [[{name}]] and nothing else"
    kinds = {table["kind"] for table in ([document[name]] if name == "testbed" else document[name])}
    assert kinds == {kind}, f'write kind = "{kind}" in each table of EXAMPLE, not {kinds}'
    made = campaign.example(part, kind)
    assert isinstance(made, drivers.driver_class(part, kind)), (
        f"EXAMPLE makes a {type(made).__name__}: one class per module"
    )


@every
def test_every_option_of_a_driver_is_explained(part: str, kind: str) -> None:
    silent = [
        o
        for o, found in driver_schema(part.removesuffix("s"), kind)["properties"].items()
        if "description" not in found
    ]
    assert silent == ["kind"], f"write a docstring below each option; these have none: {silent}"


@every
def test_every_quantity_among_the_options_has_its_unit_in_its_name(part: str, kind: str) -> None:
    # What is read from text with a unit is a quantity, and so is what has a fraction; other whole numbers may
    # be plain counts.
    fields = fields_of(part.removesuffix("s"), kind).values()
    read = [
        field
        for field, info in fields
        if any(isinstance(m, BeforeValidator) for m in info.metadata) and takes(info.annotation, int)
    ]
    quantities = [field for field, info in fields if takes(info.annotation, float) or field in read]
    bare = [field for field in quantities if not field.endswith(UNIT_SUFFIXES) and field != "factor"]
    assert not bare, f"end the names of {bare} in their unit: {', '.join(UNIT_SUFFIXES)}"


@every
def test_no_two_options_of_a_driver_are_written_alike(part: str, kind: str) -> None:
    names = [option_name(field.name) for field in dataclasses.fields(drivers.driver_class(part, kind))]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"rename an option: without their units, several are written {twice}"
    assert not {"kind", "label"} & set(names), "rename the option: every table has its own kind and label"


class Witness:
    """What this process changes or starts while it is `awake`, by Python's audit events; no hook can be
    taken back.
    """

    changes = re.compile(
        r"os\.(chmod|chown|kill|link|mkdir|mknod|remove|rename|rmdir|symlink|system|truncate|utime)|signal|socket\.bind"
    )
    # a question; a trial in namespaces of its own
    harmless = re.compile(r"'--(version|help)'|'unshare', '--net', '--mount',")

    def __init__(self) -> None:
        self.awake, self.noted, self._others = False, list[str](), set[int | None]()
        sys.addaudithook(self.note)

    def watch(self) -> None:
        """Note from now on what this thread does, and those that it starts; what others do that run
        already is not ours.
        """
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        self.noted, self.awake = [], True

    def note(self, event: str, words: tuple[Any, ...]) -> None:
        if not self.awake or threading.get_ident() in self._others:
            return
        if event == "socket.bind" and words[1] == ("::1", 0):
            return  # as urllib3 asks, when it is imported, whether there is IPv6
        if event in ("open", "os.mkdir", "os.rename") and "python-entrypoints" in str(words[0]):
            return  # where stevedore, of OpenStack's libraries, keeps what it found, as Python does __pycache__
        if event == "open":
            written = words[2] & (
                os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
            ) and "__pycache__" not in str(words[0])
            self.noted += [f"opened {words[0]} to write"] if written else []
        elif self.changes.match(event) or (
            event == "subprocess.Popen" and not self.harmless.search(str(words[1]))
        ):
            self.noted.append(f"{event} {words}")


@pytest.fixture(scope="module")
def witness() -> Witness:
    return Witness()


@every
def test_a_driver_states_what_it_needs_without_changing_anything(
    part: str, kind: str, witness: Witness
) -> None:
    driver = campaign.example(part, kind)
    witness.watch()
    try:
        checks = driver.checks()
    finally:
        witness.awake = False
    for check in checks:
        assert isinstance(check, Check), f"have `checks` return Check, not {type(check).__name__}"
        assert check.name, f"name what is checked: {check}"
        assert check.detail, f"say in `detail` what was found: {check}"
    unmended = [check.name for check in checks if not check.ok and not check.fix]
    assert not unmended, f"say in `fix` what to do about {unmended}"
    assert witness.noted == [], f"have `checks` change and start nothing: {witness.noted}"


@every
def test_an_option_that_is_not_there_is_refused(part: str, kind: str) -> None:
    with pytest.raises(ValueError, match="no_such_option"):
        drivers.build(part, kind, {"no_such_option": 1})


@every
def test_a_driver_that_parses_a_tools_output_has_transcripts_of_it(part: str, kind: str) -> None:
    source = Path(str(module(part, kind).__file__))
    family = sorted(source.parent.glob("*.py")) if source.name == "__init__.py" else [source]
    imports = "".join(
        re.findall(rf"from perjoule\.{part}[. ].*", "".join(path.read_text() for path in family))
    )
    room = Path(str(importlib.import_module(f"perjoule.{part}").__file__)).parent
    shared = [
        path
        for name in set(re.findall(r"\b_\w+", imports))
        for path in (room / f"{name}.py", *(room / name).glob("*.py"))
    ]
    texts = [path.read_text() for path in (*family, *shared) if path.exists()]
    if kind != "simulated" and any(map(PARSES.search, texts)):  # what is simulated is its own tool
        found = any(path.is_file() for path in (TRANSCRIPTS / kind).rglob("*"))
        assert found, (
            f"save outputs of the real tool in tests/transcripts/{kind}, and test the parsers on them"
        )


def test_a_driver_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        drivers.driver_class("filesystems", "no_such_driver")


def test_a_meter_of_servers_is_not_one_of_clients_alone() -> None:
    clients = planned(["client", "client"])
    with pytest.raises(CampaignError, match='no host is called "servers"; known: '):
        names("pdu", ("servers", "switch"), clients)
    assert names("pdu", ("servers",), planned(["client"])) == ("client-1",)  # one machine is both
    assert names("pdu", ("servers",), planned(["storage", "client"])) == ("storage-1",)
