"""The command as a user has it: help, exit codes, signals, and every foreseeable mistake answered in one
sentence.
"""

import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import click
import pytest
from click.testing import CliRunner

import perjoule.cli
from commanded import command
from day import by_day
from perjoule import drivers, store
from perjoule.cli import cli, measuring
from perjoule.testbeds.simulated import SimulatedTestbed
from places import BROKEN_CAMPAIGNS, ROOT

PERJOULE = Path(sys.executable).with_name("perjoule")
COMMANDS = sorted(cli.commands)

CAMPAIGN = """
name = "tried"
repetitions = {repetitions}
seed = 1
settle = "5 ms"
quiet = 0
[testbed]
kind = "simulated"
{testbed}
[[filesystem]]
kind = "simulated"
throughput = "100 MiB/s"
{filesystem}
[[workload]]
kind = "simulated"
size = "2 MiB"
{workload}
[[meter]]
kind = "system"
rate = "100 Hz"
[[meter]]
kind = "modelled"
rate = "100 Hz"
"""


def written(
    folder: Path, *, repetitions: int = 2, testbed: str = "", filesystem: str = "", workload: str = ""
) -> Path:
    path = folder / "tried.toml"
    path.write_text(
        CAMPAIGN.format(repetitions=repetitions, testbed=testbed, filesystem=filesystem, workload=workload)
    )
    return path


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    env = {**os.environ, **environment}
    return subprocess.run(
        [PERJOULE, *map(str, words)], capture_output=True, text=True, timeout=60, check=False, env=env
    )


def typed(*words: object) -> tuple[int, str, str]:
    """Run the command in this process; return its exit code and what it says."""
    done = command(*words)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two trials."""
    folder = tmp_path_factory.mktemp("measured")
    done = command("run", written(folder), "--into", folder / "results")
    assert done.returncode == 0, done.stderr
    return folder / "results"


@pytest.fixture
def copied(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "results"))


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_that_name_it(command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--help"], prog_name="perjoule")
    assert done.exit_code == 0
    assert "Examples:" in done.output
    assert f"perjoule {command}" in done.output.partition("Examples:")[2]


@pytest.mark.parametrize(
    "words", [[], *([command] for command in COMMANDS)], ids=lambda words: "-".join(words) or "perjoule"
)
def test_help_fits_80_columns_and_cuts_no_sentence(words: list[str]) -> None:
    said = CliRunner().invoke(cli, [*words, "--help"], prog_name="perjoule", terminal_width=80).output
    assert max(map(len, said.splitlines())) <= 80
    assert "..." not in said.replace("[OPTIONS] COMMAND [ARGS]...", "")


def test_the_list_of_commands_says_of_each_what_its_own_help_says() -> None:
    for name, (_, _, line) in perjoule.cli.COMMANDS.items():
        assert (cli.commands[name].name, line) == (name, cli.commands[name].get_short_help_str(200))


def test_help_names_every_command_and_every_exit_code() -> None:
    said = CliRunner().invoke(cli, ["--help"]).output
    assert all(f"\n  {command} " in said for command in COMMANDS)
    assert all(f"{code} " in said.partition("Exit codes:")[2] for code in range(6))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_and_its_meaning_is_in_the_help(command: str) -> None:
    options = [parameter for parameter in cli.commands[command].params if isinstance(parameter, click.Option)]
    assert not [option.name for option in options if not option.help]


# Exit codes


def test_0_all_is_well(measured: Path) -> None:
    done = run("show", measured)
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_run_looks_at_its_machines_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at real hosts means logging in to each."""
    looked = list[None]()
    monkeypatch.setattr(SimulatedTestbed, "checks", lambda _: looked.append(None) or ())
    monkeypatch.setattr(measuring, "_conclude", lambda *_: 0)
    assert typed("run", written(tmp_path, repetitions=1), "--into", tmp_path / "results")[0] == 0
    assert len(looked) == 1


def test_1_finished_with_invalid_trials(tmp_path: Path) -> None:
    code, said, errors = typed(
        "run", written(tmp_path, repetitions=3, workload="fail_at = 2"), "--into", tmp_path / "r"
    )
    assert code == 1
    assert "report.html" in said
    assert (
        "failed: simulated, simulated, 1 client, repetition 2: client-1: the simulated load fails in its "
        "run 2" in errors
    )


