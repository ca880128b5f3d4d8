import json
from dataclasses import replace
from importlib.resources import files

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis.strategies import floats

from measured import STEADY, measured
from perjoule.cli.audit import audit_command
from perjoule.model import Cell, Interval
from perjoule.model.errors import PerjouleError
from perjoule.papers import published
from perjoule.papers.audit import audit, audit_cells
from perjoule.papers.audit.span import Span, compare, evaluate, exactly
from perjoule.summary import summary

CONSISTENT = """
title = "An invented study in which everything follows"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
cluster = "box"

[configuration.one.bounds]
clients = "clients"
client_nic = "nic"
servers = "nodes"
server_nic = "network"
disks = "nodes * disks"
disk_write = "disk"
disk_read = "disk"
copies = "copies"
in_flight = "threads"

[[table]]
place = "section 1"
common = { cluster = "box" }
number = [
  { id = "clients", quantity = "count", printed = "2", what = "clients" },
  { id = "copies", quantity = "count", printed = "2", what = "copies" },
  { id = "threads", quantity = "count", printed = "8", what = "threads" },
  { id = "nic", quantity = "throughput", printed = "1 Gbit/s", statistic = "nominal", what = "line rate" },
  { id = "idle_with", quantity = "power", printed = "56.4 W", state = "idle", switch = "with" },
  { id = "switch", quantity = "power", printed = "15.5 W", state = "idle", component = "switch" },
  { id = "idle", quantity = "power", printed = "40.9 W", state = "idle", switch = "without", derived = "idle_with - switch" },
]

[[table]]
place = "Table I"
common = { cluster = "box", node = "A" }
number = [
  { id = "network", quantity = "throughput", printed = "110.0 MiB/s", what = "network" },
  { id = "disk", quantity = "throughput", printed = "140.0 MiB/s", what = "device", device = "d" },
  { id = "disks", quantity = "count", printed = "2", what = "devices", device = "d" },
  { id = "nodes", quantity = "count", printed = "4", what = "nodes" },
  { id = "tpp", quantity = "throughput", printed = "440.0 MiB/s", what = "TPP" },
]

[[table]]
place = "Table II"
common = { id = "{direction}_{quantity}_{clients}", configuration = "one", statistic = "mean" }
row = ["clients", "direction"]
columns = [
  { id = "rate_{direction}_{clients}", quantity = "throughput", unit = "MiB/s" },
  { id = "share_{direction}_{clients}", quantity = "share", unit = "%", of = "TPP" },
  { id = "power_{direction}_{clients}", quantity = "power", unit = "W" },
  { id = "time_{direction}_{clients}", quantity = "duration", unit = "s" },
  { id = "energy_{direction}_{clients}", quantity = "energy", unit = "J" },
  { id = "efficiency_{direction}_{clients}", quantity = "efficiency", unit = "MiB/J" },
  { id = "edp_{direction}_{clients}", quantity = "energy-delay product", unit = "J s" },
]
rows = [
  [1, "write", "61.3", "13.93", "45.0", "66.8", "3006", "1.362", "200800"],
  [2, "write", "90.5", "20.57", "46.0", "90.5", "4163", "1.967", "376750"],
  [1, "read", "105.0", "23.86", "46.5", "39.0", "1814", "2.258", "70730"],
  [2, "read", "186.0", "42.27", "47.5", "44.0", "2090", "3.916", "91960"],
]

[[table]]
place = "Table III"
common = { quantity = "power", unit = "W", plus_minus = ["systematic"], cluster = "box", statistic = "mean", what = "parts" }
row = ["clients"]
columns = [
  { id = "boards_{clients}", part = "boards" },
  { id = "disks_{clients}", part = "disks" },
  { id = "all_{clients}", part = "boards + disks" },
]
rows = [[1, "41.1 ± 1.0", "125.7 ± 1.0", "166.8 ± 1.4"], [2, "41.8 ± 1.0", "129.0 ± 1.0", "170.8 ± 1.4"]]

[[claim]]
place = "section 2"
text = "throughput increases with clients"
rule = "rising"
among = { quantity = "throughput", configuration = "one" }
along = "clients"
per = ["direction"]

[[claim]]
place = "section 2"
text = "reads are faster than writes"
rule = "above"
among = { quantity = "throughput", configuration = "one" }
which = { direction = "read" }
than = { direction = "write" }
"""


