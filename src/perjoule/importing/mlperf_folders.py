"""Where a submission to MLPerf Storage has its files: DIVISION/SUBMITTER/{systems,results}, and below results
SYSTEM/WORKLOAD/.../RUN. Between and below these, submitters place folders as they like.
"""

from collections.abc import Mapping
from pathlib import Path

from perjoule.machine.untrusted import foreign_text, opened
from perjoule.workloads.imported import CONFIG, EPOCH_FILES, OVERRIDES, SUMMARY, is_system, is_training

RESULTS, SYSTEMS = "results", "systems"
REPORT = "mlperf_storage_report.json"  # of a workload, in v0.5 and v1.0
CONFIGS = ("configs", "dlio_config", ".hydra")  # of v1.0, of v2.0 and later, of v0.5
_HEAD_BYTES = 16384  # of a summary, in which it says what it is


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a training run."""
    return is_training(_head(folder / SUMMARY))


def is_submission(folder: Path) -> bool:
    """Return whether a folder holds results and the descriptions of systems, beside code."""
    return (folder / RESULTS).is_dir() and (folder / SYSTEMS).is_dir()


def files_of(folder: Path) -> Mapping[str, Path]:
    """Return the files that describe a run, by name: its own, and the description of its system if that states
    power.
    """
    paths = [folder / name for name in (SUMMARY, *EPOCH_FILES)]
    paths += [folder / below / name for below in CONFIGS for name in (CONFIG, OVERRIDES)]
    if system := system_of(folder):
        paths.append(system)
    return {path.name: path for path in reversed(paths) if path.is_file()}


def system_of(folder: Path) -> Path | None:
    """Return the description of a run's system, if there is one that can state power (v3.0)."""
    path = folder.absolute()
    for below, parent in zip((path, *path.parents), path.parents, strict=False):
        if parent.name == RESULTS and (parent.parent / SYSTEMS).is_dir():
            system = parent.parent / SYSTEMS / f"{below.name}.yaml"
            return system if is_system(_head(system)) else None
    return None


def _head(path: Path) -> str:
    """Return the first characters of a file; "" if it can't be read, which whoever reads it as a whole says."""
    try:
        with opened(path) as file:
            return foreign_text(file.read(_HEAD_BYTES))
    except OSError:
        return ""
