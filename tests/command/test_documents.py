"""Every command in the documents runs as it stands there, each document in a folder of its own."""

import csv
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commanded import command
from corrected import CAMPAIGN as MODELLED
from corrected import of_today
from documents import TABLES, commands
from laboratory import laboratory
from measured import CAMPAIGN, STEADY, measured
from once import once
from perjoule import report
from perjoule.exporting import recalculate
from places import EXAMPLES, ROOT, SOURCES, TRANSCRIPTS
from unit.importing.io500_folders import old

PLACES = ("tutorials", "how-to", "reference", "studies")
INDEXES = (ROOT / "README.md", ROOT / "docs" / "README.md")
DOCUMENTS = [*INDEXES, *(path for place in PLACES for path in sorted((ROOT / "docs" / place).glob("*.md")))]
# What can't run here, by how it begins, and why; with what runs in its place.
OUTSIDE = {
    "make ": "CI runs it",
    ".venv/bin/pip install ": "`make test` installs the same packages, pinned",
    "sudo perjoule run nightly.toml": "a campaign of one's own",
    "sudo perjoule reproduce green-storage": "half an hour of real file systems",
    "perjoule reproduce green-storage --simulate": "minutes: tests/command/test_reproduce.py runs fewer trials",
    "sudo .venv/bin/perjoule run examples/hep.toml": "real file systems: tests/live/test_hep.py",
    "sudo perjoule run examples/training.toml --into results/jobs": "real file systems: tests/live/test_training.py",
    "sudo perjoule run stores.toml --into results/stores": "real file systems: tests/live/test_cluster_examples.py",
    "perjoule show results/stores": "results of real file systems: tests/live/test_cluster_examples.py",
    "perjoule show results/jobs --training": "results of real file systems: tests/live/test_training.py",
    "sudo perjoule run examples/ssd-vs-hdd.toml": "minutes on virtual hosts: tests/live/test_device_study.py",
    "sudo perjoule run ranks.toml": "IOR, which no distribution packages: tests/live/test_ior.py",
    "sudo perjoule run governors.toml": "governors and RAPL: tests/live/test_power.py",
    "sudo perjoule tune governor.toml": "governors and RAPL: tests/pipeline/test_tuning_hosts.py, tests/live/test_power.py",
    "sudo perjoule run real.toml": "two disks, which are overwritten: tests/live/test_overwrite.py",
    "perjoule doctor lab.toml": "a lab's hosts: tests/unit/testbeds/cluster/test_findings.py",
    "perjoule doctor ranks.toml": "IOR, which no distribution packages: tests/unit/workloads/test_ior.py",
    "perjoule doctor scratch.toml": "a lab's hosts: tests/unit/testbeds/cluster/test_findings.py",
    "perjoule doctor independent.toml": "a lab's hosts: tests/unit/testbeds/cluster/test_findings.py",
    "perjoule run independent.toml": "a lab's hosts: tests/live/test_cluster.py",
    "perjoule run lab.toml --inventory": "a lab's hosts: tests/live/test_ansible.py",
    "systemctl list-units": "hosts with systemd: tests/live/test_cluster_units.py",
    "systemd-cgls ": "hosts with systemd: tests/live/test_cluster_units.py",
    "sudo systemctl stop": "hosts with systemd: tests/live/test_cluster_units.py",
    "journalctl ": "hosts with systemd: tests/live/test_cluster_units.py",
    "perjoule run scratch.toml": "a batch system: tests/live/test_slurm.py",
    "perjoule up ": "a real file system: tests/live/test_cli.py",
    "perjoule down --all": "ends other runs on this machine: tests/live/test_cli.py",
    "perjoule measure ": "a plug that answers, and minutes: tests/command/test_measure.py",
    "perjoule meters list bmc-1": "asks computers in the network: tests/meters/test_found.py",
    "perjoule meters test my.toml": "half a minute: tests/command/test_meters.py with --for",
    "nvme get-log ": "an NVMe drive: tests/meters holds the log's bytes",
    "perjoule meters record scpi": "a power analyser: tests/command/test_meters.py with a simulated plug",
    "perjoule compare results/demo --with green-storage": "nothing that is simulated is comparable with a paper",
    "sudo perjoule calibrate moosefs": "an hour of real file systems: tests/live/test_calibrate.py",
    "perjoule calibrate --from": "results of real file systems: tests/live/test_calibrate.py",
    "perjoule resume results/moosefs-calibrated": "an interrupted calibration: tests/live/test_calibrate.py",
    "perjoule meters join": "a load that the recording saw: tests/command/test_aligned_recording.py",
}
# How `make test` shortens a campaign; `make slow` runs it as it stands.
FEW = "--set repetitions=1 --set 'settle=5 ms' --set quiet=0"
FEWEST = f"{FEW} --set 'clients=[1]'"
SIMULATED = "--simulate --set repetitions=1 --set 'settle=50 ms' --set quiet=0 --into results"
FEW_TRIALS = 'repetitions = 2\nsettle = "100 ms"'
SHORTER = {
    "perjoule run first.toml --into results/first": FEW,
    "perjoule demo --simulate": FEWEST,
    "perjoule demo --simulate --into results/tried --set 'settle=20 ms' --set repetitions=2": FEWEST,
    "perjoule run examples/idle.toml --simulate --set repetitions=1 --set 'workload.duration=1 s' "
    "--set 'workload.rest=0 s' --into results/idle": FEW,
}
# Where `make test` leaves a page: what takes longest, and all that needs it.
LEFT = (
    # by day: tests/pipeline/test_idle_and_duty.py, test_scaling.py and test_aged.py
    f"perjoule run examples/duty.toml {SIMULATED}/duty",
    f"perjoule run examples/scaling.toml {SIMULATED}/scaling",
    "perjoule run examples/aged.toml --simulate --set repetitions=2 --set 'settle=50 ms' --set quiet=0 "
    "--into results/aged",
    # by day: tests/pipeline/test_tuning.py
    "perjoule tune examples/tune.toml --for MiB/J --trials 20 --into results/tuned",
    "perjoule run two-users.toml --into results/two-users",  # by day: tests/pipeline/test_together.py
)
BY_NIGHT = "device-study.md"  # it needs three campaigns; by day: tests/unit/statistics/test_replacement.py
# until Ctrl-C, or for a time
ENDLESS = ("perjoule meters watch ", "perjoule meters simulate ", "perjoule watch ")
CODES = {"perjoule audit all --strict": 1}


