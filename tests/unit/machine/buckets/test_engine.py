"""The S3 engine: its signatures are AWS's, and what is not what was asked for is an error that says so."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import Bucket
from perjoule.machine import buckets
from perjoule.machine.buckets import engine
from perjoule.model.errors import StoreRefused, WorkloadError
from perjoule.testbeds.local import LocalHost
from s3_store import BUCKET, KEY, REGION, SECRET, S3Store, credentials, refusal, s3_store

LOAD: dict[str, Any] = {
    "object_bytes": 1000,
    "count": 7,
    "in_flight": 2,
    "duration_s": 20.0,
    "seed": "client-1",
    "tolerate_errors": False,
    "wait": [],
}


@pytest.fixture
def store() -> Iterator[S3Store]:
    with s3_store() as served:
        yield served


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return credentials(tmp_path)


@pytest.fixture
def bucket(store: S3Store, keys: Path) -> Bucket:
    return Bucket(BUCKET, store.endpoint, REGION, keys, "ours/")


def ask(tmp_path: Path, bucket: Bucket, operation: str, prefix: str = "d/", **more: Any) -> dict[str, Any]:
    host = LocalHost(tmp_path)
    return buckets.ask(host, bucket, operation, prefix, timeout_s=30, **more)


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, bytes]]:
    """What a put leaves in the store, by the size of its objects."""
    objects: dict[int, dict[str, bytes]] = {}
    for size in (1000, 300_000):
        folder = tmp_path_factory.mktemp("laid-out")
        with s3_store() as served:
            filled = Bucket(BUCKET, served.endpoint, REGION, credentials(folder), "ours/")
            ask(folder, filled, "put", **(LOAD | dict[str, Any](object_bytes=size)))
            objects[size] = served.objects
    return objects


def test_a_signature_is_the_one_that_aws_publishes() -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "GET Object"."""
    asked = {"endpoint": "http://examplebucket.s3.amazonaws.com", "bucket_name": "", "region": "us-east-1"}
    keys = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    signed = {
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "x-amz-date": "20130524T000000Z",
    }
    made = engine.Store(asked, keys).signature("GET", "/test.txt", "", signed)
    assert made.endswith("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    assert "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request" in made


def test_what_is_put_is_stored_counted_got_and_removed_and_nothing_else(
    tmp_path: Path, store: S3Store, bucket: Bucket
) -> None:
    store.objects = {"theirs/1": b"x", "ours": b"y"}
    report = ask(tmp_path, bucket, "put", **LOAD)
    names = {f"ours/d/{number:08d}" for number in range(7)}
    assert store.objects.keys() - {"theirs/1", "ours"} == names
    assert len({store.objects[name] for name in names}) == 7, "no two objects are alike"
    assert {len(store.objects[name]) for name in names} == {1000}
    assert (report["operations"], report["bytes"], report["errors"]) == (7, 7000, {})
    assert sum(report["per_second"]) == 7
    assert report["ended_s"] > report["began_s"]
    assert ask(tmp_path, bucket, "stored") == {"objects_count": 7, "bytes": 7000}
    assert ask(tmp_path, bucket, "get", **LOAD)["operations"] == 7
    assert ask(tmp_path, bucket, "remove") == {"objects_count": 7}
    assert store.objects == {"theirs/1": b"x", "ours": b"y"}


def test_unfinished_uploads_are_aborted_below_the_prefix_alone(
    tmp_path: Path, store: S3Store, bucket: Bucket
) -> None:
    ours = {f"id/{number}&": f"ours/d/{number % 2}" for number in range(7)}
    theirs = {"id": "theirs/d/1", "another id": "ours/e"}
    store.uploads = {**ours, **theirs}
    assert ask(tmp_path, bucket, "remove") == {"objects_count": 0}
    assert store.uploads == theirs


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refusal("NotImplemented", status=501), id="a store without multipart uploads"),
        pytest.param(refusal("AccessDenied"), id="keys that may not list them"),
        pytest.param(
            (200, b"<Upload><Key>ours/d/1</Key><UploadId>1</UploadId></Upload>", {}), id="one that stays"
        ),
    ],
)
def test_objects_are_removed_whatever_a_store_says_of_uploads(
    answer: tuple[int, bytes, dict[str, str]], tmp_path: Path, store: S3Store, bucket: Bucket
) -> None:
    store.objects["ours/d/1"] = b"x"
    store.answer = lambda method, target, number: answer if target.endswith("&uploads=") else None
    assert ask(tmp_path, bucket, "remove") == {"objects_count": 1}
    assert not store.objects


