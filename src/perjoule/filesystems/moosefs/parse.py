"""The input and output of MooseFS 3 and 4, as pure functions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from perjoule.filesystems._said import found, unexpected
from perjoule.model import Json

EMPTY_METADATA = "MFSM NEW"  # what the package ships as metadata.mfs.empty

# How many chunks may be copied to and from a chunk server at a time: endangered, undergoal, for rebalance of
# two kinds, and from MooseFS 4 on where a read or write needs it. The master adds nothing to a 0. MooseFS's
# own are 2,1,1,4,4 and 10,5,2,5,10 (mfsmaster.cfg(5)); it takes its own when there is one too many.
NO_REBALANCE = {"CHUNKS_WRITE_REP_LIMIT": "2,1,0,0,4", "CHUNKS_READ_REP_LIMIT": "10,5,0,0,10"}


def release(output: str) -> int:
    """Parse the major version, from `mfsmaster -v` ("version: 4.57.6-1 ; build: 2089")."""
    return int(found(r"^version: (\d+)\.", output, "mfsmaster -v"))


def no_rebalance(release: int) -> dict[str, str]:
    """Return the settings with which a master of this major version moves no chunks to even out space."""
    count = 5 if release >= 4 else 4
    return {name: ",".join(limits.split(",")[:count]) for name, limits in NO_REBALANCE.items()}


def storage_class(goal: int, release: int) -> str:
    """Return the class for this many copies: MooseFS 3 has one named after each number, in MooseFS 4 it is
    created.
    """
    return f"goal{goal}" if release >= 4 else str(goal)


def config_text(settings: Mapping[str, object]) -> str:
    """Return a MooseFS configuration file."""
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


def exports_text(addresses: Sequence[str], password: str) -> str:
    """Return mfsexports.cfg: only these clients may mount, with the password."""
    return "".join(f"{address} / rw,alldirs,admin,maproot=0:0,password={password}\n" for address in addresses)


def mount_text(master: str, password: str, cache: str, label: str = "", more: Iterable[str] = ()) -> str:
    """Return mfsmount's options as a file (mfscfgfile); if there is a choice, it prefers chunk servers
    with the label.
    """
    preferred = f"mfspreflabels={label}\n" if label else ""
    mode = {"auto": "AUTO", "direct": "DIRECT", "never": "NEVER", "always": "YES"}[cache]
    options = (f"mfsmaster={master}", f"mfspassword={password}", f"mfscachemode={mode}", *more)
    return "".join(f"{option}\n" for option in options) + preferred


def copies(fileinfo: str) -> set[str]:
    """Parse addresses of the hosts with a valid copy of any chunk, from `mfsfileinfo`."""
    lines = [line.strip() for line in fileinfo.splitlines()[1:]]
    remarks = [line for line in lines if re.match(r"chunk \d+: |no chunks - empty file$|.* !!!$", line)]
    places = [
        re.fullmatch(r"copy \d+: ([^:\s]+):\d+ (?:; status:(.+)|\(status:(.+)\))", line) for line in lines
    ]
    if not lines or len(lines) != len(remarks) + sum(map(bool, places)):
        raise unexpected(fileinfo, "mfsfileinfo")
    return {copy[1] for copy in places if copy and (copy[2] or copy[3]) == "VALID"}


def last_number(output: str) -> int:
    """Parse the number at the end of `mfsgetsclass PATH` and `mfsgettrashtime PATH`; MooseFS 4 prints our
    class as "goal2".
    """
    return int(found(r": (?:goal)?(\d+)\s*\Z", output, "mfsgetsclass or mfsgettrashtime"))


def unanswered(answer: str) -> str:
    """Return why an answer of `mfscli -p -SIG ...` is incomplete, with its message, although it exits with
    0; else "".
    """
    if "\tmaster version\t" in answer and "Traceback (most recent call last)" not in answer:
        return ""
    lines = [line.strip() for line in answer.splitlines() if re.search(r"\w", line)]
    return f"mfscli last said: {' | '.join(lines[-2:]) or 'nothing'}"


def summary(answer: str) -> dict[str, Json]:
    """Parse version and space, from `mfscli -p -SIG` ("master info:", in MooseFS 4 "cluster summary:")."""
    patterns = {
        "version": r"master version\t(\S+)$",
        "total": r"total space\t(\d+)$",
        "available": r"avail space\t(\d+)$",
    }
    fields = {
        name: found(rf"^(?:master info|cluster summary):\t{row}", answer, "mfscli -p -SIG")
        for name, row in patterns.items()
    }
    return {
        "version": fields["version"],
        "total_bytes": int(fields["total"]),
        "available_bytes": int(fields["available"]),
    }


def counts_all(answer: str) -> bool:
    """Parse whether the sum of space, which clients see and which is up to a second old, includes all chunk
    servers.

    From `mfscli -p -SIG -SCS`.
    """
    rows = chunkserver_rows(answer)
    return int(str(summary(answer)["total_bytes"])) >= sum(int(str(row["total_bytes"])) for row in rows)


def chunkserver_rows(answer: str) -> list[dict[str, Json]]:
    """Parse the connected chunk servers, from `mfscli -p -SCS`: address, version, space used and total."""
    return [_chunkserver(line) for line in answer.splitlines() if line.startswith("chunk servers:")]


def _chunkserver(line: str) -> dict[str, Json]:
    """Parse a line without headings: the state of the queue, which only MooseFS 4 reports, shifts the
    rest.
    """
    row = line.split("\t")[1:]
    at = next((n for n, cell in enumerate(row) if cell.startswith("maintenance_")), len(row))
    try:
        _, used, total = map(int, row[at + 1 : at + 4])
        if not (re.match(r"\d+\.\d+", row[4]) and len(row) == at + 8 and used <= total):
            raise ValueError
    except (LookupError, ValueError):
        raise unexpected(line, "mfscli -p -SCS") from None
    return {"address": row[0], "version": row[4], "used_bytes": used, "total_bytes": total}


CHUNK_BYTES = 64 * 1024**2  # https://moosefs.com/support
# ACCEPTABLE_PERCENTAGE_DIFFERENCE, the master's own: below, it takes its time (mfsmaster.cfg(5))
ACCEPTED_RATIO = 0.01


def uneven(answer: str) -> str:
    """Parse whether some chunk servers are fuller than others by more than the master accepts, and a chunk;
    "" if not.

    From `mfscli -p -SCS`.
    """
    rows = [
        (int(str(row["used_bytes"])), int(str(row["total_bytes"])))
        for row in chunkserver_rows(answer)
        if row["total_bytes"]
    ]
    shares = sorted(used / total for used, total in rows)
    if not rows or shares[-1] - shares[0] <= ACCEPTED_RATIO + CHUNK_BYTES / min(total for _, total in rows):
        return ""
    return f"chunk servers are {100 * shares[0]:.1f} % to {100 * shares[-1]:.1f} % full"


CHUNK_CLASSES = {
    "missing": "no copy",
    "undergoal": "too few copies",
    "endangered": "too few copies",
    "overgoal": "too many",
}


def chunk_work(answer: str, classes: Collection[str] = ("undergoal", "endangered", "overgoal")) -> str:
    """Parse the pending repairs of chunks of these classes, from `mfscli -p -SIC`; "" if there are none."""
    due: dict[str, int] = {}
    for name, meaning in CHUNK_CLASSES.items():
        if name in classes:
            due[meaning] = due.get(meaning, 0) + int(
                found(rf"chunkclass {name}:\t(\d+)", answer, "mfscli -p -SIC")
            )
    return "; ".join(f"chunks with {meaning}: {count}" for meaning, count in due.items() if count)
