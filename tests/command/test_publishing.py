"""The public list: what it takes, how it ranks, what its pages say, and that a hostile bundle does no
harm.
"""

import hashlib
import html
import json
import re
import shutil
import stat
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from math import inf
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from attacks.bundles import HOSTILE as HOSTILE_BUNDLES
from laboratory import laboratory
from measured import STEADY, measured
from oracle import students
from perjoule import exporting, importing, publishing, report, store
from perjoule.cli import cli
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.exporting.crate import CHECKSUMS, METADATA
from perjoule.importing.sources import sources
from perjoule.machine import removal
from perjoule.measures.points import points_of
from perjoule.model import Point
from perjoule.model.doubts import TIMES
from perjoule.model.errors import CampaignError, MachineError
from perjoule.publishing import entry as entries
from perjoule.publishing.entry import checked
from perjoule.publishing.ranking import groups
from perjoule.summary import summary
from perjoule.trial.reading import Reading
from unit.exporting.test_bundle import rewritten
from unit.importing.io500_folders import old

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
SAID = exporting.Description("Lab one", "", "CC-BY-4.0", ("Ada Lovelace",))


def bundle_of(room, name, *, said=SAID, **how):
    """Results of IO500 folders of several days with a log of power, as a bundle."""
    return exported(laboratory(room, room / f"{name}-results", **how), room / f"{name}.zip", said)


def exported(results, target, said=SAID):
    report.write(results, results.folder / "report.html")
    exporting.write_bundle(
        results, target, exporting.csv_text(list(exporting.rows(results, summary(results).cells))), said
    )
    return target


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(tmp_path_factory.mktemp("publish"), "one")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    said = exporting.Description(f"study {HOSTILE}", HOSTILE, f"CC {HOSTILE}", (f"Mallory {HOSTILE}",))
    return bundle_of(
        tmp_path_factory.mktemp("hostile"), "two", watts=200.0, said=said, filesystem=f"fs {HOSTILE}"
    )


