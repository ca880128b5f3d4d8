"""Images of our own in a pool of others: nothing else is opened or removed, also after a kill."""

import errno
import json
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import (
    Completed,
    FileSystem,
    Hosts,
    NamesCluster,
    OffersImages,
    OfOthers,
    TellsState,
    able,
)
from perjoule.filesystems import image as driver
from perjoule.machine import processes
from perjoule.model.errors import MachineError, MountLost, NoAnswer, WorkloadError
from perjoule.model.units import MIB
from places import transcript
from scripted import ScriptedHost

TABLE = {"pool": "cephfs_data", "keyring": "/keys"}
CEPH = ["--conf", "/etc/ceph/ceph.conf", "--keyring", "/keys", "--name", "client.perjoule"]
THEIRS = {"theirs": 4 * MIB, "perjoule-of-a-user": MIB}  # images, and their sizes


class RbdHost(ScriptedHost):
    """A client of a pool, with `rbd` as 16.2.15 answers, and a cluster that is whole."""

    def __init__(self, name: str = "client-1") -> None:
        super().__init__(name)
        self.images = dict(THEIRS)
        self.watched: dict[str, float] = {}  # images, and how often Ceph still says that they are in use
        self.refusal = ""

    def run(self, argv: Sequence[str | Path], *, check: bool = True, **_: Any) -> Completed:
        words = [str(word) for word in argv]
        self.ran.append(words)
        code, text, error = self._answer(words)
        if code and check:
            raise WorkloadError(error, where=self.name)
        return Completed(tuple(words), code, text, error)

    def _answer(self, words: Sequence[str]) -> tuple[int, str, str]:
        if words[0] != "rbd":
            assert words[0] in ("ceph", "mkdir")
            return 0, transcript("pool", "ceph-healthy.txt") if words[0] == "ceph" else "", ""
        assert words[1:7] == CEPH
        if self.refusal:
            return 1, "", self.refusal
        if words[7:] == ["ls", "--pool", "cephfs_data"]:
            return 0, "".join(f"{name}\n" for name in sorted(self.images)), ""
        *asked, pool_option, pool, image_option, name = words[7:]
        assert (pool_option, pool, image_option) == ("--pool", "cephfs_data", "--image")
        return self._of_image(asked, name)

    def _of_image(self, asked: Sequence[str], name: str) -> tuple[int, str, str]:
        if asked[:3] == ["--rbd_validate_pool=false", "create", "--size"]:
            assert name not in self.images
            assert asked[4:] == ["--image-feature", "layering"]
            self.images[name] = int(asked[3].removesuffix("B"))
            return 0, "", ""
        if name not in self.images:
            return errno.ENOENT, "", f"rbd: error opening image {name}: (2) No such file or directory"
        if asked == ["info", "--format", "json"]:
            document = json.loads(transcript("image", "info.json"))
            return 0, json.dumps(document | {"name": name, "size": self.images[name]}), ""
        assert asked == ["rm", "--no-progress"]
        if self.watched.get(name):
            self.watched[name] -= 1
            return errno.EBUSY, "", "rbd: error: image still has watchers"
        del self.images[name]
        return 0, "", ""


def image(**options: Any) -> FileSystem:
    made = drivers.build("filesystems", "image", {"ceph": TABLE, "size": "64 MiB", **options})
    assert isinstance(made, FileSystem)
    return made


def name_of(monkeypatch: pytest.MonkeyPatch, **process: Any) -> str:
    """The name of an image of another process than this one."""
    with monkeypatch.context() as within:
        within.setattr(driver, "own", lambda: replace(processes.own(), **process))
        return driver.new_name()


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(driver, "AGAIN_S", 0.0)
    return name_of(monkeypatch, birth_ticks=processes.own().birth_ticks + 1)


