"""CPU time of S3 clients per GiB, and objects/s: perjoule's engine beside boto3 and obstore, all in one run.

A gateway of SeaweedFS and one client on virtual hosts; each library puts and gets objects of the same sizes, with
as many in flight, and compares what it gets with what it put, as our engine does. CPU seconds are those of the
client's process in the window alone. All figures are medians of the rounds. "ours / it" is our engine's CPU time
over that of another in the same round, with the range of the rounds: that is the ratio that documents state, not
the one of two medians.

    python3 -m venv clients && clients/bin/pip install boto3 obstore
    sudo .venv/bin/python benchmarks/s3_clients.py --tools clients/bin/python

Without --tools, our engine runs alone.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

from perjoule import drivers
from perjoule.drivers.protocols import Bucket, FileSystem, Host, OffersBuckets, Testbed, able
from perjoule.machine import buckets
from perjoule.model.units import MIB

OPERATIONS = ("put", "get")
OURS, LIBRARIES = "perjoule", ("boto3", "obstore")
PROGRAM = r"""
import configparser, json, random, sys, threading, time
library, operation, endpoint, bucket, path, size, count, in_flight = sys.argv[1:]
size, count, in_flight, data = int(size), int(count), int(in_flight), random.Random(size).randbytes(int(size))
config = configparser.ConfigParser()
config.read(path)
key, secret = (config["default"][f"aws_{name}"] for name in ("access_key_id", "secret_access_key"))
if library == "boto3":
    import boto3, botocore.config
    lean = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    style = {"addressing_style": "path"}
    options = botocore.config.Config(max_pool_connections=in_flight, s3=style, retries={"max_attempts": 1}, **lean)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=options,
                          aws_access_key_id=key, aws_secret_access_key=secret)
    put = lambda name: client.put_object(Bucket=bucket, Key=name, Body=data)
    get = lambda name: client.get_object(Bucket=bucket, Key=name)["Body"].read()
else:
    from obstore.store import S3Store
    store = S3Store(bucket, endpoint=endpoint, region="us-east-1", access_key_id=key, secret_access_key=secret,
                    virtual_hosted_style_request=False, unsigned_payload=True, client_options={"allow_http": True})
    put = lambda name: store.put(name, data, use_multipart=False)
    get = lambda name: store.get(name).bytes()
put(f"{library}/first")
get(f"{library}/first")
names, lock = iter(range(count)), threading.Lock()
def work():
    while True:
        with lock:
            number = next(names, None)
        if number is None:
            return
        name = f"{library}-{size}/{number:08d}"
        content = put(name) if operation == "put" else get(name)
        assert operation == "put" or content == data, name
threads = [threading.Thread(target=work) for _ in range(in_flight)]
cpu_s, began_s = time.process_time(), time.perf_counter()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"cpu_s": time.process_time() - cpu_s, "s": time.perf_counter() - began_s}))
"""


@dataclass(frozen=True)
class Load:
    """So many objects of one size, with so many in flight."""

    object_bytes: int
    objects_count: int
    in_flight: int


@dataclass(frozen=True)
class Cost:
    """What a library took for a load."""

    cpu_s: float
    wall_s: float


LARGE = Load(4 * MIB, 64, 4)
SMALL = tuple(Load(4096, 512, in_flight) for in_flight in (1, 4, 16, 64))


def by_engine(client: Host, bucket: Bucket, operation: str, load: Load) -> Cost:
    """Have perjoule's engine do it."""
    order: dict[str, Any] = {"object_bytes": load.object_bytes, "count": load.objects_count}
    order |= {"in_flight": load.in_flight, "seed": "benchmark", "tolerate_errors": False, "wait": []}
    prefix = f"{OURS}-{load.object_bytes}/"
    report = buckets.ask(client, bucket, operation, prefix, timeout_s=600, duration_s=600.0, **order)
    return Cost(report["cpu_s"], report["ended_s"] - report["began_s"])


def by_library(client: Host, bucket: Bucket, operation: str, load: Load, library: str, tools: str) -> Cost:
    """Have another library do it."""
    numbers = map(str, (load.object_bytes, load.objects_count, load.in_flight))
    argv = [tools, "-c", PROGRAM, library, operation, bucket.endpoint, bucket.name, bucket.credentials]
    report = json.loads(client.run([*argv, *numbers], timeout_s=600).stdout)
    return Cost(report["cpu_s"], report["s"])


def require_libraries(tools: str) -> None:
    """Exit with advice if that Python lacks one."""
    program = f"import {', '.join(LIBRARIES)}"
    if subprocess.run([tools, "-c", program], capture_output=True, check=False).returncode != 0:
        sys.exit(
            f"{tools} can't import {' and '.join(LIBRARIES)}: {tools} -m pip install {' '.join(LIBRARIES)}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tools", default="", help="Python of an environment with boto3 and obstore")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if asked.tools:
        require_libraries(asked.tools)
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 2})
    store = drivers.build("filesystems", "seaweed_s3", {})
    assert isinstance(testbed, Testbed)
    assert isinstance(store, FileSystem)
    libraries = (OURS, *(LIBRARIES if asked.tools else ()))
    costs: dict[tuple[Load, str, str], list[Cost]] = {}
    with testbed.hold(1) as hosts, store.mount(hosts) as mounted:
        (client,) = hosts.clients
        bucket = able(mounted, OffersBuckets).bucket(client.name)
        for _ in range(asked.rounds):
            for load in (LARGE, *SMALL):
                for operation in OPERATIONS:
                    for library in libraries:
                        cost = (
                            by_engine(client, bucket, operation, load)
                            if library == OURS
                            else by_library(client, bucket, operation, load, library, asked.tools)
                        )
                        costs.setdefault((load, operation, library), []).append(cost)
    print("object   in flight  operation  client    CPU s/GiB   ours / it (rounds)  objects/s")
    for (load, operation, library), rounds in costs.items():
        gib = load.objects_count * load.object_bytes / 1024**3
        cpu_s = median(cost.cpu_s for cost in rounds)
        pairs = zip(costs[load, operation, OURS], rounds, strict=True)
        ratios = sorted(engine.cpu_s / cost.cpu_s for engine, cost in pairs)
        ratio = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        per_s = median(load.objects_count / cost.wall_s for cost in rounds)
        size = f"{load.object_bytes // 1024} KiB"
        row = f"{size:8} {load.in_flight:9}  {operation:9}  {library:8} {cpu_s / gib:10.2f} {ratio:>20}"
        print(f"{row} {per_s:10.0f}")


if __name__ == "__main__":
    main()
