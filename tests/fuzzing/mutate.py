"""Changes of bytes, of JSON and of TOML, as damage and malice make them."""

import json
import re
from copy import deepcopy
from random import Random
from typing import Any

TOKENS = [
    b"0", b"-1", b"1e30", b"1e308", b"1e999", b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b'""', b"[]", b"{}",
    b"\0", b"\xff",    b"\n", b"\r\n", b'"', b",", b":", b"[" * 300, b'{"a":' * 300, b"9" * 30, b"9" * 5000,
    b"\x1b[2J", b"<!--<script>", b"../../x",
    b"%s%n", "\u202e\u2028\u00e9".encode(), b"\xed\xa0\x80", b" " * 1000, b"1" + b"0" * 400, b"-0.0", b"1_0", b"\t",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**19, 10**30, 1e-320, 1e30, 1e308, -1e308, 0.5, "", "0", "-1", "x", "inf", "nan",
    "1e308", "\x1b[2J", "<!--<script>", "../x", "9" * 400, [], {}, [[]], [None], {"": 0}, {"$float": "inf"},
    {"$float": "x"}, [0] * 100,
]  # fmt: skip
QUANTITIES = [
    "1e30 MiB", "1e308 MiB", "1e999 B", "0 MiB", "-1 s", "1e300 s", "1e-300 s", "1e300 MiB/s", "1e-300 MiB/s", "1e300 W", "nan W",
    "1e300 Hz", "1e-300 Hz", "900 TiB", "200 %", "-5 %", "1 parsec", "\\u001b[2J", "../../etc/passwd",
    "/dev/zero", "<!--<script>", "", "a" * 300,
]  # fmt: skip
_TOML = [
    "0",
    "-1",
    "1e308",
    "inf",
    "nan",
    "true",
    "[]",
    "[[]]",
    "{}",
    "1979-05-27",
    "[1, 2, 2]",
    "99999999999999999999",
    "[" * 200,
    "''",
]
_VALUE = re.compile(r"(?<== )[^\n]+")


def changed(content: bytes, dice: Random, others: list[bytes]) -> bytes:
    """Change a content in one to four ways, `others` being what it may be spliced with."""
    if dice.random() < 0.5 and (known := _json(content, dice)) is not None:
        return known
    for _ in range(dice.choice((1, 1, 2, 4))):
        content = _bytes(content, dice, others)
    return content


def toml(text: str, dice: Random) -> str:
    """Change values, lines or characters of a TOML text."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        lines = text.splitlines()
        values = list(_VALUE.finditer(text))
        match dice.randrange(5):
            case 0 | 1 if values:
                found = dice.choice(values)
                new = dice.choice(_TOML) if dice.random() < 0.5 else json.dumps(dice.choice(QUANTITIES))
                new = f"[{new}, {found[0]}]" if dice.random() < 0.2 else new
                text = text[: found.start()] + new + text[found.end() :]
            case 2 if lines:
                lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
                text = "\n".join(lines)
            case 3 if lines:
                del lines[dice.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                text = _bytes(text.encode("utf-8", "replace"), dice, []).decode("utf-8", "replace")
    return text


def _bytes(content: bytes, dice: Random, others: list[bytes]) -> bytes:
    at = dice.randrange(len(content) + 1)
    end = min(len(content), at + dice.choice((1, 2, 8, 64, 1024)))
    match dice.randrange(7):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[end:]
        case 2:
            return content[:at] + dice.choice(TOKENS) + content[at:]
        case 3:
            return content[:at] + dice.choice(TOKENS) + content[end:]
        case 4:
            return content[:at] + bytes([dice.randrange(256)]) + content[at + 1 :]
        case 5 if others:
            other = dice.choice(others)
            return content[:at] + other[dice.randrange(len(other) + 1) :]
        case _:
            return content[:at] + content[at:end] * dice.choice((2, 50)) + content[end:]


def _json(content: bytes, dice: Random) -> bytes | None:
    """Change one node of JSON, perhaps of JSON lines or with words before it; None where it is none."""
    begin = content.find(b"{")
    try:
        document, end = json.JSONDecoder().raw_decode(content.decode(), len(content[:begin].decode()))
    except (ValueError, RecursionError):
        return None
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            break
        holder, key = dice.choice(places)
        match dice.randrange(6):
            case 0:
                del holder[key]
            case 1:
                other, of = dice.choice(places)
                holder[key] = (
                    json.loads(json.dumps(other[of])) if key in holder or isinstance(key, int) else None
                )
            case 2 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = dice.choice((0, -holder[key], holder[key] * 1e9, str(holder[key])))
            case 3 if isinstance(holder, dict):
                holder[dice.choice(("x", "", str(key).upper()))] = holder[key]
            case _:
                holder[key] = deepcopy(dice.choice(VALUES))  # which a later change must not reach
    rest = content.decode()[end:] if len(content) < 1e6 else ""
    return content[:begin] + json.dumps(document).encode() + rest.encode()


def _places(node: Any) -> Any:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict | list):
            continue
        for key in one if isinstance(one, dict) else range(len(one)):
            yield one, key
            waiting.append(one[key])
