"""A release of Debian on this machine's own kernel: the image's files as the root of namespaces that forget
what was written.

What needs only a release's packages runs here at this machine's speed.
https://man7.org/linux/man-pages/man2/pivot_root.2.html
"""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.kernels.image import ROOT, Image
from tests.kernels.machine import Gone, follow

# The arguments: disk, scratch folder, shared folder, checkout. Runs of perjoule on one machine know each
# other by their locks and folders, so those stay common. The rest goes with the namespaces, the loop device
# with its last mount.
SCRIPT = """
set -e
cd "$2" && mkdir lower data root
mount -o loop,ro "$1" lower
mkdir data/upper data/work data/tmp && chmod 1777 data/tmp
mount -t overlay -o "lowerdir=$2/lower,upperdir=$2/data/upper,workdir=$2/data/work" overlay root
cd root
mkdir -p share perjoule run var/tmp/perjoule /run/perjoule /var/tmp/perjoule
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/perjoule
mount --bind /run/perjoule run/perjoule
mount --bind "$2/data/tmp" tmp
mount --bind /var/tmp var/tmp
mount --bind "$3" share
mount --bind "$4" perjoule
mount -o remount,bind,ro perjoule
ln -sf /proc/self/mounts etc/mtab
pivot_root . mnt
umount --lazy /mnt
ip link set lo up
cd /perjoule
set +e
sh /share/task > /share/out 2>&1
echo $? > /share/ended
"""


def run(image: Image, task: str, folder: Path, *, within_s: float, show: Callable[[str], object]) -> int:
    """Run a shell script there, and return its exit code. Arguments and errors are those of `machine.run`."""
    (folder / "task").write_text(task)
    for left in ("out", "ended"):
        (folder / left).unlink(missing_ok=True)
    apart = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    with (
        tempfile.TemporaryDirectory(prefix="perjoule-root-", dir="/var/tmp") as scratch,
        tempfile.TemporaryFile() as said,
    ):
        Path(scratch).chmod(0o755)  # daemons that run as users of their own pass through
        argv = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            *apart,
            "env",
            "-i",
            f"PATH={PATH}",
            "HOME=/root",
            "LANG=C.UTF-8",
        ]
        words = [*argv, "sh", "-c", SCRIPT, "sh", str(image.disk), scratch, str(folder), str(ROOT)]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as inside:
            try:
                follow(inside, folder, within_s, show)
            finally:
                inside.kill()
                inside.wait()
        if not (folder / "ended").exists():
            said.seek(0)
            raise Gone(
                f"the root was left without an answer: {said.read().decode(errors='replace').strip()[-2000:]}"
            )
    return int((folder / "ended").read_text())


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