def test_each_client_has_an_image_which_alone_is_removed_at_the_end() -> None:
    host, second = RbdHost(), RbdHost("client-2")
    with image().mount(Hosts((host, second))) as mounted:
        mounted.alive()
        images = [able(mounted, OffersImages).image(client.name) for client in (host, second)]
        names = [made.name for made in images]
        assert host.images == THEIRS | dict.fromkeys(names, 64 * MIB)
        assert len({*names}) == 2
        assert [made.size_bytes for made in images] == [64 * MIB] * 2
        pool = images[0].pool
        assert (pool.name, pool.user, pool.namespace) == ("cephfs_data", "client.perjoule", "")
        assert (pool.configuration, pool.keyring) == (Path("/etc/ceph/ceph.conf"), Path("/keys"))
        assert mounted.directories == {client.name: client.directory / "image" for client in (host, second)}
        assert mounted.devices == {}
        assert able(mounted, TellsState).state().facts["pool"]
        facts = mounted.facts["images"]
        assert isinstance(facts, dict)
        assert isinstance(made := facts[host.name], dict)
        assert (made["size_bytes"], made["features"]) == (64 * MIB, ["layering"])
    assert host.images == THEIRS
    named = {words[-1] for words in host.ran if "--image" in words}
    assert named == {*names}, "an image of others was named"
    assert second.ran == [["mkdir", "-p", "/of/client-2/image"]]


def test_an_image_that_is_gone_or_another_is_not_written_to() -> None:
    host = RbdHost()
    with image().mount(Hosts((host,))) as mounted:
        (name,) = {*host.images} - {*THEIRS}
        host.images[name] = MIB
        with pytest.raises(MountLost, match=name):
            mounted.alive()
        del host.images[name]
        with pytest.raises(MountLost, match=name):
            mounted.alive()
        host.refusal = "couldn't connect to cluster! error -13"
        with pytest.raises(NoAnswer, match="error -13"):
            mounted.alive()
        host.refusal = ""
    assert host.images == THEIRS


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_runs_that_live(
    killed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = RbdHost()
    names = (driver.new_name(), name_of(monkeypatch, boot="0" * 36), name_of(monkeypatch, pids="pid:[7]"))
    kept = dict.fromkeys(names, MIB) | {f"theirs-{killed}": MIB, f"{killed}-theirs": MIB}
    host.images |= {killed: MIB} | kept
    host.watched = {killed: 3}  # its load was killed, which Ceph has not noticed yet
    with image().mount(Hosts((host,))):
        pass
    assert host.images == THEIRS | kept


def test_an_image_that_stays_in_use_is_named(killed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "FORGOTTEN_S", 0.01)
    host = RbdHost()
    host.images[killed], host.watched = MIB, {killed: inf}
    with (
        pytest.raises(MachineError, match=f"image {killed} can't be removed: .*watchers.*; end what uses it"),
        image().mount(Hosts((host,))),
    ):
        pass
    assert host.images == THEIRS | {killed: MIB}


def test_each_image_that_is_not_removed_at_the_end_is_told() -> None:
    host = RbdHost()
    with image().mount(Hosts((host, RbdHost("client-2")))) as mounted:
        assert able(mounted, OfOthers).unremoved == ()
        host.refusal = "couldn't connect to cluster! error -13"
    assert able(mounted, OfOthers).unremoved == tuple(
        f"client-1: the image of {client} could not be removed: image {able(mounted, OffersImages).image(client).name} "
        f"can't be removed: {host.refusal}; the next run on this machine that uses it tries again"
        for client in ("client-1", "client-2")
    )


def test_a_cluster_that_does_not_answer_is_not_taken_for_an_empty_pool() -> None:
    host = RbdHost()
    host.refusal = "couldn't connect to cluster! error -13"
    with pytest.raises(MachineError, match="error -13"), image().mount(Hosts((host,))):
        pass
    assert host.images == THEIRS


def test_its_pool_must_be_named_and_is_asked_beforehand() -> None:
    with pytest.raises(ValidationError, match="ceph names no pool"):
        image(ceph={"keyring": "/keys"})
    cluster = able(image(), NamesCluster).cluster(RbdHost())
    assert cluster is not None
    assert cluster.state().facts["pool"]
