"""The output of programs, read strictly: what is missing or unknown in it is an error, never "none". Shared by parsers."""

import re

from perjoule.model.errors import WorkloadError


def found(pattern: str, said: str, program: str) -> str:
    """Return the first group of a pattern (^ and $ match at lines) in a program's output. Raises WorkloadError."""
    if (match := re.search(pattern, said, re.MULTILINE)) is None:
        raise unexpected(said, program)
    return match[1]


def unexpected(said: str, program: str) -> WorkloadError:
    """Return the error for output that is not understood."""
    return WorkloadError(f"unexpected output: {' | '.join(said.splitlines())[:200] or 'nothing'}", where=program)
