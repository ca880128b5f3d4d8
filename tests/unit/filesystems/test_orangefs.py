"""OrangeFS: what its tools say (recorded from 2.10), what its servers get, and layouts that can't be."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import Hosts
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.orangefs import parse as words
from perjoule.model.errors import CampaignError, MachineError, UnexpectedOutput
from places import transcript
from scripted import ScriptedHost

STORAGE = [
    words.OrangefsServer(f"storage-{n}", f"10.98.0.{n}", Path("/srv"), ("data",), Path("/srv"))
    for n in (1, 2)
]
METADATA = words.OrangefsServer("metadata-1", "10.98.0.3", Path("/srv"), ("metadata",), Path("/srv"))
SERVERS = [METADATA, *STORAGE]


def orangefs(**options: Any) -> OrangeFS:
    return OrangeFS(**options)


def said(name: str) -> str:
    return transcript("orangefs", name)


def directives(configuration: str) -> dict[str, set[str]]:
    """What a configuration sets: each directive's values, those that are places and names left out."""
    own = ("Alias", "Range", "Server", "DataStorageSpace", "MetadataStorageSpace", "LogFile", "ID")
    found: dict[str, set[str]] = {}
    for line in filter(None, map(str.strip, configuration.splitlines())):
        word, _, value = line.partition(" ")
        found.setdefault(word, set()).add("" if word in own else value)
    return found


def ranges(configuration: str) -> list[tuple[str, int, int]]:
    return [
        (name, int(first), int(last))
        for name, first, last in re.findall(r"Range (\S+) (\d+)-(\d+)", configuration)
    ]


def test_the_configuration_is_what_genconfig_writes_but_for_shorter_retries() -> None:
    ours = directives(words.configuration(OrangeFS(), SERVERS))
    theirs = directives(said("genconfig.conf"))
    assert ours.keys() == theirs.keys()
    assert {word for word in ours if ours[word] != theirs[word]} == {
        "ClientRetryLimit",
        "ClientRetryDelayMilliSecs",
    }
    retries = [
        {word: int(min(values)) for word, values in d.items() if "ClientRetry" in word}
        for d in (ours, theirs)
    ]
    totals_ms = {r["ClientRetryLimit"] * r["ClientRetryDelayMilliSecs"] for r in retries}
    assert totals_ms == {10000}


def test_every_server_has_handles_of_its_own() -> None:
    found = ranges(words.configuration(OrangeFS(), SERVERS))
    assert [name for name, _, _ in found] == ["metadata-1", "storage-1", "storage-2"]
    bounds = [bound for _, first, last in found for bound in (first, last)]
    assert bounds == sorted(set(bounds))
    assert bounds[0] >= words.FIRST_HANDLE
    assert bounds[-1] <= words.LAST_HANDLE


def test_a_server_with_both_roles_has_handles_for_both() -> None:
    both = [
        words.OrangefsServer(f"storage-{n}", f"10.98.0.{n}", Path("/srv"), ("metadata", "data"), Path("/srv"))
        for n in (1, 2)
    ]
    found = ranges(words.configuration(OrangeFS(), both))
    assert sorted(name for name, _, _ in found) == ["storage-1", "storage-1", "storage-2", "storage-2"]
    assert len({first for _, first, _ in found}) == 4


def test_data_lie_where_they_are_assigned_and_metadata_beside_the_server() -> None:
    elsewhere = words.OrangefsServer(
        "storage-1", "10.98.0.1", Path("/srv"), ("metadata", "data"), Path("/beneath")
    )
    lines = list(map(str.strip, words.configuration(OrangeFS(), [elsewhere]).splitlines()))
    assert "DataStorageSpace /beneath/data" in lines
    assert "MetadataStorageSpace /srv/metadata" in lines


def test_time_limits_grow_as_emulated_time_slows() -> None:
    text = words.configuration(OrangeFS(), SERVERS, scale=0.1)
    assert directives(text)["ServerJobBMITimeoutSecs"] == {"300"}


def test_a_distribution_without_strips_gets_no_strip_size() -> None:
    text = words.configuration(OrangeFS(distribution="basic_dist"), SERVERS)
    assert "strip_size" not in text
    assert "Name basic_dist" in text


@pytest.mark.parametrize(
    ("name", "strip_bytes", "data"),
    [
        ("simple_stripe", 64 * 1024, ("10.99.0.3", "10.99.0.2")),
        ("twod_stripe", 1024**2, ("10.99.0.3", "10.99.0.4", "10.99.0.2")),
        ("basic_dist", None, ("10.99.0.3",)),
    ],
)
def test_a_file_states_its_distribution_and_the_servers_of_its_data(
    name: str, strip_bytes: int | None, data: tuple[str, ...]
) -> None:
    assert words.spread(said(f"viewdist-{name.split('_')[0]}.txt")) == words.FileSpread(
        name, strip_bytes, data
    )


