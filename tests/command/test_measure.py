"""`perjoule measure`, through the installed command: the first number, what it keeps, and what it refuses."""

import itertools
import math
import re
import shlex
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from commanded import command
from day import by_day
from documents import commands
from perjoule import campaign, simulators, store
from perjoule.cli import cli
from perjoule.cli.meters.measure import _unmoved
from perjoule.execution.sizing import MeterSpeed
from perjoule.model import Cell, Interval, Json
from perjoule.model.errors import CampaignError
from perjoule.model.waveform import Waveform
from perjoule.monitoring import asking
from places import ROOT

PERJOULE = [sys.executable, "-m", "perjoule"]
TUTORIAL = ROOT / "docs" / "tutorials" / "my-nas.md"
# By day: what is waited for, by where it stands; the plug is read so often that it has its updates in 3 s.
SHORTER_S = {
    "perjoule.cli.meters.measure.IDLE_S": 2.0,
    "perjoule.campaign.making.first.SETTLE_S": 0.5,
    "perjoule.execution.probe.PROBE_S": 2.0,
}
OFTEN_HZ = 10


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def measure(*words: str, code: int = 0, within: Path | None = None) -> str:
    argv = [*PERJOULE, "measure", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False, cwd=within)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def refused(*words: str, code: int) -> str:
    """Return what the command says in this process of what it does not measure."""
    done = command("measure", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def steady(power_w: float) -> AbstractContextManager[Mapping[str, Json]]:
    return simulators.serve("shelly", simulators.Behaviour(Waveform("constant", power_w, power_w, 10.0)))


@pytest.fixture
def plug() -> Generator[str]:
    with steady(24.0) as table:
        yield f"shelly://{table['address']}"


@pytest.fixture
def other_plug() -> Generator[str]:
    with steady(30.0) as table:
        yield f"shelly://{table['address']}"


@pytest.mark.alone
@pytest.mark.parametrize("way", by_day(["as it stands", "in less time"], "in less time"))
def test_the_tutorials_folder_and_plug_give_mib_per_joule_and_a_campaign_that_run_repeats(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated, short, _, *_ = [shlex.split(line)[1:] for line in commands(TUTORIAL)]
    data, into, port = tmp_path / "data", tmp_path / "out", free_port()
    data.mkdir(mode=0o755)
    assert simulated[:3] == ["meters", "simulate", "shelly"]
    about_50_w = ["--low", "49", "--high", "51"]  # whatever part of a period a fast disk is busy for
    plug = subprocess.Popen(
        [*PERJOULE, *simulated[:-1], port, *about_50_w], stdout=subprocess.PIPE, text=True
    )
    try:
        assert plug.stdout is not None
        assert plug.stdout.readline() == "[[meter]]\n"
        words = [word.replace(simulated[-1], port) for word in short[1:]]
        words += ["--repetitions", "2", "--into", str(into)]
        if way == "as it stands":
            said = measure(*words, within=data)
        else:
            for place, wait_s in SHORTER_S.items():
                monkeypatch.setattr(place, wait_s)
            often = [f"{word}?rate={OFTEN_HZ} Hz" if word.startswith("shelly:") else word for word in words]
            done = command("measure", *often, "--seconds", "3", folder=data)
            said = done.stdout + done.stderr
            assert done.returncode == 0, said
    finally:
        plug.terminate()
        plug.communicate(timeout=30)
    rate_hz, idle_s = (2, 10) if way == "as it stands" else (OFTEN_HZ, 2)
    asked = rf"{rate_hz}\.00 Hz, answers in .*now .* W; idle .* W over {idle_s} s"
    assert re.search(f"meter +shelly://.+, {asked}", said)
    line = re.search(
        r"  write +(\S+).* MiB/s +(\S+).* W +(\S+).* MiB/J +\(wall; this machine with its disks\)", said
    )
    assert line, said
    assert "± ?" not in line[0] and "the meter's own error is not in these intervals" in said
    rate, watts, per_j = map(float, line.groups())
    assert watts == pytest.approx(50, rel=0.03)
    assert per_j == pytest.approx(rate / watts, rel=0.03)
    assert f"again: perjoule run {into}/campaign.toml" in said
    assert list(data.iterdir()) == []
    kept = (into / "campaign.toml").read_text()
    assert campaign.parse(kept).text == kept
    rate = {} if way == "as it stands" else {"rate": f"{OFTEN_HZ} Hz"}
    assert tomllib.loads(kept)["meter"][1] == {
        "kind": "shelly", "address": f"127.0.0.1:{port}", "covers": ["local"], **rate,
    }  # fmt: skip
    assert [record.status for record in store.open_results(into).latest()] == ["valid"] * 2


@contextmanager
def logged(path: Path, period_s: float) -> Generator[None]:
    """A plug whose program appends a line for each period: 8 to 9 W."""
    stop = threading.Event()

    def loop() -> None:
        with path.open("a", buffering=1) as log:
            log.write("time,W\n")
            for number in itertools.count():
                log.write(f"{datetime.now(UTC).isoformat()},{8 + number % 3 / 2}\n")
                if stop.wait(period_s):
                    return

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.slow  # by day: the tutorial's plug, above
@pytest.mark.alone
def test_the_tutorials_line_of_a_log_that_grows_gives_mib_per_joule(tmp_path: Path) -> None:
    (line,) = re.findall(r"--meter '(csv:log.csv\S.*?)'", TUTORIAL.read_text())
    assert line.partition("&accuracy")[0] in (ROOT / "docs/reference/perjoule.1").read_text()
    (tmp_path / "data").mkdir(mode=0o755)
    with logged(tmp_path / "log.csv", 0.1):
        words = ["data", "--meter", line.replace("window=1 s", "window=100 ms") + "&rate=10 Hz"]
        words += ["--operation", "write", "--seconds", "4", "--repetitions", "1", "--into", "out"]
        said = measure(*words, within=tmp_path)
    found = re.search(r"  write +(\S+).* MiB/s +(\S+).* W +(\S+).* MiB/J +\(wall; this machine", said)
    assert found, said
    rate, watts, per_j = map(float, found.groups())
    assert "state it" not in said, "the line states the meter's error"
    assert watts == pytest.approx(8.5, rel=0.03)
    assert per_j == pytest.approx(rate / watts, rel=0.03)


def test_powers_of_one_moment_a_second_apart_are_refused_before_a_load_with_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "csv:log.csv?value=W&unit=W&semantics=instantaneous&grade=wall"
    asked = {line: MeterSpeed(0.0, 8.5, 8.5, 1.0, "wall", sparse=True)}
    monkeypatch.setattr(asking, "asked", lambda meters, seconds: asked)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("time,W\n")
    done = CliRunner().invoke(cli, ["measure", str(tmp_path), "--meter", line])
    assert isinstance(done.exception, CampaignError)
    assert "at most 0.667 s apart, and these are 1.00 s" in str(done.exception)
    assert "semantics=window mean&window=1 s" in str(done.exception)
    assert [*tmp_path.iterdir()] == [tmp_path / "log.csv"]


def test_a_meter_whose_watts_no_load_changed_is_asked_about() -> None:
    def cells(*watts: float) -> list[Cell]:
        return [Cell("a", "b", "read", 1, {"mean_w": Interval(w, w, w, (w,))}) for w in watts]

    asked = _unmoved(50.5, cells(50.3, 49.9))
    assert asked.startswith("no load added power: 50.50 W idle, 50.30 W at most under load; does the meter")
    assert _unmoved(50.0, cells(50.3, 51.0)) == ""  # one of them did
    assert _unmoved(math.nan, cells(50.3)) == _unmoved(50.0, []) == ""


LINES = re.compile(r"^  write .*$", re.MULTILINE)


@pytest.mark.slow  # by day: one plug, above
@pytest.mark.alone
def test_two_plugs_of_one_machine_are_added_and_resume_and_run_print_what_measure_prints(
    tmp_path: Path, plug: str, other_plug: str
) -> None:
    data, into = tmp_path / "data", tmp_path / "out"
    data.mkdir(mode=0o755)
    words = (str(data), "--meter", plug, "--meter", other_plug, "--into", str(into), "--seconds", "10")
    said = measure(*words, "--operation", "write", "--repetitions", "1")
    assert "2 power supplies of this machine, added: idle 54.00 W over 10 s" in said
    (line,) = LINES.findall(said)
    watts = re.search(r"MiB/s +(\S+).* W ", line)
    assert watts, said
    assert float(watts[1]) == pytest.approx(54, rel=0.02)
    assert "(wall; this machine with its disks; its 2 power supplies added)" in line
    kept = tomllib.loads((into / "campaign.toml").read_text())["meter"][1:]
    assert [meter["component"] for meter in kept] == ["inlet-1-of-2", "inlet-2-of-2"]
    again = subprocess.run(
        [*PERJOULE, "resume", str(into)], capture_output=True, text=True, timeout=120, check=True
    )
    assert LINES.findall(again.stdout) == [line]
    ran = subprocess.run(
        [*PERJOULE, "run", str(into / "campaign.toml"), "--into", str(tmp_path / "second")],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (line,) = LINES.findall(ran.stdout)
    assert "its 2 power supplies added" in line


def test_what_cannot_be_measured_is_refused_before_anything_is_written(tmp_path: Path, plug: str) -> None:
    data, full = tmp_path / "data", tmp_path / "full"
    data.mkdir(mode=0o755)
    full.mkdir(mode=0o755)
    (full / "thesis.tex").write_text("mine")
    before = data.stat().st_mtime_ns  # what is made in it changes that, also if it is removed
    assert "PATH: the path is empty" in refused("", "--meter", plug, code=2)
    percent = refused(str(data), "--meter", f"{plug}?accuracy=1", code=2)
    assert 'accuracy = 1 is out of range; write accuracy = "1 %"' in percent
    assert "not a folder" in refused(__file__, "--meter", plug, code=3)
    silent = refused(str(data), "--meter", "shelly://127.0.0.1:1", code=3)
    assert "http://127.0.0.1:1/shelly: Connection refused; check its kind, address" in silent
    assert "`perjoule meters list 127.0.0.1:1` says what answers there" in silent
    assert "no NAS takes part" in refused(str(data), "--meter", f"nas={plug}", code=2)
    stranger = refused(str(data), "--meter", f"ups={plug}", code=2)
    assert (
        '"ups" names no host of this measurement; write nothing before it, or one of nas=, here=' in stranger
    )
    assert "named twice" in refused(str(data), "--meter", plug, "--meter", f"here={plug}?rate=1 Hz", code=2)
    assert "not empty" in refused(str(data), "--meter", plug, "--into", str(full), code=3)
    assert '"99999" in "h:99999" is no port' in refused(str(data), "--meter", "shelly://h:99999", code=2)
    log = refused(str(data), "--meter", "csv:plug.csv", code=2)
    assert "lacks unit, semantics, grade, value; add ?unit=...&semantics=...&grade=...&value=..." in log
    assert "shelly needs an address" in refused(str(data), "--meter", "shelly:", code=2)
    short = refused(str(data), "--meter", plug, "--seconds", "5", code=2)
    assert "a window of 5 s has only 10 of its updates, and 20 are needed" in short
    assert "write --seconds 10," in short
    assert data.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shelly://me:s3cret@10.0.0.7", "its address holds a login"),
        ("http://me:s3cret@10.0.0.7/rpc", "write its kind, as in shelly://10.0.0.7"),
        ("mqtt://me:s3cret@10.0.0.7/plug", "is tasmota://10.0.0.7?topic=TOPIC; of another plug"),
        ("shelly://10.0.0.7?token=s3cret", 'has no option "token"'),
        ("snmp_pdu://10.0.0.7?model=apc&community=s3cret", "community_file"),
        ("prometheus://me:s3cret@h:9100/metrics?metric=a", "lacks"),
    ],
)
def test_a_login_in_a_meters_line_is_refused_and_never_repeated(tmp_path: Path, line: str, said: str) -> None:
    for words in (["measure", str(tmp_path), "--meter", line], ["meters", "watch", line]):
        done = command(*words)
        assert done.returncode == 2
        assert said in done.stderr
        assert "s3cret" not in done.stdout + done.stderr
