from collections.abc import Generator

import pytest

from helped import Installed, installed


@pytest.fixture(scope="module")
def host() -> Generator[Installed]:
    """A host with an installed helper."""
    with installed() as there:
        yield there
