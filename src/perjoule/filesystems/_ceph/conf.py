"""The ceph.conf of a host: the options that make a small cluster start in seconds and stay within its folder."""

from pathlib import Path

from perjoule.filesystems._ceph.layout import MONITOR_PORT, Layout


def configuration(layout: Layout, folder: Path, address: str, *, osd_bytes: int, stores: Path | None = None) -> str:
    """Write the ceph.conf of one host: its daemons' files lie in `folder` (OSDs: in `stores`), and they bind `address`.

    What `conf` of a campaign has replaces the line of the same name.

    The intervals are short so that a new cluster gets healthy in seconds; the caches are small because many daemons share one
    machine. https://docs.ceph.com/en/pacific/rados/configuration/
    """
    options = layout.options
    text = f"""[global]
fsid = {layout.fsid}
mon_host = v2:{layout.monitor}:{MONITOR_PORT}/0
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = {folder}/keyring
ms_bind_msgr1 = false
ms_bind_retry_count = 1
ms_bind_retry_delay = 1
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
debug_ms = 0/0
mon_cluster_log_to_file = false
mon_client_hunt_interval = 0.5
# a cluster this small would never be quiet
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_warn_on_pool_pg_num_not_power_of_two = false
mon_warn_on_insecure_global_id_reclaim = false
mon_warn_on_insecure_global_id_reclaim_allowed = false
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_pg_warn_min_per_osd = 0
mon_max_pg_per_osd = 1000
# with fewer OSDs than this a cluster is never healthy; 3 when left out
osd_pool_default_size = {min(options.copies_count, len(layout.osds))}
osd_pool_default_min_size = {options.acknowledged_count}
osd_pool_default_pg_autoscale_mode = off
# bring-up in seconds
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
mon_tick_interval = 1
mgr_tick_period = 1
mgr_stats_period = 1
mon_mgr_beacon_grace = 60
mds_beacon_interval = 1
mds_beacon_grace = 60
[mon]
mon_data = {folder}/mon
[mgr]
mgr_data = {folder}/mgr
public_addr = {address}
# the manager's modules cost 270 MiB and seconds, and nothing here needs them
mgr_initial_modules =
mgr_module_path = {folder}/modules
[mds]
mds_data = {folder}/mds
public_addr = {address}
mds_cache_memory_limit = 64M
[osd]
osd_data = {stores or folder}/osd.$id
public_addr = {address}
osd_objectstore = {options.store}
memstore_device_bytes = {osd_bytes}
bluestore_block_size = {osd_bytes}
bdev_aio_poll_ms = 50
bluestore_cache_autotune = false
bluestore_cache_size = 64M
osd_memory_target = 896M
osd_op_queue = wpq
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 1
osd_class_update_on_start = false
osd_crush_update_on_start = false
osd_max_pg_log_entries = 500
osd_min_pg_log_entries = 100
osd_heartbeat_grace = 60
[client]
# a client's process may run many times, and side by side
admin_socket = {folder}/run/$name.$pid.asok
client_oc_size = {layout.client_cache_bytes}
client_oc_max_dirty = {layout.client_cache_bytes // 2}
client_oc_target_dirty = {layout.client_cache_bytes // 25}
"""
    head, *kept = [line for line in text.splitlines() if line.partition(" = ")[0] not in options.conf]
    return "\n".join([head, *(f"{name} = {value}" for name, value in options.conf.items()), *kept]) + "\n"
