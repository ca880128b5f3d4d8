"""The helper that sudoers name, attacked by the user who may start it, with real sudo on a host of its own
files.

Each of its answers is seen from outside: what has changed on the host, and not what it says.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from helped import LOG, NAME, NEEDS_SUDO, RUN, UID, USER, Installed
from perjoule.testbeds.cluster.judge import PERMITTED
from perjoule.testbeds.cluster.scripts import HELPER
from perjoule.testbeds.cluster.verbs import HOLD, SCRIPTS, SIGNAL, verb

pytestmark = NEEDS_SUDO


def test_the_helper_is_a_keeper_for_what_it_permits(host: Installed) -> None:
    made = host.run / "storage"
    answers = host.keep(
        ["mkdir", "-p", str(made)],
        verb("perjoule-put", f"{made}/x.conf", "644", "", str(host.run)),
        ["cat", "--", f"{made}/x.conf"],
        ["rm", "-rf", "--one-file-system", "--", str(made)],
        ["test", "-e", str(made)],
        inputs=[b"", b"content\n"],
    )
    assert answers == [b"0 ", b"0 ", b"0 content\n", b"0 ", b"1 "]
    assert not host.work.joinpath("cluster").exists()


@pytest.fixture
def victim(host: Installed) -> Generator[str]:
    """A device with a file system of somebody else's."""
    image = host.folder / "victim.img"
    with image.open("wb") as file:
        file.truncate(2**24)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    before = image.read_bytes()
    device = subprocess.run(
        ["losetup", "-f", "--show", image], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
    assert image.read_bytes() == before
    image.unlink()


def state(host: Installed) -> list[str]:
    """All that is below /etc and /usr/local/sbin, what is in / and /tmp's folder of ours, and all mounts
    and loop devices.
    """
    script = """
    find /etc /usr/local/sbin -printf '%p %y %m %u %g %s %T@ %l\\n' | sort
    stat -L -c '%n %f %u %s' /bin/bash /bin/su /bin/true
    stat -c '%n %a %u' / /made /x /f /up /etc2 /755 /0755 2> /dev/null # what a relative word would be
    find "$1" -path "$1/own" -prune -o -path "$1/theirs" -prune -o -printf '%p %m %u %s\\n' | sort
    grep -E " (/etc|/usr|/run|/bin|$1)" /proc/self/mountinfo
    cat /sys/block/loop*/loop/backing_file 2> /dev/null | grep -F "$1"
    """
    return host.root("bash", "-c", script, "state", host.folder).stdout.decode(errors="replace").splitlines()


def refused(host: Installed, *argvs: Sequence[str | bytes], inputs: Sequence[bytes] = ()) -> list[bytes]:
    """Have the helper run commands: none runs, nothing has changed, and each is in the log as refused."""
    before, logged = state(host), host.root("grep", "-c", "refused: ", LOG).stdout
    answers = host.keep(*argvs, inputs=inputs)
    assert state(host) == before
    assert [answer for answer in answers if not answer.startswith(b"126 perjoule: ")] == []
    assert len(answers) == len(argvs)
    assert not any(b"the secret" in answer for answer in answers)
    assert int(host.root("grep", "-c", "refused: ", LOG).stdout) - int(logged) == len(argvs)
    return answers


def in_run(host: Installed, name: str) -> str:
    return f"{host.run}/{name}"


def test_no_file_of_others_is_read(host: Installed) -> None:
    outside = [
        "/etc/secret",
        in_run(host, "../../../../../etc/secret"),
        f"{host.run}/./x",
        f"{host.run}//x",
        "etc/secret",
        "/proc/1/environ",
    ]
    refused(
        host,
        *(["cat", "--", place] for place in outside),
        ["tail", "--bytes=9", "--", "/etc/secret"],
        ["dd", "if=/etc/secret", f"of={host.run}/x"],
        ["dd", f"of={host.run}/x", "if=etc/secret"],
        ["find", "/etc", "-type", "f"],
        ["find", "etc", "-type", "f"],
        ["du", "--summarize", "/etc"],
        ["cat", "--", in_run(host, "programs/1.out")],
        ["findmnt", "-F", "/etc/secret", "--output", "SOURCE,TARGET"],
        ["findmnt", "--output", "SOURCE,TARGET", "-F", "/etc/secret"],
    )


def test_no_file_of_others_is_written_or_removed(host: Installed) -> None:
    folder = str(host.run)
    refused(
        host,
        *(
            ["rm", "-rf", "--one-file-system", "--", place]
            for place in ("/etc/perjoule", "etc", ".", "..", f"{folder}/..", folder)
        ),
        ["rm", "-rf", "--no-preserve-root", "--", "/"],
        ["mkdir", "-p", "/etc/made"],
        ["mkdir", "-p", "-m", "777", in_run(host, "open")],
        ["truncate", "--size=0", "/etc/secret"],
        ["truncate", "--size=0", "--reference=/etc/secret", in_run(host, "x")],
        ["touch", "/etc/made"],
        ["dd", "of=/etc/made"],
        ["dd", "of=etc/made"],
        ["dd", f"of={folder}/../../../../../etc/made"],
        ["find", "/etc/perjoule", "-delete"],
        ["find", "etc", "-delete"],
        ["find", folder, "-exec", "touch", "/etc/made", ";"],
        ["find", f"{folder}/x", "-fprint", "/etc/made"],
        ["find", f"{folder}/x", "-type", "f", "-execdir", "sh", "-c", "id", ";"],
        ["install", "-d", "/etc/made"],
        ["install", "-d", "made"],
        ["install", "/etc/secret", in_run(host, "x")],
        ["cp", "/etc/secret", in_run(host, "x")],
        ["mv", "/etc/secret", in_run(host, "x")],
        ["ln", "-s", "/etc/secret", in_run(host, "x")],
        ["chmod", "4755", "/bin/bash"],
        ["chown", USER, "/etc/secret"],
        ["tee", "/etc/made"],
        ["mkfifo", "-m", "600", "/etc/made"],
    )


def test_nothing_that_the_run_heeds_or_runs_at_its_end_is_written_by_its_user(host: Installed) -> None:
    folder = str(host.run)
    names = [
        "x.end",
        "power.end",
        "power.end.new",
        "disks/x.end",
        "made/perjoule-0123456789",
        "unit",
        "tmp/x",
        "programs/1.pid",
    ]
    names += ["perjoule-made-this", "storage.img", "programs", "programs/wait.sh"]
    refused(
        host,
        *(verb("perjoule-put", in_run(host, name), "644", "", folder) for name in names),
        *(["dd", f"of={folder}/{name}"] for name in names),
        *(["mkdir", "-p", in_run(host, name)] for name in ("made", "x.end", "tmp")),
        ["rm", "-f", "--", in_run(host, "perjoule-made-this")],
        verb("perjoule-end", "/tmp/x.end"),
        verb("perjoule-end", in_run(host, "../../../theirs/x.end")),
        verb("perjoule-ending", in_run(host, "x.end"), "array", "touch", "/etc/made"),
        verb(
            "perjoule-ending",
            in_run(host, "x.end"),
            "device",
            "/dev/null",
            "1:3",
            "-",
            "b",
            "touch",
            "/etc/made",
        ),
        verb(
            "perjoule-ending",
            in_run(host, "x.end"),
            "device",
            "/dev/null",
            "1:3",
            "-",
            "b",
            "wipefs",
            "--all",
            "/dev/null",
        ),
        inputs=[b"touch /etc/made\n"] * (2 * len(names)),
    )


def test_a_put_gives_nobody_rights(host: Installed) -> None:
    folder, place = str(host.run), in_run(host, "x")
    refused(
        host,
        *(
            verb("perjoule-put", place, mode, "", folder)
            for mode in ("4755", "2755", "666", "0666", "777", "a+s", "--reference=/bin/su")
        ),
        *(
            verb("perjoule-put", place, "644", owner, folder)
            for owner in (USER, str(UID), "nobody:0", "--reference=/bin/su", "../x")
        ),
        verb("perjoule-put", "/etc/made", "644", "", folder),
        verb("perjoule-put", "/etc/made", "644", "", "/etc"),
        verb("perjoule-put", f"{folder}/../x", "644", "", folder),
        verb("perjoule-put", "x", "644", "", folder),
        ["install", "-d", "-o", USER, in_run(host, "x")],
        ["install", "-d", "-m", "4755", in_run(host, "x")],
        ["install", "-d", "-m", "1777", in_run(host, "x")],
    )


def test_no_program_runs_that_root_has_not_named(host: Installed) -> None:
    script = verb("perjoule-rm", in_run(host, "x"))
    refused(
        host,
        ["id"],
        ["bash", "-c", "touch /etc/made"],
        ["bash", "--norc", "-c", "touch /etc/made", "perjoule-put"],
        ["bash", "--norc", "-c", f"{script[3]}\ntouch /etc/made", *script[4:]],
        ["bash", "--norc", "-c", script[3], "perjoule-put", "/etc/made", "644", "", "/etc"],
        ["bash", "--norc", "-c", script[3], "", "x"],
        ["bash", "--norc", "-c", "", "nothing"],
        ["bash", "--rcfile", "/tmp/x", "-i"],
        ["bash", in_run(host, "x")],
        ["sh", "-c", "touch /etc/made"],
        ["python3", "-c", "open('/etc/made', 'w')"],
        ["perl", "-e", "open(F, '>/etc/made')", "/dev/null"],
        ["/usr/bin/id"],
        ["../../usr/bin/id"],
        ["cat ; touch /etc/made"],
        [""],
        ["env", "touch", "/etc/made"],
        ["env", "-S", "touch /etc/made"],
        ["env", "-i", "bash"],
        ["env", "-C", "/etc", "cat", "--", "secret"],
        ["env", "-C", in_run(host, "programs"), "rm", "-f", "--", "x"],
        ["timeout", "9", "touch", "/etc/made"],
        ["setsid", "touch", "/etc/made"],
        ["nsenter", "-t", "1", "-a"],
        ["unshare", "-m", "bash"],
        ["systemd-run", "touch", "/etc/made"],
        verb("perjoule-sync", "touch", "/etc/made"),
        verb("perjoule-sync"),
        verb("perjoule-sync", *verb("perjoule-sync", "bash", "-c", "touch /etc/made")),
        ["xargs", "touch"],
        ["a]$(touch /etc/made)"],
        ["$(touch /etc/made)"],
        ["@"],
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"],
        ["bash", "--norc", "-c", " ".join(SCRIPTS.values()), "*"],
        ["bash", "--norc", "-c", "touch /etc/made", "x]$(touch /etc/made)"],
        ["script"],
    )


def test_no_variable_reaches_a_program_but_plain_ones(host: Installed) -> None:
    names = (
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PATH",
        "BASH_ENV",
        "ENV",
        "PS4",
        "IFS",
        "SHELLOPTS",
        "PYTHONPATH",
        "PERL5OPT",
        "GCONV_PATH",
    )
    refused(
        host,
        *(["env", f"{name}=/tmp/x", "true"] for name in names),
        *(["env", f"LC_ALL={value}", "true"] for value in ("/tmp/x", "../x", "", "a b")),
        ["env", "PERJOULE_CLIENT=/tmp/x", "true"],
        ["env", "BASH_FUNC_true%%=() { id; }", "true"],
    )
    plain = (["env", "LC_ALL=C.UTF-8", "true"], ["env", "PERJOULE_CLIENT=client-1", "true"])
    assert host.keep(*plain) == [b"0 ", b"0 "]


def test_no_device_is_touched_that_root_has_not_named(host: Installed, victim: str) -> None:
    link = host.folder / "link"
    link.symlink_to(victim)
    devices = [victim, "/dev/null", str(link), f"/dev/disk/../{Path(victim).name}", victim.removeprefix("/")]
    refused(
        host,
        *(
            argv
            for device in devices
            for argv in (["mkfs.ext4", "-q", device], ["dd", f"of={device}"], ["wipefs", "--all", device])
        ),
        ["mkfs.ext4", "-q", "-d", "etc", victim],
        ["losetup", "--find", "--show", "--direct-io=on", "/etc/secret"],
        ["losetup", "--find", "--show", "--direct-io=on", in_run(host, "x"), "-o"],
        ["losetup", "--detach", victim],
        ["losetup", "--detach-all"],
        ["blockdev", "--setro", victim],
        ["perl", "-e", HOLD, victim],
        verb("perjoule-report", victim, "NAME"),
    )


def test_a_link_of_the_users_to_a_device_that_root_has_named_is_no_name_of_it(
    host: Installed, victim: str
) -> None:
    """Else it could lead to another device, or to any file, once it is judged."""
    host.permit(f"device {victim}")
    link = host.folder / "turned"
    link.symlink_to(victim)
    try:
        refused(
            host,
            ["mkfs.ext4", "-q", str(link)],
            ["wipefs", "--all", "--force", "--quiet", str(link)],
            ["dd", "if=/dev/zero", f"of={link}", "count=1"],
            ["perl", "-e", HOLD, str(link)],
            ["mount", "-t", "ext4", str(link), in_run(host, "place")],
        )
        assert host.keep(["blockdev", "--getsize64", victim]) == [b"0 16777216\n"]
    finally:
        link.unlink()
        host.permit()


def test_no_file_system_that_the_user_has_written_can_be_mounted(host: Installed, victim: str) -> None:
    """In one of theirs they own folders, and could put a link in the place of a file that was just judged."""
    crafted = host.folder / "crafted.img"
    with crafted.open("wb") as file:
        file.truncate(2**20)
    subprocess.run(["mkfs.ext4", "-q", "-E", f"root_owner={UID}:{UID}", crafted], check=True)
    content, room, losetup = (
        crafted.read_bytes(),
        in_run(host, "programs/1.room"),
        ["losetup", "--find", "--show", "--direct-io=on"],
    )
    with tempfile.TemporaryFile() as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(crafted, "x.img")
        archive.close()
        packed.seek(0)
        archived = packed.read()
    crafted.unlink()
    host.permit(f"device {victim}")
    try:
        refused(
            host,
            ["dd", f"of={victim}"],
            ["dd", f"of={victim}", "conv=notrunc,fsync"],
            ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "dd", f"of={victim}"],
            inputs=[content] * 3,
        )
        answers = host.keep(
            verb("perjoule-put", in_run(host, "x"), "644", "", str(host.run)),
            verb("perjoule-send", room),
            [*losetup, in_run(host, "x")],
            [*losetup, f"{room}/x.img"],
            ["mkfs.ext4", "-q", f"{room}/x.img"],
            inputs=[content, archived],
        )
        assert [answer[:14] for answer in answers] == [b"0 ", b"0 ", *[b"126 perjoule: "] * 3]
        sector = ["dd", "if=/dev/zero", f"of={victim}", "bs=512", "count=1", "conv=notrunc", "status=none"]
        assert host.keep(sector) == [b"0 "]  # ext4 has nothing in its first
    finally:
        host.permit()


