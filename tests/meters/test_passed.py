"""What a campaign passes on to instruments: addresses and channels that are ones, and passwords that are
passwords.
"""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.meters._address import line
from perjoule.meters._secret import secret
from perjoule.meters._visa import instrument
from perjoule.meters.scope import Scope
from perjoule.meters.scpi import Scpi
from perjoule.model import Json
from perjoule.model.errors import MachineError

ADDRESSES = [
    *(
        "lmg",
        "192.0.2.50:5025",
        "[2001:db8::1]:5025",
        "/dev/ttyUSB0",
        "/dev/serial/by-id/usb-ZES_LMG-if00",
        "ASRL/dev/ttyS0::INSTR",
    ),
    *(
        "TCPIP::192.0.2.50::INSTR",
        "TCPIP0::lmg::5025::SOCKET",
        "TCPIP::lmg::inst0::INSTR",
        "TCPIP::lmg::hislip0::INSTR",
    ),
    *("USB::0x0957::0x1234::MY-12::INSTR", "USB0::0x0957::0x1234::MY12::0::INSTR", "GPIB0::12::INSTR"),
]
NO_ADDRESSES = [
    "ASRLspy:///dev/ttyS0?file=/etc/cron.d/x::INSTR",  # pyserial writes to the file
    "ASRLspy://loop://?file=/etc/passwd::INSTR",
    *(
        "ASRLloop://::INSTR",
        "ASRLsocket://192.0.2.1:1::INSTR",
        "ASRLhwgrep://x::INSTR",
        "ASRLalt:///dev/x?class=y::INSTR",
    ),
    *(
        "ASRL/etc/passwd::INSTR",
        "/etc/passwd",
        "/dev/../etc/passwd",
        "PRLGX-ASRL::/dev/ttyS0::12::INSTR",
        "http://x/",
        "a b",
        "",
    ),
    *("TCPIP::a\n::INSTR", "/dev/tty USB0", "x;reboot", "USB::0x1::0x2::s::INSTR\n", "VICP::x::INSTR", "a@b"),
]


def to_run(kind: str, **options: Json) -> object:
    return drivers.build("meters", kind, options, to_run=True)


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_of_instruments_are_taken(address: str) -> None:
    assert to_run("scpi", address=address) == Scpi(address=address)
    assert to_run("scope", address=address) == Scope(address=address)


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_anything_but_an_address_of_an_instrument_is_refused_before_it_is_opened(address: str) -> None:
    for kind in ("scpi", "scope"):
        with pytest.raises(ValidationError, match="is not an address of an instrument"):
            to_run(kind, address=address)
    with (
        pytest.raises(OSError, match="is not an address of an instrument"),
        instrument(address, timeout_s=0.1),
    ):
        pass


def test_no_address_writes_to_a_file(tmp_path: Path) -> None:
    victim, (ours, theirs) = tmp_path / "victim", os.openpty()
    victim.write_text("somebody's")
    address = f"ASRLspy://{os.ttyname(theirs)}?file={victim}::INSTR"
    try:
        with pytest.raises(OSError, match="is not an address"), instrument(address, timeout_s=0.1) as device:
            device.tell("*IDN?")
    finally:
        os.close(ours)
        os.close(theirs)
    assert victim.read_text() == "somebody's"


def test_only_serial_lines_are_opened_as_ones(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        assert line(os.ttyname(theirs)) == os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (
        "/dev/null",
        "/dev/zero",
        "/dev/mem",
        "/dev/no-such-line",
        str(tmp_path / "link"),
        "/dev/fd/0",
        "/dev/tty",
    ):
        with pytest.raises(OSError, match=r"is not a serial line|No such"):
            line(path)


def test_no_terminal_of_another_user_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root could: what is typed there would be taken for a meter's answer, and told in errors."""
    ours, theirs = os.openpty()
    try:
        terminal = Path(os.ttyname(theirs))
        monkeypatch.setattr(os, "geteuid", lambda: terminal.stat().st_uid + 1)
        with pytest.raises(OSError, match="is a terminal of another user"):
            line(str(terminal))
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "ttyUSB0", "/dev/../etc/passwd", "/dev/", "spy:///dev/ttyS0", "/dev/a b"]
)
def test_a_meter_on_a_serial_line_names_one(path: str) -> None:
    with pytest.raises(ValidationError, match="is not a serial line"):
        to_run("powersensor3", address=path, drives={"0": ""})
    with pytest.raises(ValidationError, match="is not a serial line"):
        to_run("plugwise", address=path, circles={"000D6F0000B1B64B": ""})


@pytest.mark.parametrize(
    "channel", ["1;:OUTP OFF", "1;*RST", "P,1", " ", "1\n*RST", "SIGMA;*RST", "999", "-1"]
)
def test_a_channel_is_not_a_command(channel: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted"):
        to_run("scpi", address="lmg", channel=channel)


def test_a_channel_is_a_number_or_a_sum() -> None:
    for channel in ("", "1", "12", "SIGMA", "sigma", "SIGM", "SIGMB"):
        assert to_run("scpi", address="lmg", channel=channel) == Scpi(address="lmg", channel=channel)


def test_a_topic_is_one_plug_and_a_chassis_one_chassis() -> None:
    for topic in ("#", "+/plug", "a/#"):
        with pytest.raises(ValidationError, match="is not permitted"):
            to_run("tasmota", address="broker", topic=topic)
    for chassis in ("../../Systems/1", "1?x=y", "1#", "a/b"):
        with pytest.raises(ValidationError, match="is not permitted"):
            to_run("redfish", address="https://bmc", chassis=chassis)


def test_a_file_of_several_lines_is_refused_as_a_password_and_sent_nowhere(tmp_path: Path) -> None:
    key = tmp_path / "id_ed25519"
    for text in (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END\n",
        "root:$y$j9T:1:\ndaemon:*:\n",
        "a\0b",
        "a\rb",
    ):
        key.write_text(text)
        with pytest.raises(MachineError, match="this is not a password: it has more than one line"):
            secret(key)
    key.write_text("geheim ü 5%\n")
    assert secret(key) == "geheim ü 5%"
