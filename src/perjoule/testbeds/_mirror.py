"""Two files behind one mirror, as tool commands: https://man7.org/linux/man-pages/man8/mdadm.8.html,
https://man7.org/linux/man-pages/man8/lvcreate.8.html,
https://openzfs.github.io/openzfs-docs/man/master/8/zpool-create.8.html

Its name derives from the paths of its files, so a clean-up finds it from the remaining loop devices. Nothing
is written to the machine's own configuration: no mdadm.conf, no backups of LVM, no cache of ZFS.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perjoule.model import Disk
from perjoule.model.errors import CampaignError
from perjoule.testbeds._format import make_words

LEGS_COUNT = 2
_NAME_BYTES = 32  # of an array, as md keeps it
_LEG = re.compile(r"(?P<stem>.+)\.(?P<kind>md|lvm|zfs)-[12]\.img")
_NO_BACKUPS = "--config=backup{backup=0 archive=0}"


@dataclass(frozen=True)
class Mirror:
    """A mirror, by its files in a run's folder of disks."""

    kind: str  # "md", "lvm" or "zfs"
    folder: Path
    stem: str

    @property
    def images(self) -> tuple[Path, ...]:
        """The files, one for each disk."""
        return tuple(self.folder / f"{self.stem}.{self.kind}-{leg + 1}.img" for leg in range(LEGS_COUNT))

    @property
    def name(self) -> str:
        """The name of the array, volume group or pool: the run's folder, the host and the disk."""
        return f"{self.folder.parent.name}-{self.stem}"

    @property
    def source(self) -> str:
        """The device, or the name, to mount."""
        return {"md": f"/dev/md/{self.name}", "lvm": f"/dev/{self.name}/data", "zfs": self.name}[self.kind]

    def make(self, devices: Sequence[str], disk: Disk) -> tuple[tuple[str, ...], ...]:
        """Return the commands that make it from fresh devices; with ZFS including the file system.

        Raises CampaignError.
        """
        if len(self.name) > _NAME_BYTES:
            raise CampaignError(
                f"{self.name} is too long as the name of a mirror", where="beneath", next="use fewer hosts"
            )
        if self.kind == "md":
            # Without a bitmap, which would be written besides the data; both files are all zeros, so there is
            # nothing to copy.
            level = (
                "--level=1",
                f"--raid-devices={LEGS_COUNT}",
                "--metadata=1.2",
                "--bitmap=none",
                "--assume-clean",
                "--run",
            )
            return (
                ("mdadm", "--create", self.source, f"--name={self.name}", "--homehost=any", *level, *devices),
            )
        if self.kind == "lvm":
            lvm = (_NO_BACKUPS, "--yes", f"--devices={','.join(devices)}")
            level = (
                "--type=raid1",
                "--mirrors=1",
                "--nosync",
                "--wipesignatures=n",
                "--zero=n",
                "--extents=100%FREE",
            )
            return (
                ("vgcreate", *lvm, self.name, *devices),
                ("lvcreate", *lvm, *level, "--name=data", self.name),
            )
        return ((*make_words(disk), self.name, "mirror", *devices),)

    def end(self, devices: Sequence[str]) -> tuple[str, ...]:
        """Return the command that ends it, by its own name alone; it fails while something is mounted."""
        if self.kind == "md":
            return ("mdadm", "--stop", self.source)
        if self.kind == "lvm":
            return ("vgremove", _NO_BACKUPS, "--yes", "--force", f"--devices={','.join(devices)}", self.name)
        return ("zpool", "destroy", self.name)


def behind(images: Iterable[Path]) -> tuple[Mirror, ...]:
    """Return the mirrors to which files behind loop devices belong."""
    matches = [(image.parent, match) for image in images if (match := _LEG.fullmatch(image.name))]
    return tuple(dict.fromkeys(Mirror(match["kind"], folder, match["stem"]) for folder, match in matches))