def test_a_loop_device_whose_file_only_seems_to_lie_in_the_runs_folder_is_refused(host: Installed) -> None:
    """As in a mount namespace of another user's, to whom udisks gives a loop device."""
    script = """
    mount -t tmpfs none "$1" && mkdir -p "$2" && truncate --size=16M "$2/x.img" || exit
    losetup --find --show "$2/x.img" && exec sleep infinity
    """
    argv = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "-m",
        "bash",
        "-c",
        script,
        "bash",
        host.work,
        host.run,
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as theirs:
        assert theirs.stdout
        device = theirs.stdout.readline().strip()
        try:
            backing = Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text().strip()
            assert backing == f"{host.run}/x.img"
            image = Path(f"/proc/{theirs.pid}/root{host.run}/x.img")
            answers = host.keep(
                ["mkfs.ext4", "-q", device],
                ["mount", "-t", "ext4", device, in_run(host, "place")],
                ["losetup", "--detach", device],
            )
            assert [answer[:14] for answer in answers] == [b"126 perjoule: "] * 3
            assert image.read_bytes() == bytes(2**24)
        finally:
            theirs.kill()
            subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)


def test_a_line_for_who_waits_follows_no_link_of_what_is_mounted_in_the_runs_folder(host: Installed) -> None:
    content, image, place = host.folder / "content", host.folder / "image", in_run(host, "place")
    content.mkdir()
    (content / "gate.told").symlink_to("/etc/secret")
    with image.open("wb") as file:
        file.truncate(2**24)
    subprocess.run(["mkfs.ext4", "-q", "-d", content, image], check=True)
    device = subprocess.run(
        ["losetup", "-f", "--show", image], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        host.permit(f"device {device}")
        mounting = (["mkdir", place], ["mount", "-t", "ext4", device, place])
        assert host.keep(*mounting, last=f"tell {place}/gate line\n".encode()) == [b"0 ", b"0 "]
        assert host.root("cat", "/etc/secret").stdout == b"the secret\n"
    finally:
        host.permit()
        subprocess.run(["losetup", "-d", device], check=True)
        image.unlink()
        shutil.rmtree(content)


def test_nothing_is_mounted_elsewhere_or_with_rights(host: Installed, victim: str) -> None:
    place = in_run(host, "place")
    refused(
        host,
        ["mount", "--bind", "/etc", place],
        ["mount", "--bind", place, "/etc"],
        ["mount", "-t", "tmpfs", "none", "/etc"],
        ["mount", "-t", "tmpfs", "none", place],
        ["mount", "-t", "ext4", "-o", "suid", victim, place],
        ["mount", "-t", "overlay", "-o", "lowerdir=/etc", "none", place],
        ["mount", "-o", "remount,rw", "/"],
        ["mount", "-o", "remount,bind,nosymfollow", "/etc"],
        ["mount", "-o", "remount,bind,nosymfollow", "/etc", place],
        ["mount", "-o", "remount,bind,nosymfollow,suid", place],
        ["mount", "-a"],
        ["mount", "--move", "/etc", place],
        ["mount", "-t", "nfs", "-o", "vers=4", "evil:/x", place],
        ["umount", "/etc"],
        ["umount", "--lazy", "/"],
        ["umount", "-a"],
        ["modprobe", "evil"],
        ["modprobe", "-C", "/tmp/x", "loop"],
        ["modprobe", "/tmp/evil.ko"],
    )


def test_only_what_is_mounted_in_the_runs_folder_itself_is_unmounted(host: Installed) -> None:
    """Whoever may write to a disk could lead a path in it elsewhere."""
    disk, nested = f"{host.run}/disk", f"{host.run}/disk/nested"
    script = 'mount -t tmpfs none "$1" && mkdir "$2" && mount -t tmpfs none "$2"'
    with holding(host) as keeper:
        assert asked(keeper, 1, "mkdir", disk) == b"0 "
        assert host.root("sh", "-c", script, "sh", disk, nested).returncode == 0
        for number, argv in enumerate((["--lazy", nested], [nested], [f"{host.run}"]), start=2):
            assert asked(keeper, number, "umount", *argv).startswith(b"126 perjoule: umount may not use"), (
                argv
            )
        assert host.root("mountpoint", "-q", nested).returncode == 0
        assert asked(keeper, 8, "mount", "-o", "remount,bind,nosymfollow", disk) == b"0 "
        assert asked(keeper, 9, "umount", "--lazy", disk) == b"0 "
        assert host.root("grep", "-F", disk, "/proc/self/mountinfo").stdout == b""


def test_no_other_users_process_is_signalled_or_become(host: Installed) -> None:
    refused(
        host,
        ["kill", "-TERM", "1"],
        ["kill", "-KILL", "--", "-1"],
        ["kill", "-USR1", str(host.pid)],
        ["kill", "-USR1", "1/../self"],
        ["pkill", "bash"],
        ["setpriv", "--reuid=root", "--regid=root", "--clear-groups", "true"],
        ["setpriv", "--reuid=0", "--regid=0", "--clear-groups", "true"],
        ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "true"],
        ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "bash"],
        ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "--ambient-caps=+all", "true"],
        ["su", "-"],
    )


