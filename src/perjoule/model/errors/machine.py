"""Errors of a machine that is not ready."""

from errno import EMFILE, ENFILE

from perjoule.model.errors.base import MachineError


class RequirementsMissing(MachineError):
    """A program, a permission or a setting is missing. `perjoule doctor` lists all."""

    id = "machine.requirements_missing"


class DiskFull(MachineError):
    """A disk is full, or would be. Free space, then `perjoule resume`."""

    id = "machine.disk_full"


class DiskFailed(MachineError):
    """The file system of the results failed. Check its disk, or the mount and its server."""

    id = "machine.disk_failed"


class TooManyOpenFiles(MachineError):
    """A limit of open files is reached. Raise it."""

    id = "machine.open_files"
    advice = "raise the limit of open files (ulimit -n)"
    NUMBERS = (EMFILE, ENFILE)  # by which a system says so

    def __init__(self, what: str = "too many open files", *, where: str = "", next: str = "") -> None:
        super().__init__(what, where=where, next=next)


class OutOfResources(MachineError):
    """There is no memory or no thread for perjoule itself. End other programs, or raise the limits."""

    id = "machine.resources"


class PortTaken(MachineError):
    """Another program listens at the port. End it, or choose another."""

    id = "machine.port_taken"


class FolderInUse(MachineError):
    """Another perjoule works on these results. Wait for it, or stop it."""

    id = "machine.folder_in_use"
    advice = "wait for it, or stop it with Ctrl-C and run `perjoule resume`"


class FolderOfOthers(MachineError):
    """The folder has another campaign's results, or none of perjoule's. Choose another."""

    id = "machine.folder_of_others"


class NewerFormat(MachineError):
    """A newer perjoule wrote the results. Use that."""

    id = "machine.newer_format"
    advice = "use the perjoule that wrote it, or a newer one"


class FileDamaged(MachineError):
    """A file of the results is damaged. Restore it from a copy, or move its attempt away."""

    id = "machine.file_damaged"
    advice = "restore it from a copy, or move this attempt away"


class LoginRefused(MachineError):
    """A host or a meter refuses our login, or we don't trust its key. The sentence says what to change."""

    id = "machine.login_refused"


class HostUnreachable(MachineError):
    """A host can't be reached. Check that it is on, its address, and firewalls."""

    id = "machine.host_unreachable"


class PackageError(MachineError):
    """A driver, measure or view of another package can't be used. Update or uninstall it."""

    id = "machine.package"