def disagreements(text):
    return [verdict for verdict in audit(published.read(text, "invented")) if verdict.kind == "disagrees"]


def test_a_paper_in_which_everything_follows_yields_nothing():
    verdicts = audit(published.read(CONSISTENT, "invented"))
    assert [v for v in verdicts if v.kind != "agrees"] == []
    rules = {v.rule for v in verdicts}
    assert {
        "as stated",
        "share of TPP = throughput / TPP",
        "TPP = nodes x min(network, devices x device)",
        "energy = power x duration",
        "energy-delay product = energy x duration",
        "efficiency = throughput / power",
        "whole = sum of parts",
        "± = root of the sum of squares",
        "throughput x copies received <= network of the servers",
        "throughput <= requests in flight, each at one server's network",
        "stated in words: rising",
        "stated in words: larger than",
    } <= rules


@pytest.mark.parametrize(
    ("right", "wrong", "id", "rule", "cause"),
    [
        (
            '"42.27"',
            '"32.27"',
            "share_read_2",
            "share of TPP = throughput / TPP",
            "one digit: 32.27 for 42.27",
        ),
        ('"42.27"', '"42.72"', "share_read_2", "share of TPP = throughput / TPP", "two digits exchanged"),
        (
            '"23.86"',
            '"13.93"',
            "share_read_1",
            "share of TPP = throughput / TPP",
            "the number of direction write printed again",
        ),
        (
            '"440.0 MiB/s"',
            '"550.0 MiB/s"',
            "tpp",
            "TPP = nodes x min(network, devices x device)",
            "5 instead of 4 nodes",
        ),
        (
            '"440.0 MiB/s"',
            '"461.4 MiB/s"',
            "tpp",
            "TPP = nodes x min(network, devices x device)",
            "MB printed as MiB",
        ),
        ('"40.9 W"', '"56.4 W"', "idle", "as stated", "the number of switch with printed again"),
        (
            '"170.8 ± 1.4"',
            '"166.8 ± 1.4"',
            "all_2",
            "whole = sum of parts",
            "the number of clients 1 printed again",
        ),
        ('"170.8 ± 1.4"', '"170.8 ± 2.0"', "all_2_systematic", "± = root of the sum of squares", ""),
        ('"2.258"', '"0.4429"', "efficiency_read_1", "efficiency = throughput / power", "operands exchanged"),
        (
            '"2.258"',
            '"1.694"',
            "efficiency_read_1",
            "efficiency = throughput / power",
            "46.5 W taken with the switch",
        ),
        (
            '"4163"',
            '"41630"',
            "energy_write_2",
            "energy = power x duration",
            "the decimal point one place off",
        ),
        ('"2090"', '"2046"', "energy_read_2", "energy = power x duration", "computed with 46.5 W"),
    ],
)
def test_a_planted_slip_is_found_with_its_likely_cause(right, wrong, id, rule, cause):
    assert CONSISTENT.count(right) == 1
    found = disagreements(CONSISTENT.replace(right, wrong))
    slip = next(v for v in found if v.id == id and v.rule == rule)
    number, _, uncertainty = wrong.strip('"').partition(" ± ")
    assert slip.printed.startswith(uncertainty if id.endswith("_systematic") else number.split()[0])
    assert cause in slip.cause


def test_a_slip_is_reported_once_for_each_rule_that_it_breaks_and_nothing_else_is_blamed():
    found = disagreements(CONSISTENT.replace('"20.57"', '"21.57"'))
    assert [v.id for v in found] == ["share_write_2"]


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "cause"),
    [
        (
            '"186.0", "42.27", "47.5", "44.0", "2090", "3.916"',
            '"260.0", "59.09", "47.5", "44.0", "2090", "5.474"',
            "clients",
            "",
        ),
        ('printed = "2", what = "copies"', 'printed = "5", what = "copies"', "copies received", "would take"),
        (
            'printed = "8", what = "threads"',
            'printed = "0.5", what = "threads"',
            "in flight",
            "would take 1 threads",
        ),
    ],
)
def test_a_throughput_that_physics_forbids_is_found(right, wrong, rule, cause):
    assert right in CONSISTENT
    found = disagreements(CONSISTENT.replace(right, wrong))
    assert [v for v in found if rule in v.rule and v.recomputed.startswith("at most") and cause in v.cause]


