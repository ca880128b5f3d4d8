"""Folders of MLPerf Storage for tests: a real result of v1.0, changed, and descriptions in the form of v3.0."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from places import TRANSCRIPTS

REAL = TRANSCRIPTS / "imported/mlperf"
RESULT = "results/Cray_C500_4xHDR200_3hosts/unet3d_h100"
RUNS = tuple(f"run-{number}" for number in range(1, 6))
SYSTEM = """\
---
system_under_test:
  "solution":
    "submission_name": "acme"
    friendly_description: >-
      four nodes: two supplies each,
      and a switch
    architecture: {storage_location: LOCATION}
  deployment: DEPLOYMENT
  total_rack_units: 9
  product_nodes:
  - friendly_description: node
    quantity: !!int "4"
    chassis:
      model_name: N1
      cpu_model:
      rack_units: 2
      power:
        min_psus_active: 1
        psus_configured:
        - {unit_count: 2, inlet_voltage: 240, nameplate_power_watts: 2000, efficiency: Platinum}
  product_switches:
  - unit_count: 1
    vendor_name: acme
    model_name: S1
    rack_units: 1
    power:
      min_psus_active: 2
      psus_configured:
      - {unit_count: 2, inlet_voltage: 240, nameplate_power_watts: 500, efficiency: Gold}
  clients:
  - quantity: 11
    chassis:
      model_name: C1
      power:
        min_psus_active: 1
        psus_configured:
        - {unit_count: 2, inlet_voltage: 240, nameplate_power_watts: 1000, efficiency: Gold}
"""


def described(*, location: str = "remote", deployment: str = "onprem") -> str:
    """A system of v3.0: 4 x 2 x 2000 W and 2 x 500 W on nameplates, of which 9 kW must be active."""
    return SYSTEM.replace("LOCATION", location).replace("DEPLOYMENT", deployment)


def copied(folder: Path) -> Path:
    """A submitter's folder of v1.0 with one real result of five runs."""
    shutil.copytree(REAL, folder, ignore=shutil.ignore_patterns("README.md"))
    return folder


def changed(path: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file in place."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def of_third_round(folder: Path, system: str = "") -> Path:
    """A submitter's folder as v3.0 lays it out, with one run; its description states power."""
    copied(folder / "from")
    run = folder / "results/acme/training/unet3d/run/20260708_072134"
    run.parent.mkdir(parents=True)
    shutil.move(folder / "from" / RESULT / "run-1", run)
    shutil.rmtree(folder / "from")
    (run / "configs").rename(run / "dlio_config")
    (run / "per_epoch_stats.json").rename(run / "0_per_epoch_stats.json")
    config = run / "dlio_config/config.yaml"
    config.write_text(
        config.read_text()
        .replace("record_length", "record_length_bytes")
        .replace("model: unet3d", "model:\n    name: unet3d\n    type: cnn")
        .replace("bytes_stdev: ", "bytes_stdev: ")
    )
    (run / "dlio.log").write_text("[OUTPUT] of DLIO\n")
    (folder / "systems").mkdir()
    (folder / "systems/acme.yaml").write_text(system or described())
    return folder