class Page(HTMLParser):
    """The tags, links and ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [found["href"]] if "href" in found and tag == "a" else []
        self.ids |= {found["id"]} if "id" in found else set()
        assert not any(name.startswith("on") for name in found), found


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


# What is taken


def test_a_bundle_that_verifies_is_added_under_its_own_digest(bundle: Path, tmp_path: Path) -> None:
    done = command("publish", bundle, "--into", tmp_path / "list")
    assert done.exit_code == 0
    assert "3 of 3 numbers can be ranked" in done.output
    (added,) = publishing.bundles(tmp_path / "list")
    assert added.read_bytes() == bundle.read_bytes()
    assert re.fullmatch(r"lab-one-[0-9a-f]{12}\.zip", added.name)
    with pytest.raises(CampaignError, match="has this bundle already"):
        publishing.add(bundle, tmp_path / "list")


def test_each_trial_is_computed_once(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials: list[str] = []

    def counted(reading: Reading) -> tuple[Point, ...]:
        trials.append(reading.record.trial.id)
        return points_of(reading)

    for module in ("perjoule.measures.points", "perjoule.summary.trial"):
        monkeypatch.setattr(f"{module}.points_of", counted)
    entry, _ = publishing.add(bundle, tmp_path / "list")
    assert sorted(trials) == sorted(trial.id for trial in entry.trials)


def test_a_bundle_that_is_replaced_once_it_is_checked_is_not_added(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(path: Path) -> entries.Entry:
        entry = checked(path)
        path.write_bytes(b"another")
        return entry

    monkeypatch.setattr("perjoule.publishing.folder.checked", swapped)
    theirs = Path(shutil.copy(bundle, tmp_path / "theirs.zip"))
    with pytest.raises(CampaignError, match="it changed while it was checked"):
        publishing.add(theirs, tmp_path / "list")
    assert not list((tmp_path / "list/bundles").iterdir())


@pytest.mark.parametrize(
    ("said", "reason"),
    [(replace(SAID, license=""), "it has no license"), (replace(SAID, authors=()), "it has no author")],
)
def test_a_license_and_an_author_are_needed(
    bundle: Path, tmp_path: Path, said: exporting.Description, reason: str
) -> None:
    with open_archive(bundle) as archive, unpacked(archive) as folder:
        shutil.copytree(folder, tmp_path / "results")
    with pytest.raises(CampaignError, match=reason):
        publishing.add(
            exported(store.open_results(tmp_path / "results"), tmp_path / "b.zip", said), tmp_path / "list"
        )
    assert not (tmp_path / "list").exists()


def test_one_repetition_is_nothing_to_rank(tmp_path: Path) -> None:
    with pytest.raises(
        CampaignError, match=r"none of its 3 numbers can be ranked \(one repetition has no interval\)"
    ):
        checked(bundle_of(tmp_path, "once", days=(7,)))


def test_simulated_results_are_refused(tmp_path: Path) -> None:
    results = measured(tmp_path / "results", "repetitions = 2", meter=STEADY)
    with pytest.raises(CampaignError, match="its hosts or all of its power are simulated"):
        checked(exported(results, tmp_path / "simulated.zip"))


def test_results_without_energy_are_refused(tmp_path: Path) -> None:
    results = importing.create(tmp_path / "results")
    importing.bring(results, sources([str(old(tmp_path / "a"))], "UTC")[0])
    with pytest.raises(CampaignError, match="no trial has an energy"):
        checked(exported(results, tmp_path / "bare.zip"))


def test_an_implausible_number_is_shown_without_a_rank(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doubt = TIMES.after_phase(phase="mdtest-hard-write")  # any doubt of one cell
    others = (template.sentence.__name__ for template in TIMES.templates if template.id != doubt.id)
    monkeypatch.setitem(vars(TIMES), "spared", tuple(others))
    monkeypatch.setitem(vars(TIMES), "disqualifies", True)
    found = checked(bundle)
    assert {row.workload for row in found.rows if row.objections == (doubt,)} == {"io500 find"}
    (group,) = (group for group in groups([found]) if group.workload == "io500 find")
    assert [place.rank for place in group.places] == [None]


# What does no harm


def test_a_bundle_with_a_changed_file_is_refused(bundle: Path, tmp_path: Path) -> None:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        return name, content.replace(b"valid", b"vxlid") if name.endswith("record.json") else content

    with pytest.raises(CampaignError, match=r"does not verify.*differs from the file that was bundled"):
        publishing.add(rewritten(bundle, tmp_path / "changed.zip", change), tmp_path / "list")
    assert not (tmp_path / "list").exists()


def test_a_forged_table_with_matching_checksums_is_refused(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as source:
        table = source.read("table.json")
    forged = re.sub(rb'"mean": ?(\d)', rb'"mean": 9\1', table)
    assert forged != table
    digests = {hashlib.sha256(table).hexdigest().encode(): hashlib.sha256(forged).hexdigest().encode()}

    def change(name: str, content: bytes) -> tuple[str, bytes]:
        if name == "table.json":
            return name, forged
        for before, after in digests.items() if name == CHECKSUMS else ():
            content = content.replace(before, after)
        return name, content

    with pytest.raises(CampaignError, match=r"does not verify.*recomputed"):
        checked(rewritten(bundle, tmp_path / "forged.zip", change))


def test_a_bundle_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.zip"
    with large.open("wb") as file:
        file.truncate(entries.MOST_BUNDLE_BYTES + 1)
    with pytest.raises(CampaignError, match="a bundle on the list has at most 100 MiB"):
        checked(large)


def test_a_bundle_that_unpacks_to_too_much_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST_UNPACKED_BYTES", 1000)
    with pytest.raises(MachineError, match=r"it unpacks to .*publish a part"):
        checked(bundle)


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/tmp/outside.txt", "trials/../../outside.txt", "a\\..\\b"]
)
def test_names_that_lead_outside_are_refused(bundle: Path, tmp_path: Path, name: str) -> None:
    target = Path(shutil.copy(bundle, tmp_path / "outside.zip"))
    with zipfile.ZipFile(target, "a") as opened:
        opened.writestr(name, "x")
    with pytest.raises(MachineError, match="does not belong in a bundle"):
        publishing.add(target, tmp_path / "list")
    assert {path.name for path in tmp_path.iterdir()} == {"outside.zip"}


def test_links_inside_a_bundle_are_refused(bundle: Path, tmp_path: Path) -> None:
    target = Path(shutil.copy(bundle, tmp_path / "link.zip"))
    with zipfile.ZipFile(target, "a") as opened:
        link = zipfile.ZipInfo("trials/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(link, "/etc/passwd")
    with pytest.raises(MachineError, match="does not belong in a bundle"):
        publishing.add(target, tmp_path / "list")


def test_links_in_the_list_are_not_followed(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "list/bundles").mkdir(parents=True)
    (tmp_path / "list/bundles/linked.zip").symlink_to(bundle)
    assert publishing.bundles(tmp_path / "list") == ()
    (tmp_path / "linked").symlink_to(bundle)
    with pytest.raises(CampaignError, match="this is not a file"):
        checked(tmp_path / "linked")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/bundles").symlink_to(tmp_path / "list/bundles")
    with pytest.raises(CampaignError, match="not a list of results"):
        publishing.add(bundle, tmp_path / "other")
    (tmp_path / "third").mkdir()
    (tmp_path / "third/README.md").symlink_to(tmp_path / "profile")
    publishing.add(bundle, tmp_path / "third")
    assert not (tmp_path / "profile").exists()


def test_html_in_labels_is_text_on_every_page(bundle: Path, hostile: Path, tmp_path: Path) -> None:
    for one in (bundle, hostile):
        publishing.add(one, tmp_path / "list")
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert len(built.entries) == 2
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 3
    for path in pages:
        page = Page(path.read_text())
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert not any(link.startswith(("javascript:", "data:", "http")) for link in page.links)
        assert "script-src 'sha256-" in html.unescape(path.read_text())
    names = {path.name for path in (tmp_path / "site").rglob("*")}
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names)
    assert not any(name.endswith((".js", ".svg", ".htm")) or name == "report.html" for name in names)


# The site


def test_every_link_of_the_site_leads_somewhere_and_every_number_to_raw_files(
    bundle: Path, tmp_path: Path
) -> None:
    publishing.add(bundle, tmp_path / "list")
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    pages = {path: Page(path.read_text()) for path in (tmp_path / "site").rglob("*.html")}
    for path, page in pages.items():
        for link in page.links:
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_file(), link
            if anchor:
                assert anchor in pages[target].ids, link
    (entry,) = built.entries
    numbers = [link for link in pages[built.page].links if "#row-" in link]
    assert {link.partition("#")[2] for link in numbers} == {row.id for row in entry.rows}
    own = pages[tmp_path / "site/entries" / entry.id / "index.html"]
    assert sum(link.startswith("#trial-") for link in own.links) == 3 * len(entry.rows)
    folder = tmp_path / "site/entries" / entry.id
    assert (
        sum(link.startswith("raw/") for link in own.links)
        == sum(len(trial.raw) for trial in entry.trials)
        > 20
    )
    record = next(index for index, (name, _) in enumerate(entry.trials[0].raw) if name == "record.json")
    assert json.loads((folder / f"raw/0-{record}.txt").read_text())["status"] == "valid"
    assert (tmp_path / "site/bundles" / f"{entry.id}.zip").read_bytes() == bundle.read_bytes()
    text = html.unescape((folder / "index.html").read_text())
    assert entry.sections
    for section in entry.sections:  # of each view, as in a report
        assert f"<summary>{section.view.title}</summary>" in text
        assert [note in text for shown, _ in section.tables if (note := shown.note)].count(False) == 0


def test_a_bundle_that_fails_in_the_list_is_left_out_and_named(bundle: Path, tmp_path: Path) -> None:
    _, target = publishing.add(bundle, tmp_path / "list")
    bad = target.with_name("bad.zip")
    bad.write_bytes(target.read_bytes()[:-100])
    done = command("list", "build", tmp_path / "list", "--to", tmp_path / "site")
    assert done.exit_code == 1
    assert "bad.zip" in done.output
    assert "1 publication, 3 numbers" in done.output


@pytest.mark.parametrize(
    "what",
    [
        "name: a file that is a folder",
        "name: 2000 folders",
        "bytes after it",
        "small files of 3 GiB together",
    ],
)
def test_one_hostile_bundle_does_not_stop_the_list(what: str, bundle: Path, tmp_path: Path) -> None:
    _, target = publishing.add(bundle, tmp_path / "list")
    HOSTILE_BUNDLES[what](bundle, target.with_name("a-first.zip"))
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert [entry.path for entry in built.entries] == [target]
    (words,) = built.refused
    assert "a-first.zip" in words
    assert (tmp_path / "site/index.html").is_file()


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("open_archive", RecursionError("deep")),
        ("verification.verify", MemoryError()),
        ("Content", OSError(5, "bad disk")),
    ],
)
def test_whatever_one_bundle_breaks_it_is_left_out_and_named(
    step: str, error: Exception, bundle: Path, hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = publishing.add(bundle, tmp_path / "list")
    _, second = publishing.add(hostile, tmp_path / "list")
    failures = [error]

    def broken(*_: object, **__: object) -> object:
        if failures:
            raise failures.pop()
        return works(*_, **__)

    place, _, name = f"perjoule.publishing.entry.{step}".rpartition(".")
    works = getattr(entries.verification if "verify" in step else entries, name)
    monkeypatch.setattr(f"{place}.{name}", broken)
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert len(built.entries) == 1
    assert [words.startswith((f"{first}: ", f"{second}: ")) for words in built.refused] == [True]
    assert not failures


def test_a_bundle_whose_page_can_not_be_written_is_left_out_whole(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishing.add(bundle, tmp_path / "list")

    def unprintable(path: Path) -> entries.Entry:
        return replace(checked(path), title="\ud800")

    monkeypatch.setattr("perjoule.publishing.site.checked", unprintable)
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert (built.entries, len(built.refused)) == ((), 1)
    assert {path.name for path in (tmp_path / "site").rglob("*")} == {
        ".perjoule-site",
        "bundles",
        "index.html",
    }


def test_two_bundles_whose_digests_begin_alike_do_not_stop_the_list(
    bundle: Path, hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (bundle, hostile):
        publishing.add(path, tmp_path / "list")
    monkeypatch.setattr(entries.Entry, "id", property(lambda entry: "0" * 12))
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert len(built.entries) == 1
    assert "its digest begins like that of another bundle" in built.refused[0]


def test_a_bundle_that_is_replaced_once_it_is_checked_is_left_out(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, target = publishing.add(bundle, tmp_path / "list")

    def swapped(path: Path) -> entries.Entry:
        entry = checked(path)
        target.write_bytes(b"another")
        return entry

    monkeypatch.setattr("perjoule.publishing.site.checked", swapped)
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert built.entries == ()
    assert "it changed while it was checked" in built.refused[0]
    assert not list((tmp_path / "site/bundles").iterdir())


@pytest.mark.slow  # by day: HTML in labels, above
def test_what_turns_text_around_is_not_printed_on_a_page(tmp_path: Path) -> None:
    said = exporting.Description("study \u202e gpj", "", "CC-BY-4.0", ("Eve \u2066\x9b\u200b",))
    publishing.add(bundle_of(tmp_path, "turned", said=said, filesystem="fs \u202e\u2028"), tmp_path / "list")
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    assert built.refused == ()
    for path in (built.page, *(tmp_path / "site").rglob("index.html")):
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u200b\x80-\x9f]", path.read_text())


def test_what_a_killed_build_left_beside_the_site_goes_with_the_next_one(
    bundle: Path, tmp_path: Path
) -> None:
    publishing.add(bundle, tmp_path / "list")
    left = tmp_path / "perjoule-site-abcdefgh"
    (left / "site").mkdir(parents=True)
    removal.mark(left)
    publishing.build(tmp_path / "list", tmp_path / "site")
    assert {path.name for path in tmp_path.iterdir()} == {"list", "site"}


def test_a_site_is_replaced_and_nothing_else_is(bundle: Path, tmp_path: Path) -> None:
    publishing.add(bundle, tmp_path / "list")
    publishing.build(tmp_path / "list", tmp_path / "site")
    (tmp_path / "site/entries/stale").mkdir()
    publishing.build(tmp_path / "list", tmp_path / "site")
    assert not (tmp_path / "site/entries/stale").exists()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").write_text("x")
    with pytest.raises(MachineError, match="holds something else"):
        publishing.build(tmp_path / "list", tmp_path / "thesis")
    with pytest.raises(CampaignError, match="not a list of results"):
        publishing.add(bundle, tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]
    with pytest.raises(CampaignError, match="has no bundles"):
        publishing.build(tmp_path / "nothing", tmp_path / "other")


# Ranks


def test_ranks_are_within_grade_boundary_and_redundancy_never_across(bundle: Path) -> None:
    one = checked(bundle)
    row = one.rows[0]
    others = [replace(row, grade="PDU"), replace(row, boundary="gross"), replace(row, redundancy="2 copies")]
    others += [
        replace(row, hosts="emulated"),
        replace(row, workload="other"),
        replace(row, direction="write"),
    ]
    others += [replace(row, pattern="random, 4 KiB")]
    found = groups(
        [
            replace(one, rows=(row,)),
            *(replace(one, rows=(other,), digest=str(n)) for n, other in enumerate(others)),
        ]
    )
    assert len(found) == 8
    assert all(len(group.places) == 1 and group.places[0].rank == 1 for group in found)
    assert found[-1].hosts == "emulated"


def ranked(entry, *spans):
    rows = [
        replace(entry.rows[0], id=str(n), total_low=low, total_high=high)
        for n, (low, high) in enumerate(spans)
    ]
    (group,) = groups([replace(entry, rows=tuple(rows))])
    return {place.row.id: place.rank for place in group.places}


def test_numbers_whose_total_intervals_overlap_share_a_rank(bundle: Path) -> None:
    one = checked(bundle)
    assert ranked(one, (9.0, 11.0), (8.5, 10.5), (4.0, 6.0), (-inf, inf)) == {
        "0": 1,
        "1": 1,
        "2": 3,
        "3": None,
    }
    assert ranked(one, (9.0, 11.0), (6.0, 9.0)) == {"0": 1, "1": 1}, "that touch, too"


@pytest.mark.slow  # by day: intervals that overlap, above
def test_two_clusters_that_differ_by_less_than_their_meters_err_share_a_rank(tmp_path: Path) -> None:
    for accuracy, ranks in (("0.1 %", [1, 2]), ("5 %", [1, 1])):
        room = tmp_path / accuracy.split()[0]
        room.mkdir()
        found = [
            checked(bundle_of(room, str(watts), watts=watts, accuracy=accuracy)) for watts in (400.0, 420.0)
        ]
        places = [group.places for group in groups(found) if group.boundary == "net"]
        assert len(places) == 3
        assert all([place.rank for place in own] == ranks for own in places), accuracy


def total(values, shared):
    """Mean, half widths of scatter and meter, and half of the total: docs/how-to/publish.md, computed
    again from trials.
    """
    mean, low, high = students.interval(np.array(values))
    scatter, meter = (high - low) / 2, sum(shared) / len(shared)
    return mean, scatter, meter, (scatter**2 + meter**2) ** 0.5


def shared_key(metric):
    return re.sub(r"(efficiency|operations)_", r"\1_shared_uncertainty_", metric)


def test_the_total_interval_of_the_list_is_that_of_a_second_calculation(bundle: Path) -> None:
    one = checked(bundle)
    for row in one.rows:
        every = [trial.values for trial in one.trials]
        own = [values for values in every if values.get((row.direction, row.metric)) in row.interval.values]
        key = shared_key(row.metric)
        mean, _, meter, whole = total(row.interval.values, [values[row.direction, key] for values in own])
        assert meter > 0
        assert (row.total_low, row.total_high) == pytest.approx((mean - whole, mean + whole), rel=1e-9)
        digits = len(row.text.split()[0].partition(".")[2])
        printed = [float(word) * row.per for word in row.text.split(" ± ")]
        assert printed == pytest.approx([mean, whole], abs=0.51 * row.per * 10**-digits)


def test_pages_print_one_interval_of_scatter_and_meter(bundle: Path, tmp_path: Path) -> None:
    publishing.add(bundle, tmp_path / "list")
    built = publishing.build(tmp_path / "list", tmp_path / "site")
    for page in (built.page, tmp_path / "site/entries" / built.entries[0].id / "index.html"):
        numbers = re.findall(r"[\d.]+ ± [\d.]+(?: ± [\d.]+)?", page.read_text())
        assert len(set(numbers)) == 3  # some stand in two tables
        assert all(number.count("±") == 1 for number in numbers), numbers


def test_a_meter_that_states_no_accuracy_gives_no_rank(tmp_path: Path) -> None:
    with pytest.raises(
        CampaignError, match=r"none of its 3 numbers can be ranked \(its meter states no accuracy"
    ):
        checked(bundle_of(tmp_path, "unknown", accuracy=""))


def test_repetitions_in_two_modes_have_no_mean_and_no_rank(tmp_path: Path) -> None:
    rates = (1.0, 1.01, 1.02, 2.0, 2.01, 2.02)
    found = checked(bundle_of(tmp_path, "modes", days=tuple(range(7, 13)), rates=rates))
    (row,) = (row for row in found.rows if "ior" in row.workload)
    assert "±" not in row.text.split(")")[0] and row.text.count(" ± ") == 1
    assert any("two modes" in words for words in row.objections)
    assert {place.rank for group in groups([found]) for place in group.places if place.row is row} == {None}


@pytest.mark.slow  # by day: what hostile bundles say, above
def test_the_description_of_a_bundle_may_be_anything(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as source:
        before = source.read(METADATA)
    for after in (
        b"[]",
        b'{"@graph": [1]}',
        b'{"@graph": [{"@id": "./", "author": "x", "license": 3}]}',
        b"{",
    ):

        def change(name: str, content: bytes, after: bytes = after) -> tuple[str, bytes]:
            first, second = (hashlib.sha256(text).hexdigest().encode() for text in (before, after))
            return name, after if name == METADATA else content.replace(
                first, second
            ) if name == CHECKSUMS else content

        with pytest.raises(CampaignError, match="it has no license"):
            checked(rewritten(bundle, tmp_path / "odd.zip", change))