def test_no_more_of_a_rate_is_checked_where_a_bound_is_broken():
    """More clients would help, a larger line rate is not a count."""
    found = disagreements(CONSISTENT.replace('"110.0 MiB/s"', '"145.3 MiB/s"'))
    (above,) = [v for v in found if v.rule == "network <= line rate"]
    assert "would take" not in above.cause


def test_what_is_not_said_can_t_be_checked_and_how_many_copies_would_fit_is_reported():
    text = CONSISTENT.replace('copies = "copies"', "").replace('"90.5", "20.57"', '"150.5", "34.20"')
    unchecked = [v for v in audit(published.read(text, "invented")) if v.kind == "unchecked"]
    assert any("the number of copies is not given; no more than" in v.cause for v in unchecked)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("", "the paper prints no numbers to derive it from"),
        (', unchecked = "its inputs are elsewhere"', "its inputs are elsewhere"),
    ],
)
def test_a_derived_number_that_no_rule_reaches_says_why_it_is_unchecked(words, cause):
    more = f'{{ id = "gain", quantity = "gain", printed = "10 %", what = "gain"{words} }},\n  {{ id = "idle",'
    text = CONSISTENT.replace('{ id = "idle",', more)
    (found,) = [v for v in audit(published.read(text, "invented")) if v.id == "gain"]
    assert (found.kind, found.cause) == ("unchecked", cause)


def test_data_that_fit_into_memory_are_doubted():
    sizes = """{ id = "data", quantity = "size", printed = "6 GB", what = "data" },
  { id = "memory", quantity = "memory", printed = "8 GB", what = "memory" },
  { id = "nic\""""
    bounds = """in_flight = "threads"
data = "data"
client_memory = "memory\""""
    text = CONSISTENT.replace('{ id = "nic"', sizes).replace('in_flight = "threads"', bounds)
    unchecked = [v for v in audit(published.read(text, "invented")) if v.kind == "unchecked"]
    assert any("caches may have served" in v.cause for v in unchecked)


def test_a_number_that_follows_from_a_wrong_one_is_reported_with_what_it_rests_on():
    more = """{ id = "ratio", quantity = "ratio", printed = "1.545 times", what = "ratio", derived = "idle / 20" },
  { id = "idle","""
    text = CONSISTENT.replace('{ id = "idle",', more).replace('"40.9 W"', '"30.9 W"')
    (resting,) = [v for v in audit(published.read(text, "invented")) if v.rests_on]
    assert resting.id == "ratio"
    assert "30.9 W" in resting.rests_on
    assert "2.045 times" in resting.rests_on


def test_a_sentence_that_numbers_contradict_is_found_with_the_case():
    found = disagreements(
        CONSISTENT.replace(
            '"105.0", "23.86", "46.5", "39.0", "1814", "2.258"',
            '"60.0", "13.64", "46.5", "39.0", "1814", "1.290"',
        )
    )
    (claim,) = [v for v in found if v.rule == "stated in words: larger than"]
    assert "60.0 MiB/s against 61.3 MiB/s" in claim.recomputed
    assert claim.of == "1 of 2 cases"


@pytest.mark.parametrize(
    ("right", "wrong", "cases"),
    [
        ('"90.5", "20.57"', '"50.5", "11.48"', "clients 1 to 2: 61.3 MiB/s to 50.5 MiB/s"),
        ('holds = "idle > switch"', 'holds = "switch > idle"', "15.5 > 40.9 does not hold"),
        ('holds = "idle > switch"', 'holds = "idle < switch"', "40.9 < 15.5 does not hold"),
        ('holds = "idle > switch"', 'holds = "switch < idle"', ""),
    ],
)
def test_words_are_held_against_each_case_and_steps_against_the_one_before(right, wrong, cases):
    claim = """[[claim]]
place = "section 2"
text = "the servers draw more than the switch"
rule = "holds"
holds = "idle > switch"
"""
    text = CONSISTENT + claim
    assert text.count(right) == 1
    found = [
        v
        for v in audit(published.read(text.replace(right, wrong), "invented"))
        if v.rule.startswith("stated in words")
    ]
    against = [v for v in found if v.kind == "disagrees"]
    assert len(found) == 3
    assert [cases in v.recomputed for v in against] == ([True] if cases else [])
    assert {verdict.of for verdict in against} <= {"" if "holds" in right else "1 of 2 cases"}


