import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Generator[Path]:
    """A folder whose path may be a host's work folder and have sockets below it: short and without spaces,
    whatever TMPDIR is.
    """
    with tempfile.TemporaryDirectory(prefix="perjoule-test-", dir="/tmp") as name:
        yield Path(name)