def test_a_process_of_the_run_gets_the_signal_and_another_of_the_same_user_none(host: Installed) -> None:
    """Its mark is asked for and the signal sent in one process, by one open folder: its number may be another's by then."""
    marked = subprocess.Popen(["sleep", "60"], env={"PERJOULE_HOST": f"{RUN}-{NAME}"})
    other = subprocess.Popen(["sleep", "60"], env={"PERJOULE_HOST": f"{RUN}-{NAME}x"})
    try:
        assert host.keep(["kill", "-USR1", str(marked.pid)]) == [b"0 "]
        assert marked.wait(timeout=10) == -signal.SIGUSR1
        for pid, entry in ((other.pid, f"PERJOULE_HOST={RUN}-{NAME}"), (marked.pid, "PERJOULE_HOST=")):
            argv = ["perl", "-e", SIGNAL, "TERM", str(pid), entry]
            assert subprocess.run(argv, check=False).returncode == 1
        assert other.poll() is None
    finally:
        for process in (marked, other):
            process.kill()
            process.wait()


VARIABLES = [
    "BASH_ENV=/tmp/evil",
    "ENV=/tmp/evil",
    "SHELLOPTS=xtrace",
    "PS4=$(touch /etc/made)",
    "IFS=e",
    "PATH=/tmp:.",
    "CDPATH=/tmp",
    "LD_PRELOAD=/tmp/evil.so",
    "BASH_FUNC_stat%%=() { touch /etc/made; }",
    "BASH_FUNC_exec%%=() { touch /etc/made; }",
    "TMPDIR=/etc",
    "POSIXLY_CORRECT=1",
    "GLOBIGNORE=*",
    "BASHOPTS=extdebug",
    "LANG=xx",
    "may=1",
    "permitted=/tmp/x",
    "folder=/etc",
]