def elsewhere(command: str) -> list[str]:
    return [beginning for beginning in OUTSIDE if command.startswith(beginning)]


def run(typed: str, folder: Path, shorter: str = "") -> None:
    words, _, into = typed.partition(" '>' ")
    argv = [*shlex.split(words)[1:], *shlex.split(shorter)]
    argv += ["--for", "1 s"] if typed.startswith(ENDLESS) else []
    done = command(*argv, folder=folder, COLUMNS="120")
    assert done.returncode == CODES.get(typed, 0), f"{typed}\n{done.stdout}\n{done.stderr}"
    if into:
        (folder / into).write_text(done.stdout)


Demo = Callable[[], Path]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The results of a small demo, measured when they are first wanted, for all processes."""

    def measure(folder: Path) -> None:
        (folder / "examples").symlink_to(EXAMPLES)
        few = "--shrink 64 --set repetitions=2 --set 'settle=5 ms' --set quiet=0 --set 'clients=[1]'"
        run(f"perjoule run examples/demo.toml --simulate {few} --into demo", folder)

    return lambda: once(tmp_path_factory, "demo", measure) / "demo"


def my_boards(folder: Path, demo: Demo) -> None:
    """The cluster of the how-to of boards."""
    text = (ROOT / "docs/how-to/boards.md").read_text()
    (folder / "my-boards.toml").write_text(re.findall(r"^```text\n(title = .*?)^```$", text, re.M | re.S)[0])


def before_and_after(folder: Path, demo: Demo) -> None:
    (folder / "results").mkdir()
    shutil.copytree(demo(), folder / "results" / "demo")
    measured(folder / "results" / "before", FEW_TRIALS, meter=STEADY)
    for copy in ("after", "reference", "new"):
        shutil.copytree(folder / "results" / "before", folder / "results" / copy)


def a_study(folder: Path, demo: Demo) -> None:
    for into, machines in (
        ("ssd-vs-hdd", '["pc-ssd1", "mpsoc-ssd1"]'),
        ("pc", '["pc-ssd1"]'),
        ("mpsoc", '["mpsoc-ssd1"]'),
    ):
        options = (
            f"--set testbed.cluster='{machines}' --set repetitions=1 --set 'settle=1 ms' --set quiet=0 "
            "--shrink 4096"
        )
        run(f"perjoule run examples/ssd-vs-hdd.toml --simulate {options} --into results/{into}", folder)


def with_other_watts(folder: Path, demo: Demo) -> None:
    """Results whose watts were modelled with other coefficients than today's."""
    (folder / "former.toml").write_text(MODELLED)
    run("perjoule run former.toml --into former", folder)
    with pytest.MonkeyPatch.context() as patched:
        of_today(patched)
        recalculate(folder / "former", folder / "results" / "lab", report.write)


