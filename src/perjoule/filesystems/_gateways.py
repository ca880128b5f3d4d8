"""Buckets behind gateways that speak S3: each client has one with keys of its own, and uses gateways in turns."""

from collections.abc import Callable, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Bucket, Host
from perjoule.filesystems._deployment import SHORT_S
from perjoule.machine import buckets

REGION = "us-east-1"  # which gateways take, whatever theirs is called
FIRST = "perjoule-first/"


def buckets_behind(
    gates: Sequence[Host], port: int, users: Sequence[Host], folder: Callable[[Host], Path]
) -> dict[str, Bucket]:
    """Return the bucket of each client, by the client's name."""
    return {
        # by number, as S3 has no capital letters in names of buckets
        user.name: Bucket(
            f"perjoule-{number}",
            f"http://{gates[number % len(gates)].address}:{port}",
            REGION,
            folder(user) / "credentials",
        )
        for number, user in enumerate(users)
    }


def give_keys(user: Host, bucket: Bucket, key: str, secret: str) -> None:
    """Write the keys of its bucket for a client. Raises WorkloadError."""
    text = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
    user.put(text, bucket.credentials, mode=0o600)


def put_first(user: Host, bucket: Bucket, patience_s: float, *, makes: bool = False) -> None:
    """Have a client put an object and remove it, in a bucket that it makes before if nobody has.

    Raises WorkloadError.
    """
    if makes:
        buckets.ask(user, bucket, "make", "", timeout_s=patience_s)
    buckets.ask(user, bucket, "write", f"{FIRST}1", timeout_s=patience_s, text="perjoule")
    buckets.ask(user, bucket, "remove", FIRST, timeout_s=patience_s)
    user.run(["rm", user.directory / buckets.PROGRAM_NAME], timeout_s=SHORT_S)
