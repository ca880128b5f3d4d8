"""A folder that is there already, on virtual hosts, which share one file tree."""

import os
from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Testbed
from perjoule.model.errors import MachineError

pytestmark = pytest.mark.live


def test_clients_of_one_file_system_share_a_folder_that_is_removed_at_the_end(tmp_path: Path) -> None:
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 1})
    directory = drivers.build("filesystems", "directory", {"path": str(tmp_path)})
    assert isinstance(testbed, Testbed)
    assert isinstance(directory, FileSystem)
    with testbed.hold(2) as hosts:
        with directory.mount(hosts) as mounted:
            folders = [mounted.directories[client.name] for client in hosts.clients]
            hosts.clients[0].run(["touch", folders[0] / "file"], timeout_s=10)
            assert hosts.clients[1].run(["ls", folders[1]], timeout_s=10).stdout == "file\n"
        assert list(tmp_path.iterdir()) == []


def test_root_writes_nothing_where_another_user_could_put_something_else(tmp_path: Path) -> None:
    testbed = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, "servers": 1})
    place = tmp_path / "theirs" / "place"
    place.mkdir(parents=True)
    directory = drivers.build("filesystems", "directory", {"path": str(place)})
    assert isinstance(testbed, Testbed)
    assert isinstance(directory, FileSystem)
    with testbed.hold(1) as hosts:
        for folder in (place, place.parent):
            os.chown(folder, 65534, 65534)
            with pytest.raises(MachineError, match=rf"{folder} belongs to another user \(uid 65534\)"):
                directory.mount(hosts).__enter__()
            os.chown(folder, 0, 0)
        assert list(place.iterdir()) == []
        with directory.mount(hosts) as mounted:
            mounted.alive()
