"""Whatever moment perjoule is killed at while it brings virtual hosts up or takes them down, nothing
stays.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perjoule.testbeds.virtual import clean, runs

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.alone]

KILLS_COUNT = 40
OWNER = """
import sys
from perjoule.testbeds.virtual import Virtual
bed = Virtual(disk=sys.argv[1], servers=2, cpu_cap=False)
bed.checks()
print("ready", flush=True)
with bed.hold(1, keep=sys.argv[2] == "keep") as hosts:
    hosts.clients[0].spawn(["sleep", "600"], log=hosts.clients[0].directory / "log")
    hosts.clients[0].run(["true"], timeout_s=5)
print("down", flush=True)
"""


def state(root: Path) -> list[str]:
    """All that could be left, found by other means than `clean` uses."""
    found = [
        str(path)
        for path in (*root.glob("*"), *Path("/run/perjoule").glob("*-*"))
        if path.name.startswith("pj-")
    ]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(root) in line]
    loops = subprocess.run(["losetup", "-l", "-n"], capture_output=True, text=True, check=True).stdout
    found += [line for line in loops.splitlines() if str(root) in line]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{root}/pj-" in text:
            found.append(text.replace("\0", " ")[-200:])
    return found


@pytest.mark.parametrize("mode", ["run", "keep"])
@pytest.mark.parametrize("disk", ["directory", "xfs"])
def test_a_kill_at_any_moment_leaves_nothing_after_cleaning(
    disk: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERJOULE_WORK", str(tmp_path))
    chance = random.Random(f"{disk} {mode}")
    caught_count, whole_s = 0, 0.0
    for kill in range(1 + KILLS_COUNT // 4):
        owner = subprocess.Popen([sys.executable, "-c", OWNER, disk, mode], stdout=-1, text=True)
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        began_s, delay_s = time.monotonic(), chance.uniform(0, whole_s)
        if kill:
            time.sleep(delay_s)
            owner.kill()
        rest, _ = owner.communicate()
        # the first is let go, to know how long there is to kill it
        whole_s = whole_s or time.monotonic() - began_s
        caught_count += rest == "" and bool(state(tmp_path))
        for run in runs.runs():
            if run.folder.is_relative_to(tmp_path):
                clean(everything=True, run=run.id)
        clean()  # groups whose folder is gone
        assert state(tmp_path) == [], f"killed after {delay_s:.3f} s"
        groups = {
            path.name.removeprefix("perjoule-") for path in Path("/sys/fs/cgroup").glob("*/perjoule-*/")
        }
        assert groups <= {
            run.id for run in runs.runs() if run.alive() or run.kept_file.exists()
        }  # other people's
    assert caught_count > KILLS_COUNT // 16
