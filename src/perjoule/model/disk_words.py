"""What `make` and `options` of a local file system may say: words of mkfs, and mount options, that tune and
do nothing else.

None names a path or a device, forces anything, or makes a file system look like another one (label, UUID).
Sources: man pages of mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.f2fs(8), zpool-create(8), zfsprops(7),
mount(8), ext4(5), xfs(5), btrfs(5), and https://docs.kernel.org/filesystems/f2fs.html.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from perjoule.model.permitted import BIT, FLAG, NUMBER, RATIO, SIZE, Forms, each, flags, permits, words

_ON_OFF = words("on", "off")
_FEATURES = {
    "ext4": "64bit bigalloc casefold dir_index dir_nlink ea_inode encrypt ext_attr extent extents extra_isize fast_commit"
    " filetype flex_bg has_journal huge_file inline_data large_dir large_file metadata_csum "
    "metadata_csum_seed meta_bg mmp"
    " orphan_file project quota resize_inode sparse_super sparse_super2 stable_inodes uninit_bg verity",
    "btrfs": "block-group-tree extref free-space-tree mixed-bg no-holes quota raid-stripe-tree skinny-metadata squota",
    "f2fs": "casefold compression encrypt extra_attr flexible_inline_xattr inode_checksum inode_crtime lost_found"
    " project_quota quota sb_checksum verity",
}


def _features(kind: str) -> dict[str, str]:
    return {f"{sign}{name}": FLAG for name in _FEATURES[kind].split() for sign in ("", "^")}


_BTRFS_PROFILE = words("single", "dup")
# Of each kind the words of its mkfs. A text is the form of the word's value, a table what its value lists
# between commas.
MAKE: Mapping[str, Mapping[str, str | Forms]] = {
    "ext4": {
        **each("-C -i -I -g -G -N", SIZE),
        "-m": RATIO,
        "-T": words("news", "small", "largefile", "largefile4", "big", "huge"),
        "-E": {
            **each(
                "stride stripe_width stripe-width resize mmp_update_interval packed_meta_blocks "
                "orphan_file_size",
                SIZE,
            ),
            **each("lazy_itable_init lazy_journal_init assume_storage_prezeroed", f"({BIT})?"),
            "num_backup_sb": "=[012]",
            **flags("discard nodiscard"),
        },
        "-J": {**each("size fast_commit_size", NUMBER), "location": SIZE},
        "-O": {**_features("ext4"), "none": FLAG},
        **flags("-D -j"),
    },
    "xfs": {
        "-d": {
            **each("agcount agsize sunit swidth su sw extszinherit cowextsize concurrency", SIZE),
            **each("daxinherit rtinherit", BIT),
            "noalign": FLAG,
        },
        "-i": {
            **each("size perblock maxpct", SIZE),
            **each("align sparse projid32bit nrext64 exchange", f"({BIT})?"),
            "attr": "=[12]",
        },
        "-l": {
            **each("size sunit su sectsize concurrency agnum", SIZE),
            "version": "=[12]",
            "lazy-count": BIT,
            "internal": "(=1)?",
        },
        "-n": {"size": SIZE, "version": words("2", "ci"), "ftype": BIT, "parent": BIT},
        "-m": {**each("crc finobt inobtcount rmapbt reflink bigtime autofsck", f"({BIT})?")},
        "-s": {"size": SIZE},
        "-K": FLAG,
    },
    "btrfs": {
        **each("-n --nodesize", SIZE),
        **each("-m --metadata -d --data", _BTRFS_PROFILE),
        **each("--csum --checksum", words("crc32c", "xxhash", "sha256", "blake2")),
        **dict.fromkeys(("-O", "--features", "-R", "--runtime-features"), _features("btrfs")),
        **flags("-M --mixed -K --nodiscard"),
    },
    "f2fs": {
        **each("-a -t", BIT),
        "-o": RATIO,
        **each("-s -z -w", NUMBER),
        "-O": _features("f2fs"),
        "-C": words("utf8", "utf8:strict"),
        "-i": FLAG,
    },
    "zfs": {
        "-d": FLAG,
        "-o": {"ashift": "=(9|1[0-6])", "autotrim": _ON_OFF},
        "-O": {
            **each("atime relatime", _ON_OFF),
            "compression": r"=(on|off|lz4|lzjb|zle|gzip(-[1-9])?|zstd(-(1?[0-9]))?|zstd-fast-[0-9]{1,4})",
            "checksum": words(
                "on", "off", "fletcher2", "fletcher4", "sha256", "sha512", "skein", "edonr", "blake3"
            ),
            **each("primarycache secondarycache", words("all", "none", "metadata")),
            "redundant_metadata": words("all", "most", "some", "none"),
            "prefetch": words("all", "none", "metadata"),
            "dedup": words("on", "off", "verify", "sha256", "sha512", "skein", "edonr", "blake3"),
            "dnodesize": words("legacy", "auto", "1k", "2k", "4k", "8k", "16k"),
            "logbias": words("latency", "throughput"),
            "sync": words("standard", "always", "disabled"),
            "direct": words("standard", "always", "disabled"),
            "xattr": words("on", "off", "sa", "dir"),
            "acltype": words("off", "posix"),
            "copies": "=[123]",
        },
    },
}
_ANY = flags(
    "defaults rw async sync dirsync noatime relatime strictatime nodiratime diratime lazytime nolazytime "
    "iversion noiversion nosuid nodev noexec"
)
_DISCARDS = flags("discard nodiscard")
_ACLS = flags("acl noacl user_xattr nouser_xattr")
_ERRORS = words("continue", "remount-ro")  # never "panic"
_DAX = "(=(always|never|inode))?"
_BTRFS_COMPRESS = r"=(no|none|(zlib|lzo|zstd)(:-?[0-9]{1,2})?)"
MOUNT: Mapping[str, Forms] = {
    "ext4": {
        **_ANY,
        **_DISCARDS,
        **_ACLS,
        "data": words("ordered", "journal", "writeback"),
        "barrier": f"({BIT})?",
        **flags(
            "nobarrier journal_async_commit journal_checksum nojournal_checksum delalloc nodelalloc "
            "noauto_da_alloc noinit_itable dioread_lock dioread_nolock nombcache block_validity "
            "noblock_validity i_version quota noquota prjquota prefetch_block_bitmaps "
            "no_prefetch_block_bitmaps"
        ),
        **each("auto_da_alloc", f"({BIT})?"),
        **each("init_itable", f"({NUMBER})?"),
        **each(
            "commit stripe inode_readahead_blks max_batch_time min_batch_time max_dir_size_kb "
            "mb_optimize_scan journal_ioprio",
            NUMBER,
        ),
        "dax": _DAX,
        "errors": _ERRORS,
    },
    "xfs": {
        **_ANY,
        **_DISCARDS,
        **each("logbsize allocsize", SIZE),
        **each("logbufs sunit swidth max_open_zones", NUMBER),
        **flags(
            "inode32 inode64 largeio nolargeio noalign swalloc wsync attr2 noattr2 ikeep noikeep "
            "filestreams barrier nobarrier"
            " quota noquota uquota gquota pquota uqnoenforce gqnoenforce pqnoenforce lifetime nolifetime"
        ),
        "dax": _DAX,
    },
    "btrfs": {
        **_ANY,
        **_DISCARDS,
        "discard": "(=(sync|async))?",
        "acl": FLAG,
        "noacl": FLAG,
        **each("commit max_inline metadata_ratio thread_pool", SIZE),
        **each("compress compress-force", f"({_BTRFS_COMPRESS})?"),
        "space_cache": "(=v[12])?",
        **flags(
            "autodefrag noautodefrag barrier nobarrier datacow nodatacow datasum nodatasum flushoncommit "
            "noflushoncommit treelog notreelog nospace_cache ssd nossd ssd_spread nossd_spread"
        ),
    },
    "f2fs": {
        **_ANY,
        **_DISCARDS,
        **_ACLS,
        "background_gc": words("on", "off", "sync"),
        "active_logs": "=[246]",
        "alloc_mode": words("default", "reuse"),
        "fsync_mode": words("posix", "strict", "nobarrier"),
        "discard_unit": words("block", "segment", "section"),
        "memory": words("normal", "low"),
        "mode": words("adaptive", "lfs"),
        "whint_mode": words("off", "user-based", "fs-based"),
        "compress_algorithm": r"=(lzo|lzo-rle|lz4|zstd)(:[0-9]{1,2})?",
        "compress_mode": words("fs", "user"),
        "compress_extension": r"=([0-9A-Za-z]{1,8}|\*)",
        "errors": _ERRORS,
        **each("inline_xattr_size compress_log_size reserve_root", NUMBER),
        **flags(
            "gc_merge nogc_merge heap no_heap inline_xattr noinline_xattr inline_data noinline_data "
            "inline_dentry noinline_dentry flush_merge noflush_merge barrier nobarrier fastboot "
            "extent_cache noextent_cache age_extent_cache data_flush checkpoint_merge nocheckpoint_merge "
            "compress_chksum compress_cache atgc"
        ),
    },
    "zfs": {**_ANY},
}
_BLOCK = "set block instead"
_ONE_DISK = "a file system has one disk; name it with device, which overwrite lists"
_STEAD = {  # the campaign's key for what people say in words of a tool
    **dict.fromkeys(
        ("ext4 -b", "xfs -b", "xfs -b size", "btrfs -s", "btrfs --sectorsize", "zfs -O recordsize"), _BLOCK
    ),
    **dict.fromkeys(("btrfs -b", "btrfs --byte-count", "xfs -d size"), "set size instead"),
    **dict.fromkeys(
        ("ext4 -F", "xfs -f", "btrfs -f", "btrfs --force", "f2fs -f", "zfs -f"),
        "list the device in overwrite",
    ),
    **dict.fromkeys(("xfs -l logdev", "xfs -r", "xfs -d name", "ext4 -J device", "f2fs -c"), _ONE_DISK),
    **dict.fromkeys(
        ("logdev", "rtdev", "journal_path", "journal_dev", "device", "loop", "bind", "rbind"), _ONE_DISK
    ),
    "noauto": "remove it",
}


def require_words(kind: str, make: Sequence[str], options: Sequence[str]) -> None:
    """Check the further words of a disk.

    Raises ValueError with the first that is not permitted, and the key to use instead.
    """
    _require_make(kind, make)
    for option in mount_words(options):
        if not permits(MOUNT[kind], option):
            name = option.partition("=")[0]
            raise _refusal(f"a mount option of {kind}", option, _STEAD.get(name, ""), MOUNT[kind])


def mount_words(options: Sequence[str]) -> Iterator[str]:
    """Yield single mount options: an item may list several between commas."""
    for listed in options:
        yield from listed.split(",")


def _require_make(kind: str, make: Sequence[str]) -> None:
    tool, forms = "zpool create" if kind == "zfs" else f"mkfs.{kind}", MAKE[kind]
    following = iter(make)
    for argument in following:
        name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        form = forms.get(name)
        if form is None or (form == FLAG and equals):
            raise _refusal(f"an argument of {tool}", argument, _STEAD.get(f"{kind} {name}", ""), forms)
        if form == FLAG:
            continue
        if not equals and (value := next(following, "")) == "":
            raise ValueError(f"{name} of {tool} has no value (write it as the next item of make)")
        _require_value(kind, f"{name} of {tool}", name, value, form)


def _require_value(kind: str, place: str, name: str, value: str, form: str | Forms) -> None:
    if isinstance(form, str):
        if not re.fullmatch(form, f"={value}"):
            raise ValueError(
                f'"{value}" is not a permitted value of {place} (see the permitted words in docs/reference)'
            )
        return
    for part in value.split(","):
        if not permits(form, part):
            stead = _STEAD.get(f"{kind} {name} {part.partition('=')[0]}", "")
            raise _refusal(f"a value of {place}", part, stead, form)


def _refusal(place: str, refused: str, stead: str, forms: Mapping[str, object]) -> ValueError:
    name = refused.partition("=")[0]
    listed = f'the form of "{name}" is another one' if name in forms else f"permitted: {', '.join(forms)}"
    return ValueError(f'"{refused}" is not permitted as {place} ({stead or listed})')
