"""What a campaign may put into ceph.conf: numbers and words that tune, each under its one name."""

import random
import string

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.filesystems._ceph.tuning import require_permitted
from perjoule.filesystems.rados import Rados

TUNED = {
    "osd_op_num_shards": "5",
    "osd_scrub_backoff_ratio": "0",
    "osd_memory_target": "4G",
    "osd_op_queue": "mclock_scheduler",
    "osd_mclock_profile": "high_client_ops",
    "osd_recovery_sleep_hdd": "0.1",
    "bluestore_min_alloc_size_hdd": "65536",
    "bluestore_csum_type": "none",
    "bluestore_compression_mode": "aggressive",
    "bluestore_compression_algorithm": "zstd",
    "bluestore_cache_size": "64MiB",
    "bluestore_rocksdb_options": "compression=kLZ4Compression,write_buffer_size=67108864,max_background_jobs=4",
    "bdev_enable_discard": "true",
    "ms_async_op_threads": "3",
    "ms_cluster_mode": "secure crc",
    "objecter_inflight_ops": "4096",
    "mds_cache_memory_limit": "1G",
    "client_readahead_max_periods": "16",
}
ATTACKS = {
    **dict.fromkeys(
        (
            "osd_class_dir",
            "osd class dir",
            "osd-class-dir",
            "OSD_CLASS_DIR",
            "Osd Class Dir",
            " osd_class_dir",
        ),
        "/d",
    ),
    **dict.fromkeys(
        ("erasure_code_dir", "plugin_dir", "mgr_module_path", "crash_dir", "run_dir", "mon_data", "keyring"),
        "/dir",
    ),
    **dict.fromkeys(("osd_class_load_list", "osd_erasure_code_plugins", "osd_open_classes_on_start"), "*"),
    **dict.fromkeys(
        ("admin_socket", "log_file", "heartbeat_file", "pid_file", "lockdep", "osd_journal", "bdev_type"), "x"
    ),
    **dict.fromkeys(("auth_client_required", "auth_supported", "auth cluster required"), "none"),
    **dict.fromkeys(
        ("mon_host", "public_addr", "cluster_network", "ms_bind_port_min", "setuser_match_path"), "0"
    ),
    **dict.fromkeys(
        ("bluestore_block_path", "bluestore_block_db_path", "bluestore_block_create"), "/dev/vdb"
    ),
    **dict.fromkeys(
        ("osd_debug_inject_copyfrom_error", "bluestore_debug_omit_block_device_write", "bdev_inject_crash"),
        "true",
    ),
    **dict.fromkeys(("[osd]", "include", "#", "", "osd_op_num_shards ", "osd_op_num_shards\n"), "1"),
    **dict.fromkeys(("osd_op_num_shards=1\nkeyring"), "1"),
    # twice under two names
    **dict.fromkeys(("OSD_op_num_shards", "osd op num shards", "osd-op-num-shards"), "1"),
}
VALUES = [
    *(
        "",
        "1\nkeyring = /x",
        "1 # x",
        "1;x",
        "$host",
        "/etc/passwd",
        "1\\",
        "[osd]",
        "0x10",
        "1\0",
        "1\u2028",
    ),
    *("\u0663", "on", "1 2", '"1"'),
]


def to_run(conf: dict[str, str]) -> object:
    return drivers.build("filesystems", "rados", {"conf": conf}, to_run=True)


def test_what_a_researcher_tunes_is_permitted() -> None:
    assert to_run(TUNED) == Rados(conf=TUNED)


@pytest.mark.parametrize("name", ATTACKS)
def test_what_does_not_tune_is_refused_in_every_spelling(name: str) -> None:
    with pytest.raises(ValidationError, match=r"is not an option that only tunes|has several spellings"):
        to_run({name: ATTACKS[name]})


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_a_number_or_one_of_the_words(value: str) -> None:
    for name in ("osd_op_num_shards", "osd_op_queue", "bluestore_rocksdb_options"):
        with pytest.raises(ValidationError, match="is not permitted"):
            to_run({name: value})


@pytest.mark.parametrize("value", ["wal_dir=/x", "ttl=1,wal_dir=/x", "env=x", "compression=kX", "ttl=1,"])
def test_options_of_rocksdb_are_numbers(value: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted"):
        to_run({"bluestore_rocksdb_options": value})


def test_the_one_spelling_and_the_key_of_the_campaign_are_named() -> None:
    with pytest.raises(ValidationError, match='write "osd_op_num_shards"'):
        to_run({"osd op num shards": "5"})
    with pytest.raises(ValidationError, match="set copies instead"):
        to_run({"osd_pool_default_size": "1"})


def test_nothing_at_random_begins_another_line() -> None:
    drawn, passed = random.Random(1), 0
    characters = string.ascii_lowercase + string.digits + "_- =\n\r\t$/[]#;\\\"'\0\u2028"
    for _ in range(20_000):
        name = drawn.choice([*TUNED, *ATTACKS]) + "".join(
            drawn.choices(characters, k=drawn.choice([0, 0, 0, 1, 3]))
        )
        value = drawn.choice([*TUNED.values(), *VALUES]) + "".join(
            drawn.choices(characters, k=drawn.choice([0, 0, 0, 1, 3]))
        )
        try:
            require_permitted({name: value})
        except ValueError:
            continue
        passed += 1
        assert not set("\n\r\t$/[]#;\\\"'\0\u2028") & set(name + value)
    assert passed > 100
