"""A disk with Debian, its stock kernel, and all that the tests need; made once, and kept for as long as
setup/ stays the same.

https://manpages.debian.org/mmdebstrap, https://man7.org/linux/man-pages/man8/mke2fs.8.html
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "setup"
REQUIREMENTS = ("requirements.txt", "requirements-development.txt")
SECTIONS = ("base", "filesystems", "tests", "inside")  # of setup/debian-packages
LEFT_OUT = ("chromium", "chromium-driver", "prometheus")  # for no test of a kernel
# What a part on another processor needs: each package's scripts run in emulation, so the rest is left out.
OUTSIDE = ("moosefs-", "glusterfs-", "linux-image-", "udev")
STARTED = ("taplo",)  # programs of Python's packages that tests start
DISK = "10G"  # sparse; campaigns want room beside what perjoule keeps free
BUILD_S = 5400.0  # another processor's root is made in emulation
# The rest comes from outside, so that the image outlives its changes.
FIRST = """\
#!/bin/sh
modprobe 9pnet_virtio
mkdir -p /share
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 share /share
exec sh /share/first.sh
"""
# The initial RAM disk has what mounts the disk, and not all that other machines could need.
INITRD = {
    "etc/initramfs-tools/conf.d/kernels": "MODULES=list\nCOMPRESS=gzip\n",
    "usr/share/initramfs-tools/modules.d/kernels": "virtio_pci\nvirtio_blk\ncrc32c_generic\next4\n",
}


@dataclass(frozen=True)
class Release:
    """A release of Debian: its name, and the version of its Python."""

    suite: str
    python: str


RELEASES = {"12": Release("bookworm", "3.11"), "13": Release("trixie", "3.13")}


@dataclass(frozen=True)
class Processor:
    """A kind of processor, by its name in Debian, in wheels of Python and in QEMU."""

    debian: str
    wheels: str
    console: str
    board: tuple[str, ...]  # which one QEMU emulates
    without: tuple[str, ...] = ()  # Python packages that have no wheel for it

    @property
    def emulator(self) -> str:
        """The program that emulates it."""
        return f"qemu-system-{self.wheels}"

    @property
    def here(self) -> bool:
        """Whether this machine has such a processor."""
        return self.wheels == os.uname().machine


PROCESSORS = {
    "amd64": Processor("amd64", "x86_64", "ttyS0", ("-cpu", "max")),
    "arm64": Processor(
        "arm64", "aarch64", "ttyAMA0", ("-M", "virt", "-cpu", "cortex-a57"), without=("taplo",)
    ),
}


@dataclass(frozen=True)
class Image:
    """What QEMU boots."""

    disk: Path
    kernel: Path
    initrd: Path
    processor: Processor

    @property
    def version(self) -> str:
        """The kernel's own, as in 6.1.0-40-amd64."""
        return self.kernel.name.removeprefix("vmlinuz-")


def sections() -> dict[str, list[str]]:
    """Return the packages of setup/debian-packages by section, as setup/install reads them."""
    found: dict[str, list[str]] = {}
    named: list[str] = []
    for line in (SETUP / "debian-packages").read_text().splitlines():
        if line.startswith("#"):
            named = found.setdefault(line.split()[1].strip("[]"), []) if line.startswith("# [") else []
        elif line:
            named.append(line.split()[0])
    return found


def packages(*names: str) -> list[str]:
    """Return the packages of these sections."""
    return [package for name in names for package in sections()[name]]


def cache() -> Path:
    """Return the folder outside the checkout where images are kept."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "perjoule" / "kernels"


def wanted(processor: Processor, more: Sequence[str] = ()) -> list[str]:
    """Return the packages of an image; `more` names sections that only some parts need."""
    found = [name.replace("amd64", processor.debian) for name in packages(*SECTIONS) if name not in LEFT_OUT]
    if not processor.here:
        found = [name for name in found if name in packages("base") or name.startswith(OUTSIDE)]
    return found + [name.replace("amd64", processor.debian) for name in packages(*more)]


def requirements(processor: Processor) -> str:
    """Return what setup/ requires of Python's packages, as far as this processor has them."""
    lines = [line for one in REQUIREMENTS for line in (SETUP / one).read_text().splitlines() if "==" in line]
    return "\n".join(line for line in lines if line.partition("==")[0] not in processor.without) + "\n"


