"""What the kernel counts of a whole machine, read from its texts: https://docs.kernel.org/filesystems/proc.html"""

_IDLE_FIELDS = (3, 4)  # idle and iowait of the line "cpu" in /proc/stat


def cpu_ticks(stat: str) -> int:
    """Read the busy time of all CPUs from the text of /proc/stat; guest time is part of user time already."""
    numbers = [int(word) for word in stat.splitlines()[0].split()[1:9]]
    return sum(numbers) - sum(numbers[field] for field in _IDLE_FIELDS)


def network_bytes(net_dev: str) -> tuple[int, int]:
    """Read received and sent bytes of all interfaces but loopback from the text of /proc/net/dev."""
    lines = [line.partition(":") for line in net_dev.splitlines() if ":" in line]
    rows = [numbers.split() for name, _, numbers in lines if name.strip() != "lo"]
    return sum(int(row[0]) for row in rows), sum(int(row[8]) for row in rows)


def disk_bytes(diskstats: str, disks: set[str]) -> tuple[int, int]:
    """Read bytes read and written by these disks from the text of /proc/diskstats (in sectors of 512 bytes)."""
    rows = [line.split() for line in diskstats.splitlines()]
    rows = [row for row in rows if row[2] in disks]
    return sum(int(row[5]) for row in rows) * 512, sum(int(row[9]) for row in rows) * 512


def disk_busy_s(diskstats: str, disks: set[str]) -> float:
    """Read the time with requests under way, summed over these disks, from the text of /proc/diskstats (in ms)."""
    rows = [line.split() for line in diskstats.splitlines()]
    return sum(int(row[12]) for row in rows if row[2] in disks) / 1e3
