"""Failures of trials that would come again: another attempt changes nothing."""

from perjoule.model.errors.base import WorkloadError


class NotStarted(WorkloadError):
    """A program could not be started on a host. Install it there."""

    id = "workload.not_started"


class ProgramFailed(WorkloadError):
    """A program ended with an error. Its output is kept with the trial."""

    id = "workload.program_failed"


class UnexpectedOutput(WorkloadError):
    """A program printed what perjoule does not understand, so nothing is read into it. See its version."""

    id = "workload.unexpected_output"


class MovedTooLittle(WorkloadError):
    """The load moved less than was asked of it, without an error. See its output, kept with the trial."""

    id = "workload.moved_too_little"


class TooShort(WorkloadError):
    """The load took no time that its tool can tell. Give it a larger size, or a longer duration."""

    id = "workload.too_short"
    advice = "increase its size or its duration"


class EventFailed(WorkloadError):
    """An event of the trial could not be done. The sentence says why."""

    id = "workload.event_failed"


class NotAble(WorkloadError):
    """A file system or a host can't do what an event or a load asks of it. Choose another."""

    id = "workload.not_able"


class ClusterDegraded(WorkloadError):
    """A cluster that others run lacks something. Heal it, or set `while_degraded`."""

    id = "workload.cluster_degraded"


class PowerStateChanged(WorkloadError):
    """Something else changed a power state during the trial. End it."""

    id = "workload.power_state_changed"
    advice = "end what else sets it (tuned, power-profiles-daemon)"


class StoreRefused(WorkloadError):
    """An object store refused. Its answer is in the sentence."""

    id = "workload.store_refused"


class NotImported(WorkloadError):
    """Output of another tool can't be read, or has no number for this run. See `perjoule docs import`."""

    id = "workload.not_imported"


class PartDamaged(WorkloadError):
    """A part of another tool's output is damaged, so one of its runs failed. Others count; restore it from a copy."""

    id = "workload.part_damaged"


class NotRemoved(WorkloadError):
    """What a run wrote in a store of others could not be removed at its end. The sentence says what to do."""

    id = "workload.not_removed"
