"""One request to a URL, http or https, by the standard library."""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perjoule.errors import MachineError

MOST_BYTES = 64 * 1024**2  # of an answer: more than any meter's, less than what would harm


class LoginWanted(MachineError):
    """It wants a login, or another one; the challenge is how it would have it (RFC 9110, 11.6.1)."""

    challenge = ""


@dataclass(frozen=True)
class Place:
    """Where to ask and how: "https://bmc-1", which certificates to believe, what to send along."""

    address: str
    timeout_s: float = 5.0
    authorities: Path | None = None  # a file of certificates to believe, in the place of the system's
    verify: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def asked(self, path: str, *, method: str = "GET", body: bytes | None = None) -> tuple[bytes, Mapping[str, str]]:
        """Send a request, give the body and the headers of what comes back.

        Raises:
            LoginWanted: it wants another login.
            MachineError: its certificate is not to be believed.
            OSError: it can't be reached, or answers with an error; the message names the address.
        """
        url = self.address + path
        place = url.partition("?")[0]  # a password may follow
        if not url.startswith(("http://", "https://")):
            raise MachineError("that is no address of a web service", where=url, next='write "http://" or "https://" before it')
        sent = {"Accept": "*/*"} | dict(self.headers) | ({"Content-Type": "application/json"} if body is not None else {})
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]  # a meter is near
        try:
            if url.startswith("https:"):
                handlers.append(urllib.request.HTTPSHandler(context=self._context()))
            request = urllib.request.Request(url, data=body, headers=sent, method=method)
            with urllib.request.build_opener(*handlers).open(request, timeout=self.timeout_s) as response:
                answer, headers = response.read(MOST_BYTES + 1), dict(response.headers.items())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (401, 403):
                wanted = LoginWanted(f"the login is refused ({error.code})", where=place, next="set user and password_file")
                wanted.challenge = error.headers.get("WWW-Authenticate", "")
                raise wanted from None
            raise OSError(f"{place}: HTTP status {error.code} ({error.reason})") from None
        except (urllib.error.URLError, ssl.SSLError) as error:
            reason = error.reason
            if isinstance(reason, ssl.SSLCertVerificationError):
                fix = "set authorities to its certificate's file, or verify = false"
                raise MachineError(
                    f"its certificate is not to be believed ({reason.verify_message})", where=place, next=fix
                ) from None
            raise OSError(f"{place}: {reason}") from None
        except http.client.HTTPException as error:
            raise OSError(f"{place}: the answer broke off ({type(error).__name__})") from None
        if len(answer) > MOST_BYTES:
            raise OSError(f"{place}: the answer is longer than {MOST_BYTES} bytes")
        stated = response.headers.get("Content-Length", "")
        if stated.isdigit() and len(answer) < int(stated) and method != "HEAD":  # which `read` lets pass
            raise OSError(f"{place}: the answer broke off after {len(answer)} of {stated} bytes")
        return answer, headers

    def json(self, path: str) -> Mapping[str, Any]:
        """Get the JSON object at a path. Raises as `asked` does, and ValueError when it is no object."""
        body = self.asked(path)[0]
        try:
            said: Any = json.loads(body)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise ValueError(f"{self.address}{path.partition('?')[0]}: no JSON object: {body[:60]!r}")
        return said  # pyright: ignore[reportUnknownVariableType]

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authorities.expanduser() if self.authorities else None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def basic(user: str, password: str) -> dict[str, str]:
    """The header of a basic login (RFC 7617)."""
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}
