"""Kinds of IOR's and mdtest's text that were read wrongly: several tests and commands, stonewalls, starts,
statistics.
"""

import json
from datetime import UTC, datetime

import pytest

from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads.imported import ImportedRun, Told, read
from places import TRANSCRIPTS
from typed import present
from unit.importing.foreign import ior, mdtest

FIRST, SECOND = "Fri Nov 27 17:00:00 2026", "Fri Nov 27 17:01:00 2026"
FIRST_S = datetime(2026, 11, 27, 17, tzinfo=UTC).timestamp()
ROWS = [("write", "128.00", "8.00"), ("read", "256.00", "4.00")]
CREATION = "File creation     : {} 0.000"


def runs(text: str, format: str = "ior") -> tuple[ImportedRun, ...]:
    return read(format, {"a.txt": text}, Told("a"))


def began(run: ImportedRun) -> float:
    return present(run.outcome).began_s - FIRST_S


def mib_per_s(run: ImportedRun) -> float:
    outcome = present(run.outcome)
    return sum(r.moved_bytes for r in outcome.results) / MIB / (outcome.ended_s - outcome.began_s)


def test_each_test_of_a_command_has_its_own_start_request_and_numbers() -> None:
    found = runs(
        ior((FIRST, "", ROWS), (SECOND, "", [("write", "64.00", "16.00"), ("read", "512.00", "2.00")]))
    )
    assert [(run.operation, mib_per_s(run), began(run)) for run in found] == [
        ("write", pytest.approx(128), 0), ("read", pytest.approx(256), 8),
        ("write", pytest.approx(64), 60), ("read", pytest.approx(512), 76)
    ]  # fmt: skip
    assert [run.transfer_bytes for run in found] == [MIB, MIB, 4096, 4096]


def test_each_command_in_a_file_is_read() -> None:
    other = ior((SECOND, "", [("write", "64.00", "16.00")]), began=SECOND)
    found = runs(ior((FIRST, "", ROWS)) + "\nsome other output\n" + other)
    assert [(run.operation, round(mib_per_s(run)), began(run)) for run in found] == [
        ("write", 128, 0),
        ("read", 256, 8),
        ("write", 64, 60),
    ]


def test_the_table_counts_where_the_summary_contradicts_it() -> None:
    moved = "WARNING: Using actual aggregate bytes moved = {}.\n"
    text = ior((FIRST, moved.format(2**30), ROWS)).replace("write 128.00 128.00", "write 120.00 120.00")
    (write, _) = runs(text)
    assert mib_per_s(write) == pytest.approx(128)
    assert present(write.outcome).results[0].moved_bytes == 2**30
    assert any("summary states 120.00 MiB/s" in doubt for doubt in present(write.outcome).doubts)


@pytest.mark.parametrize(
    ("command", "cached"),
    [
        ("ior -a POSIX -t 1m -b 32m -F -o /mnt/e/Y/f", True),
        ("ior -w -C -a MPIIO -O summaryFile=/tmp/fsy -o /mnt/file", True),
        ("", False),  # it is not known
        ("ior -f script", False),
        ("ior -a POSIX -e -o /mnt/f", False),
        ("ior -wCe -o /mnt/f", False),
        ("ior -Y -o /mnt/f", False),
        ("ior -B -o /mnt/f", False),
        ("ior --posix.odirect -o /mnt/f", False),
        ("ior -O fsync=1 -o /mnt/f", False),
    ],
)
def test_a_write_that_ends_in_the_page_cache_is_doubted(command: str, *, cached: bool) -> None:
    line = f"Command line        : {command}\n" if command else ""
    text = ior((FIRST, "", ROWS))
    head = next(line for line in text.splitlines(keepends=True) if line.startswith("IOR-"))
    write, read = runs(text.replace(head, head + line))
    doubt = "IOR wrote to the page cache, and its time ends without a flush to the disks"
    assert (doubt in present(write.outcome).doubts) == cached
    assert doubt not in present(read.outcome).doubts


@pytest.mark.parametrize(
    ("fsync", "api", "cached"), [(1, "POSIX", False), (0, "POSIX", True), (0, "DFS", False)]
)
def test_a_summary_says_by_itself_whether_a_write_was_flushed(fsync: int, api: str, *, cached: bool) -> None:
    document = json.loads((TRANSCRIPTS / "imported/ior/iterations.json").read_text())
    document["Command line"] = document["Command line"].replace(" -e ", " ")
    for test in document["tests"]:
        test["Parameters"] |= {"fsync": fsync, "api": api}
    written = [run for run in runs(json.dumps(document)) if run.operation == "write"]
    assert written
    for run in written:
        assert any("page cache" in doubt for doubt in present(run.outcome).doubts) == cached


