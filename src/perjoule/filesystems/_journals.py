"""The journals of local file systems, as options worth tuning: what is synced is durable in each of these
modes.

https://docs.kernel.org/filesystems/ext4/journal.html, https://docs.kernel.org/admin-guide/xfs.html
"""

from dataclasses import replace
from typing import Annotated

from perjoule.drivers.protocols import Tunable
from perjoule.model import Disk

_OLD_BLOCKS = "what was not synced: after a power loss, a file may contain old blocks"
EXT4_JOURNAL = Tunable(
    ("ordered", "journal", "writeback"), less_durable={"writeback": _OLD_BLOCKS}, otherwise="ordered"
)
XFS_LOG_BUFFER = Tunable(("32 KiB", "64 KiB", "128 KiB", "256 KiB"), otherwise="32 KiB")

Beneath = Annotated[
    Disk | None, replace(EXT4_JOURNAL, key="journal"), replace(XFS_LOG_BUFFER, key="log_buffer")
]
