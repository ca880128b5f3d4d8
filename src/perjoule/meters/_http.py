"""JSON over HTTP with the authentication that plugs ask for: none, Basic (RFC 7617), Digest (RFC 7616, MD5 or SHA-256).

https://www.rfc-editor.org/rfc/rfc7616. One connection per request: plugs keep few of them, and a broken one harms nothing.
"""

import base64
import hashlib
import http.client
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from perjoule.errors import MachineError

MOST_BYTES = 1024**2  # no plug says more at once
_WORD = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')


class Http:
    """A plug at "host" or "host:port". Each request waits at most `timeout_s` for each of the plug's steps."""

    def __init__(self, address: str, *, timeout_s: float, user: str = "", password: str = "") -> None:
        self._address, self._timeout_s = address, timeout_s
        self._user, self._password = user, password
        self._challenge = ""  # how it asked to be authenticated, kept so that each question is asked once
        self._asked_count = 0

    def json(self, path: str) -> Mapping[str, Any]:
        """Get the object that is at a path. Raises OSError, ValueError (no JSON object), MachineError (refused)."""
        status, asked, body = self._get(path)
        if status == 401 and self._password:
            self._challenge, self._asked_count = asked, 0
            status, asked, body = self._get(path)
        if status in (401, 403):
            raise MachineError(
                "it wants a user and a password" if not self._password else "it does not take this user and password",
                where=self._address,
                next="set user and password_file in the [[meter]] table",
            )
        place = path.partition("?")[0]  # a password may follow
        if status != 200:
            raise OSError(f"{self._address} answers {place} with the HTTP status {status}")
        try:
            said = json.loads(body)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise ValueError(f"{self._address} answers {place} with what is no JSON object: {body[:60]!r}")
        return said  # pyright: ignore[reportUnknownVariableType]

    def _get(self, path: str) -> tuple[int, str, bytes]:
        headers = {"Connection": "close"}
        if self._challenge:
            self._asked_count += 1
            headers["Authorization"] = authorization(
                self._challenge, path, self._user, self._password, secrets.token_hex(8), self._asked_count
            )
        try:
            with closing(http.client.HTTPConnection(self._address, timeout=self._timeout_s)) as connection:
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                return response.status, response.getheader("WWW-Authenticate", ""), response.read(MOST_BYTES)
        except http.client.HTTPException as error:
            raise OSError(f"{self._address}: {error or type(error).__name__}") from error


def authorization(challenge: str, path: str, user: str, password: str, nonce: str, count: int) -> str:
    """The header that answers a challenge to a GET; `nonce` is the client's own, `count` how often the server's was used.

    Raises:
        OSError: the challenge asks for what is not known here.
    """
    if challenge.lower().startswith("basic"):
        return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    words: Mapping[str, str] = {word: quoted or bare for word, quoted, bare in _WORD.findall(challenge)}
    algorithm = words.get("algorithm", "MD5")
    name = {"MD5": "md5", "SHA-256": "sha256"}.get(algorithm.upper())
    if name is None or not {"realm", "nonce"} <= words.keys():
        raise OSError(f"it asks for an authentication that is not known here: {challenge[:80]}")

    def digest(text: str) -> str:
        return hashlib.new(name, text.encode()).hexdigest()

    secret, asked = digest(f"{user}:{words['realm']}:{password}"), digest(f"GET:{path}")
    answer = digest(f"{secret}:{words['nonce']}:{count:08x}:{nonce}:auth:{asked}")
    parts = {"username": user, "realm": words["realm"], "nonce": words["nonce"], "uri": path, "response": answer, "cnonce": nonce}
    opaque = {"opaque": words["opaque"]} if "opaque" in words else {}
    quoted = ", ".join(f'{part}="{value}"' for part, value in (parts | opaque).items())
    return f"Digest {quoted}, algorithm={algorithm}, qop=auth, nc={count:08x}"
