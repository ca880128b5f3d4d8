"""A file system that is measured on the testbed with options of its own."""

import pytest

from perjoule import campaign
from perjoule.model.errors import CampaignError

TEXT = """
name = "own"
seed = 1
repetitions = 2
order = "{order}"
[testbed]
kind = "virtual"
servers = {servers}
scale = 0.5
[[filesystem]]
kind = "moosefs"
[[filesystem]]
kind = "cephfs"
testbed = {own}
[[workload]]
kind = "fio"
"""


def asked(own: str, servers: str = "4", order: str = "shuffled") -> campaign.Campaign:
    return campaign.parse(TEXT.format(own=own, servers=servers, order=order), source="lab.toml")


def there(found: campaign.Campaign) -> dict[str, tuple[object, object, str]]:
    """Servers, scale and the testbed's label, by the label of each file system."""
    return {
        t.filesystem.label: (t.testbed.options["servers"], t.testbed.options["scale"], t.testbed.label)
        for t in found.trials
    }


def test_its_options_replace_the_testbeds_for_it_alone_and_labels_stay_short() -> None:
    found = asked("{servers = 2}")
    assert there(found) == {"moosefs": (4, 0.5, "virtual servers 4"), "cephfs": (2, 0.5, "virtual servers 2")}
    assert len(found.trials) == 4
    assert [len(group) for group in found.groups] == [2, 2]
    assert campaign.parse(found.text, overrides=found.overrides) == found


def test_a_list_spans_the_matrix_there_too_and_the_others_have_none_of_it() -> None:
    found = asked("{servers = [2, 4]}", servers="[3, 4]")
    assert {label: servers for label, (servers, *_) in there(found).items()} == {
        "moosefs, 3 servers": 3,
        "moosefs, 4 servers": 4,
        "cephfs, 2 servers": 2,
        "cephfs, 4 servers": 4,
    }
    assert len({trial.testbed.label for trial in found.trials}) == 3  # the one with 4 servers is both's


def test_in_turns_each_repetition_has_both() -> None:
    found = asked("{servers = 2}", order="interleaved")
    labels = [group[0].filesystem.label for group in found.groups]
    assert [set(labels[:2]), set(labels[2:])] == [{"moosefs", "cephfs"}] * 2


def test_what_is_the_same_is_the_same_testbed() -> None:
    assert {label for *_, label in there(asked("{servers = 4}")).values()} == {"virtual"}


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ("4", "lab.toml line 14: testbed = 4 is not a table; write testbed = {servers = 4}"),
        (
            '{kind = "local"}',
            "lab.toml line 14: a file system changes options of [testbed], not its kind; remove kind",
        ),
        ("{server = 2}", 'lab.toml line 14: testbed virtual has no option "server"; did you mean "servers"?'),
        ("{servers = 0}", "lab.toml line 14: servers = 0 is out of range"),
    ],
)
def test_what_is_wrong_has_its_line(own: str, sentence: str) -> None:
    with pytest.raises(CampaignError) as error:
        asked(own)
    assert str(error.value).startswith(sentence)


def test_a_layout_is_checked_on_the_hosts_that_it_has() -> None:
    text = TEXT.replace('"cephfs"', '"moosefs"\nlabel = "few"\ngoal = 3').format(
        own="{servers = 2}", servers=4, order="shuffled"
    )
    wrong = campaign.impossible(campaign.parse(text, source="lab.toml"))
    assert [(error.where, filesystem) for (_, filesystem), error in wrong.items()] == [
        ("lab.toml line 12: few on virtual servers 2", "few")
    ]
