"""NFS: what the server gets and says, what clients mount with, and hosts that can't mount it."""

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Hosts
from perjoule.filesystems import nfs
from perjoule.filesystems.nfs import Nfs
from perjoule.machine import mounts
from perjoule.model.errors import MachineError
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written

SAID = TRANSCRIPTS / "nfs"
EXPORT, RECOVERY = Path("/srv/pj/export"), Path("/srv/pj/recovery")


def test_only_the_clients_get_the_folder_and_under_the_same_path_in_every_version() -> None:
    text = nfs.ganesha_text(EXPORT, RECOVERY, ["10.99.0.7", "10.99.0.8"], "4.2")
    assert "Access_Type = None;" in text
    assert "CLIENT { Clients = 10.99.0.7, 10.99.0.8; Access_Type = RW; }" in text
    assert f"Path = {EXPORT};\n    Pseudo = {EXPORT};" in text
    assert f"RecoveryRoot = {RECOVERY};" in text
    assert "PrivilegedPort = true;" in text


@pytest.mark.parametrize(("version", "minor"), [("4.0", "0"), ("4.1", "1"), ("4.2", "2")])
def test_the_server_speaks_the_requested_version_and_no_other(version: nfs.Version, minor: str) -> None:
    text = nfs.ganesha_text(EXPORT, RECOVERY, ["10.99.0.7"], version)
    assert text.count("Protocols = 4;") == 2
    assert f"Minor_Versions = {minor};" in text


def test_version_3_has_no_minor_version_and_needs_no_lock_manager() -> None:
    text = nfs.ganesha_text(EXPORT, RECOVERY, ["10.99.0.7"], "3")
    assert text.count("Protocols = 3;") == 2
    assert "Minor_Versions" not in text
    assert "Enable_NLM = false;" in text


def test_clients_find_every_port_without_asking_a_portmapper() -> None:
    assert nfs.mount_options("4.2", 1048576, ["hard"]) == (
        "vers=4.2,proto=tcp,port=2049,rsize=1048576,wsize=1048576,noatime,hard"
    )
    assert nfs.mount_options("3", 65536, []).endswith("noatime,nolock,mountport=20048,mountproto=tcp")


def test_the_release_is_read() -> None:
    assert nfs.release((SAID / "ganesha-v.txt").read_text()) == "4.3"
    assert nfs.release((SAID / "ganesha-v-6.txt").read_text()) == "6.5"


def test_a_kernel_without_a_client_is_reported_with_what_fixes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "in_kernel", lambda kind: False)
    (client,) = [check for check in Nfs().checks() if check.name == "NFS in the kernel"]
    assert not client.ok
    assert client.needed
    assert "no NFS client" in client.detail
    assert "CONFIG_NFS_FS" in client.fix


class Bare(ScriptedHost):
    """A host whose kernel has no NFS client, and no module of it either."""

    def read(self, path: Path) -> bytes:
        return b"nodev\tproc\n\txfs\n"

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        return 1, ""


def test_clients_that_can_not_mount_are_refused_before_anything_is_touched() -> None:
    server, client = Bare("storage-1"), Bare("client-1")
    with (
        pytest.raises(MachineError, match=r"^client-1: the kernel has no NFS client"),
        Nfs().mount(Hosts((server, client))),
    ):
        pass
    # nothing is loaded to find out
    assert (server.ran, client.ran) == ([], [["modprobe", "--dry-run", "--quiet", "nfs"]])


def test_version_3_alone_needs_rpcbind() -> None:
    assert "rpcbind" in {check.name for check in Nfs(version="3").checks()}
    assert "rpcbind" not in {check.name for check in Nfs(version="4.1").checks()}


