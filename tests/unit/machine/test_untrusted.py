"""What comes from outside: up to a size and a depth, with its types checked, and never a trip over its own
feet.
"""

import json
import re
import tracemalloc
from dataclasses import dataclass, field

import pytest

from perjoule import drivers
from perjoule.machine.untrusted import from_json, json_at, json_from, json_of, read_as, text_of
from perjoule.model import Clock, Json
from perjoule.model.errors import FileDamaged, MachineError, WorkloadError
from perjoule.store import open_results
from perjoule.workloads._raw import RunClocks
from places import SOURCES

RADOS = {
    "total_time_run": "1.5",
    "write_size": 4,
    "total_writes_made": "3",
    "average_latency": "0.1",
    "max_latency": "0.2",
}
DATAS = [{"sec": "1", "finished": "2"}]


@dataclass(frozen=True)
class Small:
    count: int
    times: tuple[Clock, ...] = ()
    more: dict[str, Json] = field(default_factory=dict[str, Json])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 200 + "]" * 200, "deeper than 100"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "deeper than 100"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e999]", "1e999 is not a JSON number"),
        ("[" + "9" * 30 + "]", "is not a JSON number"),
        ("[1,", "Expecting"),
        (b"\xff", "not text"),
        (r'{"model": "\ud800"}', "half a character stands alone in it"),
        (rb'{"\uDFFF\ud800": 1}', "half a character stands alone in it"),
    ],
)
def test_json_that_is_none_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words):
        json_from(text)


def test_no_text_is_read_that_no_file_could_hold():
    assert json_from(r'["\ud83d\ude00", "\\ud800"]') == ["\N{GRINNING FACE}", r"\ud800"]
    assert json_at(r'\ud800 ["a"]', 7) == (["a"], 12)
    with pytest.raises(ValueError, match="half a character"):
        json_at(r'said: ["\ud800"]', 6)


def test_json_that_would_fill_the_memory_is_refused_before_it_is_read():
    text = "[" + "[]," * 1_500_000 + "1]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 1000000 tables"):
            json_from(text)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    with pytest.raises(ValueError, match="longer than 10 B"):
        json_from("[1, 2, 3, 4]", most_bytes=10)


def test_a_file_longer_than_its_limit_is_not_read(tmp_path):
    (tmp_path / "x.log").write_bytes(b"1" * 101)
    with pytest.raises(ValueError, match=r"x\.log is longer than 100 B"):
        text_of(tmp_path / "x.log", 100)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"count": "3"}, 'Small.count: expected a valid integer, found "3"'),
        (
            {"count": 1, "times": [{"monotonic_s": "soon", "utc_s": 1}]},
            "Small.times[0].monotonic_s: expected a valid number",
        ),
        ({"count": 1, "times": 7}, "Small.times: expected a valid array, found 7"),
        ({"count": 1, "colour": 2}, 'no field "colour"'),
        ([], "Small: expected an object, found"),
    ],
)
def test_a_wrong_type_is_reported_with_file_and_key(tmp_path, data, words):
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match=f"^run.json: .*{re.escape(words)}"):
        read_as(Small, tmp_path / "run.json")


def test_data_with_too_many_faults_are_refused_before_each_is_listed():
    times: list[Json] = [7] * 200_001
    with pytest.raises(ValueError, match="more than 200000 values in one Small"):
        from_json(Small, {"count": 1, "times": times})


@pytest.mark.parametrize("count", ["1", 1.5, True, None])
def test_no_type_is_converted(count):
    with pytest.raises(ValueError, match="expected a valid integer"):
        from_json(Small, {"count": count})


def test_infinity_is_as_records_write_it():
    assert from_json(float, json_from('{"$float": "inf"}')) == float("inf")


def test_json_from_outside_is_read_in_one_place():
    """The exceptions are programs that run by themselves on other hosts, and the simulators."""
    own = (
        "machine/untrusted.py",
        "machine/buckets/engine.py",
        "workloads/_ranks/program.py",
        "workloads/_muons/job.py",
        "filesystems/_ceph/control.py",
        "filesystems/_ageing/files.py",
    )
    found = [
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if str(path.relative_to(SOURCES)) not in own
        and "simulators" not in path.parts
        and re.search(r"json\.loads?\(|raw_decode", path.read_text())
    ]
    assert not found


def test_what_hosts_have_in_files_is_decoded_whatever_its_bytes_are():
    strict = r"(?<!os)\.read\(.*\)\.decode\(\)"
    assert not [path for path in SOURCES.rglob("*.py") if re.search(strict, path.read_text())]


