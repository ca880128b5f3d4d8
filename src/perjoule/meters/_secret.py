"""Passwords come from separate files, never from a campaign, which is published."""

from pathlib import Path

from perjoule.model.errors import MachineError


def secret(file: Path | None) -> str:
    """Return the password in a file, "" without a file.

    Raises:
        MachineError: it can't be read.
    """
    if file is None:
        return ""
    try:
        return file.expanduser().read_text().rstrip("\r\n")
    except OSError as error:
        fix = "write the password into it, mode 600"
        raise MachineError(f"the password can't be read ({error.strerror})", where=str(file), next=fix) from None
