"""Which FUSE connections are a run's: read from what the kernel says of processes and their mounts."""

from pathlib import Path

import pytest

from perjoule.testbeds.virtual import fuse

RUN = Path("/var/tmp/perjoule/pj-00000001")
MOUNTS = r"""
568 27 0:70 / /var/tmp/perjoule/pj-00000001/client-1/mnt rw,nosuid shared:5 - fuse.glusterfs storage-1:/v rw,user_id=0
569 27 0:71 / /home/a\040b\134c/\303\244 rw - fuse sshfs rw
570 27 0:72 / /sys/fs/fuse/connections rw - fusectl fusectl rw
571 27 8:1 /fuse /mnt - ext4 /dev/sda1 rw
572 27 8:17 / /usb rw - fuseblk /dev/sdb1 rw
""".strip()


class Processes:
    """A /proc of our own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pid: str, space: str, *mounts: tuple[int, str], serves: int | None = None) -> None:
        text = "".join(f"1 2 0:{number} / {place} rw - fuse daemon rw\n" for number, place in mounts)
        for folder in (self.root / pid, self.root / pid / "task" / pid):
            (folder / "ns").mkdir(parents=True)
            (folder / "ns" / "mnt").symlink_to(f"mnt:[{space}]")
            (folder / "mountinfo").write_text(text)
            (folder / "fdinfo").mkdir()
            (folder / "fd").mkdir()
            (folder / "fd" / "4").symlink_to("/dev/fuse" if serves else "/dev/null")
            (folder / "fdinfo" / "4").write_text(f"pos:\t0\nmnt_id:\t24\nfuse_connection:\t{serves}\n")


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(fuse, "_PROC", tmp_path)
    here = Processes(tmp_path)
    here.add("1", "machine", (40, "/home/user/remote"))
    (tmp_path / "self").symlink_to("1")
    return here


def test_a_connection_is_numbered_by_its_device_and_its_path_is_unescaped() -> None:
    assert list(fuse.parse(MOUNTS)) == [
        (70, RUN / "client-1/mnt"),
        (71, Path("/home/a b\\c/ä")),
        ((8 << 20) + 17, Path("/usb")),
    ]


def test_a_runs_connections_are_those_below_its_folder_and_those_that_its_processes_serve(
    processes: Processes,
) -> None:
    processes.add("100", "host", (40, "/home/user/remote"), (50, f"{RUN}/client-1/mnt"), (51, "/elsewhere"))
    processes.add("101", "host", serves=52)  # unmounted lazily
    processes.add("102", "host")
    assert fuse.connections(RUN, [100, 101, 102, 4194305]) == {50, 52}
    assert fuse.connections(RUN.with_name("pj-00000002"), [100, 102]) == set()


def test_a_connection_that_another_process_sees_is_not_the_runs(processes: Processes) -> None:
    """A user's own mount that lies below the run's folder, or whose daemon a process of the run has
    become.
    """
    processes.add("100", "host", (40, f"{RUN}/client-1/software"), (41, f"{RUN}/client-1/mnt"), serves=42)
    processes.add("200", "container", (41, "/data"), (42, "/other"))
    assert fuse.connections(RUN, [100]) == set()


def test_a_process_that_has_not_left_the_machines_mounts_makes_none_of_them_the_runs(
    processes: Processes,
) -> None:
    processes.add("100", "machine", (40, f"{RUN}/remote"))
    assert fuse.connections(RUN, [100]) == set()