@pytest.mark.parametrize("by_sudo", [True, False])
def test_nothing_in_its_environment_is_heeded(host: Installed, *, by_sudo: bool) -> None:
    """By sudo, which drops most of it, and as if an administrator had told sudo to drop nothing."""
    evil = Path("/tmp/evil")
    evil.write_text("touch /etc/made\n")
    try:
        before, asked = state(host), b"keep 0a1b2c3d\nrun 1 3 0\ntouch\0--\0/etc/made\0"
        if by_sudo:
            said = host.sudo(HELPER, "keep", host.work, NAME, env=["env", *VARIABLES], text=asked)
        else:
            variables = [name for name in VARIABLES if not name.startswith(("LD_", "BASH_FUNC_"))]
            said = host.root("env", "-i", *variables, HELPER, "keep", host.work, NAME, text=asked).stdout
        assert b"answer 1 126" in said
        assert state(host) == before
    finally:
        evil.unlink()


def test_a_function_in_its_environment_ends_it(host: Installed) -> None:
    """A shell that it starts would take it for a command; sudo drops each, whatever it is configured to keep."""
    before = state(host)
    words = [word.encode() for word in verb("perjoule-put", in_run(host, "x"), "644", "", str(host.run))]
    asked = b"keep 0a1b2c3d\nrun 1 %d 0\n" % len(words) + b"".join(word + b"\0" for word in words)
    function = "BASH_FUNC_cat%%=() { touch /etc/made; }"
    done = host.root("env", "-i", function, HELPER, "keep", host.work, NAME, text=asked)
    assert (done.returncode, state(host)) == (4, before)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["bash"],
        ["keep"],
        ["keep", "/etc", NAME],
        ["keep", "WORK/../../etc", NAME],
        ["keep", "WORK/", NAME],
        ["keep", "WORK", "../x"],
        ["keep", "WORK", "a b"],
        ["keep", "WORK", "-x"],
        ["keep", "WORK", "x;touch /etc/made"],
        ["keep", "WORK", NAME, "more"],
        ["keep", "WORK\nx", NAME],
        ["drop-caches", "more"],
        ["--version"],
        ["launch", "WORK", "$(touch /etc/made)"],
    ],
)
def test_other_words_than_verbs_are_refused_whatever_sudoers_lets_through(
    host: Installed, words: list[str]
) -> None:
    before = state(host)
    said = host.sudo(
        HELPER, *(word.replace("WORK", str(host.work)) for word in words), text=b"keep 0a1b2c3d\n"
    )
    assert said.startswith(b"4 perjoule-host: ")
    assert state(host) == before


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"../../../etc\x003\x001\x00touch\x00/etc/made\x00",
        b"0a1b2c3d\x00a[$(touch /etc/made)]\x00",
        b"0a1b2c3d\x0099999999999999999999\x00",
        b"0a1b2c3d\x002\x00../../x\x00true\x00",
        b"0a1b2c3d\x003\x007\x00touch\x00/etc/made\x00",
        b"0a1b2c3d\x009\x007\x00touch\x00",
        b"x" * 300_000,
    ],
)
def test_a_program_is_launched_only_in_a_run_that_there_is(host: Installed, text: bytes) -> None:
    before = state(host)
    assert host.sudo(HELPER, "launch", host.work, NAME, text=text).startswith(b"4 perjoule-host: ")
    assert state(host) == before


