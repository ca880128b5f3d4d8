"""A raw block device that may be overwritten: checked, held while it is ours, and checked again right before
it is touched.

It must be named by its stable ID and confirmed, a whole disk, part of nothing, unused, and with only content
that may be lost; anything else is refused with what would be lost. The kernel has the last word: as long as
we hold it open exclusively (O_EXCL), nobody can mount it, swap on it or make it part of something.
https://man7.org/linux/man-pages/man2/open.2.html
"""

from collections.abc import Sequence
from pathlib import Path

from perjoule.model import Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds._device.view import STABLE, MachineView, Seen, identity, look

# Signatures of a part of something larger: what is lost is not on this device alone, so that none may be
# named.
MEMBERS = (
    *("bcache", "drbd", "ceph_bluestore", "stratis", "oracleasm"),
    *("jbd", "xfs_external_log"),  # journals of file systems elsewhere
    *("DM_snapshot_cow", "DM_verity_hash"),
)
MEMBER_ENDING = "_member"  # linux_raid_member, LVM2_member, zfs_member, mpath_member, ...


def node(device: str, view: MachineView) -> Path:
    """Return the device of a stable ID. Raises CampaignError: it is not a stable ID."""
    path = Path(device)
    if path.parent not in [view.links / folder for folder in STABLE] or path.name in ("", ".", ".."):
        advice = f"use one of {view.links / STABLE[0]}"
        raise _refusal(device, "is not a stable id: it may name another disk after a reboot", advice)
    if (node_path := view.node(path)) is None:
        raise _refusal(device, "is not a block device here", f"`ls -l {path.parent}` lists them")
    return node_path


def refused(device_seen: Seen, allowed: Sequence[str]) -> str:
    """Return why a device must not be overwritten; "" if it may be.

    Args:
        seen: the device.
        allowed: signatures that may be lost.
    """
    disk = device_seen.whole_disk
    if disk.type not in ("disk", "loop"):
        return f"is not a whole disk but of type {disk.type}"
    if disk.read_only:
        return "is read-only"
    parts = list(disk.all())
    if device_seen.swaps or any("[SWAP]" in part.places for part in parts):
        return f"is swap ({', '.join(device_seen.swaps) or disk})"
    if mounted := [*device_seen.mounts, *(place for part in parts for place in part.places)]:
        return f"is mounted on {mounted[0]}; all data on it ({disk}) would be lost"
    made = [*(str(part) for part in disk.children if part.type != "part"), *device_seen.holders]
    made += [str(part) for child in disk.children for part in child.children]
    if made:
        return f"is part of {', '.join(dict.fromkeys(made))}, which would be lost"
    if device_seen.lent:
        return f"is lent to other machines as {', '.join(device_seen.lent)}, which would lose it"
    if device_seen.twins:
        return f"is the same as {', '.join(device_seen.twins)}, and what uses it so can't be seen"
    members = [
        str(part)
        for part in device_seen.signatures
        if part.type in MEMBERS or part.type.endswith(MEMBER_ENDING) or part.devices_count > 1
    ]
    if members:
        return f"belongs to something larger ({', '.join(members)}), which would be damaged"
    if device_seen.openers:
        return f"is open in {', '.join(device_seen.openers)}"
    # a protective MBR is part of a GPT
    lost = [
        part
        for part in device_seen.signatures
        if part.type not in allowed and not (part.type == "PMBR" and "gpt" in allowed)
    ]
    if lost:
        return f"bears {', '.join(dict.fromkeys(map(str, lost)))}, which would be lost"
    untold = [
        str(part) for part in disk.children if part.name not in {s.device for s in device_seen.signatures}
    ]
    if untold and not device_seen.signatures:
        return f"has partitions; all data on them ({', '.join(untold)}) would be lost"
    return ""


