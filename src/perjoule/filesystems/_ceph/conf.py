"""The ceph.conf of a host: what the cluster needs everywhere, and what it has other than Ceph's own."""

from collections.abc import Iterable
from pathlib import Path

from perjoule.filesystems._ceph.layout import MONITOR_PORT, CephLayout
from perjoule.filesystems._settings import Reason, Setting
from perjoule.model.units import MIB

EMULATED_CACHE_BYTES = 32 * MIB  # of each ceph-fuse, on emulated hosts, if the campaign has none
# By section. On emulated hosts intervals are short, so that a new cluster is healthy in seconds; time limits
# are long, because daemons that share few cores are late; caches and logs are small.
_CHANGED: dict[Reason, dict[str, dict[str, str]]] = {
    "emulation": {
        "global": {
            "ms_bind_retry_count": "1",
            "ms_bind_retry_delay": "1",
            "mon_client_hunt_interval": "0.5",
            "paxos_propose_interval": "0.05",
            "paxos_min_wait": "0.01",
            "mon_tick_interval": "1",
            "mon_mgr_beacon_grace": "60",
            "mds_beacon_interval": "1",
            "mds_beacon_grace": "60",
        },
        "mds": {"mds_cache_memory_limit": "64M"},
        "osd": {
            "bdev_aio_poll_ms": "50",
            "bluestore_cache_autotune": "false",
            "bluestore_cache_size": "64M",
            "osd_memory_target": "896M",
            "osd_op_queue": "wpq",
            "osd_op_num_shards": "2",
            "osd_op_num_threads_per_shard": "1",
            "osd_max_pg_log_entries": "500",
            "osd_min_pg_log_entries": "100",
            "osd_heartbeat_grace": "60",
        },
        "client": {"rgw_thread_pool_size": "64"},
    },
    # A rebuild has ended when the manager says so, which it does every 5 s otherwise.
    "observation": {
        "global": {"mgr_tick_period": "1", "mgr_stats_period": "1"},
        # three lines of log for each request otherwise
        "client": {"debug_rgw": "0/5"},
    },
    # Its modules move placement groups between OSDs and make a pool of their own, in whichever window of
    # measurement.
    "comparability": {
        "mgr": {"mgr_initial_modules": ""},
        # what is left of removed objects goes at once, as in other stores, not hours later in another window
        "client": {"rgw_gc_obj_min_wait": "1", "rgw_gc_processor_period": "5"},
    },
}


def settings(layout: CephLayout) -> tuple[Setting, ...]:
    """Return what the cluster has other than Ceph's own, but for what `conf` of the campaign has itself."""
    changed = [
        Setting(name, value, reason, section)
        for reason, sections in _CHANGED.items()
        for section, values in sections.items()
        for name, value in values.items()
        if (layout.mds or not name.startswith("mds_")) and (layout.gateways or "rgw" not in name)
    ]
    if layout.mds and layout.client_cache_bytes is None:
        changed += [Setting(*item, "emulation", "client") for item in _cache(EMULATED_CACHE_BYTES).items()]
    return tuple(setting for setting in changed if setting.name not in layout.options.conf)


def _cache(size_bytes: int) -> dict[str, str]:
    """Divide the object cache of a client as Ceph's own of 200 MiB is."""
    shares = {"client_oc_size": 1, "client_oc_max_dirty": 2, "client_oc_target_dirty": 25}
    return {name: str(size_bytes // share) for name, share in shares.items()}


def configuration(
    layout: CephLayout,
    folder: Path,
    address: str,
    *,
    cluster_address: str = "",
    changed: Iterable[Setting],
    osd_bytes: int,
    stores: Path | None = None,
) -> str:
    """Write the ceph.conf of one host: its daemons' files lie in `folder` (OSDs: in `stores`), and they bind
    `address`; OSDs copy over `cluster_address`, if there is one.

    What `conf` of a campaign has replaces the line of the same name.
    https://docs.ceph.com/en/pacific/rados/configuration/

    Args:
        changed: those of `settings` that are in force.
    """
    options = layout.options
    copies_go = f"\ncluster_addr = {cluster_address}" if cluster_address else ""
    lines: dict[str, str] = dict.fromkeys(("global", "mgr", "mds", "osd", "client"), "")
    # others are of an image or a mount
    for setting in (changed_setting for changed_setting in changed if changed_setting.place):
        lines[setting.place] += f"\n{setting.name} = {setting.value}".rstrip()
    if layout.client_cache_bytes is not None:
        lines["client"] += "".join(
            f"\n{name} = {value}" for name, value in _cache(layout.client_cache_bytes).items()
        )
    monitors = ",".join(f"v2:{monitor.address}:{MONITOR_PORT}/0" for monitor in layout.monitors)
    text = f"""[global]
fsid = {layout.fsid}
mon_host = {monitors}
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = {folder}/keyring
ms_bind_msgr1 = false
run_dir = {folder}/run
admin_socket = {folder}/run/$name.asok
pid_file =
crash_dir = {folder}/crash
# one log for each daemon, which is its standard error; what ends it is the last line, written before it ends, without a dump of
# recent events
log_file =
log_to_stderr = true
log_flush_on_exit = true
log_max_recent = 1
# warnings and errors; 4 lists all its settings in each log, which is most of the bytes of a results folder
debug_rocksdb = 3/3
mon_cluster_log_to_file = false
# a cluster this small would never be quiet, and has the placement groups of the campaign
mon_allow_pool_size_one = true
# for loads that make their pools and delete them
mon_allow_pool_delete = true
mon_warn_on_pool_no_redundancy = false
mon_warn_on_pool_pg_num_not_power_of_two = false
mon_warn_on_insecure_global_id_reclaim = false
mon_warn_on_insecure_global_id_reclaim_allowed = false
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_max_pg_per_osd = 1000
osd_pool_default_pg_autoscale_mode = off
# with fewer OSDs than this a cluster is never healthy; 3 when left out
osd_pool_default_size = {min(options.copies_count, len(layout.osds))}
osd_pool_default_min_size = {options.acknowledged_count}{lines["global"]}
[mon]
mon_data = {folder}/mon
[mgr]
mgr_data = {folder}/mgr
public_addr = {address}
mgr_module_path = {folder}/modules{lines["mgr"]}
[mds]
mds_data = {folder}/mds
public_addr = {address}{lines["mds"]}
[osd]
osd_data = {stores or folder}/osd.$id
public_addr = {address}{copies_go}
osd_objectstore = {options.store}
memstore_device_bytes = {osd_bytes}
bluestore_block_size = {osd_bytes}
# they are placed by the campaign's options
osd_class_update_on_start = false
osd_crush_update_on_start = false{lines["osd"]}
[client]
# a client's process may run many times, and side by side
admin_socket = {folder}/run/$name.$pid.asok{lines["client"]}
"""
    head, *lines_kept = [line for line in text.splitlines() if line.partition(" = ")[0] not in options.conf]
    return (
        "\n".join([head, *(f"{name} = {value}" for name, value in options.conf.items()), *lines_kept]) + "\n"
    )
