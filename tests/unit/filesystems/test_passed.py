"""What campaigns pass on to GlusterFS, NFS and Slurm: what tunes passes, and nothing else does."""

import pytest
from pydantic import ValidationError

from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.nfs import Nfs
from perjoule.testbeds.slurm import Slurm

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
    assert GlusterFS(volume=VOLUME).volume == VOLUME


@pytest.mark.parametrize("name", HOOKS_AND_PATHS)
def test_an_option_of_a_volume_that_does_more_than_tune_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is not an option of a volume that only tunes"):
        GlusterFS(volume={name: HOOKS_AND_PATHS[name]})


@pytest.mark.parametrize("value", ["/etc/passwd", "on off", "", "on\n", "force", "-1", "4;x"])
def test_a_value_of_a_volume_is_of_its_kind(value: str) -> None:
    for name in ("performance.io-cache", "client.event-threads", "storage.batch-fsync-mode"):
        with pytest.raises(ValidationError, match="is not permitted"):
            GlusterFS(volume={name: value})


def test_a_mount_of_nfs_is_tuned() -> None:
    options = ("hard,nconnect=16", "actimeo=60", "lookupcache=none", "rdirplus=force", "timeo=600,retrans=2", "nocto", "softerr")
    assert Nfs(options=options).options == options


@pytest.mark.parametrize(
    "word",
    [
        *("bind", "remount", "loop", "X-mount.subdir=a", "x-systemd.mount-timeout=1", "helper=x", "addr=10.0.0.1", "port=1"),
        *("clientaddr=10.0.0.1", "mountaddr=10.0.0.1", "mounthost=evil", "proto=udp", "sec=krb5", "sec=sys:krb5", "fsc=/etc"),
        *("context=system_u:object_r:x", "xprtsec=tls", "migration", "bg", "hard,bind", "nconnect=4,,", "nconnect=4 -o bind"),
        *("user", "suid", "dev", "exec", "nconnect=/etc", "hard\n", "ro", "noresvport=1"),
    ],
)
def test_a_mount_option_of_nfs_that_does_more_than_tune_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted as a mount option of NFS"):
        Nfs(options=(word,))


@pytest.mark.parametrize(("word", "key"), [("rsize=4096", "transfer"), ("wsize=4096", "transfer"), ("vers=3", "version")])
def test_the_campaigns_own_key_is_named(word: str, key: str) -> None:
    with pytest.raises(ValidationError, match=f"set {key} instead"):
        Nfs(options=(word,))


def test_a_job_is_asked_for() -> None:
    words = (
        "--qos=high",
        "--gres=gpu:a100:2",
        "--mem=64G",
        "--exclude=n[001-004],n7",
        "--nice",
        "--switches=1@60",
        "--contiguous",
    )
    assert Slurm(arguments=words).arguments == words


@pytest.mark.parametrize(
    "word",
    [
        *("--uid=0", "--gid=0", "--chdir=/etc", "-D", "--bb=#x", "--bbf=/etc/x", "--bbf", "--get-user-env", "--reboot"),
        *("--container=/x", "--kill-command=x", "--no-shell", "--job-name=x", "-J", "--wait-all-nodes=1", "bash", "--", "-c"),
        *("sh -c id", "--qos=high --uid=0", "--qos=/etc/passwd", "--qos=high\n", "--qos", "--QOS=high", "--comment=$(id)", ""),
        *("--cpu-freq=`id`", "--exclude=/etc/nodes", "--mail-user=a@b", "--profile=all", "--acctg-freq=1"),
    ],
)
def test_an_argument_of_salloc_that_does_more_than_ask_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted as an argument of salloc"):
        Slurm(arguments=(word,))


@pytest.mark.parametrize(("word", "key"), [("-N", "nodes"), ("--partition=x", "partition"), ("--nodelist=n1", "hosts")])
def test_the_key_of_the_campaign_is_named_for_salloc(word: str, key: str) -> None:
    with pytest.raises(ValidationError, match=f"(set|name nodes in) {key} instead"):
        Slurm(arguments=(word,))