def test_2_the_campaign_is_wrong(tmp_path: Path) -> None:
    code, _, errors = typed(
        "run", written(tmp_path, filesystem='failure = "layout"'), "--into", tmp_path / "r"
    )
    assert code == 2
    assert "the layout is impossible on these hosts" in sentence(errors)


def test_3_the_machine_is_not_ready(tmp_path: Path) -> None:
    code, _, errors = typed("run", written(tmp_path, testbed='failure = "hold"'), "--into", tmp_path / "r")
    assert code == 3
    assert "the simulated testbed fails, as configured" in sentence(errors)


def test_4_the_workload_failed(tmp_path: Path) -> None:
    code, said, _ = typed("run", written(tmp_path, filesystem='failure = "daemon"'), "--into", tmp_path / "r")
    assert code == 4
    assert "report.html" in said


@pytest.mark.parametrize(
    ("number", "count"),
    [
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.slow),
        (signal.SIGINT, 3),
        pytest.param(signal.SIGTERM, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 1, marks=pytest.mark.slow),
    ],
)
def test_5_interrupted_and_resume_measures_what_is_missing_and_nothing_twice(
    number: signal.Signals, count: int, tmp_path: Path
) -> None:
    campaign, folder = written(tmp_path, repetitions=12), tmp_path / "r"
    campaign.write_text(campaign.read_text().replace("2 MiB", "8 MiB"))
    words = ["env", "--default-signal=INT,TERM,HUP", PERJOULE, "run", campaign, "--into", folder]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("2/12"):
                for _ in range(count):
                    process.send_signal(number)
                break
        errors = process.stderr.read()
        assert process.wait(timeout=30) == 5
    assert "stopping: taking everything down" in errors
    assert f"interrupted; everything was taken down; continue with: perjoule resume {folder}" in sentence(
        errors
    )
    kept_count = len(store.open_results(folder).records())
    assert 2 <= kept_count < 12
    done = command("resume", folder)
    assert done.returncode == 0, done.stderr
    assert f"{12 - kept_count} trials" in done.stderr
    records = store.open_results(folder).records()
    assert sorted(record.trial.repetition for record in records) == list(range(1, 13))


def test_5_a_terminal_that_is_closed_interrupts_too(tmp_path: Path) -> None:
    campaign, folder = written(tmp_path, repetitions=12), tmp_path / "r"
    pid, terminal = pty.fork()
    if not pid:
        os.execvp(
            "env",
            [
                "env",
                "--default-signal=INT,TERM,HUP",
                str(PERJOULE),
                "run",
                str(campaign),
                "--into",
                str(folder),
            ],
        )
    said = b""
    while b"2/12" not in said:
        said += os.read(terminal, 65536)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert 2 <= len(store.open_results(folder).records()) < 12