def test_the_best_is_sought_among_all_that_a_sentence_names():
    claim = """[[claim]]
place = "section 2"
text = "the highest throughput is that of reads"
rule = "best"
among = { quantity = "throughput", configuration = "one" }
which = { direction = "read" }
per = []
"""
    (verdict,) = [
        v for v in audit(published.read(CONSISTENT + claim, "invented")) if "highest throughput" in str(v)
    ]
    assert verdict.kind == "agrees"


@pytest.mark.parametrize(
    ("whole", "disagrees"),
    [
        ('printed = "100.0 MiB/s", statistic = "mean"', False),
        ('printed = "91.0 MiB/s", statistic = "mean"', False),
        ('printed = "130.0 MiB/s", statistic = "mean"', True),
        ('printed = "89.0 MiB/s", statistic = "mean"', True),
        ('printed = "130.0 MiB/s", statistic = "maximum"', False),
        ('printed = "130.0 MiB/s", statistic = "mean", direction = "write"', False),
    ],
)
def test_a_mean_over_all_cases_lies_between_theirs_and_not_between_those_of_others(whole, disagrees):
    """Cases have one fact more; what has two more is a case of a case, and another statistic is not a
    case.
    """
    text = f"""
title = "Means"
authors = "Nobody"
reference = "nowhere"

[[table]]
place = "Table I"
common = {{ quantity = "throughput", what = "study" }}
number = [
  {{ id = "whole", {whole} }},
  {{ id = "one", printed = "90.0 MiB/s", statistic = "mean", clients = 1 }},
  {{ id = "two", printed = "120.0 MiB/s", statistic = "mean", clients = 2 }},
  {{ id = "most", printed = "150.0 MiB/s", statistic = "maximum", clients = 3 }},
  {{ id = "least", printed = "10.0 MiB/s", statistic = "mean", clients = 1, direction = "write" }},
  {{ id = "widest", printed = "200.0 MiB/s", statistic = "mean", clients = 2, direction = "write" }},
]
"""
    found = [
        v
        for v in audit(published.read(text, "invented"))
        if v.rule == "mean over all cases lies between theirs"
    ]
    assert [v.id for v in found if v.kind == "disagrees"] == ["whole"] * disagrees
    if "direction" not in whole and "maximum" not in whole:
        assert [v.id for v in found] == ["whole", "whole"]


def test_rounding_of_all_inputs_is_carried_through():
    ids = {"a": Span(1.5, 2.5), "b": Span(0.95, 1.05)}
    assert evaluate("a - b", ids.__getitem__).low == pytest.approx(0.45)
    assert evaluate("a / b", ids.__getitem__).high == pytest.approx(2.5 / 0.95)
    assert evaluate("max(a, b) * 2", ids.__getitem__) == Span(3.0, 5.0)
    assert evaluate("abs(b - a)", ids.__getitem__).high == pytest.approx(1.55)
    left, sign, right = compare("a > b", ids.__getitem__)
    assert (left, sign, right) == (ids["a"], ">", ids["b"])
    assert exactly(1.0) / Span(-1.0, 1.0) == Span(float("-inf"), float("inf"))


@given(*(floats(-1e6, 1e6) for _ in range(4)), floats(0, 1), floats(0, 1))
@example(0.0, 0.0, -1.0, -5e-324, 0.0, 0.0)  # divided by almost nothing
def test_whatever_lies_in_the_spans_has_its_result_in_the_span_of_the_result(a, b, c, d, at, by):
    one, other = Span(min(a, b), max(a, b)), Span(min(c, d), max(c, d))
    # rounding may lead out
    x, y = (min(s.low + share * (s.high - s.low), s.high) for s, share in ((one, at), (other, by)))
    for text in ("x + y", "x - y", "x * y", "x / y", "min(x, y)", "max(x, y)", "abs(x - y)"):
        if text != "x / y" or abs(y) > 1e-6:
            spans, points = {"x": one, "y": other}, {"x": exactly(x), "y": exactly(y)}
            assert evaluate(text, spans.__getitem__).meets(evaluate(text, points.__getitem__)), text


