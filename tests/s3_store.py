"""A store that speaks S3, in memory, on loopback: it checks every signature, as AWS's page defines it.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import hashlib
import hmac
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

KEY, SECRET, REGION, BUCKET = "AKTEST", "a-secret+of/tests", "us-east-1", "lab"
PAGE = 3  # keys in one answer of a list


def refusal(code: str, message: str = "no", status: int = 403) -> tuple[int, bytes, dict[str, str]]:
    return status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode(), {}


class S3Store:
    """What it holds, what it was asked, and by `answer` what it says instead."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, str] = {}  # keys of unfinished ones, by their ids
        self.requests: list[tuple[str, str]] = []
        self.answer: Callable[[str, str, int], tuple[int, bytes, dict[str, str]] | None] = lambda *_: None
        self.endpoint, self.versioning = "", ""
        self.lock = threading.Lock()

    def reply(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        parts = urlsplit(target)
        with self.lock:
            self.requests.append((method, target))
            number = len(self.requests)
        if wanted := self.answer(method, target, number):
            return wanted
        if not signed(method, parts.path, parts.query, headers):
            return refusal("SignatureDoesNotMatch")
        bucket, _, name = unquote(parts.path).lstrip("/").partition("/")
        if bucket != BUCKET:
            return refusal("NoSuchBucket", status=404)
        if method == "PUT":
            self.objects[name] = body
            return 200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}
        if method == "HEAD":
            if name not in self.objects:
                return 404, b"", {}
            return 200, b"", {"Content-Length": str(len(self.objects[name]))}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if method == "DELETE":
            if "uploadId" in query:
                self.uploads.pop(query["uploadId"], None)
            else:
                self.objects.pop(name, None)
            return 204, b"", {}
        if "uploads" in query:
            return 200, self.unfinished(query), {}
        if parts.query == "versioning=":
            return 200, f"<VersioningConfiguration>{self.versioning}</VersioningConfiguration>".encode(), {}
        if not name:
            return 200, self.listed(query), {}
        if name not in self.objects:
            return refusal("NoSuchKey", status=404)
        if reach := headers["Range"]:
            first, last = map(int, reach.removeprefix("bytes=").split("-"))
            return 206, self.objects[name][first : last + 1], {}
        return 200, self.objects[name], {}

    def listed(self, query: dict[str, str]) -> bytes:
        keys = sorted(key for key in self.objects if key.startswith(query["prefix"]))
        first = int(query.get("continuation-token", "0"))
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(self.objects[key])}</Size></Contents>"
            for key in keys[first : first + PAGE]
        )
        more = first + PAGE < len(keys)
        token = f"<NextContinuationToken>{first + PAGE}</NextContinuationToken>" if more else ""
        truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        return f"<ListBucketResult>{truncated}{token}{rows}</ListBucketResult>".encode()

    def unfinished(self, query: dict[str, str]) -> bytes:
        ids = [upload_id for upload_id, key in self.uploads.items() if key.startswith(query["prefix"])]
        rows = "".join(
            f"<Upload><Key>{self.uploads[upload_id]}</Key><UploadId>{upload_id}</UploadId></Upload>"
            for upload_id in ids[:PAGE]
        )
        return f"<ListMultipartUploadsResult>{rows}</ListMultipartUploadsResult>".encode()


def signed(method: str, path: str, query: str, headers: Any) -> bool:
    """Whether the request has the signature of our key."""
    fields = dict(
        part.strip().split("=", 1) for part in headers["Authorization"].partition(" ")[2].split(",")
    )
    key, date, region, service, end = fields["Credential"].split("/")
    pairs = sorted(tuple(part.partition("=")[::2]) for part in query.split("&") if part)
    lines = [method, quote(unquote(path), safe="/-_.~"), "&".join(f"{k}={v}" for k, v in pairs)]
    names = fields["SignedHeaders"].split(";")
    lines += [f"{name}:{' '.join(headers[name].split())}" for name in names]
    lines += ["", ";".join(names), headers["x-amz-content-sha256"]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{date}/{region}/{service}/{end}\n{digest}"
    seal = b"AWS4" + SECRET.encode()
    for part in (date, region, service, end, text):
        seal = hmac.new(seal, part.encode(), hashlib.sha256).digest()
    same = hmac.compare_digest(seal.hex(), fields["Signature"])
    return same and key == KEY and region == REGION and {"host", "x-amz-date"} <= {*names}


@contextmanager
def s3_store(address: str = "127.0.0.1", port: int = 0, idle_s: float | None = None) -> Generator[S3Store]:
    """Serve one while the block runs, which closes connections that idle."""
    store = S3Store()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = idle_s

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content, headers = store.reply(self.command, self.path, self.headers, body)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            if "Content-Length" in headers and self.command != "HEAD":
                self.close_connection = True

        do_GET = do_HEAD = do_PUT = do_DELETE = handle_any

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of clients that are ended."""

    server = Server((address, port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    store.endpoint = f"http://{address}:{server.server_address[1]}"
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


def credentials(folder: Path) -> Path:
    """Write the file with its keys."""
    path = folder / "credentials"
    path.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    path.chmod(0o600)
    return path


if __name__ == "__main__":
    with s3_store(sys.argv[1], int(sys.argv[2])):
        print("serving", flush=True)
        threading.Event().wait()
