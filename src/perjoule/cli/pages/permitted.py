"""The words that a campaign may pass on, from the lists that decide."""

import textwrap
from collections.abc import Iterable, Mapping

from perjoule.filesystems.cephfs import CHOICES, FAMILIES
from perjoule.filesystems.glusterfs import TUNING
from perjoule.filesystems.nfs import MOUNT_OPTIONS
from perjoule.model import disk_words
from perjoule.model.permitted import Forms
from perjoule.testbeds.slurm import ARGUMENTS
from perjoule.workloads.fio import ENGINES, JOB_OPTIONS

HEAD = """\
A campaign may tune programs beyond the options of drivers by these words, each with a number, a size, a switch or one of
a few words as its value; `[^]x` is `x` or `^x`. `perjoule check` refuses anything else, with the key to use instead
([why](../explanations/decisions/0050-words-that-are-passed-on.md)).
"""
WIDTH = 128


def body() -> str:
    """Lay out the page below its title."""
    made = {kind: _arguments(words) for kind, words in disk_words.MAKE.items()}
    common = set[str]().union(*disk_words.MOUNT.values()).intersection(*disk_words.MOUNT.values())
    families = {f"{family}...": stems.split() for family, stems in FAMILIES.items()}
    parts = [
        HEAD,
        "\n## `make` of a disk: arguments of mkfs (zfs: of `zpool create`)\n",
        *(_named(f"**{kind}**", words) for kind, words in made.items()),
        "\n## `options` of a disk: mount options\n",
        _named("**all of them**", [name for name in next(iter(disk_words.MOUNT.values())) if name in common]),
        *(
            _named(f"**{kind}**", [name for name in forms if name not in common])
            for kind, forms in disk_words.MOUNT.items()
            if set(forms) != common
        ),
        "\n## `options` of nfs: mount options\n",
        _named("", MOUNT_OPTIONS),
        "\n## `conf` of cephfs, rados and rbd\n",
        "\nA number, a size, `true` or `false`, for names that begin like this and continue after an "
        "underscore, or end there:\n",
        *(_named(f"`{family}`", stems) for family, stems in families.items()),
        "\nOne of its words, for these:\n",
        _named("", CHOICES),
        "\n## `volume` of glusterfs\n",
        _named("", TUNING),
        "\n## `arguments` of slurm\n",
        _named("", ARGUMENTS),
        "\n## A job file of fio\n",
        _named("", sorted(JOB_OPTIONS)),
        f"\nEngines: {', '.join(f'`{name}`' for name in ENGINES)}.\n",
    ]
    return "".join(parts)


def _arguments(words: Mapping[str, str | Forms]) -> Iterable[str]:
    first: dict[int, str] = {}  # by the identity of a form, which long and short names of an argument share
    for name, form in words.items():
        if isinstance(form, str):
            yield name
        elif known := first.get(id(form)):
            yield f"{name} (as {known})"
        else:
            first[id(form)] = name
            yield f"{name} ({' '.join(_pairs(form))})"


def _pairs(words: Iterable[str]) -> Iterable[str]:
    """Yield words, those that may be switched on and off (`x`, `^x`) once: `[^]x`."""
    listed = dict.fromkeys(words)
    for word in listed:
        if f"^{word}" in listed:
            yield f"[^]{word}"
        elif word.removeprefix("^") == word or word[1:] not in listed:
            yield word


def _named(head: str, names: Iterable[str]) -> str:
    text = (
        f"{head}: {', '.join(f'`{name}`' for name in names)}"
        if head
        else ", ".join(f"`{name}`" for name in names)
    )
    return "\n" + textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