def test_starts_that_a_verbose_ior_prints_are_taken() -> None:
    text = ior((FIRST, "Commencing write performance test: Fri Nov 27 17:00:05 2026\n", ROWS))
    lines = text.replace(
        "read      256", "Commencing read performance test: Fri Nov 27 17:00:30 2026\n\nread      256"
    )
    assert [began(run) for run in runs(lines)] == [5, 30]
    exact = f"Test 0: Iter=0, Task={{}}, Time={FIRST_S + 5.25}, write open start\n"
    write, told = runs(ior((FIRST, exact.format(0) + exact.format(1).replace(".25", ".5"), ROWS)))
    assert (began(write), began(told)) == (pytest.approx(5.25), pytest.approx(13.25))


def test_starts_that_a_verbose_ior_prints_beside_its_json_are_taken() -> None:
    path = TRANSCRIPTS / "imported/ior/iterations.json"
    text = path.read_text()
    ways = [one["access"] for one in json.loads(text)["tests"][0]["Results"] if one["access"] != "remove"]
    lines = [f"Commencing {way} performance test: Fri Nov 27 17:0{n}:00 2026" for n, way in enumerate(ways)]
    assert [began(run) for run in runs("\n".join([*lines, text]))] == [60 * n for n in range(len(ways))]


@pytest.mark.parametrize(
    ("ended", "idle"),
    [("17:00:13", ""), ("17:00:46", "34 s of the run are in none, by which they may be too early")],
)
def test_time_that_is_in_no_operation_is_stated(ended: str, idle: str) -> None:
    """As where IOR reads what it wrote (-W), and says only with -v when."""
    text = ior((FIRST, "", ROWS)).replace("17:02:00", ended)
    for run in runs(text):
        assert any(idle in doubt for doubt in present(run.outcome).doubts if "one after another" in doubt)
        assert any("in none" in doubt for doubt in present(run.outcome).doubts) == bool(idle)
    document = json.loads((TRANSCRIPTS / "imported/ior/iterations.json").read_text())
    document["Finished"] = "Sat Nov 21 08:14:16 2026"  # 34 s after its start, of which operations took 0.35 s
    assert any(
        "34 s of the run are in none" in doubt
        for doubt in present(runs(json.dumps(document))[0].outcome).doubts
    )


def test_time_to_remove_files_is_not_in_the_next_operation() -> None:
    text = ior((FIRST, "", ROWS))
    text = text.replace("read      256", "remove    -  -  -  -  -  - 20.00 0\nread      256")
    assert [began(run) for run in runs(text)] == [0, 28]


@pytest.mark.parametrize("rate", ["0.00", "nan", "inf"])
def test_time_of_an_operation_without_a_rate_is_not_in_the_next_one(rate: str) -> None:
    failed, read_back = runs(ior((FIRST, "", [("write", rate, "8.00"), ROWS[1]])))
    assert failed.outcome is None
    assert began(read_back) == 8
    document = json.loads((TRANSCRIPTS / "imported/ior/iterations.json").read_text())
    results = document["tests"][0]["Results"]
    whole = runs(json.dumps(document))
    results[0]["bwMiB"] = float(rate)
    without_rate = runs(json.dumps(document))
    assert without_rate[0].outcome is None
    assert began(without_rate[1]) == pytest.approx(began(whole[1]), abs=1e-3)


@pytest.mark.parametrize(
    ("command", "hosts"),
    [("ior -f script", ["node01-1", "node01-2", "node01-3"]), ("ior -N 4 -f script", ["node01"])],
)
def test_nodes_are_those_that_are_stated_where_ranks_are_uneven(command: str, hosts: list[str]) -> None:
    text = ior((FIRST, "", ROWS)).replace("ior -f script", command)
    for run in runs(text.replace("Options: \n", "Options: \nnodes               : 3\n")):
        assert [result.host for result in present(run.outcome).results] == hosts