def test_reading_at_random_ends_with_the_time(tmp_path: Path, store: S3Store, bucket: Bucket) -> None:
    ask(tmp_path, bucket, "put", **LOAD)
    report = ask(tmp_path, bucket, "rand", **(LOAD | dict[str, Any](duration_s=0.5)))
    assert report["operations"] > 7
    assert report["ended_s"] - report["began_s"] > 0.4
    gets = [target for method, target in store.requests if method == "GET"]
    assert len(gets) == report["operations"]


def got(name: str, store: S3Store) -> bytes:
    return store.objects[name.removeprefix(f"/{BUCKET}/")]


ANSWERS = {
    "a body that is cut": (
        lambda name, store: (200, got(name, store)[:500], {"Content-Length": str(len(got(name, store)))}),
        "it has 500 B, not {size} B",
    ),
    "a short object": (
        lambda name, store: (200, got(name, store)[:-1], {}),
        "it has {short} B, not {size} B",
    ),
    "a long object": (lambda name, store: (200, got(name, store) + b"x", {}), "it has more, not {size} B"),
    "other bytes": (
        lambda name, store: (200, got(name, store)[:-1] + b"\0", {}),
        "it differs from what was put",
    ),
    "a redirect": (
        lambda name, store: (307, b"", {"Location": "http://127.0.0.2/x"}),
        "307 Temporary Redirect: location: http://127.0.0.2/x; name the endpoint",
    ),
    "a store that is too busy": (
        lambda name, store: refusal("SlowDown", "Please reduce your request rate.", 503),
        "503 SlowDown: Please reduce your request rate.; the store asks for less",
    ),
    "another clock": (
        lambda name, store: refusal("RequestTimeTooSkewed", "too large"),
        "403 RequestTimeTooSkewed: too large; set the client's clock",
    ),
    "no object": (lambda name, store: refusal("NoSuchKey", status=404), "404 NoSuchKey"),
    "another success": (lambda name, store: (206, got(name, store), {}), "206 Partial Content"),
    "what repeats the keys": (
        lambda name, store: refusal("Odd", f"{KEY} {SECRET}"),
        r"403 Odd: \*\*\* \*\*\*",
    ),
}


@pytest.mark.parametrize("fault", ANSWERS)
@pytest.mark.parametrize(("size", "closes"), [(1000, False), (300_000, False), (300_000, True)])
def test_what_is_not_what_was_asked_for_ends_the_load_or_is_counted_but_never_goodput(
    size: int,
    closes: bool,
    fault: str,
    tmp_path: Path,
    store: S3Store,
    bucket: Bucket,
    laid_out: dict[int, dict[str, bytes]],
) -> None:
    answer, sentence = ANSWERS[fault]
    load = LOAD | dict[str, Any](object_bytes=size)
    store.objects = dict(laid_out[size])

    def fourth(method: str, target: str, number: int) -> Any:
        asked = answer(target, store) if target.endswith("00000003") else (200, got(target, store), {})
        status, content, headers = asked
        return status, content, headers | ({"Connection": "close"} if closes else {})

    store.answer = fourth
    sentence = sentence.format(size=size, short=size - 1).replace("(", r"\(")
    with pytest.raises(StoreRefused, match=sentence) as failure:
        ask(tmp_path, bucket, "get", **load)
    assert SECRET not in str(failure.value)
    report = ask(tmp_path, bucket, "get", **(load | dict[str, Any](tolerate_errors=True)))
    assert (report["operations"], report["bytes"], sum(report["errors"].values())) == (6, 6 * size, 1)


def test_a_store_that_falls_silent_within_an_object_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TIMEOUT_S", 1.0)
    size, over = 300_000, threading.Event()

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            link.recv(65536)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"
            link.sendall(head.encode() + bytes(size - 1))
            over.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        order = {"endpoint": endpoint, "bucket_name": BUCKET, "region": REGION}
        client = engine.Store(order, (KEY, SECRET))
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with pytest.raises(TimeoutError, match="timed out"):
                client.get("x", memoryview(bytes(size)), bytearray(100_000))
        finally:
            client.connection.close()
            over.set()
            thread.join()


def test_a_fault_of_the_engine_itself_ends_the_load_where_errors_are_tolerated_too() -> None:
    class Broken(engine.Store):
        def get(self, name: str, content: Any, room: bytearray) -> None:
            if name.endswith("3"):
                raise AttributeError("no socket")

    order: dict[str, Any] = {"endpoint": "http://127.0.0.1", "bucket_name": BUCKET, "region": REGION}
    order |= LOAD | {"operation": "get", "prefix": "d/", "tolerate_errors": True}
    with pytest.raises(AttributeError, match="no socket"):
        engine.ObjectLoad(order, [Broken(order, (KEY, SECRET)) for _ in range(2)]).run()