def refuse(kind, options, folder):
    workload = drivers.driver_class("workloads", kind)(**options)
    with pytest.raises(WorkloadError, match=r"can't be read|too short for|moved nothing") as told:
        workload.outcome(folder)
    return str(told.value)


def rados(tmp_path, report, began_s=10.0):
    files = {
        "run.json": {"version": "rados", "began_s": {"client-1": began_s}},
        "prepared.json": {"doubts": []},
    }
    for name, data in (files | {"client-1.json": {**RADOS, "datas": DATAS, **report}}).items():
        (tmp_path / name).write_text(json.dumps(data))
    return tmp_path


@pytest.mark.parametrize(
    "report",
    [
        {"total_time_run": "0"},
        {"total_time_run": "1e-30"},
        {"total_time_run": "inf"},
        {"total_time_run": "nan"},
        {"datas": [{"sec": float("inf"), "finished": 1}]},
        {"datas": [{"sec": None, "finished": 1}]},
        {"datas": 3},
        {"average_latency": "nan"},
        {"write_size": 10**19, "total_writes_made": "1" + "0" * 400},
        {"total_writes_made": "-3"},
        {"total_writes_made": []},
    ],
)
def test_a_rados_report_that_can_t_be_is_refused(tmp_path, report):
    refuse("rados", {}, rados(tmp_path, report))


@pytest.mark.parametrize("began_s", ["soon", None, [1], {}])
def test_a_wrong_type_in_rados_run_json_names_file_and_key(tmp_path, began_s):
    assert "run.json: Began.began_s.client-1: expected a valid number" in refuse(
        "rados", {}, rados(tmp_path, {}, began_s)
    )


@pytest.mark.parametrize("kind", ["fio", "ior", "mdtest", "elbencho", "hep", "simulated", "rados"])
@pytest.mark.parametrize(
    "text", ["null", "[]", "3", '{"clients": 3}', '{"clients": [], "clocks": []}', "[" * 10_000, "", "\0"]
)
def test_a_damaged_raw_folder_is_refused_in_a_sentence(tmp_path, kind, text):
    for name in (
        "run.json",
        "prepared.json",
        "simulated.json",
        "histogram.json",
        "tasks.jsonl",
        "ior.json",
        "ior.log",
        "mdtest.log",
    ):
        (tmp_path / name).write_text(text)
    refuse(kind, {}, tmp_path)


def test_two_clocks_and_a_client_are_required(tmp_path):
    with pytest.raises(ValueError, match="1 clients and 1 clocks"):
        RunClocks(("client-1",), (Clock(1.0, 2.0),))


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"overrides": None}, "Head.overrides: expected a valid array, found null"),
        ({"overrides": [3]}, r"Head.overrides\[0\]: expected a valid string, found 3"),
        ({"overrides": "seed=1"}, "Head.overrides: expected a valid array"),
        ({"name": {}}, "Head.name: expected a valid string"),
    ],
)
def test_a_wrong_type_in_results_json_names_file_and_key(tmp_path, head, words):
    (tmp_path / "results.json").write_text(json.dumps({"version": 1, "name": "x", "overrides": [], **head}))
    (tmp_path / "campaign.toml").write_text("")
    (tmp_path / "journal.jsonl").write_text("")
    with pytest.raises(FileDamaged, match=f"results.json: .*{words}"):
        open_results(tmp_path)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        *(
            (entry, "points outside its folder")
            for entry in ({"trial": "../x"}, {"trial": ""}, {"files": {"a/../../b": "0"}})
        ),
        ({"files": {"/etc/passwd": "0"}}, "points outside its folder"),
        ({"trial": "9" * 256}, "too long for a file name"),
        ({"files": {f"raw/{'ä' * 128}": "0"}}, "too long for a file name"),
    ],
)
def test_a_journal_that_leads_elsewhere_is_refused(tmp_path, entry, words):
    (tmp_path / "results.json").write_text(json.dumps({"version": 1}))
    (tmp_path / "campaign.toml").write_text("")
    line = {"trial": "t", "attempt": 1, "status": "valid", "files": {}, **entry}
    (tmp_path / "journal.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(MachineError, match=words):
        open_results(tmp_path)


def test_nested_json_in_the_results_is_refused_by_the_files_name(tmp_path):
    (tmp_path / "results.json").write_text("[" * 5000 + "]" * 5000)  # newer decoders don't recurse
    with pytest.raises(MachineError, match=r"results.json: .*nested deeper"):
        open_results(tmp_path)
    with pytest.raises(ValueError, match=r"results\.json: nested deeper"):
        json_of(tmp_path / "results.json")
