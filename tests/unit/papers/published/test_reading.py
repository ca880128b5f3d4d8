import json
from importlib.resources import files

import pytest
from click.testing import CliRunner

from perjoule import catalogue
from perjoule.cli.papers import papers_command
from perjoule.model.errors import CampaignError, PerjouleError
from perjoule.papers import published
from perjoule.papers.audit import audit
from perjoule.papers.published import printed

MIB = 1024**2

PAPER = """
title = "An invented study"
authors = "Nobody"
reference = "nowhere"
[configuration.fast]
cluster = "box"
filesystem = "flatfs"
[[table]]
place = "Table I"
common = { id = "fast_{direction}", quantity = "throughput", unit = "MiB/s", plus_minus = ["deviation"] }
row = ["configuration"]
columns = [{ direction = "write" }, { direction = "read" }]
rows = [["fast", "100.0 ± 2.0", "120.0 ± 1.5"]]
[[table]]
place = "section 2"
number = [{ id = "both", quantity = "throughput", printed = "220.0 MiB/s", derived = "fast_write + fast_read" }]
"""


@pytest.mark.parametrize(
    ("text", "sign", "value", "low", "high", "unit"),
    [
        ("95.22 MiB/s", "", 95.22, 95.215, 95.225, "MiB/s"),
        ("1,057 W", "", 1057, 1056.5, 1057.5, "W"),
        ("6-9 %", "", 7.5, 5.5, 9.5, "%"),
        ("5–10 W", "", 7.5, 4.5, 10.5, "W"),
        ("< 50 W", "<", 50, 50, 50, "W"),
        ("~8 W", "~", 8, 7, 9, "W"),
        ("~1,350 EUR", "~", 1350, 1282.5, 1417.5, "EUR"),
        ("100 Mb/s", "", 100, 99.5, 100.5, "Mbit/s"),
    ],
)
def test_printed_digits_say_what_they_leave_open(text, sign, value, low, high, unit):
    read = printed(text)
    assert (read.sign, read.unit) == (sign, unit)
    assert (read.value, read.low, read.high) == pytest.approx((value, low, high))


def test_what_stands_behind_each_plus_minus_is_kept_as_digits():
    assert printed("41.1 ± 0.1 ± 1.0 W").uncertainties == ("0.1", "1.0")


def test_nominal_values_leave_nothing_open():
    read = printed("1 TB", exact=True)
    assert read.low == read.value == read.high == 1


def test_rows_and_columns_give_numbers_with_their_facts_in_si_units():
    paper = published.read(PAPER, "invented")
    number = paper.number("fast_read")
    assert number.value == 120 * MIB
    assert (number.low, number.high) == pytest.approx((119.95 * MIB, 120.05 * MIB))
    assert number.facts == {
        "cluster": "box",
        "filesystem": "flatfs",
        "configuration": "fast",
        "direction": "read",
    }
    assert number.printed == "120.0 ± 1.5 MiB/s"
    assert [(u.value, u.kind) for u in number.uncertainties] == [(1.5 * MIB, "deviation")]
    assert paper.find(quantity="throughput", filesystem="flatfs", direction="write") == (
        paper.number("fast_write"),
    )


@pytest.mark.parametrize(
    ("behind", "low", "high"), [("1.5", 1.45, 1.55), ("0.5", 0.45, 0.55), ("2", 1.5, 2.5), ("0.0", 0.0, 0.05)]
)
def test_what_stands_behind_a_plus_minus_is_as_good_as_its_digits_and_not_below_nothing(behind, low, high):
    paper = published.read(PAPER.replace("120.0 ± 1.5", f"120.0 ± {behind}"), "invented")
    (uncertainty,) = paper.number("fast_read").uncertainties
    assert uncertainty.value == float(behind) * MIB
    assert (uncertainty.low, uncertainty.high) == pytest.approx((low * MIB, high * MIB))


@pytest.mark.parametrize(
    ("rows_place", "numbers_place", "tables"),
    [
        ("Table I", "section 2", ("Table I",)),
        ("section 3", "section 2", ("section 3",)),
        ("section 3", "Table II", ("section 3", "Table II")),
        ("Table I", "Table I", ("Table I",)),
    ],
)
def test_tables_are_places_with_rows_and_those_called_so(rows_place, numbers_place, tables):
    text = PAPER.replace("Table I", rows_place).replace("section 2", numbers_place)
    assert published.read(text, "invented").tables == tables


