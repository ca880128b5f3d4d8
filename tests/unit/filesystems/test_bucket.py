"""A bucket that exists: only what is below a prefix of ours is written and removed, also after a kill."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Hosts, NamesCluster, OffersBuckets, OfOthers, able
from perjoule.machine import buckets
from perjoule.machine.processes import own
from perjoule.model.errors import MachineError, MountLost
from perjoule.testbeds.local import LocalHost
from places import transcript
from s3_store import BUCKET, REGION, SECRET, S3Store, credentials, refusal, s3_store
from scripted import ScriptedHost


@pytest.fixture
def store() -> Iterator[S3Store]:
    with s3_store() as served:
        served.objects = {"theirs": b"x", "perjoule-results.csv": b"y"}
        yield served


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    return Hosts((LocalHost(tmp_path),))


def bucket(store: S3Store, folder: Path, **options: Any) -> FileSystem:
    keys = credentials(folder)
    table = {"endpoint": store.endpoint, "bucket": BUCKET, "credentials": str(keys), "region": REGION}
    made = drivers.build("filesystems", "bucket", table | options)
    assert isinstance(made, FileSystem)
    return made


def test_it_writes_below_a_prefix_of_its_own_and_removes_that_alone(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    before = dict(store.objects)
    with bucket(store, tmp_path).mount(hosts) as mounted:
        part = able(mounted, OffersBuckets).bucket("local")
        mounted.alive()
        buckets.ask(hosts.clients[0], part, "write", "x", timeout_s=30, text="data")
        made = store.objects.keys() - before
        (prefix,) = {name.partition("/")[0] for name in made}
        assert made == {f"{prefix}/owner", f"{prefix}/local/x"}
        assert SECRET not in json.dumps(dict(mounted.facts))
        del store.objects[f"{prefix}/owner"]
        with pytest.raises(MountLost):
            mounted.alive()
    assert store.objects == before
    written = {target for method, target in store.requests if method in ("PUT", "DELETE")}
    assert all(f"/{BUCKET}/{prefix}/" in target for target in written)


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_runs_that_live(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    living, elsewhere = own(), replace(own(), boot="another machine's")
    killed = replace(living, birth_ticks=living.birth_ticks + 1)
    marks = {"0" * 10: killed, "1" * 10: living, "2" * 10: elsewhere}
    for name, identity in marks.items():
        store.objects[f"perjoule-{name}/owner"] = json.dumps(asdict(identity)).encode()
        store.objects[f"perjoule-{name}/client-1/x"] = b"z"
    others = {
        "perjoule-of-a-user/owner": json.dumps(asdict(killed)).encode(),
        "perjoule-3333333333/owner": b"?",
    }
    store.objects |= others
    kept = {name: text for name, text in store.objects.items() if "0000000000" not in name}
    with bucket(store, tmp_path).mount(hosts):
        pass
    assert store.objects == kept


def test_what_says_whose_a_prefix_is_goes_last_whatever_clients_are_called(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    with bucket(store, tmp_path).mount(hosts):
        (owner,) = (name for name in store.objects if name.endswith("/owner"))
        prefix = owner.removesuffix("owner")
        for name in ("local/x", "zeus/perjoule-objects/x"):
            store.objects[prefix + name] = b"z"
    removed = [target for method, target in store.requests if method == "DELETE"]
    assert len(removed) == 3
    assert removed[-1].endswith(owner)


def test_what_a_store_refuses_to_remove_at_the_end_is_told(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    with bucket(store, tmp_path).mount(hosts) as mounted:
        assert able(mounted, OfOthers).unremoved == ()
        (prefix,) = {name.partition("/")[0] for name in store.objects} - {"theirs", "perjoule-results.csv"}
        store.answer = lambda method, target, _: (
            refusal("AccessDenied", status=403) if method in ("DELETE", "POST") else None
        )
    assert f"{prefix}/owner" in store.objects
    (sentence,) = able(mounted, OfOthers).unremoved
    assert sentence.startswith(
        f"local: {prefix}/ in bucket {BUCKET} could not be removed: S3: DELETE /{BUCKET}/{prefix}/owner: 403 AccessDenied"
    )
    assert sentence.endswith("the next run on this machine that uses it tries again")


def test_a_bucket_that_keeps_what_is_removed_is_refused_before_anything_is_written(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    before = dict(store.objects)
    for status in ("Enabled", "Suspended"):
        store.versioning = f"<Status>{status}</Status>"
        if status == "Enabled":
            with pytest.raises(MachineError, match="lab: it keeps versions"):
                bucket(store, tmp_path).mount(hosts).__enter__()
            assert not [target for method, target in store.requests if method == "PUT"]
        else:
            with bucket(store, tmp_path).mount(hosts):
                pass
        assert store.objects == before


@pytest.mark.parametrize("status", [403, 405, 501])
def test_a_store_that_knows_no_versions_or_does_not_tell_is_used(
    status: int, store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    store.answer = lambda method, target, _: (
        refusal("NotImplemented", status=status) if target.endswith("?versioning=") else None
    )
    with bucket(store, tmp_path).mount(hosts):
        assert len(store.objects) == 3


def test_a_store_that_refuses_says_so_before_anything_is_measured(
    store: S3Store, hosts: Hosts, tmp_path: Path
) -> None:
    with (
        pytest.raises(MachineError, match=r"404 NoSuchBucket.*make the bucket"),
        bucket(store, tmp_path, bucket="other").mount(hosts),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"endpoint": "http://me:secret@127.0.0.1:1"}, "it has a login"),
        ({"endpoint": "127.0.0.1:8333"}, "is no endpoint"),
        ({"endpoint": "http://127.0.0.1/bucket"}, "is no endpoint"),
        ({"bucket": "a/b"}, "is no name of a bucket"),
        ({"credentials": "keys"}, "is relative"),
    ],
)
def test_impossible_options_are_refused(
    options: dict[str, str], sentence: str, store: S3Store, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        bucket(store, tmp_path, **options)


class CephHost(ScriptedHost):
    """A client whose `ceph` says that its cluster is whole."""

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        assert words[0] == "ceph"
        return 0, transcript("bucket", "ceph-healthy.txt")


def test_a_bucket_of_a_ceph_tells_the_state_of_the_pool_that_is_named(store: S3Store, tmp_path: Path) -> None:
    table = {"pool": "cephfs_data", "keyring": "/keys"}
    cluster = able(bucket(store, tmp_path, ceph=table), NamesCluster).cluster(CephHost())
    assert cluster is not None
    state = cluster.state()
    assert state.lacks == ""
    assert state.redundancy is not None
    assert state.redundancy.copies_count == 2
    assert able(bucket(store, tmp_path), NamesCluster).cluster(CephHost()) is None
    with pytest.raises(ValidationError, match="ceph names no pool"):
        bucket(store, tmp_path, ceph={"keyring": "/keys"})
