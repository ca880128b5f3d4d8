"""Failures that a fresh deployment may avoid, which is tried by itself."""

from perjoule.model.errors.base import TransientError

_LOGS = "check the file system's logs, kept with the trial"


class TimeLimit(TransientError):
    """A program did not end in time. Raise `time_limit`, or see the logs, kept with the trial."""

    id = "transient.time_limit"


class NotReady(TransientError):
    """A file system or a server was not ready in time. See its logs, kept with the trial."""

    id = "transient.not_ready"


class DaemonEnded(TransientError):
    """A daemon ended by itself. See its log, kept with the trial."""

    id = "transient.daemon_ended"


class OutOfMemory(TransientError):
    """A host had too little memory, and its kernel ended a program. Raise it, or choose a smaller load."""

    id = "transient.out_of_memory"
    advice = "raise memory of the testbed, or choose a smaller load"


class MountLost(TransientError):
    """A client lost the file system during the trial. See the file system's logs, kept with the trial."""

    id = "transient.mount_lost"
    advice = _LOGS


class MountFailed(TransientError):
    """A client could not mount the file system. The sentence has the reason of `mount`."""

    id = "transient.mount_failed"


class RedundancyLost(TransientError):
    """The file system lost copies of the data, and no event asked for it. See its logs."""

    id = "transient.redundancy_lost"
    advice = _LOGS


class HostLost(TransientError):
    """The connection to a host ended. Check that it is on."""

    id = "transient.host_lost"


class NoAnswer(TransientError):
    """A meter or a file system did not answer, or not with a number. Check that it is on."""

    id = "transient.no_answer"
