"""A browser for all tests of a file, as wide as a screen and as a phone."""

from collections.abc import Iterator

import pytest

from chromium import WIDTHS, Chrome, chromium


@pytest.fixture(scope="module", params=WIDTHS.values(), ids=list(WIDTHS))
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser"), request.param) as chrome:
        yield chrome
