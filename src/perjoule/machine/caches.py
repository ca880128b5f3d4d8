"""What a machine's kernel caches of files, and the scripts that drop it.

Dropping page caches leaves what ZFS caches (https://github.com/openzfs/zfs/issues/12810): the ARC, which only
ZFS's program zinject empties, and above it buffers, which ZFS lets go within a second of being allowed none.
https://docs.kernel.org/admin-guide/sysctl/vm.html#drop-caches,
https://openzfs.github.io/openzfs-docs/man/master/8/zinject.8.html
"""

from perjoule.drivers.protocols import Host
from perjoule.machine.mounts import SHORT_S

DROP = "sync && echo 3 > /proc/sys/vm/drop_caches"
# ZFS first writes what is dirty, which it could not let go. The limit of its buffers comes back however the
# script ends; if it was killed, the next one finds 0 and restores ZFS's own. Virtual hosts share a kernel, so
# they take turns.
DROP_ZFS = """\
PATH="$PATH:/usr/sbin:/sbin"
[ -d /sys/module/zfs ] && command -v zinject > /dev/null || exit 0
held() { sed -n 's/^cache_size_bytes .* //p' /proc/spl/kstat/zfs/dbufstats; }
limit=/sys/module/zfs/parameters/dbuf_cache_max_bytes
exec 9< "$limit" && flock 9 && zpool sync || exit
most=$(cat "$limit")
[ "$most" != 0 ] || most=18446744073709551615
trap 'echo "$most" > "$limit"' EXIT
trap exit HUP INT TERM
echo 0 > "$limit"
for _ in $(seq 100); do [ "$(held)" -ge 1048576 ] || break; sleep 0.1; done
[ "$(held)" -lt 1048576 ] || { echo "ZFS keeps $(held) bytes of buffers" >&2; exit 1; }
zinject -a
"""


def left_by_zfs(host: Host) -> str:
    """Return what dropping a host's caches leaves of ZFS's, as words for a doubt; "" where zinject empties
    them.
    """
    looks = 'PATH="$PATH:/usr/sbin:/sbin"; command -v zinject'
    has_zinject = host.run(["sh", "-c", looks], timeout_s=SHORT_S, check=False).returncode == 0
    return "" if has_zinject else "what ZFS caches (ARC; zinject, of the package zfs-test, would empty it)"