def test_ctrl_c_while_it_starts_ends_it_without_a_word() -> None:
    words = ["env", "--default-signal=INT", sys.executable, "-X", "importtime", "-m", "perjoule", "doctor"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.endswith(" click\n"):
                process.send_signal(signal.SIGINT)
                break
        errors = process.stderr.read()
        assert process.wait(timeout=30) == -signal.SIGINT
    assert "KeyboardInterrupt" not in errors


def test_a_run_imports_no_library_that_it_does_not_use(tmp_path: Path) -> None:
    """Each takes up to half a second, and pyarrow imports pandas by itself where it is installed."""
    words = ["run", written(tmp_path, repetitions=1), "--into", tmp_path / "r"]
    argv = [sys.executable, "-X", "importtime", "-m", "perjoule", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    imported = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "pyarrow.lib" in imported
    assert imported.isdisjoint({"pandas", "scipy"})


@pytest.mark.slow  # by day: a terminal that is closed, above
def test_under_nohup_a_hangup_does_not_stop_a_campaign(tmp_path: Path) -> None:
    words = [
        "env",
        "--ignore-signal=HUP",
        PERJOULE,
        "run",
        written(tmp_path, repetitions=10),
        "--into",
        tmp_path / "r",
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("2/10"):
                process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=30) == 0


# Mistakes


def sentence(errors: str) -> str:
    """What perjoule says of a stop: one sentence on a line of its own."""
    assert "Traceback" not in errors
    (line,) = [line for line in errors.splitlines() if line.startswith("perjoule: ")]
    return line.removeprefix("perjoule: ")


def alone(errors: str) -> str:
    """The same, where nothing else is printed."""
    assert len(errors.splitlines()) == 1
    return sentence(errors)


@pytest.mark.parametrize(
    "line",
    (BROKEN_CAMPAIGNS / "expected.txt").read_text().splitlines(),
    ids=lambda line: line.split(".toml")[0],
)
def test_a_broken_campaign_is_one_sentence_with_its_line(line: str, tmp_path: Path) -> None:
    for part in drivers.PROTOCOLS:  # drivers are added: the file says {filesystems}
        line = line.replace(f"{{{part}}}", ", ".join(drivers.kinds(part)))
    code, said, errors = typed(
        "run", BROKEN_CAMPAIGNS / f"{line.split('.toml')[0]}.toml", "--into", tmp_path / "r"
    )
    assert code == 2
    assert said == ""
    assert alone(errors).endswith(line)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "no such command 'chek'; did you mean 'check'?"),
        (["run"], "missing argument 'CAMPAIGN.toml'; see `perjoule run --help`"),
        (["run", "x.toml", "--inot", "y"], "no such option '--inot'; did you mean '--into'?"),
        (
            ["show", ROOT / "examples", "--nonsense"],
            "no such option '--nonsense'; see `perjoule show --help`",
        ),
        (
            ["show", ROOT / "examples", "--with", ROOT],
            "--with DIR changes nothing here; it goes with --replacement",
        ),
        (
            ["check", "a.toml", "b.toml"],
            "got unexpected extra argument (b.toml); see `perjoule check --help`",
        ),
        (
            ["check", "x.toml", "--shrink", "0"],
            "invalid value for '--shrink': 0 is not in the range x>=1; see `perjoule check",
        ),
        (
            ["check", "x.toml", "--shrink", "0.5"],
            "'--shrink': '0.5' is not a whole number of 1 or more; see `perjoule check --help`",
        ),
        (["up", "--clients", "few"], "'--clients': 'few' is not a whole number from 1 to 64; see"),
        (
            ["reproduce", "green-storage", "--scale", "full"],
            "'--scale': 'full' is not a number from 0 to 1; see",
        ),
        (
            ["plan", ROOT / "examples/local.toml"],
            "this is a campaign, not a need; see what it takes with `perjoule check",
        ),
        (
            ["up", "--clients", "1000000"],
            "invalid value for '--clients': 1000000 is not in the range 1<=x<=64; see `perjoule up",
        ),
        (["check", ROOT / "examples" / "lokal.toml"], 'no such file; did you mean "local.toml"?'),
        (["check", ROOT / "examples"], "this is a folder, not a campaign file; name a .toml file in it"),
        (["check", ROOT / "docs/assets/report.png"], "this is not a text file (byte "),
        (
            ["check", ROOT / "examples/local.toml", "--set", "repetitions"],
            '--set: "repetitions" changes nothing; write it like',
        ),
        (
            ["check", ROOT / "examples/local.toml", "--set", "workload.sise=1 MiB"],
            'has "sise"; did you mean "size"?',
        ),
        (["drivers", "mosefs"], 'unknown driver "mosefs"; did you mean "moosefs"?'),
        (["up", "mosefs"], 'unknown filesystem "mosefs"; did you mean "moosefs"?'),
        (
            ["up", "moosefs", "--cluster", "odroid"],
            'the catalogue has no cluster "odroid"; did you mean "odroid-hc4"?',
        ),
        (
            ["catalogue", "Raspberry Pi"],
            'the catalogue has no "Raspberry Pi"; names with it: raspberry-pi-3b-plus, ',
        ),
        (["catalogue", "odroid-hc5"], 'the catalogue has no "odroid-hc5"; did you mean "odroid-hc4"?'),
        (["up", "moosefs", "--set", "gaol=2"], 'did you mean "goal"?'),
        (
            ["up", "moosefs", "--set", "goal=-1"],
            "--set filesystem.goal=-1: goal = -1 is out of range; it must be at least 1",
        ),
    ],
    ids=lambda value: "-".join(Path(str(word)).name for word in value) if isinstance(value, list) else "",
)
def test_a_mistake_on_the_command_line_is_one_sentence_with_what_was_meant(
    words: Sequence[object], said: str
) -> None:
    code, output, errors = typed(*words)
    assert code == 2
    assert output == ""
    assert said in alone(errors)


def test_a_command_line_without_words_shows_the_help() -> None:
    code, _, errors = typed()
    assert code == 2
    assert "Measure:" in errors


FOLDER_COMMANDS = ("show", "report", "verify", "resume")