@pytest.mark.parametrize("text", ["__import__('os')", "a ** b", "a.b", "'a'"])
def test_expressions_are_arithmetic_and_nothing_else(text):
    with pytest.raises(ValueError, match="not arithmetic"):
        evaluate(text, lambda _: exactly(1.0))


# The papers that come with perjoule: what the rules find there, none of which they know beforehand.


def found_in(name):
    return {v.id or v.what: v for v in audit(published.paper(name)) if v.kind == "disagrees"}


def test_what_green_storage_prints_of_its_own_numbers():
    found = found_in("green-storage")
    assert set(found) == {
        "tpp_arm_glusterfs_read",
        "ref2_density",
        "orangefs_share_write",
        "orangefs_share_read",
    }
    assert found["tpp_arm_glusterfs_read"].recomputed == "60.31 %"
    assert found["ref2_density"].cause == "1 instead of 3 nodes supermicro"
    resting = [v.id for v in audit(published.paper("green-storage")) if v.rests_on]
    assert resting == ["density_ratio", "density_twice"]


def test_what_the_cubieboard_paper_prints_of_its_own_numbers():
    found = found_in("cubieboard")
    assert found["power_4_boards_disks_mean"].cause == "the number of clients 1 printed again"
    assert found["ceph_capacity"].cause == "TiB printed as TB"
    assert found["read_5_text"].cause == "one digit: 119.9 for 119.0"
    assert "118.95" in found["read_5_share"].cause
    assert found["write_1"].cause == "would take 6 parallel threads of a client, not 4"
    assert {"least_power", "read_1", "rate_hep_boards_statistical"} <= found.keys()


def test_a_gain_in_efficiency_above_that_in_throughput_is_found():
    (slip,) = found_in("ssd-vs-hdd").values()
    assert slip.id == "read_efficiency_gain"
    assert slip.cause == "exchanged with 196 % (direction write)"


def test_what_the_access_pattern_study_says_of_its_tables():
    found = found_in("access-patterns")
    gains = [id for id in found if id.startswith("gain_")]
    assert "gain_beegfs_64_KB_read" not in gains
    assert len(gains) == 7
    block = found['"the default block size is best for XFS"']
    assert block.of == "6 of 12 cases"
    assert block.recomputed.endswith(
        "1 MB, sequential, write: 16.78 MB/s against 18.65 MB/s (2 KB); and 3 more"
    )
    small = found['"for small writes XFS is best (default block sizes)"']
    assert (small.recomputed, small.of) == ("random: 129.65 MB/s against 132.72 MB/s (btrfs)", "1 of 2 cases")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "id"),
    [
        ("green-storage", '"365.57"', '"356.57"', "tpp_arm_moosefs_write"),
        ("green-storage", '"32.4"', '"34.2"', "ref2_supermicro_tpp"),
        ("green-storage", '"~174 %"', '"~500 %"', "write_efficiency_gain"),
        ("green-storage", '"40.9 W"', '"41.9 W"', "arm_idle"),
        ("cubieboard", '"127.9 ± 0.1 ± 1.0"', '"129.7 ± 0.1 ± 1.0"', "power_2_boards_disks_mean"),
        ("cubieboard", '"77.1 %"', '"71.7 %"', "write_5_share"),
        ("cubieboard", '"272.0 ± 1.5 ± 2.3"', '"372.0 ± 1.5 ± 2.3"', "energy_hep_boards_disks"),
        (
            "access-patterns",
            'beneath = "ext4, xfs", printed = "10"',
            'beneath = "ext4, xfs", printed = "14"',
            "gain_beegfs_64_KB_read",
        ),
        ("ssd-vs-hdd", '"96"', '"64"', "experiments"),
    ],
)
def test_a_slip_planted_in_a_copy_of_a_paper_is_found_and_was_not_there_before(name, right, wrong, id):
    text = files("perjoule.papers.published").joinpath(f"{name}.toml").read_text("utf-8")
    assert text.count(right) == 1
    assert id not in found_in(name)
    assert id in {verdict.id for verdict in disagreements(text.replace(right, wrong))}


# One's own results.


def interval(*values):
    return Interval(values[0], values[0], values[0], values)


