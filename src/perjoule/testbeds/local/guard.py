"""A disk on this machine itself, where no namespace ends with us: a guard process that outlives perjoule
removes it.
"""

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from perjoule.machine.guarded import mountinfo
from perjoule.machine.processes import started_by
from perjoule.model import Disk, Permit
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import _disk, _format, _process
from perjoule.testbeds._device import DeviceClaim
from perjoule.testbeds._device.view import HERE, MachineView

# $1 is where it is mounted, $2 its file or device, $3 the device's number, $4 the file system that we made on
# it, if any: nothing else is ever wiped here. It waits for the end of perjoule and of every tool that
# perjoule started.
_GUARD = """
read -r _
trap '' TERM INT HUP
umount "$1" 2> /dev/null || umount --lazy "$1" 2> /dev/null
rmdir "$1" # with it go the copies of the mount in namespaces that somebody made meanwhile
case "$2" in
/dev/*)  # busy while the kernel takes the last of them down
  for _ in $([ -z "$4" ] || seq 50); do
    [ "$(lsblk --noheadings --nodeps --raw --output MAJ:MIN "$2")" = "$3" ] || break
    wipefs --all --types "$4" --quiet "$2" 2> /dev/null && break
    sleep 0.1
  done
  ;;
*)
  losetup --noheadings --output NAME --associated "$2" | while read -r loop; do losetup --detach "$loop"; done
  rm -f "$2"
  ;;
esac
"""
_NAME = "perjoule-guard"
_TIMEOUT_S = 60.0


class Guarded:
    """A file or a named device that is ours until `remove`, or until perjoule ends for any reason."""

    def __init__(
        self, place: Path, device: str, permits: Sequence[Permit], view: MachineView, *, made: str = ""
    ) -> None:
        """Claim the device, if one is named, and start the guard.

        Args:
            place: its mount point, or its folder.
            device: its stable ID; "" for a file next to `place`.
            permits: the devices that may be overwritten.
            view: access to this machine.
            made: the file system that will be made on the device, and removed with it.

        Raises:
            CampaignError: this device must not be overwritten.
            MachineError: it can't be examined.
        """
        self._place = place
        self._claim = DeviceClaim(device, permits, view) if device else None
        self._target = self._claim.path if self._claim else place.with_name(f"{place.name}.img")
        number = self._claim.seen.number if self._claim else ""
        stdin, self._lifeline = os.pipe2(os.O_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            argv = ["sh", "-c", _GUARD, _NAME, str(place), str(self._target), number, made]
            self._guard = _process.Child(argv, stdin=stdin, stdout=null, stderr=null)
        except BaseException:
            os.close(self._lifeline)
            self._release()
            raise
        finally:
            os.close(stdin)
            os.close(null)

    @contextlib.contextmanager
    def _made(self) -> Generator[None]:
        """Remove everything again if it can't be made.

        Raises MachineError, for example if the disk is full.
        """
        try:
            yield
        except OSError as error:
            self.remove()
            problem = f"can't make a disk ({error.strerror})"
            raise MachineError(problem, where=str(self._target), next="check the free space") from None
        except BaseException:
            self.remove()
            raise

    def _release(self) -> None:
        if self._claim:
            self._claim.release()

    def remove(self) -> None:
        """Have the guard remove it: its content is lost, and a named device no longer has our file system."""
        self._release()
        os.close(self._lifeline)
        self._guard.ended(_TIMEOUT_S)


def free(folder: Path) -> None:
    """Unmount and detach the disks in files of a killed run whose guard has ended, too: where no process can
    be started, it does.

    Nothing happens while the guard lives, or if anything else is mounted there.
    """
    folder = folder.resolve()
    sources = {f"/dev/{loop.name}" for loop in _disk.below(folder)}
    mounted = {source for _, source in _disk.mounts(mountinfo.read(), folder)}
    if sources and mounted <= sources and not _has_guard(folder):
        with contextlib.suppress(MachineError):  # it stays, and is named
            _disk.remove(folder)


def _has_guard(folder: Path) -> bool:
    name = os.fsencode(f"/{folder.name}/")  # the path before it may be another, by a link
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended by now
            if not started_by(os.geteuid(), process):
                continue
            arguments = (process / "cmdline").read_bytes()
            if _NAME.encode() in arguments.split(b"\0") and name in arguments:
                return True
    return False


class GuardedDisk(Guarded):
    """A file system, made and mounted at once."""

    def __init__(
        self, place: Path, spec: Disk, permits: Sequence[Permit] = (), view: MachineView = HERE
    ) -> None:
        """Make it; see `Guarded`.

        Raises CampaignError, MachineError: a tool or kernel support is missing or failed.
        """
        if spec.mirror != "none":
            problem = f'mirror = "{spec.mirror}" does not work on this machine itself'
            raise CampaignError(problem, where=str(place), next="remove mirror, or use testbed virtual")
        _format.make_words(spec)  # the impossible is reported before anything is touched
        super().__init__(place, spec.device, permits, view, made=spec.kind)
        self._source = self._target
        with self._made():
            if self._claim:
                self._claim.wipe()
                self._claim.release()  # mkfs takes it exclusively itself, and refuses where something is
                _format.fill(self._target, spec, lock=self._lifeline)
                _format.mount(str(self._target), place, spec, lock=self._lifeline)
            else:
                self._source = Path("/dev", _disk.make(self._target, place, spec, lock=self._lifeline).name)

    def remove(self) -> None:
        """Shut it down first: the dirty pages of a discarded disk are not needed."""
        _disk.unplug(self._place, self._source)
        super().remove()
        _disk.unmount_without_a_program(self._place)  # the guard could not start one


class GuardedDevice(Guarded):
    """A raw block device: a named one, which stays claimed, or a sparse file as a loop device."""

    def __init__(
        self,
        place: Path,
        size_bytes: int,
        device: str,
        permits: Sequence[Permit] = (),
        view: MachineView = HERE,
    ) -> None:
        """Lend it; see `Guarded`. Raises CampaignError, MachineError."""
        super().__init__(place, device, permits, view)
        with self._made():
            if self._claim:
                self._claim.wipe()
                self._claim.check()  # right before what comes next, which is the first write
                self.path = self._claim.path
            else:
                self.path = _disk.bare(self._target, size_bytes, lock=self._lifeline)