def test_what_viewdist_can_not_say_is_an_error_in_its_words() -> None:
    with pytest.raises(UnexpectedOutput, match=r"^pvfs2-viewdist: .*Could not open"):
        words.spread("Could not open /mnt/nothing\n")
    with pytest.raises(UnexpectedOutput, match=r"^pvfs2-viewdist"):
        words.spread(said("viewdist-simple.txt").replace("Datafile", "Data file"))


def test_servers_tell_what_they_serve() -> None:
    assert words.modes(said("statfs-separate.txt")) == {
        "10.99.0.4": "only metadata",
        "10.99.0.2": "only I/O data",
        "10.99.0.3": "only I/O data",
    }
    assert set(words.modes(said("statfs-both.txt")).values()) == {"both metadata and I/O data"}


@pytest.mark.parametrize(
    ("word", "other"), [("mode: serving", "serves"), ("\tmode: serving only metadata\n", "")]
)
def test_a_server_whose_mode_is_not_found_is_an_error(word: str, other: str) -> None:
    with pytest.raises(UnexpectedOutput, match=r"^pvfs2-statfs"):
        words.modes(said("statfs-separate.txt").replace(word, other))


def test_space_is_that_of_the_whole_not_of_the_first_server() -> None:
    assert words.space(said("statfs-both.txt")) == {
        "total_bytes": 293379883008,
        "available_bytes": 237649502208,
    }
    with pytest.raises(UnexpectedOutput, match=r"^pvfs2-statfs"):
        words.space("PVFS_isys_fs_add call: Protocol not available\n")


def test_a_server_says_its_version_and_that_it_is_ready() -> None:
    assert words.version(said("server.log")) == "2.10.0-orangefs-DEVEL-2026-11-21-104520"
    assert words.READY in said("server.log")
    assert words.version("") is None


def test_options_are_read_as_people_write_them() -> None:
    options = orangefs(**{"stripe": "1 MiB", "roles": "both", "attribute_cache": False})
    assert (options.stripe_bytes, options.roles, options.attribute_cache) == (1024**2, "both", False)
    assert OrangeFS().stripe_bytes == 64 * 1024


@pytest.mark.parametrize(
    "wrong", [{"stripe": 65536}, {"stripe": "0 B"}, {"roles": "metadata"}, {"distribution": "varstrip_dist"}]
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        orangefs(**wrong)


@pytest.mark.parametrize(
    ("options", "said_of_it"),
    [
        ({}, "no host to store data on; use a testbed with storage hosts"),
        (
            {"direct": False},
            'direct = false can\'t be with client = "fuse"; remove it: pvfs2fuse always mounts with '
            "direct_io",
        ),
        ({"client": "kernel", "direct": True}, 'direct = true can\'t be with client = "kernel"'),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_started(
    options: dict[str, object], said_of_it: str
) -> None:
    with pytest.raises(CampaignError, match=re.escape(said_of_it)), orangefs(**options).mount(Hosts(())):
        pass


class OneKernel(ScriptedHost):
    def read(self, path: Path) -> bytes:
        return b"6d1c"


def test_clients_that_share_a_kernel_are_refused_a_kernel_client_before_anything_is_touched() -> None:
    hosts = [OneKernel(name) for name in ("storage-1", "client-1", "client-2")]
    with (
        pytest.raises(MachineError, match="clients that share one kernel"),
        orangefs(client="kernel").mount(Hosts((*hosts,))),
    ):
        pass
    assert [host.ran for host in hosts] == [[], [], []]


def test_a_program_that_is_missing_is_named_with_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sbin").mkdir()
    (tmp_path / "sbin" / "pvfs2-server").touch(mode=0o755)
    monkeypatch.setenv(OrangeFS.variable, str(tmp_path))
    checks = {check.name: check for check in OrangeFS().checks()}
    assert checks["pvfs2-server"].ok
    assert checks["pvfs2-server"].detail == str(tmp_path / "sbin" / "pvfs2-server")
    assert not checks["pvfs2fuse"].ok
    assert checks["pvfs2fuse"].detail == f"not in {tmp_path / 'bin'} or {tmp_path / 'sbin'}"
    assert "set PERJOULE_ORANGEFS_PREFIX" in checks["pvfs2fuse"].fix


def test_without_a_prefix_programs_are_looked_for_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pvfs2-statfs").touch(mode=0o755)
    monkeypatch.delenv(OrangeFS.variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = {check.name: check for check in OrangeFS().checks()}
    assert (checks["pvfs2-statfs"].ok, checks["pvfs2-statfs"].detail) == (
        True,
        str(tmp_path / "pvfs2-statfs"),
    )
    assert "pvfs2-client-core" in {check.name for check in OrangeFS(client="kernel").checks()}


def test_hosts_are_queried_for_the_kernels_module_because_its_device_comes_with_its_daemon() -> None:
    (found,) = [
        check for check in OrangeFS(client="kernel").checks() if check.name == "OrangeFS in the kernel"
    ]
    assert (found.look, found.fix) == ("path /sys/module/orangefs", "modprobe orangefs")