def nights(folder: Path, demo: Demo) -> None:
    first, *others = (folder / "results" / "nightly" / f"night-{number}" for number in range(5))
    measured(first, 'repetitions = 2\nsettle = "5 ms"\nquiet = 0', meter=STEADY)
    # copies, because on a busy machine one of twenty has a step by chance, which --fail-on-worse reports
    for other in others:
        shutil.copytree(first, other)


def logs(folder: Path, demo: Demo) -> None:
    joined = TRANSCRIPTS / "imported" / "joined"
    for name in ("a.json", "b.json"):
        shutil.copy(joined / "client-1.json", folder / name)
    shutil.copy(joined / "sadf.json", folder / "storage-1-sadf.json")
    rows = [f"2026-11-21 15:{44 + (40 + n) // 60}:{(40 + n) % 60:02},{40 + n % 2}" for n in range(40)]
    (folder / "lmg.csv").write_text("\n".join(["Time,P1", *rows, ""]))
    submissions(folder)


def submissions(folder: Path) -> None:
    old(folder / "submission-688")
    shutil.copytree(TRANSCRIPTS / "imported" / "mlperf", folder / "closed" / "HPE")


# What a document takes for granted: the reader's own files.
PREPARED: dict[str, Callable[[Path, Demo], object]] = {
    "administrators.md": lambda folder, demo: shutil.copy(EXAMPLES / "cluster.toml", folder / "lab.toml"),
    "audit.md": lambda folder, demo: (
        measured(folder / "results" / "mine", FEW_TRIALS),
        shutil.copy(SOURCES / "papers" / "published" / "cubieboard.toml", folder / "mine.toml"),
        submissions(folder),
    ),
    "claims.md": lambda folder, demo: (folder / "acme.toml").write_text(
        "\n".join(
            re.findall(
                r"^```text\n(kind = .*?)^```$", (ROOT / "docs/how-to/claims.md").read_text(), re.M | re.S
            )
        )
    ),
    "compare.md": before_and_after,
    "device-study.md": a_study,
    "data.md": lambda folder, demo: shutil.copytree(demo(), folder / "results" / "demo"),
    "export.md": lambda folder, demo: shutil.copytree(demo(), folder / "results" / "demo"),
    "history.md": nights,
    "import.md": logs,
    "independent.md": lambda folder, demo: laboratory(folder, folder / "results" / "independent"),
    "json.md": lambda folder, demo: shutil.copytree(demo(), folder / "results" / "demo"),
    "boards.md": my_boards,
    "predict.md": lambda folder, demo: (
        measured(folder / "results" / "moosefs", "repetitions = 2"),
        shutil.copy(SOURCES / "prediction" / "profiles" / "moosefs.json", folder),
        my_boards(folder, demo),
    ),
    "recalculate.md": with_other_watts,
    "publish.md": lambda folder, demo: laboratory(folder, folder / "results" / "lab"),
    "reproduce.md": lambda folder, demo: shutil.copytree(demo(), folder / "results" / "demo"),
    "watch.md": lambda folder, demo: (folder / "my.toml").write_text(
        CAMPAIGN.format(top='settle = "5 ms"\nquiet = 0', size="1 MiB", meter=STEADY)
    ),
    "meters.md": lambda folder, demo: (folder / "my.toml").write_text('[[meter]]\nkind = "simulated"\n'),
}