def test_nodes_have_the_names_that_a_verbose_ior_prints() -> None:
    ranks = "".join(f"task {rank} on node{17 - rank // 2}\n" for rank in range(4))
    text = ior((FIRST, "", ROWS)).replace("Options: \n", f"{ranks}Options: \nnodes               : 2\n")
    assert [result.host for result in present(runs(text)[0].outcome).results] == ["node17", "node16"]
    told = read("ior", {"a": text}, Told("a", ("c1", "c2")))
    assert [result.host for result in present(told[0].outcome).results] == ["c1", "c2"]


def test_ior_2_is_named() -> None:
    with pytest.raises(WorkloadError, match=r"the text of IOR-2\.10\.3, which is not supported"):
        runs("IOR-2.10.3: MPI Coordinated Test of Parallel I/O\n\nRun began: Wed Sep 10 12:00:00 2014\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("256.00     262144", "256.00", "has 8 columns, and its head 9"),
        ("read 256.00 256.00", "rad 256.00 256.00", "summary has no read of test 0"),
    ],
)
def test_a_damaged_ior_is_refused_by_what_it_lacks(old: str, new: str, said: str) -> None:
    text = ior((FIRST, "", ROWS))
    assert old in text
    with pytest.raises(WorkloadError, match=said):
        runs(text.replace(old, new))


HEAD_OF_TEST = """api                 : POSIX
access              : file-per-process
segments            : 1
ordering inter file : no tasks offsets
tasks               : 4
clients per node    : 4
xfersize            : 1 MiB
blocksize           : 256 MiB
"""
BEFORE_3_3 = """\tapi                = POSIX
\taccess             = file-per-process
\tpattern            = segmented (1 segment)
\tclients            = 4 (4 per node)
\txfersize           = 1 MiB
\tblocksize          = 256 MiB
"""


@pytest.mark.parametrize(
    ("head", "command"),
    [
        (HEAD_OF_TEST, "ior -f script"),
        (BEFORE_3_3, "ior -f script"),
        (HEAD_OF_TEST.replace("256 MiB", "0.25 GiB"), "ior -w -T 9 -B -b 256M -t 1m -F"),
        (HEAD_OF_TEST.replace("1 MiB", "1048576 bytes"), "ior -f script"),
    ],
    ids=["3.3", "before", "rounded", "bytes"],
)
def test_an_ior_without_a_summary_has_the_results_that_it_printed(head: str, command: str) -> None:
    text = (
        ior((FIRST, "", ROWS)).replace("Options: \n", f"Options: \n{head}").replace("ior -f script", command)
    )
    ended = text[: text.index("\nSummary of all tests")]
    complete, printed = (
        [(run.operation, run.details, run.transfer_bytes, present(run.outcome).results) for run in runs(part)]
        for part in (text, ended)
    )
    assert len(printed) == len(ROWS)
    assert printed == complete


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ("tasks               : 4\n", "", "its summary is missing"),
        ("blocksize           : 256 MiB", "blocksize           : 0.25 GiB", "'0.25 GiB' is a rounded size"),
        (
            "256.00     262144 1024.00 0.001 4.00 0.001 4.00 0",
            "256.00     262144 1024.00 0.001 4.00 0.001 4",
            "has 8",
        ),
    ],
)
def test_an_ior_without_a_summary_is_refused_where_its_head_lacks_something(
    old: str, new: str, refusal: str
) -> None:
    text = ior((FIRST, "", ROWS)).replace("Options: \n", f"Options: \n{HEAD_OF_TEST}")
    ended = text[: text.index("\nSummary of all tests")]
    assert old in ended
    with pytest.raises(WorkloadError, match=refusal):
        runs(ended.replace(old, new))


def test_loads_of_ior_that_differ_in_their_command_are_not_repetitions() -> None:
    text = ior((FIRST, "", ROWS))
    (plain, _), (synced, _) = runs(text), runs(text.replace("ior -f script", "ior -e -z -w -r -o /x -i 3"))
    assert plain.details != synced.details
    (moved, _) = runs(text.replace("ior -f script", "ior -e -z -w -r -o /y -i 5"))
    assert synced.details == moved.details
    ranks = "-O saveRankPerformanceDetailsCSV=/results/2025.05.15/ranks.csv"
    (saved, _) = runs(text.replace("ior -f script", f"ior -e -z -w -r -o /y -i 5 {ranks}"))
    assert synced.details == saved.details


