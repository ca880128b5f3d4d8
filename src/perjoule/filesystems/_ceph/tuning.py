"""The options of ceph.conf that a campaign may set: those that tune.
https://docs.ceph.com/en/pacific/rados/configuration/

They are named by families whose members are numbers, sizes or switches, and by a few names with a choice of
words. Neither a path nor an address, command, plugin or library is among them; `ceph-conf --show-config`
proves it in a live test. Ceph takes one name in several spellings ("osd op queue", "OSD-Op-Queue"), and a
campaign writes the one with underscores. No value contains `$`, which would begin a metavariable, or what
could begin another line or section.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from perjoule.model.permitted import Forms, each, permits, words

_NUMBER = r"-?[0-9]{1,18}(\.[0-9]{1,9})?([KMGT](i?B)?)?|true|false"
# A name is one of these whole, or begins with one and an underscore.
FAMILIES = {
    "osd_": "op_num op_pq op_thread op_threads op_history op_complaint recovery backfill scrub deep_scrub snap_trim mclock memory"
    " client_message client_op max_backfills max_pg_log min_pg_log max_scrubs max_write delete_sleep "
    "async_recovery heartbeat_grace heartbeat_interval pg_log numa requeue target_pg_log map_cache discard "
    "rocksdb enable_op_tracker max_push copyfrom_max",
    "bluestore_": "cache 2q_cache csum_min csum_max compression_min compression_max compression_required min_alloc max_alloc"
    " max_blob max_deferred prefer_deferred deferred_batch throttle extent_map clone_cow default_buffered "
    "onode ioring sync_submit avl_alloc hybrid_alloc gc max_defer rocksdb_cf",
    "bluefs_": "alloc_size buffered_io max_prefetch max_log min_log min_flush shared_alloc sync_write compact_log log_compact"
    " preextend_wal",
    "bdev_": "aio enable_discard async_discard ioring block_size",
    "rocksdb_": "cache_size cache_row cache_shard block_size bloom_bits partition_filters cache_index pin_l0 collect perf",
    "mds_": "cache_memory cache_trim cache_reservation cache_mid log_max log_events log_segment bal_split bal_merge bal_fragment"
    " bal_interval bal_max bal_min bal_need bal_sample max_purge max_caps max_completed max_retries "
    "max_snaps max_file max_xattr recall session_cache op_complaint op_history dir_prefetch dir_max "
    "dir_keys tick beacon early_reply enable_op_tracker numa_node decay_halflife",
    "client_": "oc cache_size cache_mid readahead caps max_inline dirsize force_lazyio use_random mount_timeout tick",
    "ms_": "async_op async_max_op async_reap tcp_nodelay tcp_rcvbuf tcp_prefetch tcp_read dispatch_throttle crc max_backoff"
    " max_accept initial_backoff connection_idle connection_ready time_events",
    "objecter_": "inflight completion timeout tick retry",
    "filer_": "max",
    "journaler_": "write prefetch prezero",
    "rbd_": "cache_size cache_max cache_target cache_block cache_writethrough readahead op_threads concurrent",
}
_STEMS = "|".join(family + stem for family, stems in FAMILIES.items() for stem in stems.split())
_IN_A_FAMILY = re.compile(rf"({_STEMS})(_[a-z0-9_]+)?", re.ASCII)
_COMPRESSIONS = ("snappy", "zlib", "lz4", "zstd")
_ROCKSDB = (
    "compression=k(NoCompression|SnappyCompression|LZ4Compression|ZSTD)"
    "|(max_write_buffer_number|min_write_buffer_number_to_merge|recycle_log_file_num|write_buffer_size"
    "|writable_file_max_buffer_size|compaction_readahead_size|max_background_(compactions|flushes|jobs)|max_total_wal_size"
    "|level0_(file_num_compaction|slowdown_writes|stop_writes)_trigger|max_bytes_for_level_(base|multiplier)"
    "|target_file_size_(base|multiplier)|num_levels|max_subcompactions|bytes_per_sync|wal_bytes_per_sync|ttl)=[0-9]{1,18}"
)
CHOICES: Forms = {
    "bluestore_csum_type": words("none", "crc32c", "crc32c_16", "crc32c_8", "xxhash32", "xxhash64"),
    "bluestore_compression_algorithm": words(*_COMPRESSIONS),
    "bluestore_compression_mode": words("none", "passive", "aggressive", "force"),
    **each("bluestore_allocator bluefs_allocator", words("bitmap", "stupid", "avl", "hybrid", "btree")),
    "bluestore_cache_type": words("2q", "lru"),
    "bluestore_rocksdb_options": f"=({_ROCKSDB})(,({_ROCKSDB}))*",
    "osd_op_queue": words("wpq", "mclock_scheduler"),
    "osd_op_queue_cut_off": words("low", "high"),
    "osd_mclock_profile": words("balanced", "high_client_ops", "high_recovery_ops", "custom"),
    **each(
        "ms_client_mode ms_cluster_mode ms_service_mode ms_mon_client_mode ms_mon_cluster_mode "
        "ms_mon_service_mode",
        words("crc", "secure", "crc secure", "secure crc"),
    ),
}
# The driver's own: who sets one twice would not get what the campaign says.
OURS = {
    "client_oc_size": "set client_cache instead",
    "client_oc": "set client_cache instead",
    "osd_pool_default_size": "set copies instead",
    "osd_pool_default_min_size": "set acknowledged instead",
    "osd_pool_default_pg_num": "set placement_groups instead",
    "osd_objectstore": "set store instead",
    "bluestore_block_size": "set osd_size instead",
}


def tunes(name: str) -> bool:
    """Return whether an option is one of a family, with a number, a size or a switch."""
    return name not in OURS and name not in CHOICES and _IN_A_FAMILY.fullmatch(name) is not None


def require_permitted(conf: Mapping[str, str]) -> None:
    """Check `conf` of a campaign. Raises ValueError with the first option or value that is not permitted."""
    for name, value in conf.items():
        written = re.sub("[ -]", "_", name.strip().lower())
        if name in OURS:
            raise ValueError(f'"{name}" is the driver\'s ({OURS[name]})')
        if name != written and (tunes(written) or written in CHOICES):
            raise ValueError(f'"{name}" has several spellings in Ceph (write "{written}")')
        if not tunes(name) and name not in CHOICES:
            near = get_close_matches(name, CHOICES, n=1)
            advice = (
                f'did you mean "{near[0]}"?'
                if near
                else "remove it; `perjoule docs permitted` lists what may be set"
            )
            raise ValueError(f'"{name}" is not an option that only tunes ({advice})')
        form = CHOICES.get(name, f"=({_NUMBER})")
        if not permits({name: form}, f"{name}={value}"):
            advice = (
                "write a number, a size such as 64M, true or false"
                if tunes(name)
                else "see `perjoule docs permitted`"
            )
            raise ValueError(f'{name} = "{value}" is not permitted ({advice})')
