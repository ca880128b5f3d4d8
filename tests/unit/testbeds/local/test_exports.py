"""Exports of a killed run on this machine, which the kernel keeps until somebody ends them."""

from pathlib import Path

import pytest

from perjoule.testbeds.local import exports, sweep


def test_exports_of_a_killed_run_end_with_its_folder_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = tmp_path / "perjoule-local-abc_12de"
    (dead / "nfs" / "export").mkdir(parents=True)
    (dead / "perjoule-made-this").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "exportfs").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ran\n')
    (tmp_path / "bin" / "exportfs").chmod(0o755)
    (tmp_path / "etab").write_text(f"/srv/homes\t10.0.0.0/24(rw)\n{dead}/nfs/export\t127.0.0.1(rw,sync)\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr(exports, "EXPORTS", (tmp_path / "etab", tmp_path / "none"))
    sweep(tmp_path)
    assert (tmp_path / "ran").read_text() == f"-u 127.0.0.1:{dead}/nfs/export\n"
    assert not dead.exists()
