"""The output of programs, read strictly: what is missing or unknown in it is an error, never "none".

Shared by parsers.
"""

import re

from perjoule.model.errors import UnexpectedOutput, WorkloadError

MOST_CHARACTERS = 4096  # of what is found: a path has no more, and of numbers Python reads 4300 digits


def found(pattern: str, output: str, program: str) -> str:
    """Return the first group of a pattern (^ and $ match at lines) in a program's output.

    Raises WorkloadError.
    """
    if (match := re.search(pattern, output, re.MULTILINE)) is None or len(match[1]) > MOST_CHARACTERS:
        raise unexpected(output, program)
    return match[1]


def unexpected(output: str, program: str) -> WorkloadError:
    """Return the error for output that is not understood."""
    return UnexpectedOutput(
        f"unexpected output: {' | '.join(output.splitlines())[:200] or 'nothing'}", where=program
    )
