"""Put, get, list and remove objects over S3, on a client: `python3 engine.py REQUEST`, which is JSON.

Requests are signed (SigV4) with UNSIGNED-PAYLOAD, one connection a thread. It prints a report, JSON in one
line. It is copied to clients, where it runs under the system's Python: it imports the standard library alone.
https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import configparser
import hashlib
import hmac
import html
import http.client
import json
import platform
import random
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

UNSIGNED = "UNSIGNED-PAYLOAD"
STEP, STEPS = 4099, 65536  # bytes between the begins of objects in the client's stream; until it repeats
TIMEOUT_S = 60.0  # of one send or receive
PAUSE_S = 0.05  # after an error that is tolerated
LEAST_BYTES = 64 * 1024  # of a body that is received past Python's buffers
ROOM_BYTES = 256 * 1024  # received and compared at once: it fits into a processor's caches
MOST_XML_BYTES = 8 * 1024**2  # of a list of 1000 objects
MOST_OBJECTS = 10_000_000  # in a list, which may have no end
MOST_ANSWER_BYTES = 64 * 1024  # of a body that says nothing we need
MOST_CHARACTERS = 300  # of an error
MOST_KIND_CHARACTERS, MOST_KINDS = 80, 50  # of what errors are counted as; how many such counts
OTHERS = "others"  # the rest of them
PERMILLES = (500, 950, 990, 999)
MOVING = ("put", "get", "rand")  # operations of a load that move bytes


class Refused(Exception):
    """An answer that is not what was asked for; `kind` is what it is counted as."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def drain(answer: http.client.HTTPResponse) -> None:
    """Read a body to its end, after which its connection takes the next request. Raises Refused: it is long."""
    if len(answer.read(MOST_ANSWER_BYTES + 1)) > MOST_ANSWER_BYTES:
        raise Refused("long answer", f"an answer has more than {MOST_ANSWER_BYTES} B: is it from a store?")


def listed(text: str, name: str, *tags: str) -> Iterator[list[str]]:
    """Read the entries of a list: what these tags have in each that has them all."""
    for entry in re.findall(f"<{name}>((?:(?!<{name}>).)*?)</{name}>", text, re.S):
        matches = [re.search(f"<{tag}>([^<]*)</{tag}>", entry) for tag in tags]
        if all(matches):
            yield [html.unescape(match[1]) for match in matches if match]