def test_a_put_that_was_not_acknowledged_counts_as_an_error(
    tmp_path: Path, store: S3Store, bucket: Bucket
) -> None:
    store.answer = lambda method, target, number: (200, b"welcome", {}) if number == 2 else None
    with pytest.raises(WorkloadError, match="no ETag"):
        ask(tmp_path, bucket, "put", **LOAD)


def test_keys_that_others_can_read_and_those_that_lack_are_refused_without_their_words(
    tmp_path: Path, bucket: Bucket, keys: Path
) -> None:
    keys.chmod(0o640)
    with pytest.raises(WorkloadError, match=r"can be read by others \(mode 640\): chmod 600"):
        ask(tmp_path, bucket, "stored")
    keys.chmod(0o600)
    for text in (f"{SECRET}\n", f"[default]\naws_access_key_id = {KEY}\n{SECRET}\n", "[other]\n"):
        keys.write_text(text)
        with pytest.raises(WorkloadError, match="does not have aws_access_key_id") as failure:
            ask(tmp_path, bucket, "stored")
        assert SECRET not in str(failure.value)
    keys.unlink()
    with pytest.raises(WorkloadError, match="no such file"):
        ask(tmp_path, bucket, "stored")


def test_wrong_keys_and_a_store_that_is_away_say_so(tmp_path: Path, bucket: Bucket, keys: Path) -> None:
    keys.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = wrong\n")
    with pytest.raises(StoreRefused, match="SignatureDoesNotMatch"):
        ask(tmp_path, bucket, "stored")
    away = Bucket(BUCKET, "http://127.0.0.1:9", REGION, keys)
    with pytest.raises(WorkloadError, match=r"127.0.0.1:9: .*refused; check that"):
        ask(tmp_path, away, "put", **LOAD)


def test_a_bucket_of_ours_may_be_there_already_and_one_of_others_not(
    tmp_path: Path, store: S3Store, bucket: Bucket
) -> None:
    store.answer = lambda *_: refusal("BucketAlreadyOwnedByYou", status=409)
    assert ask(tmp_path, bucket, "make") == {}
    store.answer = lambda *_: refusal("BucketAlreadyExists", status=409)
    with pytest.raises(StoreRefused, match="409 BucketAlreadyExists"):
        ask(tmp_path, bucket, "make")


@pytest.mark.parametrize(("step", "problem"), [(0, "does not go on"), (1, "lists more than 20 objects")])
def test_a_list_without_end_is_given_up(
    store: S3Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, step: int, problem: str
) -> None:
    def page(method: str, target: str, number: int) -> tuple[int, bytes, dict[str, str]]:
        rows = "<Contents><Key>a</Key><Size>1</Size></Contents>" * 3
        more = (
            f"<IsTruncated>true</IsTruncated><NextContinuationToken>{number * step}</NextContinuationToken>"
        )
        return 200, f"<ListBucketResult>{more}{rows}</ListBucketResult>".encode(), {}

    monkeypatch.setattr(engine, "MOST_OBJECTS", 20)
    store.answer = page
    order = json.loads(buckets.request(bucket, "stored", ""))
    client = engine.Store(order, (KEY, SECRET))
    try:
        with pytest.raises(engine.Refused, match=problem):
            engine.stored(client, order)
    finally:
        client.connection.close()


def test_a_bucket_is_never_emptied_as_a_whole(tmp_path: Path, store: S3Store, keys: Path) -> None:
    store.objects["theirs"] = b"x"
    whole = Bucket(BUCKET, store.endpoint, REGION, keys)
    with pytest.raises(WorkloadError, match="it would remove the whole bucket"):
        ask(tmp_path, whole, "remove", "")
    assert store.objects


def test_percentiles_are_the_least_lengths_that_so_many_do_not_exceed() -> None:
    lengths = engine.latencies_s(number / 1000 for number in range(1000, 0, -1))
    assert lengths == {
        "mean": pytest.approx(0.5005),
        "p50": 0.5,
        "p95": 0.95,
        "p99": 0.99,
        "p99.9": 0.999,
        "max": 1.0,
    }


def test_no_request_has_a_key_in_it(bucket: Bucket) -> None:
    text = buckets.request(bucket, "put", "d/")
    assert json.loads(text)["prefix"] == "ours/d/"
    assert not {KEY, SECRET} & {*json.loads(text).values()}
