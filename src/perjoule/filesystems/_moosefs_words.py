"""What MooseFS is told and what it answers, as pure functions. A room of the MooseFS driver, not a driver."""

import re
from collections.abc import Mapping, Sequence

from perjoule.model import Json

EMPTY_METADATA = "MFSM NEW"  # what the package ships as metadata.mfs.empty

# How many chunks may be copied to and from a chunk server at a time: endangered, undergoal, and for rebalance of two kinds. The
# master adds nothing to a 0. MooseFS's own: 2,1,1,4 and 10,5,2,5 (mfsmaster.cfg(5)).
NO_REBALANCE = {"CHUNKS_WRITE_REP_LIMIT": "2,1,0,0", "CHUNKS_READ_REP_LIMIT": "10,5,0,0"}


def config_text(settings: Mapping[str, object]) -> str:
    """A MooseFS configuration file."""
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


def exports_text(addresses: Sequence[str], password: str) -> str:
    """Who may mount: these clients, with the password (mfsexports.cfg)."""
    return "".join(f"{address} / rw,alldirs,admin,maproot=0:0,password={password}\n" for address in addresses)


def mount_text(master: str, password: str, cache: str, label: str = "") -> str:
    """The options of mfsmount as a file (mfscfgfile); where there is a choice it takes chunk servers with the label."""
    preferred = f"mfspreflabels={label}\n" if label else ""
    mode = {"auto": "AUTO", "direct": "DIRECT", "never": "NEVER", "always": "YES"}[cache]
    return f"mfsmaster={master}\nmfspassword={password}\nmfscachemode={mode}\nmfsallowoomkiller\n{preferred}"


def copies(fileinfo: str) -> set[str]:
    """Addresses of the hosts with a valid copy of any chunk, from `mfsfileinfo`."""
    return set(re.findall(r"copy \d+: ([^:\s]+):\d+ \(status:VALID\)", fileinfo))


def last_number(said: str) -> int:
    """The number that `mfsgetgoal PATH` and `mfsgettrashtime PATH` end with."""
    return int(said.split(":")[-1])


def summary(said: str) -> dict[str, Json]:
    """Version and space, from `mfscli -p -SIG`."""
    found = dict(re.findall(r"master info:\t(.+)\t(\S+)", said))
    return {
        "version": found.get("master version"),
        "total_bytes": int(found["total space"]),
        "available_bytes": int(found["avail space"]),
    }


def chunkserver_rows(said: str) -> list[dict[str, Json]]:
    """The connected chunk servers, from `mfscli -p -SCS`: address, version, space used and in all."""
    rows = [line.split("\t") for line in said.splitlines() if line.startswith("chunk servers:")]
    return [{"address": row[1], "version": row[5], "used_bytes": int(row[9]), "total_bytes": int(row[10])} for row in rows]


def chunk_work(said: str) -> str:
    """What the master will have chunk servers mend, from `mfscli -p -SIC`; "" when every chunk has its copies."""
    counts = {name: int(count) for name, count in re.findall(r"chunkclass ([a-z]+):\t(\d+)", said)}
    due = {"too few copies": counts.get("endangered", 0) + counts.get("undergoal", 0), "too many": counts.get("overgoal", 0)}
    return "; ".join(f"chunks with {what}: {count}" for what, count in due.items() if count)
