"""`perjoule import` and `perjoule export`: from another tool's file to a
bundle that verifies.
"""

from pathlib import Path

from commanded import command
from places import TRANSCRIPTS

REAL = TRANSCRIPTS / "imported"


def perjoule(*words: object, code: int = 0) -> str:
    done = command(*words)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_from_a_fio_and_a_power_log_to_joules_and_a_bundle_that_verifies(tmp_path: Path) -> None:
    log = tmp_path / "lmg.csv"
    lines = [f"21.11.2026 14:{44 + (40 + n) // 60}:{(40 + n) % 60:02};{40 + n % 2},5" for n in range(40)]
    log.write_text("\n".join(["made by an instrument", "Time;P1", *lines]) + "\n")
    declared = [
        "time=Time",
        "value=P1",
        "format=%d.%m.%Y %H:%M:%S",
        "delimiter=;",
        "decimal=,",
        "unit=W",
        "window=1 s",
    ]
    declared += ["semantics=window mean", "grade=wall"]
    options = [word for one in declared for word in ("--set", one)]
    client, counters, into = (
        f"client-1={REAL / 'joined/client-1.json'}",
        REAL / "joined/sadf.json",
        tmp_path / "lab",
    )
    told = [
        "--power",
        log,
        *options,
        "--covers",
        "servers",
        "--role",
        "vm=storage",
        "--filesystem",
        "nfs",
        "--timezone",
        "UTC",
    ]
    said = perjoule("import", into, client, counters, *told)
    assert (
        "nfs, fio write 1 MiB, 1 client, repetition 1: 2026-11-21 14:45:00 to 14:45:05 UTC, 6 channels"
        in said
    )
    assert "1 trial imported; hosts: client-1 (client), vm (storage)" in said
    assert "missing: no idle time" in said
    assert "no power" not in said
    shown = perjoule("show", into)
    assert "12.10" in shown
    assert "217" in shown  # 41.0 W for 5.289 s
    assert "0 differ" in perjoule("verify", into)
    perjoule("audit", into)
    bundle, table, parquet = tmp_path / "lab.zip", tmp_path / "lab.csv", tmp_path / "lab.parquet"
    words = [
        "--csv",
        table,
        "--parquet",
        parquet,
        "--bundle",
        bundle,
        "--license",
        "CC-BY-4.0",
        "--author",
        "Ada Lovelace",
    ]
    said = perjoule("export", into, *words)
    assert "`perjoule verify` checks it" in said
    assert "cell,,nfs,fio write 1 MiB,write,1,,,efficiency_bytes_per_j,B/J," in table.read_text()
    assert parquet.read_bytes()[:4] == b"PAR1"
    assert "0 differ" in perjoule("verify", bundle)
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)
    assert "1 differ" in perjoule("verify", bundle, code=1)


def test_what_can_t_be_is_one_sentence(tmp_path: Path) -> None:
    fio = REAL / "fio/steady.json"
    assert "no such file" in perjoule("import", tmp_path / "r", "nowhere.json", code=2)
    assert '"vm=disk" does not assign a role' in perjoule(
        "import", tmp_path / "r", fio, "--role", "vm=disk", code=2
    )
    assert 'no time zone "Berlin"' in perjoule("import", tmp_path / "r", fio, "--timezone", "Berlin", code=2)
    assert not (tmp_path / "r").exists()
    perjoule("import", tmp_path / "r", fio)
    assert "nothing to write" in perjoule("export", tmp_path / "r", code=2)
    for name in ("CC-BY", "CC BY 4.0", "cc-by-sa", "public domain", "GPL", "//x"):
        said = perjoule("export", tmp_path / "r", "--bundle", tmp_path / "r.zip", "--license", name, code=2)
        assert f'"{name}" is no SPDX identifier' in said
    assert not (tmp_path / "r.zip").exists()
    said = perjoule("export", tmp_path / "r", "--bundle", tmp_path / "r.zip")
    assert "it has no license" in said
    for name in ("CC0-1.0", "MIT", "GPL-2.0+", "LicenseRef-Ours", "https://example.org/terms"):
        perjoule("export", tmp_path / "r", "--bundle", tmp_path / "r.zip", "--license", name)
