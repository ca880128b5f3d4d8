"""Folders as versions of IO500 wrote them, with numbers of our own: the layout of the files is theirs,
nothing else.
"""

from collections.abc import Mapping
from pathlib import Path

from perjoule.model.units import MIB

# GiB/s
BANDWIDTHS = {"ior-easy-write": 2.0, "ior-hard-write": 0.5, "ior-easy-read": 4.0, "ior-hard-read": 1.0}
RATES = {  # kIOPS
    "mdtest-easy-write": 10.0,
    "mdtest-hard-write": 5.0,
    "find": 100.0,
    "mdtest-easy-stat": 40.0,
    "mdtest-hard-stat": 20.0,
    "mdtest-easy-delete": 8.0,
    "mdtest-hard-read": 16.0,
    "mdtest-hard-delete": 4.0,
}
ORDER = (
    "ior-easy-write",
    "mdtest-easy-write",
    "ior-hard-write",
    "mdtest-hard-write",
    "find",
    "ior-easy-read",
    "mdtest-easy-stat",
    "ior-hard-read",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
)
TOOK_S = 320.0
# of the rates above, by hand: geometric means, and the root of their product
SCORE = (2.0**0.5, 14.5853, 4.54167)
TESTED = "Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum"
COLUMNS = {"write": "creation", "stat": "stat", "read": "read", "delete": "removal"}


def old(
    folder: Path,
    *,
    mdtest: str = "1.9.3",
    without: tuple[str, ...] = (),
    rates: Mapping[str, float] | None = None,
    names: tuple[str, ...] = ORDER,
    day: int = 7,
) -> Path:
    """Write a folder as the shell script of 2017 to 2020 did: no result.txt, underscores, GB/s for GiB/s.

    Args:
        folder: to write into.
        mdtest: the version, whose tables differ.
        without: files that are missing.
        rates: other rates than those above.
        names: the phases that ran.
        day: of November 2017.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = {**BANDWIDTHS, **RATES, **(rates or {})}
    lines: list[str] = []
    for index, name in enumerate(names):
        kind, unit = ("BW  ", "GB/s") if name in BANDWIDTHS else ("IOPS", "kiops")
        took_s = TOOK_S if name.endswith("write") else 160.0
        under = name.replace("-", "_")
        lines.append(
            f"[RESULT] {kind} phase {index // 2 + 1} {under:>25} {found[name]:20.3f} {unit} : time "
            f"{took_s:6.2f} seconds"
        )
        minute, text = 6 * index, ""
        if name.startswith("ior"):
            text = ior_text(name.rsplit("-", 1)[1], found[name], took_s, minute, day)
        elif name != "find":
            text = mdtest_text(name.rsplit("-", 1)[1], found[name], took_s, minute, mdtest, day)
        if text and f"{under}.txt" not in without:
            (folder / f"{under}.txt").write_text(text)
    bandwidth, iops, total = SCORE
    lines.append(f"[SCORE] Bandwidth {bandwidth:.5f} GB/s : IOPS {iops:.4f} kiops : TOTAL {total:.5f}")
    (folder / "result_summary.txt").write_text("\n".join(lines) + "\n")
    return folder


def ior_text(operation: str, gib_per_s: float, took_s: float, minute: int, day: int) -> str:
    """Return the output of IOR 3.0: without "StartTime", with the size in bytes at the end."""
    rate_mib_per_s, size_bytes = gib_per_s * 1024, round(gib_per_s * 1024 * took_s) * MIB
    began, ended = (
        f"Tue Nov {day:2} {10 + minute // 60}:{minute % 60:02}:05 2017",
        f"Tue Nov {day:2} {10 + minute // 60}:{minute % 60 + 3:02}:25 2017",
    )
    rate = f"{rate_mib_per_s:.2f}"
    flag = "-w" if operation == "write" else "-r"
    return f"""IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Began: {began}
Command line used: /opt/ior {flag} -C -Q 1 -g -G 27 -k -e -t 2m -b 100g -F -o /mnt/ior_easy/file
Machine: Linux node-a

Test 0 started: {began}
Summary:
	api                = POSIX
	test filename      = /mnt/ior_easy/file
	clients            = 8 (2 per node)

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
{operation:9} {rate:10} 104857600  2048.00    0.027351   {took_s:.2f}     0.000902   {took_s:.2f}     0

Max {operation.capitalize()}:  {rate} MiB/sec ({rate_mib_per_s * 1.048576:.2f} MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) {TESTED}
{operation:9} {rate} {rate} {rate} 0.00 {took_s:.5f} 0 8 2 1 1 1 1 0 0 1 107374182400 2097152 {size_bytes} POSIX 0

Finished: {ended}
"""


def mdtest_text(operation: str, kiops: float, took_s: float, minute: int, version: str, day: int) -> str:
    """Return the output of mdtest 1.9, or with times of 3.3."""
    began, ended = (f"11/{day:02}/2017 {10 + at // 60}:{at % 60:02}:05" for at in (minute, minute + 6))
    values = {column: kiops * 1000 * (column == COLUMNS[operation]) for column in COLUMNS.values()}
    rows = "\n".join(
        f"   File {column:18}:{3 * f' {value:14.3f}'}          0.000" for column, value in values.items()
    )
    head = (
        "   Operation                      Max            Min           Mean        Std Dev\n   ---------   "
        "   ---   ---   ---"
    )
    times = rows.replace(f"{kiops * 1000:14.3f}", f"{took_s:14.3f}")
    spent = f"\nSUMMARY time: (of 1 iterations)\n{head}\n{times}\n" if version >= "3" else ""
    word = "SUMMARY rate:" if version >= "3" else "SUMMARY:"
    return f"""-- started at {began} --

mdtest-{version} was launched with 8 total task(s) on 4 node(s)
Command line used: /opt/mdtest "-T" "-F" "-d" "/mnt/mdt_easy" "-n" "9000000"
Path: /mnt
FS: 10.0 TiB   Used FS: 3.5%   Inodes: 2400.0 Mi   Used Inodes: 0.9%

8 tasks, 72000000 files

{word} (of 1 iterations)
{head}
{rows}
{spent}
-- finished at {ended} --
"""