@pytest.mark.parametrize(
    ("order", "is_random"),
    [
        ("", False),
        ("ordering in a file  : sequential\n", False),
        ("ordering in a file  : random\n", True),
        ("\tordering in a file = random offsets\n", True),
    ],
)
def test_offsets_that_ior_s_text_calls_random_are_no_sequence(order: str, *, is_random: bool) -> None:
    found = runs(ior((FIRST, "", ROWS)).replace("Options: \n", f"Options: \n{order}"))
    assert ["random" in run.details for run in found] == [is_random, is_random]


# mdtest


@pytest.mark.parametrize(
    ("version", "iterations", "numbers"),
    [
        ("3.3.0", 1, "900 600 750"),
        ("3.4.0+dev", 1, "900 600 750"),
        ("3.3.0", 2, "900 600 700"),
        ("3.4.0+dev", 3, "900 600 650"),  # the third would be 450
        ("3.3.0", 5, "900 600 750"),
    ],
)
def test_statistics_over_ranks_are_no_rates(version: str, iterations: int, numbers: str) -> None:
    for run in runs(mdtest(version, CREATION.format(numbers), iterations=iterations), "mdtest"):
        assert run.outcome is None
        assert "statistics over ranks" in run.failure


@pytest.mark.parametrize(
    ("version", "numbers", "slowest"),
    [
        ("3.3.0", "2943.697 2943.674 2943.686", 2943.674),
        ("3.4.0+dev", "600 595 598", 595),
        ("3.3.0", "600 590 598", 0),
    ],
)
def test_the_ranks_of_a_single_iteration_that_agree_have_its_rate(
    version: str, numbers: str, slowest: float
) -> None:
    (run,) = runs(mdtest(version, CREATION.format(numbers)), "mdtest")
    assert bool(run.outcome) == bool(slowest)
    if run.outcome:
        assert run.outcome.ended_s - run.outcome.began_s == pytest.approx(1000 / slowest)
        assert run.outcome.results[0].operations_count == 1000


def test_the_times_of_ranks_that_agree_tell_the_number_of_items() -> None:
    text = mdtest("3.3.0", CREATION.format("10.1 10 10.05"))
    table = text[text.index("SUMMARY rate") : text.index("-- finished")]
    times = table.replace("rate:", "time:").replace("10.1 10 10.05", "50.0 49.5 49.8")
    (run,) = runs(text.replace(table, f"{table}\n{times}"), "mdtest")
    assert present(run.outcome).results[0].operations_count == 500


# The mdtest of IOR 3.2 on two nodes: of the rates 527, 462, ..., 671, ..., 522 of ten iterations, its table prints
# 670.590, 670.565 and 670.582. It calls itself 1.9.3, as its forerunner does, whose command line has no quotes.
@pytest.mark.parametrize(
    ("options", "iterations", "ranks", "verbose", "counts"),
    [
        ('"-n" "500" "-F"', 2, 2, "", []),
        ('"-n" "500" "-F"', 10, 2, "", []),
        ('"-n" "500" "-F"', 2, 1, "", [1000, 1000]),
        ('"-n" "500" "-F"', 1, 2, "", [1000]),
        ("-n 500 -F", 2, 2, "", [1000, 1000]),
        ('"-n" "500" "-F"', 2, 2, "V-1:   File creation     :          4.000 sec,        250.000 ops/sec\n" * 2, [1000, 1000]),
    ],
    ids=["two iterations", "ten", "one rank", "one iteration", "forerunner", "verbose"],
)  # fmt: skip
def test_iterations_that_mdtest_mixes_up_with_ranks_are_refused(
    options: str, iterations: int, ranks: int, verbose: str, counts: list[int]
) -> None:
    text = mdtest(
        "1.9.3",
        CREATION.format("670.590 670.566 670.578"),
        options=options,
        iterations=iterations,
        ranks=ranks,
        verbose=verbose,
    )
    found = runs(text, "mdtest")
    assert [run.outcome.results[0].operations_count for run in found if run.outcome] == counts
    assert all("mixes up ranks and iterations" in run.failure for run in found if not run.outcome)


@pytest.mark.parametrize(
    ("version", "iterations", "numbers", "rates"),
    [
        ("4.0.0", 1, "600 600 600", [600]),
        ("4.1.0+dev", 2, "900 600 750", [900, 600]),
        ("3.4.0+dev", 3, "900 600 700", [900, 600, 600]),
    ],
)
def test_statistics_over_iterations_are_read(
    version: str, iterations: int, numbers: str, rates: list[float]
) -> None:
    found = runs(mdtest(version, CREATION.format(numbers), iterations=iterations), "mdtest")
    assert [1000 / (present(r.outcome).ended_s - present(r.outcome).began_s) for r in found] == pytest.approx(
        rates
    )


