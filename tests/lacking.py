"""What a test lacks on this machine, in few words: the reasons of tests that are left out."""

from collections.abc import Iterable

from perjoule.drivers.protocols import Check


def lacking(checks: Iterable[Check]) -> str:
    """What is missing, and what fixes it, once for everything that it fixes; empty if nothing is missing."""
    missing: dict[tuple[str, str], dict[str, None]] = {}
    for check in checks:
        if check.needed and not check.ok:
            missing.setdefault((check.detail, check.fix), {})[check.name] = None
    return "; ".join(f"{', '.join(names)}: {detail}; {fix}" for (detail, fix), names in missing.items())
