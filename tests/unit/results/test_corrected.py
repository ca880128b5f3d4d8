"""Watts that were modelled with coefficients which the catalogue corrected since: kept as they are, and
said.
"""

import shutil
from dataclasses import replace

import pytest

from perjoule import catalogue, store
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.model.doubts import METERS
from perjoule.model.hardware import Value
from perjoule.results.verification import verify
from perjoule.summary import summary
from places import ROOT

HC4 = catalogue.cluster("odroid-hc4")
# of 2 MB at most: the others differ by their trials
BUNDLES = [
    path for path in sorted((ROOT / "docs" / "list" / "bundles").glob("*.zip")) if path.stat().st_size < 2e6
]
OF_HC4 = [path for path in BUNDLES if not path.stem.startswith("hep-pc-")]


@pytest.mark.parametrize("bundle", OF_HC4, ids=lambda path: path.stem)
def test_results_keep_the_coefficients_of_their_time_and_say_that_they_were_corrected(
    bundle, tmp_path, monkeypatch
):
    switch = replace(HC4.switch_w, value=10.0)
    monkeypatch.setitem(
        catalogue.corrected.__globals__, "cluster", {HC4.name: replace(HC4, switch_w=switch)}.__getitem__
    )
    with open_archive(bundle) as archive, unpacked(archive) as inside:
        shutil.copytree(inside, tmp_path / "results")
    results = store.open_results(tmp_path / "results")
    (doubt,) = [doubt for doubt in summary(results).doubts if "corrected since" in doubt]
    assert doubt.kind is METERS
    assert doubt == (
        "watts of odroid-hc4 were modelled with coefficients that were corrected since: switch 15.5 W, now "
        "10 W"
    )
    assert verify(results).differences == ()


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_our_list_was_measured_with_the_coefficients_of_today(bundle, tmp_path):
    with open_archive(bundle) as archive, unpacked(archive) as inside:
        shutil.copytree(inside, tmp_path / "results")
    doubts = summary(store.open_results(tmp_path / "results")).doubts
    assert not [doubt for doubt in doubts if "corrected since" in doubt or "recalculated" in doubt]


def test_each_record_is_held_against_the_catalogue_of_today(tmp_path, monkeypatch):
    """A folder that was resumed after a correction has records from before and after it."""
    with open_archive(BUNDLES[0]) as archive, unpacked(archive) as inside:
        shutil.copytree(inside, tmp_path / "results")
    answers = iter([("dynamic 2 W, now 3 W",)])
    monkeypatch.setattr(catalogue, "corrected", lambda cluster: next(answers, ()))
    doubts = summary(store.open_results(tmp_path / "results")).doubts
    assert sum("dynamic 2 W, now 3 W" in doubt for doubt in doubts) == 1
    answers = iter([(), ("dynamic 2 W, now 3 W",)])
    shutil.rmtree(tmp_path / "results" / "summary", ignore_errors=True)
    doubts = summary(store.open_results(tmp_path / "results")).doubts
    assert sum("dynamic 2 W, now 3 W" in doubt for doubt in doubts) == 1


def test_hardware_of_today_has_nothing_corrected():
    assert all(catalogue.corrected(catalogue.cluster(name)) == () for name in catalogue.names())


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (replace(HC4, switch_w=replace(HC4.switch_w, value=10.0)), ("switch 10 W, now 15.5 W",)),
        (
            replace(HC4, supply_efficiency=replace(HC4.supply_efficiency, value=0.7)),
            ("supply efficiency 0.7, now 0.8",),
        ),
        (replace(HC4, name="a cluster that the catalogue no longer has"), ()),
        (replace(HC4, switch_w=replace(HC4.switch_w, source="another page")), ()),
    ],
)
def test_only_values_that_became_others_are_corrected(old, words):
    assert catalogue.corrected(old) == words


def test_a_step_a_bend_or_a_loss_that_only_the_record_or_the_catalogue_states_is_corrected(monkeypatch):
    def stated(node):
        board, disks = replace(node.board, step_w=one, bend_w=one), node.disks
        return replace(node, board=board, disks=tuple(replace(disk, step_w=one) for disk in disks))

    one = Value(1.0, "made up", "assumed")
    more = replace(HC4, nodes=tuple(map(stated, HC4.nodes)), supply_no_load_w=one)
    names = {"supply without load"}
    for node in HC4.nodes:
        names |= {f"{what} of board {node.board.name}" for what in ("step", "bend")}
        names |= {f"step of disk {disk.name}" for disk in node.disks}
    assert {*catalogue.corrected(more)} == {f"{name} 1 W, now 0 W" for name in names}
    monkeypatch.setitem(catalogue.corrected.__globals__, "cluster", {HC4.name: more}.__getitem__)
    assert {*catalogue.corrected(HC4)} == {f"{name} 0 W, now 1 W" for name in names}


def test_what_only_one_of_two_machines_has_is_no_correction():
    other = replace(HC4, nodes=HC4.nodes[:1])
    assert catalogue.corrected(other) == ()