def cases() -> Iterator[object]:
    """Each document, and by night those again of which a campaign is shortened or left out by day."""
    for document in filter(commands, DOCUMENTS):
        name = str(document.relative_to(ROOT))
        if document.name != BY_NIGHT:
            yield pytest.param(document, True, id=name)
        if document.name == BY_NIGHT or not {*SHORTER, *LEFT}.isdisjoint(commands(document)):
            yield pytest.param(document, False, id=f"{name} as it stands", marks=pytest.mark.slow)


@pytest.mark.parametrize(("document", "day"), [*cases()])
def test_commands_in_the_documents_do_what_they_say(
    document: Path, day: bool, tmp_path: Path, demo: Demo
) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    for text in TABLES.findall(document.read_text()):
        if name := re.match(r'name = "(.+)"', text):
            (tmp_path / f"{name[1]}.toml").write_text(text)
    PREPARED.get(document.name, lambda folder, demo: None)(tmp_path, demo)
    for typed in commands(document):
        if day and typed in LEFT:
            break
        if not elsewhere(typed):
            run(typed, tmp_path, SHORTER.get(typed, "") if day else "")


def test_the_lines_for_pandas_duckdb_and_r_give_the_same_numbers(tmp_path: Path, demo: Demo) -> None:
    text = (ROOT / "docs" / "how-to" / "data.md").read_text()
    blocks = {
        language: re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
        for language in ("python", "sql", "r")
    }
    code = {language: "\n".join(found) for language, found in blocks.items()}
    (tmp_path / "results").mkdir()
    shutil.copytree(demo(), tmp_path / "results" / "demo")
    run("perjoule export results/demo --csv demo.csv --parquet demo.parquet", tmp_path)
    (tmp_path / "rows.r").write_text(code["r"])
    (tmp_path / "rows.py").write_text(code["python"])
    (tmp_path / "sql.py").write_text(f"import duckdb\nprint(duckdb.sql({code['sql']!r}).to_df().to_string())")
    assert shutil.which("Rscript"), "Rscript is missing: setup/install tests"
    with (tmp_path / "demo.csv").open() as file:
        exported = sorted(
            float(row["value"]) / 2**20
            for row in csv.DictReader(file)
            if (row["of"], row["metric"]) == ("cell", "efficiency_bytes_per_j")
        )
    assert exported  # fewer than six on a busy machine: loads are short, and an energy may be refused
    told: list[list[float]] = []
    for argv in ([sys.executable, "rows.py"], [sys.executable, "sql.py"], ["Rscript", "rows.r"]):
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
        rows = re.findall(r"(?:MooseFS|GlusterFS|CephFS) +(?:read|write) +1 +([0-9]+\.[0-9]+)", done.stdout)
        told.append(sorted(map(float, rows)))
    assert told == 3 * [pytest.approx(exported, rel=1e-4)]


def test_what_can_not_run_here_stands_in_a_document_and_what_runs_instead_exists() -> None:
    written = [command for document in DOCUMENTS for command in commands(document)]
    assert {beginning for command in written for beginning in elsewhere(command)} == set(OUTSIDE)
    assert {*SHORTER, *LEFT} <= {*written}
    assert [
        path
        for reason in OUTSIDE.values()
        for path in re.findall(r"tests/\S+\.py", reason)
        if not (ROOT / path).exists()
    ] == []
