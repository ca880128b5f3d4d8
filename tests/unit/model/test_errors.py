"""Every error has an id, which stays; the words of its kind stand with it."""

import copy

import pytest

from perjoule.model import errors
from perjoule.model.errors import DaemonEnded, MountLost, PerjouleError, TimeLimit, TooManyOpenFiles

# Scripts and old records rest on them: one may come, and none may go.
IDS = """
campaign campaign.command_line campaign.file campaign.key interrupted machine machine.disk_failed
machine.disk_full machine.file_damaged machine.folder_in_use machine.folder_of_others
machine.host_unreachable machine.login_refused machine.newer_format machine.open_files machine.package
machine.port_taken machine.requirements_missing machine.resources paused transient transient.daemon_ended
transient.host_lost transient.mount_failed transient.mount_lost transient.no_answer transient.not_ready
transient.out_of_memory transient.redundancy_lost transient.time_limit workload workload.cluster_degraded
workload.event_failed workload.moved_too_little workload.not_able workload.not_imported workload.not_removed
workload.not_started workload.part_damaged workload.power_state_changed workload.program_failed
workload.store_refused workload.too_short workload.unexpected_output
"""
KINDS: list[type[PerjouleError]] = [getattr(errors, name) for name in errors.__all__]


def test_the_ids_of_errors_stay() -> None:
    assert sorted(kind.id for kind in KINDS if kind is not PerjouleError) == IDS.split()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_explained_and_its_id_begins_with_that_of_errors_treated_alike(
    kind: type[PerjouleError],
) -> None:
    assert (kind.__doc__ or "").strip().endswith(".")
    parent, dot, _ = kind.id.partition(".")
    if dot:
        (above,) = (other for other in KINDS if other.id == parent)
        assert issubclass(kind, above)
        assert (kind.exit_code, kind.transient) == (above.exit_code, above.transient)


def test_the_advice_of_a_kind_stands_where_a_sentence_has_none() -> None:
    assert str(MountLost("it is gone", where="client-1")).startswith("client-1: it is gone; check the file")
    assert str(MountLost("it is gone", next="mount it")) == "it is gone; mount it"
    assert TooManyOpenFiles(where="results").data == {
        "id": "machine.open_files",
        "what": "too many open files",
        "where": "results",
        "next": "raise the limit of open files (ulimit -n)",
    }


@pytest.mark.parametrize("kind", [DaemonEnded, TimeLimit, TooManyOpenFiles])
def test_an_error_with_another_place_or_copied_keeps_its_kind(kind: type[PerjouleError]) -> None:
    error = kind("it ended", where="here", next="look")
    moved = type(error)(error.what, where="there", next=error.next)
    assert (moved.id, str(moved)) == (kind.id, "there: it ended; look")
    assert copy.copy(moved).data == moved.data


def test_a_subclass_of_a_driver_is_of_its_parents_kind() -> None:
    class LibraryEnded(DaemonEnded):
        """Another package's."""

    assert LibraryEnded("it ended").id == "transient.daemon_ended"
