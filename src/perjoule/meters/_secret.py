"""Passwords come from separate files, never from a campaign, which is published."""

from pathlib import Path

from perjoule.machine.untrusted import text_of
from perjoule.model.errors import MachineError
from perjoule.model.permitted import control_character

MOST_BYTES = 64 * 1024


def secret(file: Path | None) -> str:
    """Return the password in a file, "" without a file.

    Raises:
        MachineError: it can't be read.
    """
    if file is None:
        return ""
    try:
        text = text_of(file.expanduser(), MOST_BYTES).rstrip("\n")
        # a key, or another file of several lines, that a campaign would have sent to its address
        if control_character(text):
            raise ValueError("it has more than one line, or a control character")
        return text
    except ValueError as error:
        raise MachineError(
            f"this is not a password: {error}", where=str(file), next="write the password into it"
        ) from None
    except OSError as error:
        fix = "write the password into it, mode 600"
        raise MachineError(
            f"the password can't be read ({error.strerror})", where=str(file), next=fix
        ) from None
