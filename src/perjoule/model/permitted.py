"""Words that a campaign passes on to a program, a daemon or a configuration file: positive lists of names,
each with the form of its value.

A name that is not listed is refused whatever it does, so a word that nobody thought of can't name a file, a
device or a command.
"""

import re
from collections.abc import Mapping

# Name -> a regular expression of what may follow it: "" for a flag, "=[0-9]+" for a number, "(=[0-9]+)?" for
# either.
Forms = Mapping[str, str]
FLAG = ""
NUMBER = "=[0-9]{1,18}"
RATIO = r"=[0-9]{1,9}(\.[0-9]{1,9})?"
SIZE = "=[0-9]{1,18}[bskmgtBSKMGT]?"
BIT = "=[01]"


def words(*choices: str) -> str:
    """Return the form of a value that is one of these words."""
    return f"=({'|'.join(map(re.escape, choices))})"


def flags(text: str) -> dict[str, str]:
    """Return the forms of flags, named in a text."""
    return dict.fromkeys(text.split(), FLAG)


def each(names: str, form: str) -> dict[str, str]:
    """Return one form for several names in a text."""
    return dict.fromkeys(names.split(), form)


def permits(forms: Forms, setting: str) -> bool:
    """Return whether a word such as "commit=5" is on a list, and its value has the form of its name."""
    name, equals, value = setting.partition("=")
    return name in forms and re.fullmatch(forms[name], equals + value) is not None


def control_character(text: str) -> str:
    """Return the first character of a text that ends or hides a line of a configuration file, escaped; "" if
    it has none.

    Line feeds, tabs, NUL, escape, those of Unicode that end a line or turn its direction, and halves of
    characters.
    """
    match = re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    return match[0].encode("unicode_escape").decode() if match else ""
