"""What a killed campaign on this machine leaves: its load waits or runs until the next command ends it,
with what it filled.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.live
PERJOULE = Path(sys.executable).with_name("perjoule")
TEXT = """
name = "killed"
repetitions = 1
settle = "100 ms"
quiet = 0
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "{path}"
[[workload]]
kind = "fio"
operation = "write"
size = "64 MiB"
duration = "60 s"
"""


def running(folder: Path) -> list[str]:
    """The programs that name the folder, by their commands."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if os.fsencode(f"{folder}/") in words and b"perjoule\0run" not in words:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.usefixtures("cleaning")
@pytest.mark.parametrize("at", ["the gate", "work"])
def test_the_next_command_ends_the_load_of_a_killed_campaign_and_removes_its_data(
    at: str, tmp_path: Path
) -> None:
    data, own = tmp_path / "data", tmp_path / "tmp"
    data.mkdir()
    own.mkdir()
    (tmp_path / "killed.toml").write_text(TEXT.format(path=data))
    environment = {
        **os.environ,
        "TMPDIR": str(own),
        "PERJOULE_WORK": str(tmp_path / "work"),
        "XDG_STATE_HOME": str(tmp_path),
    }
    command = [PERJOULE, "run", tmp_path / "killed.toml", "--into", tmp_path / "results"]
    gates, until_s = "start-*/*" if at == "the gate" else "never", time.monotonic() + 60
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while time.monotonic() < until_s and process.poll() is None:
            pipes = [path for path in own.glob(f"perjoule-local-*/{gates}") if path.is_fifo()]
            if pipes or (at == "work" and list(data.glob("perjoule-*/*"))):
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert list(data.glob("perjoule-*")), "the campaign had not begun, or had ended"
    done = subprocess.run(
        [PERJOULE, "down"], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert running(data) == [], done.stdout
    assert list(data.iterdir()) == []
    assert list(own.iterdir()) == []
