"""The input and output of NFS servers and clients, as pure functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

Version = Literal["3", "4.0", "4.1", "4.2"]
PORT, MOUNT_PORT = 2049, 20048  # of mountd, for version 3


def ganesha_text(export: Path, recovery: Path, clients: Sequence[str], version: Version) -> str:
    """Write ganesha.conf: one folder, under its own path in every version, for these addresses alone.

    From version 5 on Ganesha ends if the kernel does not let it flush under memory pressure (PR_SET_IO_FLUSHER needs
    CAP_SYS_RESOURCE, which containers and some virtual machines lack), unless that is allowed to fail. Older versions warn that
    they do not know the option.
    """
    protocol, _, minor = version.partition(".")
    minors = f"Minor_Versions = {minor}; " if minor else ""
    return f"""\
NFS_CORE_PARAM {{
    Protocols = {protocol};
    NFS_Port = {PORT};
    MNT_Port = {MOUNT_PORT};
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
    allow_set_io_flusher_fail = true;
}}
NFSv4 {{
    {minors}Graceless = true;
    Only_Numeric_Owners = true;
    RecoveryBackend = fs;
    RecoveryRoot = {recovery};
}}
NFS_KRB5 {{ Active_krb5 = false; }}
LOG {{ Default_Log_Level = EVENT; }}
EXPORT {{
    Export_Id = 1;
    Path = {export};
    Pseudo = {export};
    Protocols = {protocol};
    Transports = TCP;
    SecType = sys;
    Squash = No_Root_Squash;
    Access_Type = None;
    FSAL {{ Name = VFS; }}
    CLIENT {{ Clients = {", ".join(clients)}; Access_Type = RW; }}
}}
"""


def mount_options(version: Version, transfer_bytes: int, more: Sequence[str]) -> str:
    """Return a client's mount options; version 3 without file locks, which nothing here needs."""
    words = [f"vers={version}", "proto=tcp", f"port={PORT}", f"rsize={transfer_bytes}", f"wsize={transfer_bytes}", "noatime"]
    if version == "3":
        words += ["nolock", f"mountport={MOUNT_PORT}", "mountproto=tcp"]
    return ",".join([*words, *more])


def release(said: str) -> str:
    """Parse `ganesha.nfsd -v`: "NFS-Ganesha Release = V4.3"."""
    return said.partition("=")[2].split()[0].removeprefix("V")
