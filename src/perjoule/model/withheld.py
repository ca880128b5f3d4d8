"""Logins that somebody wrote into an address or an option: nothing that perjoule prints or keeps repeats them.

https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
"""

import re

SHOWN = "***"
MOST_LETTERS = 4096  # as of the options of a mount; matching takes their square
_NAMES = r"[\w.%-]*(?:password|passwd|passphrase|secret|token|api_?key|community)s?"
_GIVEN = re.compile(rf"\b({_NAMES}\"?\s*=\s*[\"']?)([^\"'&\s;,)]+)", re.IGNORECASE)  # a file's name has _file
_LOGIN = re.compile(r"//[^\s\"'?]*@(?=[\w\[])")
_PAIR = re.compile(r"(?<![\w.@:/-])((?:[a-z][a-z0-9_]*:)?)[^\s/@\"'=?&:]+:(?!//)[^\s\"'?&]+@(?=[\w\[])")


def withheld(text: str) -> str:
    """Return a text without what looks like a login: "http://me:secret@bmc-1" is "http://***@bmc-1". One that is
    too long is cut.
    """
    if len(text) > MOST_LETTERS:
        text = f"{text[:MOST_LETTERS]}…"
    if "@" in text:
        text = _PAIR.sub(rf"\1{SHOWN}@", _LOGIN.sub(f"//{SHOWN}@", text))
    return _GIVEN.sub(rf"\1{SHOWN}", text)


def has_login(address: str) -> bool:
    """Return whether an address has a user, a password or a token in it."""
    return withheld(address) != address