def image(name: str, processor: Processor, say: Callable[[str], object], more: Sequence[str] = ()) -> Image:
    """Return the image of a release.

    If setup/ has changed since it was made, make a new one and remove the old.
    """
    release, included = RELEASES[name], wanted(processor, more)
    texts = [" ".join(included), requirements(processor), Path(__file__).read_text()]
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    named = f"{'+'.join([release.suite, *more])}-{processor.debian}"
    folder = cache() / f"{named}-{key}"
    if not folder.is_dir():
        cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="making-", dir=cache()) as parts:
            _make(release, processor, included, Path(parts), say)
            Path(parts, "kept").rename(folder)
        for older in cache().glob(f"{named}-*"):
            if older != folder:
                shutil.rmtree(older)
    return Image(
        folder / "disk.img", next(folder.glob("vmlinuz-*")), next(folder.glob("initrd.img-*")), processor
    )


def _make(
    release: Release, processor: Processor, included: Sequence[str], parts: Path, say: Callable[[str], object]
) -> None:
    root, kept = parts / "root", parts / "kept"
    kept.mkdir()
    say(f"packages of {release.suite} for {processor.debian} (minutes)")
    _packages(release, processor, included, root, parts / "initrd")
    say("Python's packages")
    (parts / "requirements").write_text(requirements(processor))
    _environment(release, processor, root, parts / "requirements")
    (root / "first").write_text(FIRST)
    (root / "first").chmod(0o755)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(next((root / "boot").glob(f"{name}-*")), kept)
    say("the disk")
    _run("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(kept / "disk.img"), DISK)


def _packages(
    release: Release, processor: Processor, included: Sequence[str], root: Path, initrd: Path
) -> None:
    for name, text in INITRD.items():
        (initrd / name).parent.mkdir(parents=True)
        (initrd / name).write_text(text)
    slim = [f"--dpkgopt=path-exclude=/usr/share/{what}/*" for what in ("doc", "man", "locale")]
    slim += ["--dpkgopt=force-unsafe-io"]  # a root that is half made after a crash is thrown away anyway
    # Debian's snapshots have old dates, and a mirror of this machine's apt may have, too.
    apt = ["--aptopt=Acquire::Check-Valid-Until false", "--aptopt=APT::Install-Recommends false"]
    hook = f'--essential-hook=cp -r {initrd}/. "$1"'
    argv = ["mmdebstrap", "--quiet", "--variant=minbase", f"--arch={processor.debian}", *slim, *apt, hook]
    argv += ["--components=main,contrib", f"--include={','.join(included)}", release.suite, str(root)]
    # Its mounts and processes end with it, and it with us.
    apart = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    _run(*apart, *argv)


def _environment(release: Release, processor: Processor, root: Path, required: Path) -> None:
    """Make /venv by hand: nothing of the other system runs here."""
    venv = root / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").symlink_to("/usr/bin/python3")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    site = venv / f"lib/python{release.python}/site-packages"
    platforms = [f"--platform=manylinux{tag}_{processor.wheels}" for tag in ("_2_28", "_2_17", "2014")]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(site),
        "--python-version",
        release.python,
    ]
    _run(*pip, "--only-binary=:all:", *platforms, f"--requirement={required}")
    _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(ROOT))
    shutil.rmtree(site / "perjoule")  # the source comes from the checkout, its version and commands from here
    (site / "perjoule.pth").write_text("/perjoule/src\n")
    for program in filter(Path.exists, (site / "bin" / name for name in STARTED)):
        (venv / "bin" / program.name).symlink_to(Path("/") / program.relative_to(root))
    command = venv / "bin/perjoule"
    command.write_text("#!/venv/bin/python\nfrom perjoule.__main__ import main\nmain()\n")
    command.chmod(0o755)


def _run(*argv: str) -> None:
    """Run a tool to its end; its own words are the reason when it fails."""
    words = ["setpriv", "--pdeathsig", "KILL", *argv]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        sys.exit(f"{shlex.join(argv)[:100]} failed with {done.returncode}:\n{done.stderr.strip()[-4000:]}")


def lacking(tools: Sequence[str]) -> list[str]:
    """Return which of these programs this machine lacks."""
    return [tool for tool in tools if not shutil.which(tool)]


def runs(processor: Processor) -> bool:
    """Return whether this machine runs programs for it, be it by emulation: packages run scripts when they
    are installed.
    """
    return (
        processor.here
        or not subprocess.run(["arch-test", processor.debian], capture_output=True, check=False).returncode
    )
