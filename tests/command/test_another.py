"""A package of somebody else beside perjoule: each of its parts is used as perjoule's own are, and said to
be another's.
"""

import json
import re
from pathlib import Path

import pytest

from others import add, add_another, environment, ran
from places import EXAMPLES, ROOT

PARTS = {
    "testbeds": "shed",
    "filesystems": "tape",
    "workloads": "poem",
    "meters": "candle",
    "events": "stutter",
    "measures": "wax",
}
CAMPAIGN = """
name = "another"
repetitions = 2
seed = 1
settle = "50 ms"
quiet = "20 s"
[testbed]
kind = "shed"
door = "red"
[[filesystem]]
kind = "tape"
reel = "A"
rebuild = "50 ms"
[[workload]]
kind = "poem"
size = "1 GiB"
duration = "400 ms"
[[meter]]
kind = "candle"
power = "84 W"
[[event]]
at = "100 ms"
kind = "stutter"
host = "storage-2"
rest = "20 ms"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the package, in which the campaign has run."""
    place = tmp_path_factory.mktemp("another") / "environment"
    add_another(environment(place))
    (place / "campaign.toml").write_text(CAMPAIGN)
    ran(place, "run", "campaign.toml", "--into", "results")
    return place


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment without it."""
    place = tmp_path_factory.mktemp("plain") / "environment"
    environment(place)
    return place


def records(place: Path) -> list[dict[str, dict[str, object]]]:
    return [
        json.loads(path.read_text()) for path in sorted((place / "results").glob("trials/*/*/record.json"))
    ]


def test_a_campaign_of_its_parts_is_measured(place: Path) -> None:
    found = records(place)
    assert len(found) == 2
    for record in found:
        assert (record["status"], record["reason"]) == ("valid", "")
        facts = json.dumps(record["facts"])
        assert '"door": "red"' in facts and '"reel": "A"' in facts
        assert record["outcome"]["engine"] == "poem of 4 verses"
        assert '"kind": "stutter"' in json.dumps(record["events"])
    cells = json.loads((place / "results" / "table.json").read_text())["cells"]
    metrics = cells[0]["metrics"]
    assert metrics["mean_w"]["values"] == pytest.approx([84.0, 84.0], rel=1e-6), "of the candle"
    assert metrics["wax_mass_j"]["values"] == metrics["energy_j"]["values"]


def test_each_record_says_which_package_and_version_its_parts_are_of(place: Path) -> None:
    for record in records(place):
        assert record["environment"]["entry_points"] == {
            f"{part}/{name}": "perjoule-another 1.2" for part, name in PARTS.items()
        }
    assert "filesystems/tape (perjoule-another 1.2)" in (place / "results" / "report.html").read_text()


def test_its_view_is_an_option_of_show_and_a_section_of_the_report(place: Path) -> None:
    assert "g of wax" in ran(place, "show", "results", "--wax").stdout
    assert "--wax" in ran(place, "show", "--help").stdout
    assert "<h3>Wax</h3>" in (place / "results" / "report.html").read_text()


@pytest.mark.slow  # by day: its table, above
def test_its_numbers_are_exported_compared_and_verified(place: Path) -> None:
    ran(place, "export", "results", "--csv", "results.csv")
    assert ",wax_mass_j,J," in (place / "results.csv").read_text()
    assert "wax" in ran(place, "compare", "results", "results", "--metric", "wax").stdout
    assert "0 differ" in ran(place, "verify", "results").stdout


def test_its_parts_are_listed_described_and_in_the_schema(place: Path) -> None:
    done = ran(place, "drivers")
    for name in PARTS.values():
        (line,) = (line for line in done.stdout.splitlines() if re.match(rf"(  |measure ){name}\b", line))
        assert line.endswith("(of perjoule-another 1.2)")
    assert "view wax: The wax of each combination." in done.stdout
    assert done.stderr == ""
    tape = ran(place, "drivers", "tape").stdout
    assert tape.startswith("filesystem tape (of perjoule-another 1.2)") and 'reel = "B"' in tape
    definitions = json.loads(ran(place, "drivers", "--schema").stdout)["$defs"]
    assert {
        "testbed-shed",
        "filesystem-tape",
        "workload-poem",
        "meter-candle",
        "event-stutter",
    } <= definitions.keys()
    ready = json.loads(ran(place, "doctor", "--json", code=None).stdout)["ready"]
    assert all(PARTS[part] in ready[part] for part in ready)


def test_where_the_package_is_missing_results_are_read_and_what_lacks_is_named(
    place: Path, plain: Path
) -> None:
    results = place / "results"
    done = ran(plain, "run", place / "campaign.toml", code=2)
    assert 'unknown testbed "shed"' in done.stderr
    assert "MiB/s" in ran(plain, "show", results).stdout
    done = ran(plain, "verify", results, code=1)
    assert "wax_mass_j is of a measure that is not here, and was not compared" in done.stdout
    assert "wax_mass_j is only" not in done.stdout


@pytest.mark.slow  # by day: what was kept by other code: tests/pipeline/test_summary.py
def test_a_change_of_its_code_is_seen_in_what_was_kept(place: Path) -> None:
    (module,) = place.glob("lib/*/site-packages/perjoule_another/wax.py")
    text = module.read_text()
    before = ran(place, "show", "results", "--wax").stdout
    try:
        module.write_text(text.replace("Number(energy.value,", "Number(2 * energy.value,"))
        assert ran(place, "show", "results", "--wax").stdout != before
    finally:
        module.write_text(text)


@pytest.mark.slow  # by day: another package, above
def test_the_package_of_the_documentation_is_used(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "own-package.md").read_text()
    project, module = (page.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("toml", "python"))
    place = tmp_path / "environment"
    add(environment(place), project, {"perjoule_lab.py": module})
    done = ran(place, "drivers")
    assert "measure per_client: Joules per client. (of perjoule-lab 1.0)" in done.stdout and done.stderr == ""
    ran(place, "run", EXAMPLES / "simulated.toml", "--set", "repetitions=1", "--into", "results")
    metrics = json.loads((place / "results" / "table.json").read_text())["cells"][0]["metrics"]
    assert metrics["energy_per_client_j"]["mean"] > 0


LAB = """
[project]
name = "perjoule-labfs"
version = "0.1"
[project.entry-points."perjoule.filesystems"]
sshfs = "perjoule_labfs"
"""
MAKERS = "https://example.org/labfs"
OF_SSHFS = """
name = "labfs"
repetitions = 1
[testbed]
kind = "virtual"
[[filesystem]]
kind = "sshfs"
[[workload]]
kind = "fio"
operation = "write"
size = "16 MiB"
"""


def test_the_file_system_of_the_documentation_is_one_of_a_package_and_says_where_its_program_is_had(
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs" / "how-to" / "new-file-system.md").read_text()
    module = page.partition("```python\n")[2].partition("```")[0]
    module = module.replace('{"sshfs": "sshfs"}', f'{{"labfs-mount": "{MAKERS}"}}')
    place = tmp_path / "environment"
    folder = environment(place)
    add(folder, LAB, {"perjoule_labfs.py": module})
    (place / "labfs.toml").write_text(OF_SSHFS)
    done = ran(place, "drivers", "sshfs")
    assert done.stdout.startswith("filesystem sshfs (of perjoule-labfs 0.1)") and done.stderr == ""
    lacking = f"labfs-mount (not on the PATH); install labfs-mount as {MAKERS} says, on the PATH"
    assert lacking in ran(place, "check", "labfs.toml").stdout
    (folder / "perjoule_labfs.py").write_text(module.replace("compression = false", 'compressed = "9"'))
    done = ran(place, "drivers", "sshfs", code=2)
    assert "the example of sshfs: " in done.stderr and 'has no option "compressed"' in done.stderr
    assert "compression = false" in done.stdout, "its options are described all the same"


def test_packages_outside_of_the_environment_are_not_even_looked_at(plain: Path, tmp_path: Path) -> None:
    add_another(tmp_path)
    done = ran(plain, "drivers", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert "perjoule-another" not in done.stdout + done.stderr


PROJECT = (
    '[project]\nname = "perjoule-{package}"\nversion = '
    '"0.3"\n[project.entry-points."perjoule.{family}"]\n{name} = "{value}"\n'
)
HEAD = '"""A widget. https://example.org/"""\n'
A_METER = """
from contextlib import contextmanager
from pydantic.dataclasses import dataclass
from perjoule.drivers.protocols import Meter
from perjoule.model import OPTIONS
EXAMPLE = '[[meter]]\\nkind = "widget"\\n'
@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Widget(Meter):
    "It."
    @contextmanager
    def record(self, hosts, sink):
        yield []
    def checks(self):
        return ()
"""
A_MEASURE = """
from perjoule.model import Number, Numbers
from perjoule.model.metrics import Metric, Unit
METRICS = (Metric("widget_j", "widget", Unit("J", "J"), "a widget", headline=True),)
def measure(load):
    return Numbers({"widget_j": Number(1.0)})
"""
A_VIEW = """
from perjoule.results.table import Table
from perjoule.views.view import Flag, Shown, View
FLAG = Flag("widget", "T.", none="n", advice="a")
VIEW = View(rank=97, tables=(Shown(lambda content: Table(("a",), (("b",),)), "t"),), flag=FLAG)
"""
NUMBERS = 'Numbers({"widget_j": Number(1.0)})'
BROKEN = {
    "it imports what is not there": (
        "meters",
        "widget",
        HEAD + "import nowhere_to_be_found\n",
        "No module named 'nowhere_to_be_found'",
    ),
    "it ends the program": ("meters", "widget", HEAD + "raise SystemExit(7)\n", "SystemExit: 7"),
    "it is not Python": ("events", "widget", HEAD + "def (:\n", "SyntaxError"),
    "it has no driver": ("filesystems", "widget", HEAD, "it has 0 classes that are a complete FileSystem"),
    "a driver of another family": (
        "workloads",
        "widget",
        HEAD + A_METER,
        "it has 0 classes that are a complete Workload",
    ),
    "it lacks a method": (
        "meters",
        "widget",
        HEAD + A_METER.replace("checks", "tests"),
        "0 classes that are a complete Meter, not one; Widget lacks checks",
    ),
    "no docstring": ("meters", "widget", A_METER, "no docstring"),
    "no example": ("meters", "widget", HEAD + A_METER.replace("EXAMPLE", "SAMPLE"), "EXAMPLE has no table"),
    "an example of another kind": (
        "meters",
        "widget",
        HEAD + A_METER.replace('"widget"', '"thin"'),
        "EXAMPLE has no table",
    ),
    "an example that is not TOML": (
        "meters",
        "widget",
        HEAD + A_METER.replace("[[meter]]", "[[meter"),
        "TOMLDecodeError",
    ),
    "not a dataclass": (
        "meters",
        "widget",
        HEAD + re.sub("@dataclass.*", "", A_METER),
        "not a dataclass",
    ),
    "a name of ours": ("filesystems", "moosefs", HEAD, "both have one of that name"),
    "a name that no campaign can have": ("filesystems", "My-FS", HEAD, "small letters"),
    "a class instead of a module": (
        "meters",
        "widget:Widget",
        HEAD + A_METER,
        "it does not name a module alone",
    ),
    "no measure": (
        "measures",
        "widget",
        HEAD + A_MEASURE.replace("def measure", "def measures"),
        "no function `measure`",
    ),
    "no entries": (
        "measures",
        "widget",
        HEAD + A_MEASURE.replace("METRICS", "METRIC"),
        "METRICS has no entries",
    ),
    "a key that is taken": (
        "measures",
        "widget",
        HEAD + A_MEASURE.replace("widget_j", "energy_j"),
        "energy_j is taken",
    ),
    "a label that is taken": (
        "measures",
        "widget",
        HEAD + A_MEASURE.replace('"widget"', '"MiB/J"'),
        "MiB/J is taken",
    ),
    "no view": ("views", "widget", HEAD, "no `VIEW = View(...)`"),
    "a view without a rank": ("views", "widget", HEAD + A_VIEW.replace("97", '"last"'), "rank"),
    "an option that is taken": (
        "views",
        "widget",
        HEAD + A_VIEW.replace('"widget"', '"winners"'),
        "an option --winners already",
    ),
    "an option of the command": (
        "views",
        "widget",
        HEAD + A_VIEW.replace('"widget"', '"json"'),
        "an option --json already",
    ),
}


