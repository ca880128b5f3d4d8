"""A pool that exists: only namespaces of ours are written to and removed, also after a kill."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import campaign, drivers
from perjoule.drivers.protocols import Completed, FileSystem, Hosts, MakesPools, OfOthers, TellsState, able
from perjoule.filesystems.pool import namespaces
from perjoule.machine.processes import own
from perjoule.model.errors import CampaignError, MachineError, MountLost, NotAble, WorkloadError
from perjoule.workloads.rados import _rados as rados_argv
from places import transcript
from scripted import ScriptedHost

POOL = "cephfs_data"
THEIRS = {("", "theirs"), ("", "benchmark_data_theirs_1_object0"), ("perjoule", "theirs")}


class RadosHost(ScriptedHost):
    """A client of a pool, with `rados` as 16.2.15 answers, and a cluster that is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.objects = set(THEIRS)
        self.marks: dict[str, str] = {}
        self.refusal = ""
        self.removed: list[tuple[str, str]] = []

    def run(self, argv: Sequence[str | Path], *, check: bool = True, **_: Any) -> Completed:
        words = [str(word) for word in argv]
        if words[0] == "ceph":
            return Completed(tuple(words), 0, transcript("pool", "ceph-healthy.txt"), "")
        assert words[:9:2] == ["rados", "/etc/ceph/ceph.conf", "/keys", "client.perjoule", POOL]
        assert (words[7], words[9]) == ("--pool", "--namespace")
        code, text, error = (1, "", self.refusal) if self.refusal else self.answer(words[10], *words[11:])
        if code and check:
            raise WorkloadError(error, where=self.name)
        return Completed(tuple(words), code, text, error)

    def answer(self, namespace: str, verb: str, *words: str) -> tuple[int, str, str]:
        listed = sorted(name for space, name in self.objects if space == namespace)
        if verb == "ls":
            return 0, "".join(f"{name}\n" for name in listed), ""
        if verb == "cleanup":
            assert words[0] == "--prefix"
            self.objects -= {(namespace, name) for name in listed if name.startswith(words[1])}
            return 0, "", ""
        if verb == "rm":
            self.removed += [(namespace, name) for name in words]
            self.objects -= {(namespace, name) for name in words}
            return 0, "", ""
        if verb == "setxattr":
            self.objects.add((namespace, words[0]))
            self.marks[words[0]] = words[2]
            return 0, "", ""
        assert (verb, words[1]) == ("getxattr", "process")
        if words[0] not in listed:
            return 1, "", f"error getting xattr {POOL}/{words[0]}/process: (2) No such file or directory"
        if words[0] not in self.marks:
            return 1, "", f"error getting xattr {POOL}/{words[0]}/process: (61) No data available"
        return 0, self.marks[words[0]], ""


def pool(**table: Any) -> FileSystem:
    made = drivers.build("filesystems", "pool", {"ceph": {"pool": POOL, "keyring": "/keys", **table}})
    assert isinstance(made, FileSystem)
    return made


def test_each_client_has_a_namespace_which_alone_is_removed_at_the_end() -> None:
    host = RadosHost()
    with pool().mount(Hosts((host,))) as mounted:
        mounted.alive()
        ours = mounted.pools[host.name]
        (run,) = host.marks
        assert ours.namespace == namespaces(run)[0]
        argv = list(map(str, rados_argv(host, mounted)))
        assert argv[-2:] == ["--namespace", ours.namespace]
        assert argv[argv.index("--keyring") + 1] == "/keys"
        host.objects |= {(ours.namespace, f"benchmark_data_{number}") for number in range(1001)}
        host.objects |= {(ours.namespace, f"object-{number}") for number in range(1001)}
        assert able(mounted, TellsState).state().facts["pool"]
        host.objects -= {("perjoule", run)}
        with pytest.raises(MountLost):
            mounted.alive()
    assert host.objects == THEIRS
    assert len(host.removed) == 1001 + 1


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_runs_that_live() -> None:
    host, living = RadosHost(), own()
    killed = replace(living, birth_ticks=living.birth_ticks + 1)
    runs = {"0" * 10 + "-2": killed, "1" * 10 + "-1": living, "of-a-user": killed}
    host.marks = {run: json.dumps(asdict(identity)) for run, identity in runs.items()}
    unmarked = ("perjoule", "2" * 10 + "-1")
    lived = {
        ("perjoule", "1" * 10 + "-1"),
        (f"perjoule-{'1' * 10}-0", "x"),
        ("perjoule", "of-a-user"),
        unmarked,
    }
    dead = {("perjoule", "0" * 10 + "-2")} | {(f"perjoule-{'0' * 10}-{number}", "x") for number in range(2)}
    host.objects |= lived | dead
    with pool().mount(Hosts((host,))):
        pass
    assert host.objects == THEIRS | lived


def test_what_a_cluster_does_not_remove_at_the_end_is_told() -> None:
    host = RadosHost()
    with pool().mount(Hosts((host,))) as mounted:
        assert able(mounted, OfOthers).unremoved == ()
        (run,) = host.marks
        host.refusal = "error -110"
    assert ("perjoule", run) in host.objects
    assert able(mounted, OfOthers).unremoved == (
        f"client-1: run {run} in pool {POOL} could not be removed: error -110; the next run on this machine that "
        "uses it tries again",
    )


def test_a_name_that_rados_would_take_for_an_option_is_not_told_to_it() -> None:
    host = RadosHost()
    with pool().mount(Hosts((host,))) as mounted:
        namespace = mounted.pools[host.name].namespace
        host.objects |= {(namespace, "--pool=others"), (namespace, "ours")}
    assert host.removed == [(namespace, "ours"), ("perjoule", *host.marks)]


def test_a_cluster_that_does_not_answer_is_not_taken_for_an_empty_pool() -> None:
    host = RadosHost()
    host.refusal = "couldn't connect to cluster! error -13"
    with pytest.raises(MachineError, match="error -13"), pool().mount(Hosts((host,))):
        pass


def test_pools_of_others_are_neither_made_nor_deleted_and_must_be_named() -> None:
    host = RadosHost()
    with pool().mount(Hosts((host,))) as mounted:
        able(mounted, MakesPools).make_pool(host.name)
        with pytest.raises(NotAble):
            able(mounted, MakesPools).delete_pool(host.name)
    with pytest.raises(ValidationError, match="ceph names no pool"):
        pool(pool="")


def test_a_load_that_deletes_pools_is_refused_as_soon_as_its_campaign_is_read() -> None:
    def read(kind: str, operation: str) -> None:
        campaign.parse(
            '[testbed]\nkind = "virtual"\n[[filesystem]]\n'
            f'{kind}\n[[workload]]\nkind = "rados"\noperation = ["write", "{operation}"]\n'
        )

    theirs = 'kind = "pool"\nceph = {pool = "lab", keyring = "/keys"}'
    with pytest.raises(
        CampaignError, match="makes and deletes pools, and that of filesystem pool is others'"
    ):
        read(theirs, "procedure")
    read(theirs, "seq")
    read('kind = "rados"', "procedure")