@pytest.mark.parametrize(
    ("head", "row"),
    [
        (
            "per Rank: Max Min Mean Std Dev per Iteration: Max Min Mean",
            "File creation : 3044.769 287.525 542.738 518.464 900 600 750",
        ),
        (
            "per Rank: Max Min Mean per Iteration: Max Min Mean Std Dev",
            "File creation 8405.838 100.030 511.881 900 600 750 150",
        ),
    ],
)
def test_a_table_that_has_ranks_beside_iterations_is_read_by_its_iterations(head: str, row: str) -> None:
    text = mdtest("3.4.0+dev", row, iterations=2)
    plain_head = next(line for line in text.splitlines() if " Operation " in line)
    found = [present(run.outcome) for run in runs(text.replace(plain_head, f"   Operation {head}"), "mdtest")]
    assert [1000 / (outcome.ended_s - outcome.began_s) for outcome in found] == pytest.approx([900, 600])


@pytest.mark.parametrize("version", ["3.2.0", "3.3.0", "4.0.0"])
def test_the_iterations_that_a_verbose_mdtest_prints_are_taken(version: str) -> None:
    lines = "V-1: Rank   0 Line  1223   File creation     :          2.000 sec,        500.000 ops/sec\n"
    lines += "V-1:   File creation     :          4.000 sec,        250.000 ops/sec\n"
    found = runs(mdtest(version, CREATION.format("900 600 750"), iterations=2, verbose=lines), "mdtest")
    took = [present(run.outcome).ended_s - present(run.outcome).began_s for run in found]
    assert took == pytest.approx([2.0, 4.0])
    assert not any("first" in doubt or "fastest" in doubt for doubt in present(found[0].outcome).doubts)


def test_verbose_lines_that_contradict_themselves_are_refused() -> None:
    line = "V-1:   File creation     :          2.000 sec,      90500.000 ops/sec\n"
    with pytest.raises(WorkloadError, match="verbose lines are wrong"):
        runs(mdtest("3.4.0+dev", CREATION.format("900 900 900"), verbose=line), "mdtest")


@pytest.mark.parametrize(
    ("version", "ranks", "doubted"),
    [("3.2.1", 2, True), ("1.9.3", 2, True), ("1.9.3", 1, False), ("4.0.0", 2, False)],
)
def test_the_rate_of_the_fastest_rank_is_doubted(version: str, ranks: int, doubted: bool) -> None:
    (run,) = runs(mdtest(version, CREATION.format("900 900 900"), ranks=ranks), "mdtest")
    assert any("fastest rank" in doubt for doubt in present(run.outcome).doubts) == doubted


def test_mdtest_1_8_counts_its_nodes_in_other_words() -> None:
    """It is the base of procurement benchmarks; its head is "on 2 nodes", and its table "SUMMARY:"."""
    text = mdtest("1.8.4", "File creation     : 500 400 450 50", iterations=2)
    old = text.replace("on 1 node(s)", "on 2 nodes").replace("SUMMARY rate:", "SUMMARY:")
    found = runs(old, "mdtest")
    assert [len(present(run.outcome).results) for run in found] == [2, 2]
    took_s = [present(run.outcome).ended_s - present(run.outcome).began_s for run in found]
    assert took_s == pytest.approx([2.0, 2.5])


def test_loads_of_mdtest_that_differ_in_their_command_are_not_repetitions() -> None:
    row = CREATION.format("900 900 900")
    easy, hard, moved = (
        runs(mdtest("4.0.0", row, options=options), "mdtest")[0].details
        for options in ("'-n' '500'", "'-n' '500' '-w' '3901'", "'-n' '500' '-v' '-i' '1'")
    )
    assert easy == moved
    assert easy != hard


def test_an_operation_that_took_no_time_leaves_the_others_their_rates() -> None:
    rows = "File stat : inf 900 inf 0\n" + CREATION.format("900 600 750")
    stat, creation, *_ = runs(mdtest("4.1.0+dev", rows, iterations=2), "mdtest")
    assert stat.outcome is None
    assert stat.operation == "File stat"
    outcome = present(creation.outcome)
    assert 1000 / (outcome.ended_s - outcome.began_s) == pytest.approx(900)


