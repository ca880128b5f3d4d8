"""What an editor says of a TOML file: taplo's faults, held against a JSON Schema that lies beside it."""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from perjoule.model import Json

FAULT = re.compile("^error: (.*)$", re.MULTILINE)


def faults(folder: Path, name: str, schema: Mapping[str, Json], text: str) -> list[str]:
    """Check a text that names the schema `name` in its first line; give each fault once."""
    taplo = Path(sys.executable).with_name("taplo")
    if not taplo.exists() and platform.machine() != "x86_64":
        pytest.skip(f"taplo has no wheel for {platform.machine()}")
    (folder / name).write_text(json.dumps(schema))
    (folder / "my.toml").write_text(text)
    done = subprocess.run(
        [taplo, "check", "my.toml"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    found = sorted({*FAULT.findall(done.stderr)})
    assert done.returncode == bool(found), done.stderr
    return found
