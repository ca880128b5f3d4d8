"""A virtual machine for one task: QEMU's own emulation, no network, folders shared by 9p; its disk forgets
what was written.

https://www.qemu.org/docs/master/system/invocation.html
"""

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.kernels.image import ROOT, Image

FIRST = Path(__file__).with_name("first.sh")
MEMORY = "6G"
CPUS_COUNT = 2  # at most; fewer where this process may use fewer, as with taskset
# Of builds beside the project, which come in as they are.
PREFIXES = tuple(f"PERJOULE_{name}_PREFIX" for name in ("ORANGEFS", "BEEGFS", "IOR", "SEAWEEDFS", "GARAGE"))
# What `make install` of BeeGFS writes has its client below lib/modules, by the kernel for which it was built.
BESIDE = """\
mkdir -p {path}; mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose {name} {path}
export {name}={path}
find {path}/lib/modules/$(uname -r) -name "*.ko" 2> /dev/null | while read -r module; do
  modprobe -qa $(modinfo -F depends "$module" | tr , " "); insmod "$module"
done
"""
LOOK_S = 0.5
BOOT_S = 240.0  # 12 s on an idle machine


class Gone(Exception):
    """The machine did not end its task; says where it was."""


def run(image: Image, task: str, folder: Path, *, within_s: float, show: Callable[[str], object]) -> int:
    """Boot it, run a shell script in it, and return its exit code.

    What the script prints is shown while it runs. It finds `folder` as /share, where it leaves what should
    come out, and this checkout as /perjoule, which it can't change.

    Raises:
        Gone: it did not boot, or did not end in time.
    """
    (folder / "task").write_text(_beside() + task)
    shutil.copy(FIRST, folder)
    for left in ("out", "ended"):
        (folder / left).unlink(missing_ok=True)
    with (
        tempfile.TemporaryFile() as console,
        subprocess.Popen(
            _argv(image, folder), stdin=subprocess.DEVNULL, stdout=console, stderr=console
        ) as qemu,
    ):
        why = "the machine ended without an answer"
        try:
            follow(qemu, folder, within_s, show)
        except Gone as gone:
            why = str(gone)
        finally:
            qemu.kill()
            qemu.wait()
        ended = folder / "ended"
        if not ended.exists():
            console.seek(0)
            said = console.read().decode(errors="replace").splitlines()
            raise Gone("\n".join([f"{why}; it last said:", *said[-20:]]))
    return int(ended.read_text())


def _builds() -> dict[str, str]:
    return {name: os.environ[name] for name in PREFIXES if os.environ.get(name)}


def _beside() -> str:
    """Return what mounts builds at their own paths, where they look for their libraries, and loads their
    modules for this kernel.
    """
    places = {name: shlex.quote(path) for name, path in _builds().items()}
    return "".join(BESIDE.format(name=name, path=path) for name, path in places.items())


def _argv(image: Image, folder: Path) -> list[str]:
    console = f"console={image.processor.console} quiet panic=1"
    emulator = [image.processor.emulator, *image.processor.board]
    return [
        *("setpriv", "--pdeathsig", "KILL", *emulator),  # it ends with whoever started it
        *(
            "-accel",
            "tcg,thread=multi",
            "-smp",
            str(min(CPUS_COUNT, len(os.sched_getaffinity(0)))),
            "-m",
            MEMORY,
        ),
        *("-nographic", "-no-reboot", "-nic", "none"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initrd)),
        *("-append", f"{console} root=/dev/vda rw init=/first"),
        *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on"),
        *("-virtfs", f"local,path={folder},security_model=none,mount_tag=share"),
        *("-virtfs", f"local,path={ROOT},security_model=none,mount_tag=checkout,readonly=on"),
        *(
            word
            for name, path in _builds().items()
            for word in ("-virtfs", f"local,path={path},security_model=none,mount_tag={name},readonly=on")
        ),
    ]


def follow(
    inside: "subprocess.Popen[bytes]", folder: Path, within_s: float, show: Callable[[str], object]
) -> None:
    """Show what the task prints until what runs it ends. Raises Gone."""
    began_s, shown, out = time.monotonic(), 0, folder / "out"
    while True:
        over = inside.poll() is not None
        if out.exists():
            with out.open("rb") as lines:
                lines.seek(shown)
                while (line := lines.readline()).endswith(b"\n"):
                    show(line.decode(errors="replace").rstrip("\n"))
                    shown += len(line)
        passed_s = time.monotonic() - began_s
        if over:
            return
        if not out.exists() and passed_s > BOOT_S:
            raise Gone(f"it did not boot within {BOOT_S:g} s")
        if passed_s > within_s:
            raise Gone(f"it did not end within {within_s / 60:g} minutes")
        time.sleep(LOOK_S)
