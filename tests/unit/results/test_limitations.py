"""Doubts are grouped by what they can cost, each told once with the rows it touches."""

from perjoule.model import Cell, Doubt
from perjoule.model.doubts import CACHE, CHANGE, KINDS, METERS, REPETITIONS, UNSTATED
from perjoule.results.limitations import limitations

STEPPED = METERS.doubt("the counter stepped in the window")


def cell(filesystem: str, clients: int, *doubts: Doubt) -> Cell:
    return Cell(filesystem, "fio read", "read", clients, {}, doubts=doubts)


def test_kinds_stand_in_the_order_of_what_they_can_cost_and_lines_in_that_of_their_rows() -> None:
    lacking, faster = (
        REPETITIONS.doubt("not every repetition has tail J"),
        CACHE.doubt("write: 1.31 times the theoretical peak"),
    )
    gap = METERS.doubt("plug: 12.0 % of the window has no samples")
    cells = [cell("a", 1, lacking, faster), cell("a", 2, gap, STEPPED), cell("b", 2, STEPPED)]
    found = limitations(cells, ())
    assert [group.kind.title for group in found] == [
        KINDS[0].title,
        "Energy missing or uncertain",
        "Few or unequal repetitions",
    ]
    assert [line.rows for line in found[1].lines] == [
        "a, fio read, 2 clients; b, fio read, 2 clients",
        "a, fio read, 2 clients",
    ]


def test_doubts_that_differ_only_in_numbers_or_meter_are_one_line_and_none_is_lost() -> None:
    one, other = (
        METERS.doubt(f"{meter}: {count} of 15 samples left out")
        for meter, count in (("system", 1), ("modelled", 3))
    )
    cells = [cell("a", 1, one, other), cell("a", 2, one), cell("a", 4)]
    ((line,),) = (group.lines for group in limitations(cells, ()))
    assert (line.text, line.rows, line.similar) == (one, "a, fio read, 1 and 2 clients", (other,))


def test_a_line_gives_the_range_of_a_percentage_so_that_the_worst_trial_is_in_it() -> None:
    took = [METERS.doubt(f"other programs took about {share} % of client-1's CPUs") for share in (30, 80, 20)]
    cells = [cell("a", 1, took[0]), cell("a", 2, took[0], took[1]), cell("b", 1, took[2])]
    ((line,),) = (group.lines for group in limitations(cells, ()))
    assert line.text == "other programs took about 20 to 80 % of client-1's CPUs"
    assert len(line.similar) == 2


def test_missing_numbers_are_named_without_their_uncertainties() -> None:
    labels = "J, J uncertainty, J shared uncertainty, MiB/J, tail J uncertainty"
    ((line,),) = (
        group.lines for group in limitations([cell("a", 1, REPETITIONS.incomplete(metrics=labels))], ())
    )
    assert line.text == "not every repetition has J, MiB/J, tail J uncertainty"


def test_of_doubts_in_as_many_rows_the_worst_is_quoted() -> None:
    left_out = [METERS.doubt(f"system: {count} of 77 samples left out") for count in (1, 12, 3)]
    cells = [cell("a", number, doubt) for number, doubt in enumerate(left_out)]
    ((line,),) = (group.lines for group in limitations(cells, ()))
    assert (line.text, set(line.similar)) == (left_out[1], {left_out[0], left_out[2]})


def test_a_doubt_of_the_campaign_or_of_every_row_says_so() -> None:
    cells = [cell("a", 1, STEPPED), cell("b", 1, STEPPED)]
    groups = limitations(cells, (CHANGE.doubt("MiB/s drifts by +5.0 %"),))
    assert [(group.lines[0].text, group.lines[0].rows) for group in groups] == [
        (STEPPED, "all rows"),
        ("MiB/s drifts by +5.0 %", "the campaign"),
    ]


def test_of_many_rows_some_are_named_and_the_others_counted() -> None:
    cells = [cell(name, clients, STEPPED) for name in "abcdef" for clients in (1, 2)] + [cell("z", 1)]
    (group,) = limitations(cells, ())
    assert group.lines[0].rows.startswith("a, fio read, 1 and 2 clients; b, ")
    assert group.lines[0].rows.endswith("; and 4 more rows")


def test_words_decide_nothing() -> None:
    said = "a cache served the read"
    (group,) = limitations([cell("a", 1, REPETITIONS.doubt(said))], ())
    assert group.kind is REPETITIONS
    (group,) = limitations([cell("a", 1, Doubt(said))], ())
    assert group.kind is UNSTATED


def test_what_is_omitted_is_energy() -> None:
    omitting = Cell(
        "a", "fio read", "read", 1, {}, omitted=("dynamic energy omitted: idle power is uncertain",)
    )
    (group,) = limitations([omitting], (), omitted=True)
    assert (group.kind, group.lines[0].rows) == (METERS, "the only row")


def test_without_a_doubt_there_is_no_group() -> None:
    assert limitations([cell("a", 1)], ()) == ()


def test_doubts_with_ids_are_one_line_by_id_whatever_their_words() -> None:
    late = [
        METERS.left_out(meter=meter, count=count, all_count=15)
        for meter, count in (("system", 1), ("pdu on storage-1", 3))
    ]
    other = METERS.reads_failed(meter="system", count=1, all_count=15, error="timed out")
    ((*lines,),) = (group.lines for group in limitations([cell("a", 1, *late, other)], ()))
    assert [(line.id, len(line.similar)) for line in lines] == [
        (METERS.left_out.id, 1),
        (METERS.reads_failed.id, 0),
    ]