def test_a_table_without_rates_is_refused() -> None:
    with pytest.raises(WorkloadError, match="has no rates that can be read"):
        runs(mdtest("4.0.0", CREATION.format("600,1 600,1 600,1")), "mdtest")


def test_a_table_for_each_of_several_numbers_of_tasks_is_refused() -> None:
    text = mdtest("4.0.0", CREATION.format("900 900 900"))
    table = text[text.index("2 tasks") : text.index("-- finished")]
    with pytest.raises(WorkloadError, match=r"several numbers of tasks \(-f, -l, -s\)"):
        runs(text.replace(table, "1 tasks, 500 files\n" + table.partition("files")[2] + table), "mdtest")


@pytest.mark.parametrize(("rate", "refused"), [("2 2 2", True), ("4.8 4.8 4.8", False)])
def test_more_items_than_the_run_had_time_for_are_refused(rate: str, *, refused: bool) -> None:
    text = mdtest("4.0.0", CREATION.format(rate), options="'-n' '500' '-F' '-x' '/mnt/fs/items'")  # of 207 s
    if refused:
        with pytest.raises(WorkloadError, match="make 500 s, and it ran 207 s"):
            runs(text, "mdtest")
    else:
        assert runs(text, "mdtest")[0].outcome


@pytest.mark.parametrize(("rate", "idle"), [("4.8 4.8 4.8", False), ("10 10 10", True)])
def test_time_of_mdtest_that_is_in_no_operation_is_stated(rate: str, *, idle: bool) -> None:
    (run,) = runs(mdtest("4.0.0", CREATION.format(rate)), "mdtest")
    assert any("1 min 47 s of the run are in none" in doubt for doubt in present(run.outcome).doubts) == idle


@pytest.mark.parametrize(
    ("rate", "took", "count"), [("335943", "0.003", 1000), ("10", "9.5", 95), ("10", "100", 1000)]
)
def test_items_are_those_stated_unless_rate_and_time_say_others(rate: str, took: str, count: int) -> None:
    text = mdtest("3.3.0", CREATION.format(f"{rate} {rate} {rate}"))
    table = text[text.index("SUMMARY rate") : text.index("-- finished")]
    text = text.replace(table, table + "\n" + table.replace("rate:", "time:").replace(rate, took))
    assert present(runs(text, "mdtest")[0].outcome).results[0].operations_count == count


WALL = "Continue stonewall hit min: 10 max: {} avg: 15.0 \n"
REMOVAL = "\nDirectory removal : 8 8 8 0.000"


def test_items_until_a_stonewall_are_those_of_the_rank_that_made_most() -> None:
    (run,) = runs(mdtest("4.0.0", CREATION.format("4 4 4"), verbose=WALL.format(20)), "mdtest")
    (moved,) = present(run.outcome).results
    assert (moved.operations_count, moved.ended_s - moved.began_s) == (40, pytest.approx(10))


@pytest.mark.parametrize(
    ("walls", "iterations", "more"),
    [((20, 30), 2, ""), ((20,), 2, ""), ((20,), 1, REMOVAL)],
    ids=["iterations that differ", "one of two iterations", "directories"],
)
def test_a_stonewall_that_leaves_items_open_is_refused(
    walls: tuple[int, ...], iterations: int, more: str
) -> None:
    lines = "".join(map(WALL.format, walls))
    text = mdtest("4.0.0", CREATION.format("4 4 4") + more, iterations=iterations, verbose=lines)
    with pytest.raises(WorkloadError, match="does not tell which items are whose"):
        runs(text, "mdtest")


def test_an_mdtest_that_has_no_start_says_so() -> None:
    with pytest.raises(WorkloadError, match="does not report when it started, at the beginning of a line"):
        runs(mdtest("4.0.0", CREATION.format("900 900 900")).partition("\n")[2], "mdtest")


def test_a_folder_is_the_same_with_and_without_a_slash_at_its_end() -> None:
    text = mdtest("4.0.0", CREATION.format("900 900 900"))
    folders = [
        runs(text.replace("/mnt/fs/md\n\n", f"{path}\n\n"), "mdtest")[0].folder
        for path in ("/mnt/fs", "/mnt/fs/", "/")
    ]
    assert folders == ["/mnt/fs", "/mnt/fs", "/"]