def test_a_campaign_where_results_belong_is_answered_with_the_command_that_runs_it() -> None:
    path = ROOT / "examples" / "local.toml"
    code, _, errors = typed("show", path)
    assert code == 3
    assert f"this is a campaign, not a results folder; run it with `perjoule run {path}`" in alone(errors)


@pytest.mark.parametrize("command", FOLDER_COMMANDS)
@pytest.mark.parametrize("name", ["nothing", "", "file"], ids=["nothing there", "another folder", "a file"])
def test_what_is_not_a_results_folder_is_named(command: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    code, _, errors = typed(command, tmp_path / name)
    assert code == 3
    bundle = (command, name) == ("verify", "file")  # which takes files, too: those that `export` packed
    missing = (
        "no such folder" if name == "nothing" else "this is not a results folder (no results.json in it)"
    )
    what = "this is not a bundle" if bundle else f"{missing}; name the folder"
    assert alone(errors).startswith(f"{tmp_path / name}: {what}")


@pytest.mark.parametrize("command", FOLDER_COMMANDS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results.json", b""),
        *(
            (name, text)
            for name in ("results.json", "journal.jsonl")
            for text in (b"{}\n", b"[1, 2]\n", b"\0\xff garbage\n")
        ),
    ],
)
def test_a_damaged_head_or_journal_is_named(command: str, name: str, content: bytes, copied: Path) -> None:
    (copied / name).write_bytes(content)
    code, _, errors = typed(command, copied)
    assert code == 3
    assert f"{copied / name}: the file is damaged: " in alone(errors)
    assert "restore it from a copy" in errors


@pytest.mark.parametrize("command", ["show", "report", "verify"])
@pytest.mark.parametrize("name", ["record.json", "series.parquet"])
def test_a_damaged_attempt_is_named(command: str, name: str, copied: Path) -> None:
    damaged = next((copied / "trials").rglob(name))
    damaged.write_bytes(damaged.read_bytes()[:100])
    code, said, errors = typed(command, copied)
    if command == "verify":
        assert code == 1
        assert str(damaged.relative_to(copied)) in said
    else:
        assert code == 3
        assert f"{damaged}: the file is damaged: " in alone(errors)


def test_results_of_a_newer_perjoule_are_refused(copied: Path) -> None:
    head = json.loads((copied / "results.json").read_text())
    (copied / "results.json").write_text(json.dumps({**head, "version": 99}))
    code, _, errors = typed("show", copied)
    assert code == 3
    assert alone(errors).startswith(
        f"{copied}: results of format version 99, but this perjoule reads versions up to 3; use the perjoule"
    )


@pytest.mark.parametrize("command", ["show", "report", "verify"])
def test_results_without_a_trial_say_how_to_measure_one(command: str, tmp_path: Path) -> None:
    store.create(tmp_path / "r", written(tmp_path).read_text(), "tried")
    code, _, errors = typed(command, tmp_path / "r")
    assert code == 3
    assert (
        alone(errors)
        == f"{tmp_path / 'r'}: no trial has been measured here yet; measure with: perjoule resume {tmp_path / 'r'}"
    )


def test_results_that_another_perjoule_works_on_are_left_alone(copied: Path) -> None:
    with store.open_results(copied).hold():
        code, _, errors = typed("resume", copied)
    assert code == 3
    assert sentence(errors) == (
        f"{copied}: process {os.getpid()} ({Path('/proc/self/comm').read_text().strip()}) is working on "
        "these results; wait for it, or stop it with Ctrl-C and run `perjoule resume`"
    )


def test_resume_says_what_it_sets_aside_and_what_it_leaves_and_the_report_says_so_too(copied: Path) -> None:
    journal = copied / "journal.jsonl"
    journal.write_text(journal.read_text().partition("\n")[2])
    (copied / "trials" / "notes.txt").write_text("years")
    code, _, errors = typed("resume", copied)
    assert code == 0
    (aside,) = (copied / "set-aside").iterdir()
    assert f"the journal does not list this attempt; set aside as set-aside/{aside.name}" in errors
    assert f"{copied / 'trials' / 'notes.txt'}: left alone because perjoule did not make it" in errors
    assert typed("verify", copied)[0] == 0
    said = typed("show", copied)[1]
    assert (
        f"doubt of the campaign: attempt {aside.name} was set aside because the journal does not list it"
        in said
    )
    assert f"attempt {aside.name} was set aside" in (copied / "report.html").read_text()


