"""Where things lie in this checkout, for the tests that read them."""

from pathlib import Path

TESTS = Path(__file__).parent
TRANSCRIPTS = TESTS / "transcripts"
BROKEN_CAMPAIGNS = TESTS / "broken_campaigns"
ROOT = TESTS.parent
EXAMPLES = ROOT / "examples"
SOURCES = ROOT / "src" / "perjoule"


def transcript(*parts: str) -> str:
    """What a real tool printed or wrote: a file in tests/transcripts."""
    return TRANSCRIPTS.joinpath(*parts).read_text()
