"""Logins of simulated meters: the file that a [[meter]] table names for a password, and RFC 7617's header."""

from base64 import b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.machine import removal
from perjoule.model import Json


@contextmanager
def password_option(password: str) -> Generator[Mapping[str, Json]]:
    """Keep a password in a file during the block; yields the option that names it, none without a password."""
    with removal.scratch("perjoule-meter-") as folder:
        file = folder / "password"
        file.write_text(password)
        yield {"password_file": str(file)} if password else {}


def basic(user: str, password: str) -> str:
    """Return the header `Authorization` of a Basic login."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()