def test_a_folder_with_other_things_in_it_is_not_written_into(tmp_path: Path) -> None:
    campaign = written(tmp_path)
    code, _, errors = typed("run", campaign, "--into", tmp_path)
    assert code == 3
    assert (
        'the folder is not empty (it holds "tried.toml") and is not a results folder; choose a new'
        in alone(errors)
    )


def test_results_of_another_campaign_are_not_mixed(copied: Path, tmp_path: Path) -> None:
    code, _, errors = typed("run", written(tmp_path, repetitions=3), "--into", copied)
    assert code == 3
    assert f"{copied}: this results folder belongs to another campaign; choose another folder" in alone(
        errors
    )


@pytest.mark.parametrize(
    ("into", "words"),
    [
        ("/proc/results", "; choose a folder that you can write to"),
        ("/dev/null", ": it is not a folder; choose another path"),
        ("/dev/null/results", ": /dev/null is not a folder; choose another path"),
    ],
)
def test_where_nothing_can_be_written_is_named(into: str, words: str, tmp_path: Path) -> None:
    code, _, errors = typed("run", written(tmp_path), "--into", into)
    assert code == 3
    assert into in alone(errors)
    assert words in errors


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ("/proc/figures", "; check the path and its permissions"),
        ("/dev/null", "it is not a folder; choose another path"),
    ],
)
def test_figures_that_can_t_be_written_are_named(figures: str, words: str, measured: Path) -> None:
    code, _, errors = typed("report", measured, "--figures", figures)
    assert code == 3
    assert alone(errors).startswith(f"{figures}: ")
    assert words in errors


def test_a_campaign_that_does_not_fit_is_refused_by_check_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perjoule.machine.disks.RESERVE_BYTES", 2**62)
    for words in (("run", written(tmp_path), "--into", tmp_path / "r"), ("check", written(tmp_path))):
        code, _, errors = typed(*words)
        assert code == 3
        assert " of results does not fit: " in alone(errors)
        assert (
            ", of which 4096 PiB stay in reserve; free space, choose smaller sizes (--shrink), or another "
            "disk" in errors
        )
    assert not (tmp_path / "r").exists()


def test_check_says_how_much_room_a_campaign_needs(tmp_path: Path) -> None:
    code, said, _ = typed("check", written(tmp_path))
    assert code == 0
    assert re.search(
        r"^disk of .*: [\d.]+ [KM]iB of results; .* free, of which .* stay in reserve$", said, re.MULTILINE
    )


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, errors = typed("run", ROOT / "examples/local.toml", "--into", tmp_path / "r")
    assert code == 3
    assert "fio: not found" in alone(errors)
    assert "apt-get install fio" in errors
    assert not (tmp_path / "r").exists()


def test_of_many_missing_tools_the_first_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, errors = typed("demo", "--into", tmp_path / "r")
    assert code == 3
    assert "more; " in alone(errors)
    assert "apt-get install " in errors
    assert len(errors) < 600


# What is printed


@pytest.mark.parametrize("columns", by_day(["40", "200"], "40"))
def test_what_is_written_to_files_holds_no_control_characters_and_no_wrapped_line(
    columns: str, tmp_path: Path
) -> None:
    label = (
        'label = "a file system whose name is quite long [bold] :warning: and hardly fits anywhere in less '
        'than 80 columns"'
    )
    words = ["run", written(tmp_path, filesystem=label), "--into", tmp_path / "results"]
    done = run(*words, COLUMNS=columns, TERM="xterm-256color")
    assert done.returncode == 0
    assert all(character.isprintable() or character == "\n" for character in done.stdout + done.stderr)
    row = next(line for line in done.stdout.splitlines() if line.startswith("a file system"))
    assert "[bold] :warning: and hardly fits anywhere in less than 80 columns" in row
    assert "±" in row
    assert len([line for line in done.stderr.splitlines() if "/2 a file system" in line]) == 2


@pytest.mark.parametrize(
    ("words", "errors", "code"),
    [
        (["show"], subprocess.PIPE, 141),
        (["show", "--json"], subprocess.PIPE, 141),
        (["docs"], subprocess.STDOUT, 141),
        (["docs", "plan"], subprocess.PIPE, 141),
        (["--help"], subprocess.PIPE, 141),
        (["lacking"], subprocess.STDOUT, 141),
        (["lacking"], subprocess.PIPE, 2),  # said where somebody reads
    ],
)
def test_a_pipe_that_nobody_reads_ends_a_command_without_a_word(
    words: list[str], errors: int, code: int, measured: Path
) -> None:
    """As `head` closes it; by the code of a program that SIGPIPE ends."""
    ours, theirs = os.pipe()
    os.close(ours)
    folder = [measured] if "show" in words else []
    done = subprocess.run(
        [PERJOULE, *words, *folder], stdout=theirs, stderr=errors, text=True, timeout=60, check=False
    )
    os.close(theirs)
    assert (done.returncode, bool(done.stderr)) == (code, code == 2)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal of 80 columns: our end and the command's."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    yield ours, theirs
    os.close(ours)


