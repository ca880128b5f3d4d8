"""One request to a URL, http or https, by the standard library."""

import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from perjoule.machine.untrusted import json_from
from perjoule.meters._deadline import Deadline, TimedTls, connected
from perjoule.model.errors import LoginRefused, MachineError
from perjoule.model.units import bytes_text

MOST_BYTES = 8 * 1024**2  # of an answer: an exporter's longest page has a tenth
MOST_JSON_BYTES = 1024**2  # of JSON, which becomes many times as large in memory


class LoginWanted(LoginRefused):
    """The service wants a login, or another one; `challenge` is its WWW-Authenticate (RFC 9110, 11.6.1)."""

    challenge = ""


@dataclass(frozen=True)
class Place:
    """A service: its URL ("https://bmc-1"), the certificates to trust, the headers to send."""

    address: str
    timeout_s: float = 5.0  # for all of an answer
    authorities: Path | None = None  # a file of certificates to believe, instead of the system's
    verify: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def send(
        self, path: str, *, method: str = "GET", body: bytes | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """Send a request, and return body and headers of the answer.

        Raises:
            LoginWanted: it wants another login.
            MachineError: its certificate is not trusted.
            OSError: it can't be reached, or answers with an error; the message names the address.
        """
        url = self.address + path
        place = url.partition("?")[0]  # a password may follow
        if not url.startswith(("http://", "https://")):
            raise MachineError(
                "this is not the address of a web service",
                where=url,
                next='begin it with "http://" or "https://"',
            )
        sent = (
            {"Accept": "*/*"}
            | dict(self.headers)
            | ({"Content-Type": "application/json"} if body is not None else {})
        )
        deadline = Deadline(self.timeout_s)
        opener = _opener(deadline, self._context)
        try:
            request = urllib.request.Request(url, data=body, headers=sent, method=method)
            with opener.open(request, timeout=deadline.left_s()) as response:
                answer, headers = response.read(MOST_BYTES + 1), dict(response.headers.items())
        except TimeoutError:
            raise OSError(f"{place}: no complete answer within {self.timeout_s:g} s") from None
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (401, 403):
                refusal = LoginWanted(
                    f"it refused the login ({error.code})", where=place, next="set user and password_file"
                )
                refusal.challenge = error.headers.get("WWW-Authenticate", "")
                raise refusal from None
            # the server's own words may repeat the query
            phrase = http.client.responses.get(error.code, "unknown")
            raise OSError(f"{place}: HTTP status {error.code} ({phrase})") from None
        except (urllib.error.URLError, ssl.SSLError) as error:
            reason = error.reason
            if isinstance(reason, ssl.SSLCertVerificationError):
                fix = "set authorities to its certificate's file, or verify = false"
                raise MachineError(
                    f"its certificate is not trusted ({reason.verify_message})", where=place, next=fix
                ) from None
            if isinstance(reason, TimeoutError):
                raise OSError(f"{place}: no answer within {self.timeout_s:g} s") from None
            words = reason.strerror if isinstance(reason, OSError) else None
            raise OSError(f"{place}: {words or reason}") from None
        except http.client.HTTPException as error:
            raise OSError(f"{place}: the answer was cut off ({type(error).__name__})") from None
        if len(answer) > MOST_BYTES:
            raise OSError(f"{place}: the answer is longer than {bytes_text(MOST_BYTES)}")
        if response.length:  # that is left of what was announced, which `read` lets pass
            announced_bytes = len(answer) + response.length
            raise OSError(f"{place}: the answer was cut off after {len(answer)} of {announced_bytes} bytes")
        return answer, headers

    def json(self, path: str) -> Mapping[str, Any]:
        """Get the JSON object at a path. Raises as `send` does, and ValueError if it is not an object."""
        body = self.send(path)[0]
        place = self.address + path.partition("?")[0]
        try:
            document = json_from(body, MOST_JSON_BYTES)
        except ValueError as error:
            raise ValueError(f"{place}: not a JSON object ({error}): {body[:60]!r}") from None
        if not isinstance(document, dict):
            raise ValueError(f"{place}: not a JSON object: {body[:60]!r}")
        return document  # pyright: ignore[reportUnknownVariableType]

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(
            cafile=self.authorities.expanduser() if self.authorities else None
        )
        context.sslsocket_class = TimedTls
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class _Connection(http.client.HTTPConnection):
    """A connection with a single deadline."""

    def __init__(self, host: str, *, deadline: Deadline, **options: Any) -> None:
        super().__init__(host, **options)
        self._deadline = deadline

    def connect(self) -> None:
        self.sock = connected(self.host, self.port, self._deadline)


class _SecureConnection(http.client.HTTPSConnection):
    """The same over TLS."""

    def __init__(self, host: str, *, deadline: Deadline, context: ssl.SSLContext, **options: Any) -> None:
        super().__init__(host, context=context, **options)
        self._deadline, self._trusting = deadline, context

    def connect(self) -> None:
        plain = connected(self.host, self.port, self._deadline)
        plain.settimeout(self._deadline.left_s())  # for all of the handshake
        try:
            secure = self._trusting.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        assert isinstance(secure, TimedTls)
        secure.deadline, self.sock = self._deadline, secure


class _OfHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects to another path, or from http to https, on the same host only, because no other
    may see the login.
    """

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        fp.close()  # what else it says may be without end
        was, target = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if target.hostname != was.hostname:  # the rest of the address may repeat the login
            raise OSError(f"{was.hostname} redirects to {target.hostname}, which is another host")
        if _service(target) != _service(was) and (was.scheme, target.scheme) != ("http", "https"):
            raise OSError(
                f"{was.hostname} redirects from {' port '.join(_service(was))} to "
                f"{' port '.join(_service(target))}"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _service(url: urllib.parse.SplitResult) -> tuple[str, str]:
    """Return scheme and port."""
    return url.scheme, str(url.port or {"http": 80, "https": 443}.get(url.scheme, ""))


class _Opens(urllib.request.AbstractHTTPHandler):
    """Opens http and https with a deadline."""

    def __init__(self, deadline: Deadline, context: Callable[[], ssl.SSLContext]) -> None:
        super().__init__()
        self._deadline, self._trusted = deadline, context

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Connect and ask."""
        return self.do_open(partial(_Connection, deadline=self._deadline), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Connect and ask."""
        connection = partial(_SecureConnection, deadline=self._deadline, context=self._trusted())
        return self.do_open(connection, req)

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_


def _opener(deadline: Deadline, context: Callable[[], ssl.SSLContext]) -> urllib.request.OpenerDirector:
    """Return an opener for http and https only, without a proxy, because meters are near."""
    opener = urllib.request.OpenerDirector()
    errors = (
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    )
    for handler in (_Opens(deadline, context), _OfHost(), *errors):
        opener.add_handler(handler)
    return opener


def basic(user: str, password: str) -> dict[str, str]:
    """Return the header of a Basic login (RFC 7617)."""
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}
