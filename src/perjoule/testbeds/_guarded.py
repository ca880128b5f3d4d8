"""A disk on this machine itself, where no namespace ends with us: a guard that outlives perjoule takes it away."""

import os
from pathlib import Path

from perjoule.errors import CampaignError, MachineError
from perjoule.model import Disk
from perjoule.testbeds import _device, _disk, _format, _process

# $1 is where it is mounted, $2 its file or device. It waits for the end of perjoule and of every tool that perjoule started.
_GUARD = """
read -r _
trap '' TERM INT HUP
umount "$1" 2> /dev/null || umount --lazy "$1" 2> /dev/null
rmdir "$1" # with it go the copies of the mount in namespaces that somebody made meanwhile
case "$2" in
/dev/*)  # busy while the kernel takes the last of them down
  for _ in $(seq 50); do wipefs --all --quiet "$2" 2> /dev/null && break; sleep 0.1; done
  ;;
*)
  losetup --noheadings --output NAME --associated "$2" | while read -r loop; do losetup --detach "$loop"; done
  rm -f "$2"
  ;;
esac
"""
_TIMEOUT_S = 60.0


class GuardedDisk:
    """Made and mounted at once; gone with `remove`, or with perjoule, however that ends."""

    def __init__(self, place: Path, wanted: Disk) -> None:
        """Make it.

        Raises:
            CampaignError: no such blocks or device, or something is on the device.
            MachineError: a tool or the kernel's support is missing or failed.
        """
        self._place, self._source = place, Path(wanted.device)
        image = place.with_name(f"{place.name}.img")
        stdin, self._lifeline = os.pipe2(os.O_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            if wanted.mirror != "none":
                what = f'mirror = "{wanted.mirror}" can\'t be on this machine itself'
                raise CampaignError(what, where=str(place), next="leave mirror out, or take testbed virtual")
            _format.make_words(wanted)  # what can't be is told before anything is touched
            target = _device.empty(wanted.device, lock=self._lifeline) if wanted.device else image
            argv = ["sh", "-c", _GUARD, "perjoule-guard", str(place), str(target)]
            self._guard = _process.Child(argv, stdin=stdin, stdout=null, stderr=null)
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(stdin)
            os.close(null)
        try:
            if wanted.device:
                _format.fill(target, wanted, lock=self._lifeline)
                _format.mount(str(target), place, wanted, lock=self._lifeline)
            else:
                self._source = Path("/dev", _disk.make(image, place, wanted, lock=self._lifeline).name)
        except OSError as error:
            self.remove()
            raise MachineError(f"no disk can be made ({error.strerror})", where=str(image), next="see the space left") from None
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Have the guard take it away: what is on it is lost, a device of its own is empty again."""
        _disk.unplug(self._place, self._source)
        os.close(self._lifeline)
        self._guard.ended(_TIMEOUT_S)
