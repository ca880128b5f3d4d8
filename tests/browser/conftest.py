"""A browser for all tests of a file, as wide as a screen and as a phone, and what axe-core has against a page."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

import chromium as checks
from chromium import WIDTHS, Chrome, chromium


@pytest.fixture(scope="module", params=WIDTHS.values(), ids=list(WIDTHS))
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser"), request.param) as chrome:
        yield chrome


@pytest.fixture
def violations(request: pytest.FixtureRequest) -> Callable[[Chrome], list[str]]:
    """What axe-core finds: by night by all of its rules; by day without that of contrast, which takes four
    fifths of its time, as the check `pale` computes contrasts in both themes.
    """
    return partial(checks.violations, contrast=request.node.get_closest_marker("slow") is not None)
