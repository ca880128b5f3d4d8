"""A Shelly plug: Gen1, or Gen2 with its login (Digest, SHA-256), https://shelly-api-docs.shelly.cloud/"""

import hashlib
import json
import math
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault, Truth
from perjoule.simulators._http import HttpAnswer, answering
from perjoule.simulators._login import password_option

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = (
    "late", "duplicate", "missing", "frozen", "nan", "wrap", "reset", "spike", "clock jump", "disconnect", "reversed",
    "zero", "unknown",
)  # fmt: skip
REALM, NONCE = "shellyplusplugs-08b61fce7b2c", "60dc2d3a"


@contextmanager
def serve(
    behaviour: Behaviour,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    generation: int = 2,
    password: str = "",
) -> Generator[Mapping[str, Json]]:
    """Serve one plug during the block; yields the options of the [[meter]] table that reads it."""
    status = _status_gen1 if generation == 1 else _status_gen2
    paths = {1: "/status", 2: "/rpc/Shelly.GetStatus"}

    def answer(path: str, headers: Mapping[str, str]) -> HttpAnswer:
        if path == "/shelly":
            return _json(_WHO[generation])
        if path != paths[generation]:
            return HttpAnswer(b"Not Found", 404)
        if password and not _authenticated(headers.get("Authorization", ""), path, password):
            challenge = f'Digest qop="auth", realm="{REALM}", nonce="{NONCE}", algorithm=SHA-256'
            return HttpAnswer(b"", 401, {"WWW-Authenticate": challenge})
        return _json(status(behaviour.truth()))

    with answering(behaviour, answer, address, port) as place, password_option(password) as login_option:
        yield {"kind": "shelly", "address": place, **login_option}


_WHO: Mapping[int, Json] = {
    1: {
        "type": "SHPLG-S",
        "mac": "7C87CEB4C3F1",
        "auth": False,
        "fw": "20230913-113421/v1.14.0-gcb84623",
        "num_meters": 1,
    },
    2: {
        "name": None,
        "id": REALM,
        "mac": "08B61FCE7B2C",
        "model": "SNPL-00112EU",
        "gen": 2,
        "ver": "1.4.4",
        "auth_en": True,
    },
}


def _status_gen1(truth: Truth) -> Json:
    valid = not math.isnan(truth.power_w)
    meter: Json = {
        "power": round(truth.power_w, 2) if valid else 0.0,
        "overpower": 0.0,
        "is_valid": valid,
        "timestamp": round(truth.clock_s),
        "total": math.floor(truth.energy_j / 60) if valid else 0,
    }
    return {"relays": [{"ison": True}], "meters": [meter], "unixtime": round(truth.clock_s)}


def _status_gen2(truth: Truth) -> Json:
    valid = not math.isnan(truth.power_w)
    switch: Json = {
        "id": 0,
        "output": True,
        "apower": round(truth.power_w, 1) if valid else None,
        "voltage": 231.4,
        "aenergy": {
            "total": round(truth.energy_j / 3600, 3) if valid else None,
            "minute_ts": round(truth.clock_s) // 60 * 60,
        },
    }
    return {"switch:0": switch, "sys": {"unixtime": round(truth.clock_s)}}


def _json(document: Json) -> HttpAnswer:
    return HttpAnswer(json.dumps(document).encode())


def _authenticated(header: str, path: str, password: str) -> bool:
    fields = dict(re.findall(r'(?<!\w)(\w+)="?([^",]+)"?', header))

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    secret, uri_digest = digest(f"admin:{REALM}:{password}"), digest(f"GET:{path}")
    expected = ":".join([secret, NONCE, fields.get("nc", ""), fields.get("cnonce", ""), "auth", uri_digest])
    return fields.get("response") == digest(expected) and fields.get("uri") == path
