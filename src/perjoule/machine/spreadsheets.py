"""Texts in CSV files, which spreadsheets would otherwise run as formulas:
https://owasp.org/www-community/attacks/CSV_Injection.

An apostrophe stands before a text that begins like a formula, or with an apostrophe, so each text can be read
back. Numbers are written without: -5 stays -5.
"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"


def marked(text: str) -> str:
    """Return a text as a cell of a CSV file has it."""
    return f"{_MARK}{text}" if text.startswith((*_FORMULA, _MARK)) else text


def unmarked(cell: str) -> str:
    """Return the text of a cell that was `marked`."""
    return cell.removeprefix(_MARK)
