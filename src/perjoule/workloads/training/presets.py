"""Workloads of MLPerf Storage v1.0 in numbers, each with the accelerator that it emulates.

Source: https://github.com/mlcommons/storage, configs/dlio/workload/*_h100.yaml and *_a100.yaml
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Preset:
    """What a training job reads, and how long an accelerator computes."""

    files_count: int = 1
    sample_bytes: float = 1.0
    samples_per_file: int = 1
    deviation_bytes: float = 0.0
    batch_count: int = 1
    workers_count: int = 4
    compute_s: float = 0.0
    shuffle: Literal["samples", "files"] = "samples"

    def scaled(self, share: float) -> "Preset":
        """Return it with this share of a sample, computed in the same share of the time."""
        return replace(
            self,
            sample_bytes=self.sample_bytes * share,
            deviation_bytes=self.deviation_bytes * share,
            compute_s=self.compute_s * share,
        )


_UNET3D = Preset(168, 146600628, deviation_bytes=68341808, batch_count=7, workers_count=4)
_RESNET50 = Preset(1024, 114660.07, 1251, batch_count=400, workers_count=8, shuffle="files")
_COSMOFLOW = Preset(524288, 2828486, deviation_bytes=71311, batch_count=1, workers_count=4)
PRESETS: Mapping[str, Preset] = {
    "unet3d_h100": replace(_UNET3D, compute_s=0.323),
    "unet3d_a100": replace(_UNET3D, compute_s=0.636),
    "resnet50_h100": replace(_RESNET50, compute_s=0.224),
    "resnet50_a100": replace(_RESNET50, compute_s=0.435),
    "cosmoflow_h100": replace(_COSMOFLOW, compute_s=0.0035),
    "cosmoflow_a100": replace(_COSMOFLOW, compute_s=0.00551),
}
