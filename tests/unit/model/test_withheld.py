"""Logins that somebody wrote into an address: no error repeats them."""

import pytest

from perjoule.model.errors import MachineError
from perjoule.model.withheld import MOST_LETTERS, has_login, withheld


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shelly://me:s3cret@10.0.0.7", "shelly://***@10.0.0.7"),
        ("--meter shelly:me:s3cret@10.0.0.7: no", "--meter shelly:***@10.0.0.7: no"),
        ('address = "https://me:s3cret@bmc-1/x" is', 'address = "https://***@bmc-1/x" is'),
        ("https://s3cret@bmc-1", "https://***@bmc-1"),
        ("me:s3/cr@et@bmc-1", "***@bmc-1"),
        ("http://h/metrics?token=s3cret&x=1", "http://h/metrics?token=***&x=1"),
        ("h?apikey=s3cret", "h?apikey=***"),
        ('community = "s3cret" is', 'community = "***" is'),
    ],
)
def test_a_login_is_withheld(text: str, shown: str) -> None:
    assert withheld(text) == shown
    assert has_login(text)
    error = MachineError(text, where=text, next=text)
    assert "s3cret" not in f"{error} {error.args} {error.what} {error.where} {error.next}"


@pytest.mark.parametrize(
    "text",
    [
        "http://n1:9100/metrics",
        "ssh bob@host: refused",
        "/dev/disk/by-id/usb-x:0@y",
        'write password_file = "~/.bmc"',
        "shelly://10.0.0.7:80?rate=1 Hz",
        "TCPIP::192.0.2.1::INSTR",
    ],
)
def test_what_is_no_login_stays(text: str) -> None:
    assert withheld(text) == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["a." * 100_000, "a:b," * 50_000 + "@", "password = " * 30_000, "//" * 100_000 + "@"]
)
def test_a_long_text_is_cut(text: str) -> None:
    """A host's options of a mount may be as long as its answer."""
    assert len(withheld(text)) <= 2 * MOST_LETTERS
    assert "secret" not in withheld(f"password=secret{text}")
