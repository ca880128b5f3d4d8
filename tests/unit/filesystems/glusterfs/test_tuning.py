"""What a campaign may set of a volume: what tunes, with a value of its kind."""

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.filesystems.glusterfs import GlusterFS

VOLUME = {
    "performance.io-cache": "on",
    "performance.cache-size": "256MB",
    "performance.write-behind-window-size": "16MB",
    "client.event-threads": "4",
    "features.shard": "on",
    "features.shard-block-size": "64MB",
    "cluster.heal-timeout": "60",
    "cluster.min-free-disk": "5%",
    "disperse.cpu-extensions": "avx",
    "network.remote-dio": "enable",
    "storage.linux-aio": "on",
}
HOOKS_AND_PATHS = {
    "group": "../../../../tmp/x",
    "user.cifs": "on",
    "user.smb": "on",
    "nfs.disable": "off",
    "nfs.export-dir": "/etc",
    "nfs.mount-rmtab": "/etc/passwd",
    "ganesha.enable": "on",
    "features.uss": "on",
    "features.trash-dir": "/x",
    "features.snapshot-directory": "x",
    "changelog.changelog-dir": "/etc",
    "changelog.capture-del-path": "on",
    "server.statedump-path": "/etc",
    "debug.log-file": "/etc/passwd",
    "diagnostics.brick-log-format": "%n",
    "diagnostics.stats-dump-interval": "1",
    "auth.allow": "*",
    "auth.ssl-allow": "*",
    "server.ssl": "on",
    "client.bind-insecure": "on",
    "storage.owner-uid": "0",
    "cluster.extra-hash-regex": "(a+)+$",
    "cluster.enable-shared-storage": "enable",
    "config.transport": "rdma",
    "io-cache": "on",  # which glusterd completes
    "performance.IO-cache": "on",
    "performance.io-cache\n": "on",
    "help": "1",
    "force": "on",
    "--mode=script": "on",
    "": "on",
}


def test_a_volume_is_tuned() -> None:
    assert drivers.build("filesystems", "glusterfs", {"volume": VOLUME}, to_run=True) == GlusterFS(
        volume=VOLUME
    )


@pytest.mark.parametrize("name", HOOKS_AND_PATHS)
def test_an_option_of_a_volume_that_does_more_than_tune_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is not an option of a volume that only tunes"):
        drivers.build("filesystems", "glusterfs", {"volume": {name: HOOKS_AND_PATHS[name]}}, to_run=True)


@pytest.mark.parametrize("value", ["/etc/passwd", "on off", "", "on\n", "force", "-1", "4;x"])
def test_a_value_of_a_volume_is_of_its_kind(value: str) -> None:
    for name in ("performance.io-cache", "client.event-threads", "storage.batch-fsync-mode"):
        with pytest.raises(ValidationError, match="is not permitted"):
            drivers.build("filesystems", "glusterfs", {"volume": {name: value}}, to_run=True)