def described(overwrite: Overwrite, view: MachineView) -> tuple[Permit, list[str]]:
    """Describe a device and what would be lost, and return the permit for it, in case the user agrees.

    Raises:
        CampaignError: it can't be overwritten.
        MachineError: it can't be examined.
    """
    device_seen = _judged(overwrite.device, view, overwrite.signature)
    disk = device_seen.whole_disk
    lines = [
        f"{overwrite.device} -> {device_seen.path}",
        f"model {disk.model or 'unknown'}, serial {disk.serial or 'unknown'}, size {disk.size}",
        "bears "
        f"{', '.join(dict.fromkeys(map(str, device_seen.signatures))) or 'no signature known to wipefs'}",
    ]
    return Permit(overwrite.device, overwrite.signature, device_seen.identity), [
        *lines,
        *(f"part {part}" for part in disk.children),
    ]


class DeviceClaim:
    """A device that is exclusively ours until `release`: nobody else can mount or format it in the
    meantime.
    """

    def __init__(self, device: str, permits: Sequence[Permit], view: MachineView) -> None:
        """Check it, open it, and check it again.

        Raises:
            CampaignError: it must not be overwritten; the message says why, and what would be lost.
            MachineError: it can't be examined.
        """
        permit = next((candidate for candidate in permits if candidate.device == device), None)
        if permit is None:
            advice = (
                f'write overwrite = ["{device}"] at the top of the campaign, and confirm it when prompted '
                "or with --overwrite"
            )
            raise _refusal(device, "may not be overwritten: it is not listed, or not confirmed", advice)
        self.device, self._view = device, view
        before = _judged(device, view, permit.signature)
        self.path = before.path
        if permit.identity and before.identity != permit.identity:
            problem = (
                f"is another device ({before.identity}) than the one shown and confirmed ({permit.identity})"
            )
            raise _refusal(device, problem, "check it and confirm it again")
        try:
            self._held = view.hold(self.path)
        except OSError as error:
            raise _refusal(device, f"is in use ({error.strerror})") from None
        try:
            self.seen = _judged(device, view, permit.signature)
            if (before.path, before.identity) != (self.seen.path, self.seen.identity):
                raise _refusal(
                    device,
                    f"was {before.path} ({before.identity}) a moment ago and is {self.seen.path} now "
                    f"({self.seen.identity})",
                )
            self.check()
        except BaseException:
            self._held.release()
            raise

    def check(self) -> None:
        """Check that the open device, its path and its sequence number are still the same device.

        Raises MachineError.
        """
        with self._view.collected(self.device) as view:
            number_now = view.number(self.path)
            try:
                identity_now = identity(view, self.seen.whole_disk.name)
            except (OSError, ValueError):
                identity_now = ("", "")
        same = number_now == self._held.number() == self.seen.number
        if not same or identity_now != (self.seen.number, self.seen.sequence):
            problem = (
                f"{self.path} has become another device ({self.seen.number}, now {identity_now[0] or 'gone'})"
            )
            raise MachineError(
                problem, where=self.device, next="nothing more is written to it; find out what happened to it"
            )

    def wipe(self) -> None:
        """Erase the signatures that may be lost, and make the kernel drop its partitions.

        Raises MachineError.
        """
        self.check()
        partitions = [str(self._view.nodes / partition.name) for partition in self.seen.whole_disk.children]
        for target in (*partitions, str(self.path)) if self.seen.signatures else ():
            # forced past ourselves, who hold it
            self._view.ask(["wipefs", "--all", "--force", "--quiet", target])
        if partitions:
            self._held.reread()

    def release(self) -> None:
        """Release it; does nothing the second time."""
        self._held.release()


def _judged(device: str, view: MachineView, allowed: Sequence[str]) -> Seen:
    with view.collected(device) as moment_view:
        device_seen = look(moment_view, node(device, moment_view))
    if reason := refused(device_seen, allowed):
        raise _refusal(device, reason, _advice(device, device_seen, reason))
    return device_seen


def _advice(device: str, device_seen: Seen, reason: str) -> str:
    if not reason.startswith("bears"):
        return "choose an empty disk"
    kinds = list(
        dict.fromkeys(signature.type for signature in device_seen.signatures if signature.type != "PMBR")
    )
    written = f'"{kinds[0]}"' if len(kinds) == 1 else str(kinds).replace("'", '"')
    return f'if it is not needed: overwrite = [{{device = "{device}", signature = {written}}}]'


def _refusal(device: str, reason: str, next: str = "choose an empty disk") -> CampaignError:
    return CampaignError(f'device = "{device}" {reason}', where="disk", next=next)