class Store:
    """One connection to a bucket."""

    def __init__(self, order: Mapping[str, Any], keys: tuple[str, str]) -> None:
        parts = urlsplit(str(order["endpoint"]))
        self.bucket, self.region = order["bucket_name"], order["region"]
        self.name, (self.key, self.secret) = parts.netloc, keys
        self.secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        self.connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self._signing = "", b""

    def signature(self, method: str, path: str, query: str, signed: Mapping[str, str]) -> str:
        """Return the Authorization of a request; `signed` are its headers in order of their names."""
        now, payload = signed["x-amz-date"], signed["x-amz-content-sha256"]
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        if self._signing[0] != scope:
            key = ("AWS4" + self.secret).encode()
            for part in scope.split("/"):
                key = hmac.new(key, part.encode(), "sha256").digest()
            self._signing = scope, key
        names = ";".join(signed)
        headers = "".join(f"{name}:{value}\n" for name, value in signed.items())
        canonical = "\n".join((method, path, query, headers, names, payload))
        text = "\n".join(("AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        seal = hmac.new(self._signing[1], text.encode(), "sha256").hexdigest()
        return f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={names}, Signature={seal}"

    def request(
        self,
        method: str,
        name: str,
        body: Any = None,
        query: str = "",
        ok: tuple[int, ...] = (200,),
        reach: str = "",
    ) -> http.client.HTTPResponse:
        """Send a request and return the answer, of which the body is not yet read. Raises Refused."""
        path = "/" + quote(f"{self.bucket}/{name}" if name else self.bucket, safe="/-_.~")
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        signed = {"host": self.name, "x-amz-content-sha256": UNSIGNED, "x-amz-date": now}
        headers = {"x-amz-date": now, "x-amz-content-sha256": UNSIGNED}
        headers["Authorization"] = self.signature(method, path, query, signed)
        headers |= {"Content-Type": "application/octet-stream"} if body is not None else {}
        headers |= {"Range": reach} if reach else {}
        self.connection.request(method, path + ("?" + query if query else ""), body=body, headers=headers)
        answer = self.connection.getresponse()
        if answer.status not in ok:
            raise self.refusal(method, path, answer)
        return answer

    def refusal(self, method: str, path: str, answer: http.client.HTTPResponse) -> Refused:
        """Return an answer as an error, with the store's own code and message and none of the keys."""
        text = answer.read(4096).decode(errors="replace")
        code, message = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.S) for tag in ("Code", "Message"))
        kind = f"{answer.status} {code[1] if code else answer.reason}"[:MOST_KIND_CHARACTERS]
        where = answer.getheader("Location", "")
        reason = message[1] if message else text if "<" not in text else ""
        reason = " ".join(filter(None, (reason, f"location: {where}" if where else "")))[:MOST_CHARACTERS]
        for secret in (self.secret, self.key):
            reason = reason.replace(secret, "***")
        return Refused(kind, ": ".join(filter(None, (f"{method} {path}", kind, reason))))

    def put(self, name: str, data: Any) -> None:
        """Put an object. Raises Refused."""
        answer = self.request("PUT", name, data)
        drain(answer)
        if not answer.getheader("ETag"):
            raise Refused("no ETag", f"PUT {name}: the answer has no ETag: is it from a store?")

    def get(self, name: str, content: Any, room: bytearray) -> None:
        """Get an object and compare it with its content, room by room: while each is in the processor's caches.

        Raises Refused if it is shorter or longer, or has other bytes.
        """
        equal = True
        for begin, count in self.pieces(name, len(content), room):
            # a bytearray compares at the speed of memory, a view byte by byte
            equal = equal and (room if count == len(room) else room[:count]) == content[begin : begin + count]
        if not equal:
            raise Refused("wrong bytes", f"GET {name}: it differs from what was put")

    def pieces(
        self, name: str, size: int, room: bytearray, first: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Get an object, or so much of it from byte `first` on, into the room, and yield of each piece where it
        begins and how long it is.

        Raises Refused if there is less or more than `size`.
        """
        reach, ok = ("", 200) if first is None else (f"bytes={first}-{first + size - 1}", 206)
        answer, got = self.request("GET", name, ok=(ok,), reach=reach), 0
        with self.body(answer, size) as fill:
            while got < size:
                piece = memoryview(room)[: size - got]
                count = fill(piece)
                yield got, count
                got += count
                if count < len(piece):
                    break
        if got < size or answer.read(1):
            length = "more" if got == size else f"{got} B"
            raise Refused("wrong length", f"GET {name}: it has {length}, not {size} B")

    @contextmanager
    def body(self, answer: http.client.HTTPResponse, size: int) -> Generator[Callable[[memoryview], int]]:
        """Lend what fills a view with the next bytes of a body, or with fewer if that ends.

        Of a large body of that size the kernel wakes us for a room of it at once, not for each packet or two;
        not where the store closes the connection, whose socket http.client then keeps to itself.
        """
        if self.secure or answer.will_close or answer.length != size or size < LEAST_BYTES:
            yield answer.readinto
            return
        link, buffered_count, left = self.connection.sock, len(answer.fp.peek()), size
        wake_bytes = min(size, ROOM_BYTES)

        def wake_at(count: int) -> None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)

        def fill(view: memoryview) -> int:
            nonlocal buffered_count, left
            count = answer.readinto(view[:buffered_count]) if buffered_count else 0
            buffered_count, left = buffered_count - count, left - count
            while count < len(view) and not buffered_count:
                if left < wake_bytes:
                    wake_at(left)  # no more will come
                received_count = link.recv_into(view[count:])
                if not received_count:
                    break
                count, left = count + received_count, left - received_count
                answer.length = left
            return count

        wake_at(wake_bytes)
        try:
            yield fill
        finally:
            wake_at(1)

    def head(self, name: str, content: Any) -> None:
        """Ask for the attributes of an object. Raises Refused, also if it has another size."""
        answer = self.request("HEAD", name)
        drain(answer)
        if (length := answer.getheader("Content-Length")) != str(len(content)):
            raise Refused("wrong length", f"HEAD {name}: it has {length or 'no size'}, not {len(content)} B")

    def delete(self, name: str, query: str = "") -> None:
        """Remove an object, or an upload of one; a missing one is no error. Raises Refused."""
        drain(self.request("DELETE", name, query=query, ok=(200, 204, 404)))

    def uploads(self, prefix: str) -> set[tuple[str, str]]:
        """List a page of unfinished uploads below a prefix, key and id of each; none if the store does not tell."""
        query = f"prefix={quote(prefix, safe='-_.~')}&uploads="
        answer = self.request("GET", "", query=query, ok=(200, 403, 404, 405, 501))
        pairs = listed(answer.read(MOST_XML_BYTES).decode(errors="replace"), "Upload", "Key", "UploadId")
        return {(key, upload_id) for key, upload_id in pairs if key.startswith(prefix)}

    def names(self, prefix: str) -> Iterator[tuple[str, int]]:
        """List the objects below a prefix, with their sizes. Raises Refused, also if there are too many."""
        token, count = "", 0
        while True:
            parts = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
            query = "&".join(f"{key}={quote(parts[key], safe='-_.~')}" for key in sorted(parts))
            text = self.request("GET", "", query=query).read(MOST_XML_BYTES).decode(errors="replace")
            if "ListBucketResult" not in text:
                raise Refused("no list", "the list of the bucket is not one: is it from a store?")
            for key, size in listed(text, "Contents", "Key", "Size"):
                if (count := count + 1) > MOST_OBJECTS:
                    raise Refused("long list", f"the bucket lists more than {MOST_OBJECTS} objects")
                yield key, int(size)
            more = re.search("<NextContinuationToken>([^<]*)</NextContinuationToken>", text)
            if "<IsTruncated>true</IsTruncated>" not in text or not more:
                return
            last, token = token, html.unescape(more[1])
            if token == last:
                raise Refused("no list", "the list of the bucket does not go on: is it from a store?")


def credentials(path: str) -> tuple[str, str]:
    """Read the default keys of a file of AWS's form, which nobody else may read. Raises Refused."""
    try:
        mode = stat.S_IMODE(Path(path).stat().st_mode)
        if mode & 0o077:
            raise Refused("", f"{path} can be read by others (mode {mode:o}): chmod 600")
        config = configparser.RawConfigParser()
        config.read(path, "utf-8")
        return config["default"]["aws_access_key_id"], config["default"]["aws_secret_access_key"]
    except OSError as error:
        raise Refused("", f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (KeyError, ValueError, configparser.Error):  # whose words may have lines of the file
        form = "aws_access_key_id and aws_secret_access_key below [default]"
        raise Refused("", f"{path} does not have {form}") from None


class Objects:
    """The objects of a client: pieces of one random stream, each beginning at another byte of it."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self.size, self.prefix = order["object_bytes"], order["prefix"]
        self._stream = memoryview(random.Random(order["seed"]).randbytes(self.size + STEPS))

    def name(self, number: int) -> str:
        """Return the key of an object."""
        return f"{self.prefix}{number:08d}"

    def content(self, number: int) -> memoryview:
        """Return the bytes of an object."""
        begin = number * STEP % STEPS
        return self._stream[begin : begin + self.size]


class ObjectLoad:
    """Operations of several threads, from a common start until all are done or the time is over."""

    def __init__(self, order: Mapping[str, Any], stores: list[Store]) -> None:
        self.order, self.stores, self.objects = order, stores, Objects(order)
        self.turn, self.lock = self.turns(), threading.Lock()
        self.rows: list[list[tuple[float, float]]] = [[] for _ in stores]  # end and length of operations, s
        self.errors: Counter[str] = Counter()
        self.failed_s: list[float] = []  # when each of them was
        self.first_error = ""
        self.fault: Exception | None = None  # of ours, not of the store
        self.until_s = 0.0
        self.ready, self.go = threading.Barrier(len(stores) + 1), threading.Event()

    def turns(self) -> Iterator[int]:
        """Return the numbers of objects in the order of the operation."""
        count = self.order["count"]
        if self.order["operation"] != "rand":
            return iter(range(count))
        choose = random.Random(self.order["seed"] + " rand").randrange
        return iter(lambda: choose(count), -1)

    def work(self, number: int) -> None:
        """Do operations in one thread."""
        store, rows = self.stores[number], self.rows[number]
        room = bytearray(min(self.objects.size, ROOM_BYTES))
        operations: Mapping[str, Callable[[str, Any], None]] = {
            "put": store.put,
            "head": store.head,
            "delete": lambda name, _: store.delete(name),
        }
        kind = self.order["operation"]
        operate = operations.get(kind, lambda name, content: store.get(name, content, room))
        self.ready.wait()
        self.go.wait()
        while True:
            began_s = time.perf_counter()
            with self.lock:
                item = None if self.stopped(began_s) else next(self.turn, None)
            if item is None:
                return
            name, content = self.objects.name(item), self.objects.content(item)
            try:
                operate(name, content)
                ended_s = time.perf_counter()
                rows.append((ended_s, ended_s - began_s))
            except (Refused, OSError, http.client.HTTPException) as error:
                self.note(error, name)
                store.connection.close()  # the next request connects again
                time.sleep(PAUSE_S)
            except Exception as error:  # or this thread would be missing, and the load only slower
                self.fault = error
                return

    def stopped(self, now_s: float) -> bool:
        """Whether no operation may begin."""
        return now_s > self.until_s or (bool(self.errors) and not self.order["tolerate_errors"])

    def note(self, error: Exception, name: str) -> None:
        """Count an error."""
        kind = error.kind if isinstance(error, Refused) else type(error).__name__
        reason = str(error) if isinstance(error, Refused) else f"{name}: {kind} {error}"
        with self.lock:
            self.errors[kind if kind in self.errors or len(self.errors) < MOST_KINDS else OTHERS] += 1
            self.failed_s.append(time.perf_counter())
            self.first_error = self.first_error or reason

    def run(self) -> dict[str, Any]:
        """Wait for the start, load, and return the report. Raises Refused."""
        threads = [threading.Thread(target=self.work, args=[n], daemon=True) for n in range(len(self.stores))]
        for thread in threads:
            thread.start()
        self.ready.wait()
        if self.order["wait"]:
            subprocess.run(self.order["wait"], check=True, stdout=subprocess.DEVNULL)
        cpu_s, began_utc_s, began_s = time.process_time(), time.time(), time.perf_counter()
        self.until_s = began_s + self.order["duration_s"]
        self.go.set()
        for thread in threads:
            thread.join()
        if self.fault:
            raise self.fault
        cpu_s = time.process_time() - cpu_s
        if self.errors and not self.order["tolerate_errors"]:
            raise Refused("", self.first_error)
        done = sorted(row for rows in self.rows for row in rows)
        if not done:
            raise Refused("", self.first_error or "no object was moved: is duration too short?")
        # the time in which operations failed is the load's, too, up to the one in which none begins
        last_s = max(done[-1][0], min(self.until_s, max(self.failed_s, default=began_s)))
        counts = [0] * (1 + int(last_s - began_s))
        for ended_s, _ in done:
            counts[int(ended_s - began_s)] += 1
        return {
            "began_s": began_utc_s,
            "ended_s": began_utc_s + last_s - began_s,
            "bytes": len(done) * self.objects.size if self.order["operation"] in MOVING else 0,
            "operations": len(done),
            "latency_s": latencies_s([length_s for _, length_s in done]),
            "per_second": counts,
            "errors": dict(self.errors),
            "first_error": self.first_error,
            "cpu_s": cpu_s,
            "python": platform.python_version(),
        }


def latencies_s(lengths_s: Iterable[float]) -> dict[str, float]:
    """Return mean, longest and percentiles: each the least length that so many percent do not exceed."""
    rows = sorted(lengths_s)
    percentiles = {f"p{rank / 10:g}": rows[-(-rank * len(rows) // 1000) - 1] for rank in PERMILLES}
    return {"mean": sum(rows) / len(rows), **percentiles, "max": rows[-1]}


def stored(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Count the objects below the prefix, and their bytes."""
    sizes = Counter(object_bytes for _, object_bytes in store.names(order["prefix"]))
    return {"objects_count": sum(sizes.values()), "bytes": sum(size * n for size, n in sizes.items())}


def removed(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the objects and unfinished uploads below the prefix, which must name a folder."""
    if not order["prefix"].strip("/"):
        raise Refused("", "no prefix: it would remove the whole bucket")
    names = [name for name, _ in store.names(order["prefix"]) if name.startswith(order["prefix"])]
    aborted: set[tuple[str, str]] = set()
    while unfinished := store.uploads(order["prefix"]) - aborted:
        for name, upload_id in unfinished:
            store.delete(name, f"uploadId={quote(upload_id, safe='-_.~')}")
        aborted |= unfinished
    for name in sorted(names, key=lambda name: -name.count("/")):  # last what says whose the others are
        store.delete(name)
    return {"objects_count": len(names)}


def made(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Make the bucket; one of ours that is there already is no error."""
    try:
        drain(store.request("PUT", "", b""))
    except Refused as refusal:
        if refusal.kind != "409 BucketAlreadyOwnedByYou":
            raise
    return {}


def written(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Put a text."""
    store.put(order["prefix"], order["text"].encode())
    return {}


def texts(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Get the texts of all objects below the prefix whose names end as ordered."""
    names = [name for name, _ in store.names(order["prefix"]) if name.endswith(order["ending"])]
    return {name: store.request("GET", name).read(4096).decode(errors="replace") for name in names}


def versions(store: Store, order: Mapping[str, Any]) -> dict[str, Any]:
    """Ask whether the bucket keeps what is removed, as a version of it; a store that does not say so does not."""
    answer = store.request("GET", "", query="versioning=", ok=(200, 403, 405, 501))
    return {"kept": "<Status>Enabled</Status>" in answer.read(MOST_XML_BYTES).decode(errors="replace")}


ONCE: Mapping[str, Callable[[Store, Mapping[str, Any]], dict[str, Any]]] = {
    "stored": stored,
    "remove": removed,
    "make": made,
    "write": written,
    "texts": texts,
    "versions": versions,
}


def main(order: Mapping[str, Any]) -> None:
    """Do what is ordered, and print the report or, with exit code 1, why not."""
    try:
        keys = credentials(order["credentials"])
        stores = [Store(order, keys) for _ in range(order.get("in_flight", 1))]
        for store in stores:
            store.connection.connect()
        once = ONCE.get(order["operation"])
        report = once(stores[0], order) if once else ObjectLoad(order, stores).run()
    except Refused as error:
        sys.exit(str(error))
    except (OSError, http.client.HTTPException, subprocess.CalledProcessError) as error:
        sys.exit(f"{order['endpoint']}: {error}")
    print(json.dumps(report))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
