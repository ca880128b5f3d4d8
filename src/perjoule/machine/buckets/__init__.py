"""Buckets of stores that speak S3, as clients use them: by a program of ours that is sent to each.

https://docs.aws.amazon.com/AmazonS3/latest/API/
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perjoule.drivers.protocols import Bucket, Check, Host
from perjoule.machine.processes import Identity, alive, own
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import UNEXPECTED, from_json, json_from
from perjoule.model import Json
from perjoule.model.errors import StoreRefused, WorkloadError

PROGRAM = Path(__file__).with_name("engine.py")
PROGRAM_NAME = "s3-engine.py"  # in a client's folder
PYTHON = "/usr/bin/python3"
FOLDER = "perjoule-objects/"  # of all objects that loads put into a bucket
BUSY_RATIO = 0.9  # of a core, above which the program may be what limits
ADVICE: Mapping[str, str] = {  # by what an error has
    "301 ": "name the endpoint and the region in which the bucket is",
    "307 ": "name the endpoint and the region in which the bucket is",
    "RequestTimeTooSkewed": "set the client's clock, or the store's (chrony)",
    "SlowDown": "the store asks for less: lower in_flight, or give it more gateways",
    "SignatureDoesNotMatch": "correct the keys, and name the region that the store has",
    "InvalidAccessKeyId": "correct the keys",
    "AccessDenied": "let these keys list, read, write and delete in the bucket",
    "NoSuchBucket": "make the bucket, or correct its name",
    "EntityTooSmall": "each part but an object's last has 5 MiB or more: raise transfer",
    "chmod 600": "it holds a secret",
    "onnection refused": "check that the store's gateway runs there",
    "CERTIFICATE_VERIFY_FAILED": "have the clients' system trust the endpoint's certificate",
}


def checks() -> tuple[Check, ...]:
    """Check for what runs the program on clients."""
    return programs({"python3": "python3"}, "client")


def send(client: Host) -> Path:
    """Put the program on a client, and return where it is."""
    place = client.directory / PROGRAM_NAME
    client.put(PROGRAM.read_text(), place)
    return place


def place(bucket: Bucket, prefix: str) -> dict[str, Json]:
    """Return where the program finds objects; `prefix` is below that of the bucket. It has no key in it."""
    return {
        "endpoint": bucket.endpoint,
        "region": bucket.region,
        "bucket_name": bucket.name,
        "credentials": str(bucket.credentials),
        "prefix": bucket.prefix + prefix,
    }


def request(bucket: Bucket, operation: str, prefix: str, **more: Any) -> str:
    """Return what to ask the program for. It has no key in it."""
    return json.dumps({**place(bucket, prefix), "operation": operation, **more})


def ask(
    client: Host, bucket: Bucket, operation: str, prefix: str, *, timeout_s: float, **more: Any
) -> dict[str, Any]:
    """Have a client do something that is not measured, and return the program's report.

    Raises WorkloadError with what the store said.
    """
    argv = [PYTHON, send(client), request(bucket, operation, prefix, **more)]
    completed = client.run(argv, timeout_s=timeout_s, check=False)
    if completed.returncode != 0:
        raise refused(completed.stderr or completed.stdout, client.name)
    return json_from(completed.stdout)


def mark() -> str:
    """Return the text of an object that says which process made it."""
    return json.dumps(asdict(own()))


def is_gone(text: str) -> bool:
    """Whether the process that such an object names has ended, as far as this machine can tell."""
    try:
        return alive(from_json(Identity, json_from(text))) is False
    except UNEXPECTED:
        return False


def refused(text: str, where: str) -> WorkloadError:
    """Return the error of a program that failed, with advice if the store's answer is a known one."""
    reason = next((line for line in reversed(text.splitlines()) if line.strip()), "no output").strip()
    return StoreRefused(f"S3: {reason}", where=where, next=advice(reason))


def advice(text: str) -> str:
    """Return what to do about a store's answer; "" if that is not known."""
    return next((advice for sign, advice in ADVICE.items() if sign in text), "")
