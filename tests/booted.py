"""A systemd as the first process of a host of tests, with a bus, a journal and an SSH server, and nothing
else of this machine's.

Its control groups are below one of its own. None of Debian's units is started, as some would set this
machine's kernel.
"""

import os
import shutil
import subprocess
from pathlib import Path

SYSTEMD = Path("/lib/systemd/systemd")
# In the host: $1 the lab's folder, $2 the host's name, $3 a name for the control group, $4 the server's log,
# $5 the number of the user who has a systemd, too.
START = """
set -e
if first=$(pgrep -f "^/lib/systemd/systemd .*unit=lab.target"); then
  nsenter -t "$first" -m -p -C systemctl restart lab.service
  exec sleep infinity
fi
exec unshare --pid --mount --fork --kill-child sh "$1/first" "$@"
"""
# As the first process of a process namespace of its own.
FIRST = """
set -e
mount -t proc proc /proc
mount -t tmpfs none /mnt
mkdir /mnt/all
mount -t cgroup2 none /mnt/all
for controller in pids memory; do echo "+$controller" > /mnt/all/cgroup.subtree_control || :; done 2> /dev/null
[ ! -d "/mnt/all/$3" ] || find "/mnt/all/$3" -depth -type d -exec rmdir {} + # of before a reboot
mkdir "/mnt/all/$3"
echo 0 > "/mnt/all/$3/cgroup.procs"
umount /mnt/all /mnt
exec unshare --cgroup sh "$1/second" "$@"
"""
SECOND = """
set -e
umount -R /sys/fs/cgroup 2> /dev/null || :
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/sshd /run/dbus /run/user /run/systemd/system /run/systemd/journald.conf.d
cd /run/systemd
printf '[Journal]\\nStorage=volatile\\n' > journald.conf.d/lab.conf
cd system
for unit in sysinit basic shutdown; do ln -s /dev/null $unit.target; done
cat > lab.target << END
[Unit]
DefaultDependencies=no
Wants=dbus.socket lab.service user@$5.service systemd-journald.service
After=dbus.socket
END
cat > dbus.socket << END
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/dbus/system_bus_socket
END
cat > dbus.service << END
[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
ExecStart=/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile
END
cat > lab.service << END
[Unit]
DefaultDependencies=no
After=dbus.socket systemd-journald.service user@$5.service
[Service]
ExecStart=/usr/sbin/sshd -D -e -f $1/$2.sshd
StandardError=append:$4
KillMode=process
END
for file in passwd group; do mount --bind "$1/$file" /etc/$file; done
mkdir -p "$1/home" /run/user/$5 /run/lab
chown $5:$5 /run/user/$5
cat > user@$5.service << END
[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
Type=notify
User=$5
Slice=user-$5.slice
Delegate=pids memory
Environment=XDG_RUNTIME_DIR=/run/user/$5 SYSTEMD_UNIT_PATH=/run/lab
ExecStart=/lib/systemd/systemd --user --unit=dbus.socket
END
sed s,/run/dbus/system_bus_socket,%t/bus, dbus.socket > /run/lab/dbus.socket
sed s,--system,--session, dbus.service > /run/lab/dbus.service
words="--system --unit=lab.target --log-level=warning --log-target=console --show-status=no"
exec env -i "PATH=$PATH" container=lab /lib/systemd/systemd $words > /dev/null 2>&1
"""


def lacking() -> str:
    """What is missing here for such a host, "" if nothing."""
    tools = {
        "/usr/bin/dbus-daemon": "dbus-daemon",
        "/usr/bin/busctl": "systemd",
        "/usr/bin/logger": "bsdutils",
    }
    if missing := [package for path, package in tools.items() if not shutil.which(path)]:
        return f"{', '.join(missing)} missing: apt install {' '.join(missing)}"
    if not SYSTEMD.exists():
        return "systemd is missing: apt install systemd"
    if "cgroup2" not in Path("/proc/filesystems").read_text():
        return "this kernel has no control groups of version 2"
    return ""


def group(host: str) -> str:
    """The name of the control group of such a host."""
    return f"lab-{os.getpid()}-{host}"


def scripts(folder: Path) -> None:
    """Write the scripts to a lab's folder.

    No command line says what they start, as that is what tests look for.
    """
    for name, text in (("start", START), ("first", FIRST), ("second", SECOND)):
        (folder / name).write_text(text)


REMOVE = """
mount -t tmpfs none /mnt && mkdir /mnt/all && mount -t cgroup2 none /mnt/all && cd /mnt/all || exit
for group; do
  for _ in $(seq 100); do
    [ -d "$group" ] || break
    find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || sleep 0.1
  done
  [ ! -d "$group" ] || echo "$group"
done
"""


def removed(*hosts: str) -> str:
    """Remove their control groups, once the hosts have ended; return those that stay."""
    argv = ["unshare", "--mount", "sh", "-c", REMOVE, "sh", *map(group, hosts)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