@pytest.mark.parametrize(
    ("written", "broken", "complaint"),
    [
        (
            'quantity = "throughput", printed',
            'quantity = "trouhgput", printed',
            'unknown quantity "trouhgput"',
        ),
        ('filesystem = "flatfs"', 'bounds = { nics = "both" }', 'unknown bound "nics"'),
        ("220.0 MiB/s", "220.0 W", 'unknown unit "W" of throughput'),
        ("fast_write + fast_read", "fast_write + fast_raed", 'did you mean "fast_read"?'),
        ('id = "both"', 'id = "fast_read"', 'two numbers are called "fast_read"'),
        ('rows = [["fast", ', 'rows = [["slow", ', 'no configuration is called "slow"'),
        ('"120.0 ± 1.5"', '"120.0"', "0 uncertainties, and plus_minus names 1"),
        (', "120.0 ± 1.5"', "", "has 1 numbers for 2 columns"),
        ('"220.0 MiB/s"', '"many MiB/s"', "is not a printed number"),
        ('id = "both"', 'id = "{0}"', "Replacement index 0"),
        ("title =", "tilte =", "title"),
        (
            '[[table]]\nplace = "section 2"',
            '[[claim]]\nplace = "section 2"\ntext = "so"\nrule = "above"\nfactors = ["2"]\n'
            '[[table]]\nplace = "section 2"',
            "1 factors for 0 pairs",
        ),
        ("[[table]]", "[[table", "not TOML"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_place(written, broken, complaint):
    assert written in PAPER
    with pytest.raises(CampaignError) as refusal:
        published.read(PAPER.replace(written, broken), "mine")
    assert complaint in str(refusal.value)
    assert "mine.toml" in str(refusal.value)


def test_an_unknown_paper_is_answered_with_its_neighbour():
    with pytest.raises(CampaignError, match='did you mean "green-storage"'):
        published.paper("green-storge")


@pytest.mark.parametrize("name", published.names())
def test_every_number_has_a_place_and_belongs_to_something(name):
    paper = published.paper(name)
    assert paper.reference and paper.title
    assert all(one.place and one.own for one in paper.numbers if one.quantity != "gain")
    assert all(one.low <= one.value <= one.high for one in paper.numbers if one.printed[0] not in "<>")


def test_the_catalogue_has_what_table_i_prints():
    paper = published.paper("green-storage")
    for name, id in (("odroid-hc4", "arm_tpp"), ("reference-1", "ref1_tpp"), ("reference-2", "ref2_tpp")):
        assert catalogue.tpp_bytes_per_s(catalogue.cluster(name)) == pytest.approx(
            paper.number(id).value, rel=1e-9
        )
    for name, id in (("odroid-hc4", "arm_idle"), ("reference-1", "ref1_idle"), ("reference-2", "ref2_idle")):
        assert catalogue.idle_w(catalogue.cluster(name), switch=False) == pytest.approx(
            paper.number(id).value
        )


def test_clusters_and_devices_are_called_as_in_the_catalogue():
    paper = published.paper("green-storage")
    assert {"odroid-hc4", "reference-1", "reference-2"} <= set(catalogue.names())
    known = {
        d.name for name in catalogue.names() for node in catalogue.cluster(name).nodes for d in node.disks
    }
    assert set(paper.values("device")) <= known


def test_the_papers_come_with_the_package():
    assert (
        len([path for path in files("perjoule.papers.published").iterdir() if path.name.endswith(".toml")])
        == 7
    )


def test_papers_are_listed_with_how_many_numbers_they_have():
    result = CliRunner().invoke(papers_command, [])
    assert result.exit_code == 0
    assert all(name in result.output for name in published.names())
    assert f"{len(published.paper('green-storage').numbers)} numbers" in result.output


def test_numbers_of_a_table_are_listed_for_programs():
    result = CliRunner().invoke(
        papers_command, ["green-storage", "--table", "Table II", "--quantity", "share", "--json"]
    )
    found = json.loads(result.output)["numbers"]
    assert len(found) == 12
    moosefs = next(one for one in found if one["id"] == "tpp_arm_moosefs_write")
    assert moosefs["value"] == pytest.approx(0.8208)
    assert moosefs["facts"]["filesystem"] == "moosefs"


def test_numbers_of_a_place_that_is_not_there_are_answered_with_its_neighbour():
    result = CliRunner().invoke(papers_command, ["green-storage", "--table", "Table 2"])
    assert isinstance(result.exception, CampaignError)
    assert "did you mean" in str(result.exception)


def test_a_paper_of_one_s_own_is_read_from_its_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PAPER)
    assert "220.0 MiB/s" in CliRunner().invoke(papers_command, [str(path)]).output


def test_a_paper_s_file_that_is_not_there_is_one_sentence(tmp_path):
    result = CliRunner().invoke(papers_command, [str(tmp_path / "none.toml")])
    assert isinstance(result.exception, PerjouleError)
    assert "none.toml" in str(result.exception)


@pytest.mark.parametrize("lacking", ["source", "date"])
def test_claims_without_a_paper_name_source_and_date_of_each_table(lacking):
    named = {"source": 'source = "https://example.org/press"', "date": 'date = "2026-01-31"'}
    claims = 'kind = "claims"\n' + PAPER.replace(
        'place = "Table I"', 'place = "Table I"\n' + "\n".join(named.values())
    )
    whole = claims.replace('place = "section 2"', 'place = "section 2"\n' + "\n".join(named.values()))
    read = published.read(whole, "acme")
    assert read.kind == "claims"
    assert {(one.source, one.date) for one in read.numbers} == {("https://example.org/press", "2026-01-31")}
    with pytest.raises(
        CampaignError, match='claims need the source and the date of each table; "section 2" lacks one'
    ):
        published.read(claims, "acme")
    with pytest.raises(CampaignError, match='"Table I" lacks one'):
        published.read(whole.replace(named[lacking], "", 1), "acme")
    with pytest.raises(CampaignError, match=rf"table \(number 1\)\.{lacking}"):
        published.read(whole.replace(named[lacking], f'{lacking} = "somewhere"'), "acme")


def test_vendors_figures_follow_from_their_own_watts_and_contradict_each_other():
    verdicts = audit(published.paper("scality-micron-hdd-ssd"))
    assert sum(one.kind == "agrees" for one in verdicts) == 14
    (against,) = [one for one in verdicts if one.kind == "disagrees"]
    assert against.what == '"a hard disk stores more per watt than a high-density SSD"'


def test_a_number_is_named_as_its_field_says_it() -> None:
    paper = published.paper("green-storage")
    assert paper.number("ref1_idle").name == "power (reference-1, idle, without the switch)"
    assert paper.number("arm_idle_with_switch").name == "power (odroid-hc4, idle, with the switch)"
    assert paper.number("arm_peak").name == "power (peak, without the switch, arm-moosefs, write, 4 clients)"
    assert published.paper("cubieboard").number("read_1").name == "throughput (ceph, 1 client, read)"
