"""A folder that is there already, on virtual hosts, which share one file tree."""

from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Testbed

pytestmark = pytest.mark.live


def test_clients_of_one_folder_work_in_folders_of_their_own(tmp_path: Path) -> None:
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 1})
    directory = drivers.build("filesystems", "directory", {"path": str(tmp_path)})
    assert isinstance(testbed, Testbed)
    assert isinstance(directory, FileSystem)
    with testbed.hold(2) as hosts:
        with directory.mount(hosts) as mounted:
            folders = [mounted.directories[client.name] for client in hosts.clients]
            assert len(set(folders)) == 2
            for client, folder in zip(hosts.clients, folders, strict=True):
                client.run(["dd", f"of={folder / 'file'}", "status=none"], text=client.name, timeout_s=10)
            assert [(folder / "file").read_text() for folder in folders] == ["client-1", "client-2"]
        assert list(tmp_path.iterdir()) == []
