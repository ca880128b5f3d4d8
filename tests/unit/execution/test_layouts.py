"""A trial's own files: which trials get a new folder, who removes the old one, and what is kept of it."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from perjoule.campaign.reading import behind_their_writes, follows
from perjoule.execution.layouts import Layouts, keep
from perjoule.model import Json, Spec, Trial, TrialEvent
from perjoule.model.errors import WorkloadError
from perjoule.store.layouts import FILE
from scripted import ScriptedHost, ScriptedMount


def trial(operation: str, clients: int = 1, repetition: int = 1, **options: Json) -> Trial:
    workload = Spec("fio", {"operation": operation, "size": "64 MiB", **options}, f"fio {operation}")
    return Trial(Spec("virtual", {}, "v"), Spec("moosefs", {}, "m"), workload, (), clients, repetition, ())


WRITE = trial("write")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (trial("read"), True),
        (trial("randread"), True),
        (trial("read", clients=4), False),
        (trial("read", repetition=2), False),
        (trial("read", transfer="4 KiB"), False),
        (trial("write"), False),
        # trials of one deployment have one
        (replace(trial("read"), filesystem=Spec("moosefs", {}, "other")), True),
    ],
)
def test_a_read_follows_the_same_load_of_as_many_clients_in_its_repetition(
    other: Trial, expected: bool
) -> None:
    assert follows(WRITE, other) is expected
    assert not follows(other, WRITE)


def test_reads_are_put_behind_their_writes_which_keep_their_order() -> None:
    mixed = [trial("read", 4), trial("write", 1), trial("rw", 1), trial("write", 4), trial("read", 1)]
    ordered = behind_their_writes(mixed)
    assert ordered == [mixed[1], mixed[4], mixed[2], mixed[3], mixed[0]]
    assert behind_their_writes(ordered) == ordered


def test_each_trial_has_a_new_folder_but_a_read_behind_its_sound_write() -> None:
    hosts = ScriptedHost("client-1"), ScriptedHost("client-2")
    layouts = Layouts(ScriptedMount(*hosts))
    written = layouts.of(trial("write", 2), hosts)
    layouts.measured()
    read = layouts.of(trial("read", 2), hosts)
    layouts.measured()
    assert read is written
    assert read.directories["client-1"] == Path(f"/mnt/client-1/trial-{read.layout_name}")
    again = layouts.of(trial("read", 2, repetition=2), hosts)
    assert again.layout_name != read.layout_name
    for host in hosts:
        assert [argv[0] for argv in host.ran] == ["mkdir", "rm", "mkdir"]
        assert host.ran[1][-1] == str(read.directories[host.name])
        assert "--one-file-system" in host.ran[1]


def test_the_first_client_has_made_the_folder_before_others_ask_for_it() -> None:
    """At once, two clients of a dispersed GlusterFS got "Stale file handle" in the folder, seen in 1 of 40 trials."""
    first, *others = hosts = [ScriptedHost(f"client-{number}") for number in (1, 2, 3)]
    asked, early = Event(), list[bool]()
    first.answers = lambda words: (early.append(asked.wait(0.3)) or 0, "")
    for host in others:
        host.answers = lambda words: (asked.set() or 0, "")
    Layouts(ScriptedMount(*hosts)).of(trial("write", 3), hosts)
    assert early == [False]
    assert asked.is_set()


def test_what_a_failed_write_left_is_not_a_layout() -> None:
    host = ScriptedHost("client-1")
    layouts = Layouts(ScriptedMount(host))
    written = layouts.of(trial("write"), [host])
    assert layouts.of(trial("read"), [host]).layout_name != written.layout_name


def test_a_read_of_fewer_clients_than_wrote_lays_out_its_own() -> None:
    host, other = ScriptedHost("client-1"), ScriptedHost("client-2")
    layouts = Layouts(ScriptedMount(host, other))
    written = layouts.of(trial("write", 2), [host, other])
    layouts.measured()
    assert layouts.of(trial("read", 1), [host]).layout_name != written.layout_name
    assert [argv[0] for argv in other.ran] == ["mkdir", "rm"]


def test_loads_of_a_device_find_what_was_laid_out_before_in_their_deployment() -> None:
    read = replace(trial("read"), workload=Spec("device", {"operation": "read", "size": "64 MiB"}, "fio"))
    host, other = ScriptedHost("client-1"), ScriptedHost("client-2")
    layouts = Layouts(ScriptedMount(host, other))
    place = layouts.of(read, [host])  # of which nothing was measured
    assert layouts.of(replace(read, repetition=2), [host]) is place
    assert [argv[0] for argv in host.ran] == ["mkdir"]
    both = layouts.of(replace(read, clients_count=2), [host, other])  # another client's device is another one
    assert both.layout_name != place.layout_name
    disturbed = replace(read, clients_count=2, events=(TrialEvent(1.0, "kill", "client-1"),))
    assert layouts.of(disturbed, [host, other]) is not both


def test_the_hosts_of_each_file_are_kept(tmp_path: Path) -> None:
    class Located(ScriptedMount):
        def locate(self, path: Path) -> tuple[str, ...]:
            return (f"holder of {path.relative_to('/mnt/client-1')}",)

    host = ScriptedHost("client-1")
    place = Layouts(Located(host)).of(trial("read"), [host])
    host.answers = lambda words: (
        0,
        f"{place.directories['client-1']}/client-1.data\n" if words[0] == "find" else "",
    )
    keep(place, [host], tmp_path)
    kept = json.loads((tmp_path / FILE).read_text())
    assert kept == {
        "layout": place.layout_name,
        "holders": {"client-1.data": [f"holder of trial-{place.layout_name}/client-1.data"]},
    }

    def fails(path: Path) -> tuple[str, ...]:
        raise WorkloadError("mfsfileinfo failed")

    Located.locate = lambda self, path: fails(path)
    keep(place, [host], tmp_path)
    assert json.loads((tmp_path / FILE).read_text()) == {"layout": place.layout_name, "holders": {}}
