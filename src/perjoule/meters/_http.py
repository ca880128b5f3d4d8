"""JSON over HTTP with the authentication of plugs: none, Basic (RFC 7617), Digest (RFC 7616, MD5 or SHA-256).

https://www.rfc-editor.org/rfc/rfc7616. One connection per request: plugs support few at once, and a broken
one does no harm.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from perjoule.meters._url import LoginWanted, Place, basic
from perjoule.model.errors import PerjouleError

_WORD = re.compile(r'(?<!\w)(\w+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')


class Http:
    """A plug at "host" or "host:port". Each request waits at most `timeout_s` for the whole answer."""

    def __init__(self, address: str, *, timeout_s: float, user: str = "", password: str = "") -> None:
        self._place, self._user, self._password = Place(f"http://{address}", timeout_s), user, password
        self._challenge = ""  # its challenge, kept so each request is sent once
        self._asked_count = 0

    def json(self, path: str) -> Mapping[str, Any]:
        """Get the JSON object at a path.

        Raises OSError, ValueError (not a JSON object), MachineError (refused).
        """
        try:
            return self._get(path)
        except LoginWanted as refusal:
            if not self._password:
                raise
            self._challenge, self._asked_count = refusal.challenge, 0
        return self._get(path)

    def _get(self, path: str) -> Mapping[str, Any]:
        headers = dict[str, str]()
        if self._challenge:
            self._asked_count += 1
            nonce = secrets.token_hex(8)
            headers = authorization(
                self._challenge, path, self._user, self._password, nonce, self._asked_count
            )
        return replace(self._place, headers=headers).json(path)


def recognised(address: str, identified: Callable[[Http], object]) -> bool:
    """Return whether `identified` recognises a meter at this address, within seconds."""
    try:
        return bool(identified(Http(address, timeout_s=1.0)))
    except (PerjouleError, OSError, ValueError):
        return False


def authorization(
    challenge: str, path: str, user: str, password: str, nonce: str, count: int
) -> dict[str, str]:
    """Return the header that answers a challenge to a GET; `nonce` is the client's own, `count` the uses of
    the server's.

    Raises:
        OSError: the challenge asks for an unknown method.
    """
    if challenge.lower().startswith("basic"):
        return basic(user, password)
    parameters: Mapping[str, str] = {key: quoted or bare for key, quoted, bare in _WORD.findall(challenge)}
    algorithm = parameters.get("algorithm", "MD5")
    name = {"MD5": "md5", "SHA-256": "sha256"}.get(algorithm.upper())
    if name is None or not {"realm", "nonce"} <= parameters.keys():
        raise OSError(f"it requires an unsupported authentication: {challenge[:80]}")

    def digest(text: str) -> str:
        return hashlib.new(name, text.encode()).hexdigest()

    secret, request = digest(f"{user}:{parameters['realm']}:{password}"), digest(f"GET:{path}")
    answer = digest(f"{secret}:{parameters['nonce']}:{count:08x}:{nonce}:auth:{request}")
    parts = {
        "username": user,
        "realm": parameters["realm"],
        "nonce": parameters["nonce"],
        "uri": path,
        "response": answer,
        "cnonce": nonce,
    }
    opaque = {"opaque": parameters["opaque"]} if "opaque" in parameters else {}
    quoted = ", ".join(f'{part}="{value}"' for part, value in (parts | opaque).items())
    return {"Authorization": f"Digest {quoted}, algorithm={algorithm}, qop=auth, nc={count:08x}"}