@pytest.mark.parametrize("wrong", [{"version": "2"}, {"version": 3}, {"server": "nfsd"}, {"transfer": 4096}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        as_written(Nfs, **wrong)


def test_a_client_in_user_space_needs_nothing_of_the_kernel_but_fuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "in_kernel", lambda kind: False)
    checks = {check.name: check for check in Nfs(client="fuse").checks()}
    assert {"FUSE", "libnfs", "mfusepy", "rpcbind"} <= checks.keys()
    assert not {"NFS in the kernel", "mount.nfs"} & checks.keys()
    assert checks["mfusepy"].look == f"library mfusepy {sys.executable}"


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (
            {"version": "4.2"},
            'client "fuse" speaks version 3, not 4.2; remove version, or set client = "kernel"',
        ),
        ({"options": ["hard"]}, "has no mount options; remove options"),
        ({"transfer": "64 KiB"}, "has transfers of its own; remove transfer"),
    ],
)
def test_what_a_client_in_user_space_can_not_do_is_refused_with_what_to_do(
    wrong: dict[str, object], advice: str
) -> None:
    with pytest.raises(ValidationError, match=advice):
        as_written(Nfs, client="fuse", **wrong)


def test_the_protocol_is_the_newest_that_the_client_speaks() -> None:
    assert (Nfs().spoken, Nfs(client="fuse").spoken, Nfs(version="4.0").spoken) == ("4.2", "3", "4.0")


def test_a_client_in_user_space_is_a_program_that_is_put_on_its_host() -> None:
    class Mounting(ScriptedHost):
        def starts(self, words: Sequence[str], log: Path) -> ScriptedProcess:
            self.ran.append(list(words))
            return ScriptedProcess(None)

    server, client = ScriptedHost("storage-1"), Mounting()
    deployment = Nfs(client="fuse").deployment(Hosts((server, client)))
    deployment.require_clients()
    assert deployment.attach(client, Path("/mnt")) is not None
    program = client.directory / "nfs" / "mount.py"
    assert client.ran == [
        [sys.executable, "-P", str(program), "10.0.0.1", "/of/storage-1/nfs/export", "/mnt"]
    ]
    assert "mfusepy" in str(client.files[program])


def test_the_libraries_that_are_looked_for_are_those_that_the_program_loads() -> None:
    """It is not imported, because it loads libfuse."""
    text = Path(nfs.__file__).with_name("mount.py").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("LIBRARIES = ")]
    assert ast.literal_eval(line.partition("=")[2].partition("#")[0].strip()) == nfs.LIBRARIES


def test_a_mount_of_nfs_is_tuned() -> None:
    options = (
        "hard,nconnect=16",
        "actimeo=60",
        "lookupcache=none",
        "rdirplus=force",
        "timeo=600,retrans=2",
        "nocto",
        "softerr",
    )
    assert drivers.build("filesystems", "nfs", {"options": [*options]}, to_run=True) == Nfs(options=options)


@pytest.mark.parametrize(
    "word",
    [
        *(
            "bind",
            "remount",
            "loop",
            "X-mount.subdir=a",
            "x-systemd.mount-timeout=1",
            "helper=x",
            "addr=10.0.0.1",
            "port=1",
        ),
        *(
            "clientaddr=10.0.0.1",
            "mountaddr=10.0.0.1",
            "mounthost=evil",
            "proto=udp",
            "sec=krb5",
            "sec=sys:krb5",
            "fsc=/etc",
        ),
        *(
            "context=system_u:object_r:x",
            "xprtsec=tls",
            "migration",
            "bg",
            "hard,bind",
            "nconnect=4,,",
            "nconnect=4 -o bind",
        ),
        *("user", "suid", "dev", "exec", "nconnect=/etc", "hard\n", "ro", "noresvport"),
    ],
)
def test_a_mount_option_of_nfs_that_does_more_than_tune_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted as a mount option of NFS"):
        drivers.build("filesystems", "nfs", {"options": [word]}, to_run=True)


@pytest.mark.parametrize(
    ("word", "key"), [("rsize=4096", "transfer"), ("wsize=4096", "transfer"), ("vers=3", "version")]
)
def test_the_campaigns_own_key_is_named(word: str, key: str) -> None:
    with pytest.raises(ValidationError, match=f"set {key} instead"):
        drivers.build("filesystems", "nfs", {"options": [word]}, to_run=True)