def broken(place: Path, family: str, name: str, text: str) -> Path:
    """Make an environment with a package that is not what it should be."""
    add_broken(environment(place), "broken", family, name, text)
    return place


def add_broken(folder: Path, package: str, family: str, name: str, text: str) -> None:
    name, _, attribute = name.partition(":")
    value = f"perjoule_{package}{':' if attribute else ''}{attribute}"
    project = PROJECT.format(package=package, family=family, name=name, value=value)
    add(folder, project, {f"perjoule_{package}.py": text})


@pytest.fixture(scope="module")
def left_out(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what `perjoule drivers` says of each of many such packages in one environment, each with a
    name of its own.
    """
    place = tmp_path_factory.mktemp("broken") / "environment"
    folder = environment(place)
    for number, (family, name, text, _) in enumerate(BROKEN.values()):
        own = f"widget{number}"
        add_broken(folder, f"no{number}", family, name.replace("widget", own), text.replace("widget", own))
    done = ran(place, "drivers")
    assert "moosefs" in done.stdout and "widget" not in done.stdout
    assert len(done.stderr.splitlines()) == len(BROKEN)
    lines = {line.split()[3]: line for line in done.stderr.splitlines()}
    return {case: lines[f"perjoule-no{number}"] for number, case in enumerate(BROKEN)}


@pytest.mark.parametrize("case", BROKEN)
def test_what_can_not_be_used_is_left_out_with_its_package_and_its_entry_point(
    case: str, left_out: dict[str, str]
) -> None:
    number, (family, name, _, reason) = list(BROKEN).index(case), BROKEN[case]
    line, own = left_out[case], name.partition(":")[0].replace("widget", f"widget{number}")
    assert line.startswith(
        f'perjoule: left out: perjoule-no{number} 0.3, entry point "{own} = perjoule_no{number}'
    )
    assert f"of perjoule.{family}: " in line and reason.replace("widget", f"widget{number}") in line
    assert line.endswith(f"update perjoule-no{number}, or uninstall it")


def test_no_command_that_does_not_need_it_says_a_word_of_it(tmp_path: Path) -> None:
    place = broken(tmp_path / "environment", "workloads", "widget", "raise SystemExit(7)\n")
    for words in (("--help",), ("check", EXAMPLES / "simulated.toml"), ("down",), ("catalogue",)):
        assert ran(place, *words).stderr == ""
    done = ran(place, "drivers", "widget", code=3)
    assert "perjoule-broken 0.3" in done.stderr and "SystemExit: 7" in done.stderr
    found = json.loads(ran(place, "doctor", "--json", code=None).stdout)
    assert len(found["left_out"]) == 1 and "widget" not in json.dumps(found["ready"])
    campaign = (
        (EXAMPLES / "simulated.toml")
        .read_text()
        .replace("[[work", '[[workload]]\nkind = "widget"\n[[work', 1)
    )
    (place / "campaign.toml").write_text(campaign)
    assert "perjoule-broken 0.3" in ran(place, "check", "campaign.toml", code=3).stderr


@pytest.mark.slow  # by day: a name of ours, above
def test_two_packages_with_one_name_are_both_named_and_neither_is_used(tmp_path: Path) -> None:
    place = broken(tmp_path / "environment", "meters", "widget", HEAD + A_METER)
    (folder,) = place.glob("lib/*/site-packages")
    add_broken(folder, "second", "meters", "widget", HEAD + A_METER)
    done = ran(place, "drivers")
    assert len(done.stderr.splitlines()) == 2 and " widget " not in done.stdout
    assert "perjoule-broken 0.3 and perjoule-second 0.3 both have one of that name" in done.stderr


@pytest.mark.slow  # by day: what can not be used, above
def test_a_package_whose_entry_points_can_not_be_read_is_named(tmp_path: Path) -> None:
    place = broken(tmp_path / "environment", "meters", "widget", HEAD + A_METER)
    (file,) = place.glob("lib/*/site-packages/perjoule_broken-0.3.dist-info/entry_points.txt")
    file.write_text("[perjoule.meters]\nwidget\n")
    done = ran(place, "drivers")
    assert (
        "moosefs" in done.stdout
        and "its entry points can't be read" in done.stderr
        and "perjoule_broken-0.3" in done.stderr
    )


TABLE = 'Table(("a",), (("b",),))'
FAILING = {
    "a fault of a measure": ("measures", A_MEASURE.replace(NUMBERS, "1 / 0"), "ZeroDivisionError"),
    "a key of its own": (
        "measures",
        A_MEASURE.replace(NUMBERS, 'Numbers({"other_j": Number(1.0)})'),
        "it gives other_j",
    ),
    "no numbers": ("measures", A_MEASURE.replace(NUMBERS, "[7]"), "it gives '[7]', and no Numbers"),
    "a bare number": ("measures", A_MEASURE.replace("Number(1.0)", "7.0"), "widget_j is no finite Number"),
    "not a number": (
        "measures",
        A_MEASURE.replace("1.0", 'float("nan")'),
        "widget_j is no finite Number",
    ),
    "a text as a number": ("measures", A_MEASURE.replace("1.0", '"7"'), "widget_j is no finite Number"),
    "a fault of a view": ("views", A_VIEW.replace('Table(("a",)', "Table((1 / 0,)"), "ZeroDivisionError"),
    "a row too long": ("views", A_VIEW.replace('(("b",),)', '(("b", "c"),)'), "a table: "),
    "no table": ("views", A_VIEW.replace(TABLE, "7"), "a table: '7' can't be shown"),
    "no figures": ("views", A_VIEW.replace("flag=", "figures=lambda content: [7], flag="), "TypeError"),
    "a figure elsewhere": (
        "views",
        A_VIEW.replace("flag=", 'figures=lambda content: [("../x", {})], flag='),
        "figures: ",
    ),
    "no lines": ("views", A_VIEW.replace("flag=", "lines=lambda content: 7, flag="), "TypeError"),
    "no intro": ("views", A_VIEW.replace("flag=", "intro=lambda content: 7, flag="), "its intro: '7'"),
    "no Shown": ("views", A_VIEW.replace("(Shown(", "(7, Shown("), "its tables are not a tuple of Shown"),
}
ASKED = ("a fault of a view", "a row too long", "no table")


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return an environment with all of them in which a campaign ran, and what was said then."""
    place = tmp_path_factory.mktemp("failing") / "environment"
    folder = environment(place)
    for number, (family, text, _) in enumerate(FAILING.values()):
        own = f"widget{number}"
        add_broken(folder, f"no{number}", family, own, HEAD + text.replace("widget", own))
    done = ran(place, "run", EXAMPLES / "simulated.toml", "--set", "repetitions=1", "--into", "results")
    assert "Traceback" not in done.stderr
    return place, done.stderr


@pytest.mark.slow  # by day: what can not be used, above
@pytest.mark.parametrize("case", FAILING)
def test_what_another_package_fails_to_compute_is_left_out_and_names_it(
    case: str, failing: tuple[Path, str]
) -> None:
    number, (family, _, words) = list(FAILING).index(case), FAILING[case]
    place, stderr = failing
    (line,) = (line for line in stderr.splitlines() if f"perjoule-no{number} 0.3" in line)
    assert line.startswith("perjoule: left out: ") and f"of perjoule.{family}: " in line
    assert words.replace("widget", f"widget{number}") in line
    if case in ASKED:
        asked = ran(place, "show", "results", f"--widget{number}", code=3).stderr.splitlines()[-1]
        assert f"perjoule-no{number} 0.3" in asked and words in asked


@pytest.mark.slow  # by day: what can not be used, above
def test_all_else_is_reported(failing: tuple[Path, str]) -> None:
    place, _ = failing
    assert "<h3>" in (place / "results" / "report.html").read_text()
    shown = ran(place, "show", "results").stdout
    assert "perjoule-no0 0.3" in shown and "more like it" in shown, "doubts, also in a later command"
    assert "of perjoule.views" not in shown
    cells = json.loads((place / "results" / "table.json").read_text())["cells"]
    assert all("throughput_bytes_per_s" in cell["metrics"] for cell in cells)
    assert not any("widget" in key for cell in cells for key in cell["metrics"])
