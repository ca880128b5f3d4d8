"""`perjoule meters find`: real announcements by python-zeroconf on loopback, and the simulators behind them."""

import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address

import pytest
from zeroconf import IPVersion, ServiceInfo, Zeroconf, const
from zeroconf._dns import DNSAddress, DNSPointer, DNSService, DNSText
from zeroconf._protocol.outgoing import DNSOutgoing

from perjoule import simulators
from perjoule.cli.meters.finding import _notes
from perjoule.model.errors import CampaignError
from perjoule.model.waveform import Waveform
from perjoule.monitoring import announced
from perjoule.simulators import Behaviour, shelly
from perjoule.simulators._http import HttpAnswer, answering

LISTEN_S = 2.5
WEB, SHELLY = "_http._tcp", "_shelly._tcp"
POWER_W = 400  # of which a busy machine may see the counter's steps of 36 J alone
STEADY = Behaviour(Waveform("constant", POWER_W, POWER_W))
ELSEWHERE = "198.51.100.7"


@pytest.fixture(scope="module", autouse=True)
def loopback() -> Sequence[announced.Subnet]:
    """The network of all these tests, which hear each other: so one process has them."""
    return announced.networks(["lo"])


@contextmanager
def announcing(*services: tuple[str, str, str, str]) -> Generator[None]:
    """Announce names with a type, an address and a port on loopback while the block runs."""
    responder = Zeroconf(interfaces=["127.0.0.1"], ip_version=IPVersion.V4Only)
    try:
        infos = [
            ServiceInfo(
                f"{type_}.local.",
                f"{name}.{type_}.local.",
                addresses=[socket.inet_aton(address)],
                port=int(port),
                server=f"{name}.local.",
            )
            for name, type_, address, port in services
        ]
        with ThreadPoolExecutor(len(infos)) as pool:  # each asks first whether its name is free
            list(pool.map(responder.register_service, infos))
        yield
    finally:
        responder.close()


@contextmanager
def sending(label: str, text: bytes, port: int) -> Generator[None]:
    """Send the records of a service again and again, as they are, whether or not they are allowed."""
    responder, ended = Zeroconf(interfaces=["127.0.0.1"], ip_version=IPVersion.V4Only), threading.Event()
    full = f"{WEB}.local."
    name, host = f"{label}.{full}", "hostile.local."
    records = (
        DNSPointer(full, const._TYPE_PTR, const._CLASS_IN, 60, name),
        DNSService(name, const._TYPE_SRV, const._CLASS_IN, 60, 0, 0, port, host),
        DNSText(name, const._TYPE_TXT, const._CLASS_IN, 60, text),
        DNSAddress(host, const._TYPE_A, const._CLASS_IN, 60, socket.inet_aton("127.0.0.1")),
    )

    def send() -> None:
        while not ended.wait(0.4):
            packet = DNSOutgoing(const._FLAGS_QR_RESPONSE | const._FLAGS_AA)
            for record in records:
                packet.add_answer_at_time(record, 0)
            responder.send(packet)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        responder.close()


def find() -> str:
    asked = [sys.executable, "-m", "perjoule", "meters", "find", "--on", "lo", "--for", f"{LISTEN_S} s"]
    outcome = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def port_of(table: object) -> str:
    assert isinstance(table, dict)
    return str(table["address"]).rpartition(":")[2]


def test_plugs_that_announce_themselves_are_found_read_and_given_as_lines_for_measure() -> None:
    with ExitStack() as stack:
        plug = port_of(stack.enter_context(simulators.serve("shelly", STEADY)))
        other = port_of(stack.enter_context(simulators.serve("tasmota", STEADY)))
        web = stack.enter_context(answering(STEADY, lambda *_: HttpAnswer(b"{}"), "127.0.0.1", 0))
        stack.enter_context(
            announcing(
                ("plug-of-nas", WEB, "127.0.0.1", plug),
                ("plug-of-nas-2", SHELLY, "127.0.0.1", plug),
                ("tasmota-1", WEB, "127.0.0.1", other),
                ("printer", WEB, "127.0.0.1", web.rpartition(":")[2]),
                ("far", WEB, ELSEWHERE, "80"),
            )
        )
        text = find()
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line and not line.startswith(" ")}
    for name, kind, port in (("plug-of-nas", "shelly", plug), ("tasmota-1", "tasmota", other)):
        place, recognised, watts, unit, line = lines[name][1:]
        assert (place, recognised, unit) == (f"127.0.0.1:{port}", kind, "W")
        assert line == f"{kind}://127.0.0.1:{port}"
        assert float(watts) == pytest.approx(POWER_W, rel=0.5)
    assert "plug-of-nas-2" not in text  # one place, however many types it announces
    assert "1 other device announced a web page and is no known meter" in text
    assert f"not contacted, as on none of these networks: far at {ELSEWHERE}" in text


@pytest.mark.slow  # by day: plugs that want none, above
def test_a_plug_that_wants_a_login_is_found_and_what_to_do_is_said() -> None:
    with (
        shelly.serve(STEADY, password="secret") as plug,
        announcing(("locked", SHELLY, "127.0.0.1", port_of(plug))),
    ):
        text = find()
    assert f"shelly://127.0.0.1:{port_of(plug)}" in text
    assert "refused the login" in text and "password_file" in text


def test_nothing_outside_the_named_networks_is_asked_not_even_a_broadcast_address() -> None:
    networks = announced.networks(["127.0.0.0/8"])
    for address in (ELSEWHERE, "127.255.255.255", "224.0.0.251"):
        announcement = announced.Announcement("one", IPv4Address(address), 80, (WEB,))
        sorted_ = announced._sorted([[announcement]], networks, 0)
        assert sorted_.outside == (announcement,) and not sorted_.inside


@pytest.mark.parametrize(
    ("label", "text", "shown"),
    [
        ("turn\u202eed", b"\x04gen=", "turn\\u202eed"),
        pytest.param(
            "x" * 63, b"\xff" + b"k=" + b"v" * 253, "x" * 37 + "...", marks=pytest.mark.slow
        ),
        pytest.param("broken", b"\xff", "broken", marks=pytest.mark.slow),
        pytest.param("red\x1b[31m", b"", "", marks=pytest.mark.slow),  # the library takes no such name
    ],
)  # fmt: skip
def test_a_hostile_announcement_is_shown_harmlessly_or_not_at_all(
    label: str, text: bytes, shown: str
) -> None:
    with simulators.serve("shelly", STEADY) as plug, sending(label, text * 20, int(port_of(plug))):
        output = find()
    assert (shown in output) if shown else f"127.0.0.1:{port_of(plug)}" not in output
    assert not set(output) & {"\u202e", "\x1b"}


def test_of_a_flood_only_so_many_are_looked_at(
    loopback: Sequence[announced.Subnet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announced, "MOST", 2)
    with announcing(*((f"plug-{n}", WEB, "127.0.0.1", "9") for n in range(5))):
        announcements = announced.announced(loopback, LISTEN_S)
    assert announcements.omitted_count == 3


def test_who_finds_nothing_learns_where_it_was_looked_and_how_to_go_on() -> None:
    text = " ".join(_notes(announced.Announcements(), (), announced.networks(["lo"])))
    assert "no meter announces itself on lo (127.0.0.0/8)" in text
    assert "perjoule meters list ADDRESS" in text and "SetOption55 1" in text


def test_a_network_that_is_not_here_is_an_error_that_lists_those_that_are() -> None:
    with pytest.raises(CampaignError, match=r'no network "eth99"; it has lo \(127.0.0.0/8\)'):
        announced.networks(["eth99"])
