"""The options of a volume that a campaign may set: those that tune.
https://docs.gluster.org/en/latest/Administrator-Guide/

Each is a number, a size, a share or a switch, except for a few with a choice of words. None names a file, an
address or a command, and none is among those by which glusterd runs its hooks (`user.*`, `nfs.*`,
`features.uss`) or reads a file (`group`).
"""

from collections.abc import Mapping

from perjoule.model.permitted import Forms, permits, words

_NUMBER = "=[0-9]{1,18}([KMGT]?B|%)?"
_SWITCH = words("on", "off", "yes", "no", "true", "false", "enable", "disable", "0", "1")
_NUMBERS = {
    "performance.": "aggregate-size cache-max-file-size cache-min-file-size cache-refresh-timeout cache-size high-prio-threads"
    " io-cache-size io-thread-count least-prio-threads low-prio-threads md-cache-timeout nl-cache-limit "
    "nl-cache-timeout normal-prio-threads qr-cache-timeout quick-read-cache-size quick-read-cache-timeout "
    "rda-cache-limit rda-high-wmark rda-low-wmark rda-request-size read-ahead-page-count "
    "write-behind-window-size",
    "cluster.": "background-self-heal-count heal-timeout heal-wait-queue-length min-free-disk min-free-inodes"
    " post-op-delay-secs read-hash-mode read-subvolume-index self-heal-readdir-size self-heal-window-size "
    "shd-max-threads shd-wait-qlength subvols-per-directory",
    "disperse.": "background-heals eager-lock-timeout heal-wait-qlength other-eager-lock-timeout self-heal-window-size"
    " shd-max-threads shd-wait-qlength stripe-cache",
    "features.": "cache-invalidation-timeout locks-notify-contention-delay shard-block-size shard-deletion-rate shard-lru-limit",
    "network.": "frame-timeout inode-lru-limit ping-timeout tcp-window-size",
    "storage.": "batch-fsync-delay-usec health-check-interval health-check-timeout reserve",
    "client.": "event-threads keepalive-count keepalive-interval keepalive-time tcp-user-timeout",
    "server.": "event-threads keepalive-count keepalive-interval keepalive-time outstanding-rpc-limit tcp-user-timeout",
    "config.": "brick-threads client-threads",
}
_SWITCHES = {
    "performance.": "cache-invalidation client-io-threads ctime-invalidation enable-least-priority flush-behind"
    " force-readdirp global-cache-invalidation io-cache io-cache-pass-through iot-pass-through lazy-open "
    "md-cache-pass-through md-cache-statfs nl-cache nl-cache-pass-through nl-cache-positive-entry "
    "open-behind open-behind-pass-through parallel-readdir quick-read quick-read-cache-invalidation "
    "read-after-open read-ahead read-ahead-pass-through readdir-ahead readdir-ahead-pass-through "
    "resync-failed-syncs-after-fsync stat-prefetch strict-o-direct strict-write-ordering write-behind "
    "write-behind-pass-through write-behind-trickling-writes",
    "cluster.": "choose-local consistent-metadata data-change-log data-self-heal eager-lock ensure-durability"
    " entry-change-log entry-self-heal force-migration full-lock granular-entry-heal lock-migration "
    "lookup-optimize metadata-change-log metadata-self-heal optimistic-change-log "
    "randomize-hash-range-by-gfid readdir-failover readdir-optimize self-heal-daemon strict-readdir "
    "use-anonymous-inode use-compound-fops weighted-rebalance",
    "disperse.": "eager-lock optimistic-change-log other-eager-lock parallel-writes",
    "features.": "cache-invalidation ctime locks-notify-contention shard",
    "network.": "compression",
    "storage.": "build-pgfid fips-mode-rchecksum linux-aio linux-io_uring",
    "config.": "global-threading",
    "ctime.": "noatime",
    "dht.": "force-readdirp",
    "rebalance.": "ensure-durability",
    "client.": "own-thread",
    "server.": "own-thread",
}
TUNING: Forms = {
    **{family + name: _NUMBER for family, names in _NUMBERS.items() for name in names.split()},
    **{family + name: _SWITCH for family, names in _SWITCHES.items() for name in names.split()},
    "cluster.data-self-heal-algorithm": words("diff", "full", "reset"),
    "cluster.locking-scheme": words("full", "granular"),
    "cluster.lookup-unhashed": words("auto", "on", "off"),
    "cluster.rebal-throttle": words("lazy", "normal", "aggressive"),
    "disperse.cpu-extensions": words("none", "auto", "x64", "sse", "avx"),
    "disperse.read-policy": words("round-robin", "gfid-hash"),
    "network.remote-dio": words("enable", "disable", "on", "off"),
    "storage.batch-fsync-mode": words(
        "none", "syncfs", "syncfs-single-fsync", "syncfs-reverse-fsync", "reverse-fsync"
    ),
}


def require_permitted(volume: Mapping[str, str]) -> None:
    """Check `volume` of a campaign.

    Raises ValueError with the first option or value that is not permitted.
    """
    for name, value in volume.items():
        if name not in TUNING:
            advice = "write it whole, or remove it; `perjoule docs permitted` lists what may be set"
            raise ValueError(f'"{name}" is not an option of a volume that only tunes ({advice})')
        if not permits(TUNING, f"{name}={value}"):
            kind = (
                "a number, as in 4 or 16MB" if TUNING[name] == _NUMBER else "on or off, or one of its words"
            )
            raise ValueError(f'{name} = "{value}" is not permitted (write {kind})')