def launched(*words: str) -> bytes:
    """What the helper hears to launch a program."""
    return b"".join(os.fsencode(word) + b"\0" for word in (RUN, str(1 + len(words)), "7", *words))


@pytest.mark.parametrize("cluster", ["folder", "link"])
def test_nothing_is_launched_in_a_folder_that_its_user_has_made(host: Installed, cluster: str) -> None:
    """Before the first run, where all may make folders, as where the default one is."""
    work = host.folder / "theirs/work"
    place = work / "cluster" if cluster == "folder" else work / "elsewhere"
    run = place / host.run.name
    script = """
    mkdir -p "$1" && ln -s /etc "$1/programs" && echo "touch /etc/made" > "$1/x.end" || exit
    [ -d "$2/cluster" ] || ln -s elsewhere "$2/cluster"
    """
    work.parent.mkdir()
    work.parent.chmod(0o1777)
    host.permit(f"work {work}")
    try:
        assert host.root(*host.as_user(), "sh", "-c", script, "sh", run, work).returncode == 0
        before = state(host)
        end = verb("perjoule-end", str(work / "cluster" / run.name / "x.end"))
        assert host.sudo(HELPER, "launch", work, NAME, text=launched(*end)) == (
            b"4 perjoule-host: there is no such run\n"
        )
        assert state(host) == before
    finally:
        host.permit()
        shutil.rmtree(work.parent)