@pytest.mark.parametrize("command", by_day(["show", "drivers"], "show"))
def test_a_terminal_of_80_columns_is_enough(command: str, tmp_path: Path, terminal: tuple[int, int]) -> None:
    measured = tmp_path / "results"
    # trials long enough for narrow intervals: a table with each repetition in it is wider
    if command == "show":
        asked = written(tmp_path, repetitions=3)
        asked.write_text(asked.read_text().replace('size = "2 MiB"', 'size = "40 MiB"'))
        assert typed("run", asked, "--into", measured)[0] == 0
    ours, theirs = terminal
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | {
        "TERM": "dumb"
    }
    words = [PERJOULE, command, *([measured] if command == "show" else [])]
    with subprocess.Popen(words, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 65536):
                said += piece
        except OSError:  # how a terminal says that nobody is on its other end
            pass
        assert process.wait(timeout=30) == 0
    lines = said.decode().replace("\r\n", "\n").splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in said.decode()
    if command == "show":
        names = lines[0].split() + lines[1].split()  # headers may be on two lines
        assert [name for name in ("MiB/s", "W", "MiB/J", "n") if name not in names] == []


def test_a_table_says_that_watts_are_modelled(measured: Path) -> None:
    assert "simulated, not measured" in typed("show", measured)[1]


def test_a_table_of_emulated_hosts_says_so(tmp_path: Path) -> None:
    code, said, errors = typed("run", written(tmp_path, testbed="scale = 0.5"), "--into", tmp_path / "r")
    assert code == 0
    assert "emulated at scale 0.5" in said
    assert "emulated at scale 0.5" in errors


def test_the_schema_is_json_for_an_editor() -> None:
    code, said, _ = typed("drivers", "--schema")
    assert code == 0
    assert json.loads(said)["$schema"]


def test_doctor_names_each_thing_missing_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said, errors = typed("doctor", "--all")
    assert code == 3
    assert "no   fio: not found\n     apt-get install fio\n" in said
    short = typed("doctor")[1]
    assert "fio: not found" not in short and len(short.splitlines()) <= 6
    assert re.search(r"\n\d+ things missing or limited: `perjoule doctor --all`", short)
    assert re.search(r"\nworkloads   ready: [^;]*simulated[^;]*; not ready: .*fio", said)
    assert "apt-get install" in alone(errors)


def test_doctor_says_what_virtual_hosts_can_do_on_this_kernel_besides_the_defaults() -> None:
    _, said, _ = typed("doctor", "--all")
    assert all(
        re.search(rf"^(ok|less) +{name}: ", said, re.MULTILINE)
        for name in ("netem", "dm-delay", "memory caps")
    )


