"""Perjoule on a host where its user may only start the helper: as where it logs in as root, or a clear
refusal.
"""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from helped import NAME, NEEDS_SUDO, RUN, USER, Installed
from perjoule.model import Disk
from perjoule.model.errors import LoginRefused, MachineError, WorkloadError
from perjoule.testbeds.cluster import judge
from perjoule.testbeds.cluster.findings import readiness
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.cluster.scripts import HELPER

pytestmark = NEEDS_SUDO
WORDS: dict[str, Any] = {"kind": "ext4", "size": "16 MiB"}
DISK = Disk(**WORDS)


class There(Ssh):
    """What sshd would run for the user, without sshd."""

    pid: int = 0

    def command(
        self, argv: Sequence[str], *, socket: str = "", master: bool = False, verb: Sequence[str] = ()
    ) -> list[str]:
        *_, words = super().command(argv, socket=socket, master=master, verb=verb)
        lead = [
            "nsenter",
            "-t",
            self.user,
            "-m",
            "--",
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--init-groups",
        ]
        return [*lead, "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", words]


def login(host: Installed, *, sudo: bool = True) -> There:
    return There(NAME, "there", user=str(host.pid), sudo=sudo)


@contextlib.contextmanager
def held(host: Installed, *, sudo: bool = True, work: Path | None = None) -> Generator[SshHost]:
    keeper = Keeper(login(host, sudo=sudo), str(work or host.work))
    try:
        keeper.keep(RUN)
        folder = Path(f"{work or host.work}/cluster/{RUN}-{NAME}")
        yield SshHost(NAME, "storage", "127.0.0.1", None, folder, keeper, None)
    finally:
        assert keeper.close()


def test_a_disk_files_and_programs_are_made_by_the_helper_alone(host: Installed, tmp_path: Path) -> None:
    with held(host) as there:
        there.put("content\n", there.directory / "deep/er/x.conf", mode=0o600)
        assert there.read(there.directory / "deep/er/x.conf") == b"content\n"
        place = there.disk("storage", DISK)
        options = there.run(
            ["findmnt", "--raw", "--noheadings", "--output", "OPTIONS", place], timeout_s=20
        ).stdout
        assert {"nosuid", "nodev"} <= {*options.strip().split(",")}
        there.run(["dd", f"of={place}/x", "conv=fsync", "status=none"], text="data", timeout_s=20)
        program = there.spawn(["cat", "--", f"{place}/x"], log=tmp_path / "log")
        assert program.wait(timeout_s=20) == 0
        assert program.output() == "data"
        (tmp_path / "sent").write_text("to the host")
        with there.room(tmp_path, "sent") as room:
            assert there.read(room / "sent") == b"to the host"
        there.drop_caches()
        with pytest.raises(WorkloadError, match="/etc/secret as root"):
            there.read(Path("/etc/secret"))
    assert not host.work.joinpath("cluster").exists()


def test_a_program_that_waits_for_input_gets_it_after_its_words(host: Installed, tmp_path: Path) -> None:
    with held(host) as there:
        program = there.spawn(
            ["dd", f"of={there.directory}/x", "status=none"], log=tmp_path / "log", text="line\nmore\0end"
        )
        assert program.wait(timeout_s=20) == 0, program.output()
        assert there.read(there.directory / "x") == b"line\nmore\0end"


def test_a_helper_of_another_version_is_named_with_what_to_do(host: Installed) -> None:
    text = judge.text()
    host.write(HELPER, text.replace(f"version={judge.version()}", "version=0.0.1-another"), 0o755)
    try:
        with pytest.raises(MachineError) as caught:
            Keeper(login(host), str(host.work))
        assert "its /usr/local/sbin/perjoule-host is version 0.0.1-another; this perjoule needs" in str(
            caught.value
        )
        assert "install what `perjoule doctor --helper` prints now" in str(caught.value)
    finally:
        host.write(HELPER, text, 0o755)


def test_sudo_that_wants_a_password_is_a_sentence_at_once(host: Installed) -> None:
    host.root("mv", "/etc/sudoers.d/perjoule", "/etc/perjoule.sudoers")
    try:
        with pytest.raises(LoginRefused, match="sudo"):
            Keeper(login(host), str(host.work))
    finally:
        host.root("mv", "/etc/perjoule.sudoers", "/etc/sudoers.d/perjoule")


def test_what_the_helper_refuses_is_a_sentence_with_the_host(host: Installed) -> None:
    with pytest.raises(
        MachineError,
        match=rf"{NAME} \(there\): /tmp/elsewhere is not a work folder that /etc/perjoule/permitted names",
    ):
        Keeper(login(host), "/tmp/elsewhere")


def test_without_a_helper_sudo_runs_the_keeper_as_before(host: Installed) -> None:
    host.root("mv", HELPER, f"{HELPER}.away")
    host.write("/etc/sudoers.d/all", f"{USER} ALL = (root) NOPASSWD: ALL\n", 0o440)
    try:
        with held(host) as there:
            assert there.read(Path("/etc/secret")) == b"the secret\n"
    finally:
        host.root("rm", "/etc/sudoers.d/all")
        host.root("mv", f"{HELPER}.away", HELPER)


def test_without_root_nothing_is_borrowed_but_to_drop_caches(
    host: Installed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    work = host.folder / "theirs"
    work.mkdir()
    host.root("chown", USER, work)
    with held(host, sudo=False, work=work) as there:
        assert there.run(["id", "-un"], timeout_s=20).stdout == f"{USER}\n"
        there.drop_caches()
        assert there.counters().cpu_s
        check = readiness(NAME, there._probe)
        assert check.detail.endswith("not root: no disks made")
    host.root("mv", HELPER, f"{HELPER}.away")
    try:
        with held(host, sudo=False, work=work) as there:
            with pytest.raises(
                WorkloadError,
                match=r"can't drop the page cache \(only root can; install /usr/local/sbin/perjoule-host",
            ):
                there.drop_caches()
            assert "page caches not dropped" in readiness(NAME, there._probe).detail
    finally:
        host.root("mv", f"{HELPER}.away", HELPER)
    host.root("rm", "-rf", work)