def test_a_long_program_is_judged_as_a_short_one_is(host: Installed) -> None:
    launch = [HELPER, "launch", host.work, NAME]
    words = {
        b"cat": [b"cat", b"--", b"/etc/secret"],
        b"rm": [b"rm", b"-rf", b"--", b"/etc"],
        b"true": [b"true"],
    }
    text = {
        name: RUN.encode() + b"\0%d\0007\0" % (len(argv) + 1) + b"\0".join(argv) + b"\0"
        for name, argv in words.items()
    }
    with holding(host):
        assert host.sudo(*launch, text=text[b"cat"]) == b"126 perjoule: cat may not use /etc/secret as root\n"
        assert host.sudo(*launch, text=text[b"rm"]) == b"126 perjoule: rm may not use /etc as root\n"
        assert host.sudo(*launch, text=text[b"true"]) == b"0 "


@contextlib.contextmanager
def holding(host: Installed) -> Generator[subprocess.Popen[bytes]]:
    """Have the helper keep the host during the block."""
    command = [
        "setpriv",
        f"--reuid={USER}",
        f"--regid={USER}",
        "--init-groups",
        "sudo",
        "-n",
        "--",
        HELPER,
        "keep",
        str(host.work),
        NAME,
    ]
    with subprocess.Popen(
        ["nsenter", "-t", str(host.pid), "-m", "--", *command], stdin=-1, stdout=-1
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(b"keep " + RUN.encode() + b"\n")
        child.stdin.flush()
        while child.stdout.readline() not in (b"ready\n", b""):
            pass
        yield child
        child.stdin.close()
        child.wait(60)


def asked(keeper: subprocess.Popen[bytes], number: int, *argv: str) -> bytes:
    """Have a helper that keeps the host run a command; return its answer."""
    assert keeper.stdin
    assert keeper.stdout
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    keeper.stdin.write(b"run %d %d 0\n" % (number, len(argv)) + words)
    keeper.stdin.flush()
    _, _, code, out, err = keeper.stdout.readline().split()
    return code + b" " + keeper.stdout.read(int(out) + int(err))


def test_who_may_start_it_can_not_change_what_is_in_a_runs_folder_nor_signal_it(host: Installed) -> None:
    with holding(host):
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
        for argv in (
            ["ln", "-s", "/etc", host.run / "link"],
            ["touch", host.run / "x"],
            ["mv", host.run, host.folder / "theirs"],
            ["mv", host.work, host.folder / "theirs"],
            ["touch", host.run / "programs/1.pid"],
            ["ls", host.run],
            ["cat", host.run / "perjoule-made-this/../programs"],
            [
                "sh",
                "-c",
                'for pid in $(pgrep -u 0 -f "^/bin/bash -p /usr"); do kill -KILL "$pid" && exit 0; done; '
                "exit 1",
            ],
        ):
            assert host.root(*as_user, *argv).returncode != 0, argv


def test_the_keeper_of_a_dead_run_that_still_waits_for_it_is_ended(host: Installed) -> None:
    with holding(host) as waiting:
        command = [*host.as_user(), "sudo", "-n", "--", HELPER, "keep", str(host.work), NAME]
        done = host.root(*command, text=b"keep 11111111 " + RUN.encode() + b"\n")
        assert b"\nready\n" in done.stdout, done.stdout
        assert waiting.wait(20) == 0


@pytest.mark.parametrize(
    "break_it",
    [
        f"chmod go+w {PERMITTED}",
        f"chown {USER} {PERMITTED}",
        "chmod o+w /etc/perjoule",
        f"chown {USER} /etc/perjoule",
        f"rm {PERMITTED}",
        f"rm {PERMITTED} && mkdir {PERMITTED}",
        f"cp -p {PERMITTED} /etc/mine && chown {USER} /etc/mine && ln -sf /etc/mine {PERMITTED}",
        f"echo 'include /tmp/x' >> {PERMITTED}",
        f"echo 'program' >> {PERMITTED}",
        f"echo 'user {USER} root' > {PERMITTED}",
        f"sed -i s/{USER}/another/ {PERMITTED}",
        f": > {PERMITTED}",
    ],
)
def test_what_root_permits_stands_in_a_file_that_only_root_writes(host: Installed, break_it: str) -> None:
    host.root("sh", "-c", f"cp -a /etc/perjoule /etc/perjoule.kept; {break_it}")
    try:
        before = state(host)
        assert host.sudo(HELPER, "keep", host.work, NAME, text=b"keep 0a1b2c3d\n").startswith(
            b"4 perjoule-host: "
        )
        assert state(host) == before
    finally:
        host.root("sh", "-c", "rm -rf /etc/perjoule /etc/mine; mv /etc/perjoule.kept /etc/perjoule")


def test_a_program_that_root_names_must_be_roots_own(host: Installed) -> None:
    host.write("/usr/local/sbin/pj-daemon", "#!/bin/sh\necho ran\n", 0o755)
    assert host.keep(["pj-daemon"]) == [
        b"126 perjoule: pj-daemon may not run as root here; see /etc/perjoule/permitted on it\n"
    ]
    host.permit("program pj-daemon # as good as root", "program /tmp/pj-daemon")
    host.write("/tmp/pj-daemon", "#!/bin/sh\necho theirs\n", 0o755)
    try:
        assert host.keep(["pj-daemon"], ["/tmp/pj-daemon"]) == [
            b"0 ran\n",
            b"126 perjoule: /tmp does not belong to root alone\n",
        ]
        host.root("install", "-d", "-o", USER, "/etc/theirs")
        host.root("ln", "-s", "/usr/local/sbin/pj-daemon", "/etc/theirs/pj-daemon")
        assert host.keep(["/etc/theirs/pj-daemon"]) == [
            b"126 perjoule: /etc/theirs does not belong to root alone\n"
        ]
        host.root("chown", USER, "/usr/local/sbin/pj-daemon")
        assert host.keep(["pj-daemon"]) == [
            b"126 perjoule: /usr/local/sbin/pj-daemon does not belong to root alone\n"
        ]
    finally:
        host.root("rm", "-rf", "/usr/local/sbin/pj-daemon", "/tmp/pj-daemon", "/etc/theirs")
        host.permit()


def test_each_command_is_one_line_of_the_log_whatever_is_in_it(host: Installed) -> None:
    host.root("sh", "-c", f": > {LOG}")
    forged = "x\n-t perjoule -p authpriv.notice -- root: all is well\r\x1b[2K"
    host.keep(["cat", "--", forged], ["touch", "--", f"{host.run}/a b"])
    lines = host.root("cat", LOG).stdout.decode().splitlines()
    assert lines[0] == f"-t perjoule -p authpriv.notice -- {USER} by keep: looks, or keeps the host"
    begin = f"-t perjoule -p authpriv.notice -- {USER} by keep, run {RUN}-{NAME}: "
    assert (
        lines[1]
        == f"{begin}refused: cat -- {forged.replace(chr(10), '?').replace(chr(13), '?').replace(chr(27), '?')}"
    )
    assert lines[2] == f"{begin}touch -- {host.run}/a b"
    assert len(lines) == 3


@pytest.mark.parametrize(
    "text",
    [
        b"x" * 10**7,
        b"keep 0a1b2c3d\n" + b"run 1 1 0\n" + b"x" * 10**7,
        b"keep 0a1b2c3d\nrun 1 999999999999999 0\n",
    ],
)
def test_input_without_end_ends_it(host: Installed, text: bytes) -> None:
    before = state(host)
    host.sudo(HELPER, "keep", host.work, NAME, text=text)
    assert state(host) == before


def test_questions_show_no_file_and_run_nothing(host: Installed) -> None:
    host.write("/tmp/pj-evil", "#!/bin/sh\ntouch /etc/made\n", 0o755)
    try:
        before = state(host)
        questions = [
            "look setting /etc/secret the\\ secret",
            "look setting /sys/../etc/secret the",
            "look library x /tmp/pj-evil",
            "look library x /usr/bin/python3 /tmp/pj-evil",
            "look program * /tmp",
            "look program pj-evil $(touch /etc/made)",
        ]
        said = host.sudo(HELPER, "keep", host.work, NAME, text="\n".join([*questions, ""]).encode())
        assert b"has" not in said.split()
        words = [b"/etc", b"/etc"]
        asked = b"states 2\n" + b"".join(word + b"\0" for word in words)
        assert host.sudo(HELPER, "keep", host.work, NAME, text=asked).splitlines()[-2:] == [
            b"probed",
            b"stated",
        ]
        assert state(host) == before
        block = min(path.name for path in Path("/sys/class/block").iterdir())
        (
            drive := host.folder / block
        ).touch()  # by then a link to a device that does something when it is opened
        asked = b"states 3\n/sys\0/dev\0" + f"/..{drive}".encode() + b"\0"
        said = host.sudo(HELPER, "keep", host.work, NAME, text=asked)
        assert b"\ndrive\t" not in said
        drive.unlink()
    finally:
        host.root("rm", "/tmp/pj-evil")


def test_an_archive_brings_files_and_nothing_else(host: Installed) -> None:
    room = f"{host.run}/programs/5.room"
    folder = host.folder / "archives"
    folder.mkdir()
    made = {
        "link": "ln -s /etc/secret x && tar cf - x",
        "folder": "mkdir d && tar cf - d",
        "hard": "touch a && ln a b && tar cf - a b",
        "pipe": "mkfifo p && tar cf - p",
        "device": "mknod n c 1 3 && tar cf - n",
        "up": "touch f && tar -P --transform=s,f,../../../up, -cf - f",
    }
    archives: dict[str, bytes] = {}
    for name, script in made.items():
        (folder / name).mkdir()
        archives[name] = subprocess.run(
            ["sh", "-c", script], cwd=folder / name, check=True, capture_output=True
        ).stdout
    (folder / "setuid").mkdir()
    script = "cp /bin/true s && chmod 6755 s && tar cf - s"
    setuid = subprocess.run(
        ["sh", "-c", script], cwd=folder / "setuid", check=True, capture_output=True
    ).stdout
    shutil.rmtree(folder)
    before = state(host)
    for archive in archives.values():
        assert host.keep(verb("perjoule-send", room), inputs=[archive])[0].split()[0] != b"0"
    sent = host.keep(
        verb("perjoule-send", room),
        ["stat", "-c", "%a %U", f"{room}/s"],
        verb("perjoule-fetch", room, "9"),
        inputs=[setuid],
    )
    assert sent[0] == b"0 "
    assert sent[1] == b"0 755 root\n"
    assert state(host) == before
    refused(
        host,
        *(
            verb("perjoule-send", place)
            for place in ("/etc/made", f"{host.run}/x", f"{room}/../../../x.room")
        ),
    )


def test_a_device_that_root_names_is_used_and_left_without_the_runs_file_system(host: Installed) -> None:
    image, place = host.folder / "disk.img", f"{host.run}/storage"
    image.write_bytes(bytes(2**24))
    device = subprocess.run(
        ["losetup", "-f", "--show", image], check=True, capture_output=True, text=True
    ).stdout.strip()
    name = Path(device).name
    number, boot = (
        Path(f"/sys/class/block/{name}/dev").read_text().strip(),
        Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
    )
    sequence = Path(f"/sys/class/block/{name}/diskseq")
    same = (device, number, sequence.read_text().strip() if sequence.exists() else "-", boot)
    wipe = ("wipefs", "--all", "--types", "ext4", "--quiet", device)
    host.permit(f"device {device}")
    try:
        answers = host.keep(
            ["mkdir", "-p", place],
            ["wipefs", "--all", "--force", "--quiet", device],
            verb("perjoule-ending", f"{place}.end", "device", *same, *wipe),
            ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=1", device],
            ["mount", "-t", "ext4", "-o", "noatime", device, place],
            ["blockdev", "--getsize64", device],
        )
        assert [answer.partition(b" ")[0] for answer in answers] == [b"0"] * 6, answers
        assert answers[-1] == b"0 16777216\n"
        assert subprocess.run(["wipefs", "--no-act", device], capture_output=True, check=True).stdout == b""
    finally:
        host.permit()
        subprocess.run(["losetup", "-d", device], check=True)
        image.unlink()


def test_what_a_host_has_mounted_itself_is_not_unmounted_nor_emptied_by_a_path_that_root_permits(
    host: Installed,
) -> None:
    host.root("sh", "-c", "mkdir /etc/over && mount -t tmpfs none /etc/over && touch /etc/over/x.pid")
    host.permit("over /etc/over")
    try:
        refused(host, ["umount", "--lazy", "/etc/over"], ["find", "/etc/over", "-name", "*.pid", "-delete"])
        folder = f"{host.run}/room"
        answers = host.keep(
            ["mkdir", folder],
            ["mount", "--bind", folder, "/etc/over"],
            ["umount", "--lazy", "--quiet", "/etc/over"],
        )
        assert answers == [b"0 ", b"0 ", b"0 "]
        assert host.root("ls", "/etc/over").stdout == b"x.pid\n"
    finally:
        host.root("sh", "-c", "umount /etc/over; rmdir /etc/over")
        host.permit()


def test_limits_of_its_caller_let_nothing_through_unlogged(host: Installed) -> None:
    before = state(host)
    asked = b"keep 0a1b2c3d\nrun 1 3 0\ntouch\0--\0/etc/made\0"
    for limit in ("-n 5", "-f 0", "-v 20000", "-c unlimited"):
        script = f'ulimit {limit}; exec sudo -n -- "$@"'
        host.root(
            *host.as_user(), "bash", "-c", script, "limited", HELPER, "keep", host.work, NAME, text=asked
        )
        assert state(host) == before, limit