def test_doctor_of_a_campaign_is_a_table_with_the_fix_of_each_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said, _ = typed("doctor", written(tmp_path))
    assert code == 0
    assert said.splitlines()[0].split() == ["where", "found", "fix"]
    assert said.endswith("tried can run\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "local.toml"
    path.write_text(
        'name = "tried"\n[testbed]\nkind = "local"\n[[filesystem]]\nkind = "directory"\npath = "/tmp"\n'
        '[[workload]]\nkind = "fio"\noperation = "write"\nsize = "4 MiB"\n'
    )
    code, said, errors = typed("doctor", path)
    assert code == 3
    assert re.search(r"\nno +fio +not found +apt-get install fio *\n", said)
    assert "tried can't run: 1 requirement not met; fix what the table lists" in alone(errors)
    assert "write `perjoule doctor CAMPAIGN.toml --set" in typed("doctor", "--set", "repetitions=1")[2]


def test_doctor_of_an_example_of_hosts_does_not_say_that_it_can_run() -> None:
    code, said, errors = typed("doctor", ROOT / "examples" / "cluster.toml")
    assert code == 3
    assert "skipped" in said
    assert "can run" not in said
    hosts = "hosts storage-[1-2], metadata-1, client-1"
    assert (
        f"cluster can't run: the addresses of {hosts} are the example's; write those of your hosts"
        in alone(errors)
    )


def test_check_tells_order_bytes_and_time(tmp_path: Path) -> None:
    code, said, _ = typed("check", written(tmp_path), "--list", "--connect")
    assert code == 0
    assert said.startswith("tried: 2 trials on 1 deployment, 4 MiB to be moved, about ")
    assert "1  simulated, simulated, 1 client, repetition 1  2 MiB" in said
    assert "fix" in said  # the table of what hosts and meters answered
    assert "repetition 1" not in typed("check", written(tmp_path))[1]


def test_check_says_which_servers_no_meter_covers(tmp_path: Path) -> None:
    meter = '[[meter]]\nkind = "shelly"\naddress = "192.0.2.1"\ncovers = ["storage-1"]\n'
    path = written(tmp_path, testbed="servers = 2")
    path.write_text(path.read_text().partition("[[meter]]")[0] + meter)
    code, said, _ = typed("check", path)
    assert code == 0
    assert "no MiB/J: no meter covers storage-2" in said
    assert json.loads(typed("check", path, "--json")[1])["unmetered"][0].startswith(
        "no MiB/J: no meter covers"
    )


def test_check_says_that_no_host_is_another_machine(tmp_path: Path) -> None:
    code, said, _ = typed("check", written(tmp_path), "--hosts")
    assert code == 0
    assert "no host is another machine; `perjoule doctor CAMPAIGN.toml`" in said


def test_check_warns_of_what_this_machine_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign may run on another machine."""
    (tmp_path / "lab.toml").write_text(
        '[testbed]\nkind = "virtual"\ndisk = "directory"\n[[filesystem]]\nkind = "orangefs"\nprefix = '
        '"/opt/lacking"\n'
        '[[workload]]\nkind = "fio"\nsize = "4 MiB"\n[[workload]]\nkind = "mdtest"\n'
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PERJOULE_IOR_PREFIX", raising=False)
    code, said, errors = typed("check", tmp_path / "lab.toml")
    assert (code, errors) == (0, "")
    warnings = [line for line in said.splitlines() if line.startswith("missing on this machine: ")]
    assert said.endswith("\n".join([*warnings, ""]))
    assert "missing on this machine: fio (not found); apt-get install fio" in warnings
    (own,) = [line for line in warnings if "PERJOULE_ORANGEFS_PREFIX" in line]
    assert own.startswith("missing on this machine: pvfs2-server, ")
    assert "(not in /opt/lacking/bin or /opt/lacking/sbin); install OrangeFS" in own
    (ior,) = [line for line in warnings if "PERJOULE_IOR_PREFIX" in line]
    assert ior.startswith("missing on this machine: mdtest (not on the PATH); ")
    code, said, errors = typed("check", tmp_path / "lab.toml", "--connect")
    assert code == 3
    assert "missing on this machine" not in said
    assert "and set PERJOULE_ORANGEFS_PREFIX" in said


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            '[testbed]\nkind = "local"\n[[filesystem]]\nkind = "directory"\npath = "{}"\n',
            "folder {} (no such file or directory); mount it there, or set path to a folder that this user "
            "can write to",
        ),
        (
            '[testbed]\nkind = "local"\nwork = "{}"\n[[filesystem]]\nkind = "directory"\npath = "/var/tmp"\n',
            "folder {} (no such file or directory); set work to a folder that this user can write to",
        ),
        (
            'overwrite = ["{}"]\n[testbed]\nkind = "local"\n[[filesystem]]\nkind = "local"\ntype = '
            '"ext4"\ndevice = "{}"\n',
            "device {} (no {}); `ls -l /none` lists what is there; correct device in the campaign",
        ),
    ],
)
def test_check_warns_of_a_folder_or_device_that_is_not_there(tables: str, said: str, tmp_path: Path) -> None:
    text = f'{tables}[[workload]]\nkind = "fio"\nsize = "4 MiB"\n'
    (tmp_path / "lab.toml").write_text(text.replace("{}", "/none/such"))
    code, printed, _ = typed("check", tmp_path / "lab.toml")
    assert code == 0
    assert f"missing on this machine: {said.replace('{}', '/none/such')}\n" in printed
    code, _, errors = typed("run", tmp_path / "lab.toml", "--into", tmp_path / "r")
    assert code == 3
    assert "/none/such" in alone(errors)
    assert not (tmp_path / "r").exists()


def test_check_asks_neither_hosts_nor_meters_unless_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    monkeypatch.setattr("perjoule.testbeds.cluster.SshCluster.checks", lambda _: asked.append("hosts") or ())
    monkeypatch.setattr("perjoule.meters.quarch.Quarch.answers", lambda _: asked.append("meter") or ())
    (tmp_path / "lab.toml").write_text(
        '[testbed]\nkind = "cluster"\nhosts = [{name = "a", address = "192.0.2.1", role = "storage"},'
        ' {name = "b", address = "192.0.2.2", role = "client"}]\n[[filesystem]]\nkind = "moosefs"\n'
        '[[workload]]\nkind = "fio"\nsize = "4 MiB"\n[[meter]]\nkind = "quarch"\ndrives = '
        '{"usb::QTL2312-01-101" = "a/nvme0"}\n'
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said, _ = typed("check", tmp_path / "lab.toml")
    assert (code, asked) == (0, [])
    assert "missing" not in said
    typed("check", tmp_path / "lab.toml", "--connect")
    assert asked == ["hosts", "meter"]


def test_verify_finds_what_was_changed(copied: Path) -> None:
    assert typed("verify", copied)[0] == 0
    raw = next((copied / "trials").rglob("simulated.json"))
    raw.write_text(raw.read_text().replace("write", "read "))
    code, said, _ = typed("verify", copied)
    assert code == 1
    assert str(raw.relative_to(copied)) in said


def test_verify_takes_several_and_goes_on_after_one_that_differs_or_cannot_be_read(
    measured: Path, copied: Path, tmp_path: Path
) -> None:
    damaged = next((copied / "trials").rglob("simulated.json"))
    damaged.write_text(damaged.read_text().replace("write", "read "))
    code, said, errors = typed("verify", copied, measured)
    (*differences, counts, alike) = said.splitlines()
    assert (code, errors) == (1, "")
    assert differences
    assert all(line.startswith(f"{copied}: ") for line in (*differences, counts))
    assert counts.endswith(f", {len(differences)} differ")
    assert re.fullmatch(rf"{re.escape(str(measured))}: \d+ numbers and files checked, 0 differ", alike)
    code, said, errors = typed("verify", tmp_path / "absent", measured, copied)
    assert code == 3  # of the worst, which is not the last
    assert alone(errors).startswith(f"{tmp_path / 'absent'}: no such folder")
    assert said.splitlines() == [alike, *differences, counts]
    assert typed("verify", measured, measured)[:2] == (0, f"{alike}\n{alike}\n")


@pytest.mark.slow  # by day: their sizes: test_report.py
def test_figures_are_written_where_asked(measured: Path, tmp_path: Path) -> None:
    code, said, _ = typed("report", measured, "--figures", tmp_path / "figures")
    assert code == 0
    assert {Path(line).suffix for line in said.splitlines()} == {".svg", ".pdf"}
    assert all(Path(line).stat().st_size > 0 for line in said.splitlines())


COMPLETED = {
    "perjoule dri": ["plain,drivers"],
    "perjoule drivers moo": ["plain,moosefs"],
    "perjoule up ceph": ["plain,cephfs"],
    "perjoule up moosefs --cluster odr": ["plain,odroid-hc4"],
    "perjoule run examples/lo": ["file,examples/lo"],
    "perjoule show res": ["dir,res"],
    "perjoule demo --simu": ["plain,--simulate"],
}


@pytest.mark.parametrize("line", by_day(COMPLETED, "perjoule up ceph", "perjoule show res"))
def test_a_shell_completes(line: str) -> None:
    done = run(_PERJOULE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert done.stdout.split() == COMPLETED[line]


def test_the_line_in_the_readme_makes_bash_complete() -> None:
    line = re.search(r"`(eval [^`]+)`", (ROOT / "README.md").read_text())
    assert line is not None
    asked = "COMP_WORDS=(perjoule ver); COMP_CWORD=1; _perjoule_completion perjoule; echo ${COMPREPLY[@]}"
    environment = {**os.environ, "PATH": f"{PERJOULE.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"{line[1]}\n{asked}"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["verify"]
    assert done.stderr == ""


def test_results_made_under_sudo_belong_to_who_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, tuple[int, int]] = {}
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda path, uid, gid: given.update({os.path.realpath(path): (uid, gid)}))
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "5678")
    made = tmp_path / "new" / "results"
    assert typed("run", written(tmp_path), "--into", made)[0] == 0
    assert set(given.values()) == {(1234, 5678)}
    assert set(given) == {str(path) for path in (made.parent, *made.parent.rglob("*"))}