METRICS = {
    "throughput_bytes_per_s": interval(100e6, 110e6),
    "tpp_ratio": interval(100e6 / 466993807.36, 110e6 / 466993807.36),
    "duration_s": interval(10.0, 9.0),
    "mean_w": interval(45.0, 46.0),
    "energy_j": interval(450.0, 414.0),
    "efficiency_bytes_per_j": interval(100e6 / 45, 110e6 / 46),
    "edp_js": interval(4500.0, 3726.0),
    "gross_energy_j": interval(600.0, 540.0),
    "gross_mean_w": interval(60.0, 60.0),
    "gross_efficiency_bytes_per_j": interval(100e6 / 60, 110e6 / 60),
}
CELL = Cell("moosefs", "write 4 MiB", "write", 2, METRICS)


def test_results_of_one_s_own_in_which_everything_follows_yield_nothing():
    verdicts = audit_cells([CELL], "odroid-hc4")
    assert {v.kind for v in verdicts} == {"agrees"}
    assert len(verdicts) == 2 * (3 + 2 + 2)  # two repetitions: net, gross, share and bound of TPP


def test_an_efficiency_that_does_not_follow_is_found_with_its_repetition():
    spoilt = {**METRICS, "efficiency_bytes_per_j": interval(100e6 / 45, 110e6 / 60)}
    (slip,) = [v for v in audit_cells([replace(CELL, metrics=spoilt)], "odroid-hc4") if v.kind == "disagrees"]
    assert slip.rule == "efficiency = throughput / power"
    assert "repetition 2" in slip.what
    assert "gross" in slip.cause


def test_a_throughput_above_the_peak_is_found():
    fast = {"throughput_bytes_per_s": interval(500e6)}
    (slip,) = [v for v in audit_cells([replace(CELL, metrics=fast)], "odroid-hc4") if v.kind == "disagrees"]
    assert slip.rule == "throughput <= TPP"


def test_doubts_of_physics_disagree_and_others_can_t_be_checked():
    doubted = replace(CELL, doubts=("a cache served it", "the meter had a gap"))
    kinds = {
        v.recomputed or v.cause: v.kind
        for v in audit_cells([doubted], "", ["a cache served it"])
        if v.kind != "agrees"
    }
    assert kinds == {"a cache served it": "disagrees", "the meter had a gap": "unchecked"}


# The command.


def test_the_audit_of_a_paper_ends_well_unless_asked_to_be_strict():
    run = CliRunner().invoke
    assert run(audit_command, ["cubieboard"]).exit_code == 0
    assert run(audit_command, ["cubieboard", "--strict"]).exit_code == 1


def test_the_audit_says_printed_recomputed_and_likely_cause():
    shown = CliRunner().invoke(audit_command, ["green-storage"]).output
    assert "printed 50.31 %, recomputed 60.31 % (share of TPP = throughput / TPP)" in shown
    assert "likely cause: one digit: 50.31 for 60.31" in shown
    assert "Can't be checked" in shown


def test_the_audit_of_all_papers_is_there_for_programs():
    found = json.loads(CliRunner().invoke(audit_command, ["all", "--json"]).output)["verdicts"]
    assert set(found) == set(published.names())
    assert {v["kind"] for verdicts in found.values() for v in verdicts} == {
        "agrees",
        "disagrees",
        "unchecked",
    }


def test_a_folder_that_is_not_there_is_one_sentence():
    error = CliRunner().invoke(audit_command, ["results/nowhere"]).exception
    assert isinstance(error, PerjouleError)
    assert "results/nowhere: no such folder" in str(error)


@pytest.mark.heavy
def test_a_results_folder_is_audited_and_a_number_changed_in_its_table_is_found(tmp_path):
    results = measured(tmp_path / "results", 'clients = [1, 2]\nsettle = "30 ms"', size="4 MiB", meter=STEADY)
    results.keep_table(summary(results).cells)
    said = CliRunner().invoke(audit_command, [str(results.folder), "--strict"])
    assert said.exit_code == 0, said.output
    assert "energy = power x duration" in said.output
    path = results.folder / "table.json"
    table = json.loads(path.read_text())
    table["cells"][0]["metrics"]["energy_j"]["values"][0] *= 10
    path.write_text(json.dumps(table))
    said = CliRunner().invoke(audit_command, [str(results.folder), "--strict"])
    assert said.exit_code == 1
    assert "likely cause: the decimal point one place off" in said.output
    assert "energy_j.values[0] is" in said.output  # as `perjoule verify` says
