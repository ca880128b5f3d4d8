"""What is seen while a campaign runs."""

import io
import os
import pty
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from perjoule import campaign
from perjoule.cli.terminal import display
from perjoule.cli.terminal.display import notes
from perjoule.cli.terminal.progress import ProgressDisplay
from perjoule.drivers.protocols import Hosts
from perjoule.execution.notices import Notice
from perjoule.execution.remaining import Remaining
from perjoule.model import Cell, Channel, Doubt, Interval, Trial
from perjoule.model.units import MIB
from perjoule.results.table import Table
from places import EXAMPLES

SIMULATED = EXAMPLES / "simulated.toml"


def trials(count: int) -> list[Trial]:
    return list(campaign.read(SIMULATED).trials[:count])


def test_a_terminal_that_is_closed_is_left_and_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        display.err.print("seen")
        assert b"seen" in os.read(ours, 100)
        os.close(ours)
        display.err.print("unseen")
        display.err.print("unseen")


def test_a_kept_trial_is_printed_with_the_runs_own_account(capsys: pytest.CaptureFixture[str]) -> None:
    some = trials(10)
    account = Remaining({trial.id: 60.0 for trial in some})
    account.drop(some[9].id)
    account.keep(some[0].id)
    record: Any = SimpleNamespace(trial=some[0], outcome=None, status="failed", reason="on purpose")
    ProgressDisplay(account)(Notice("kept", trial=some[0], record=record))
    assert capsys.readouterr().err.startswith("1/9 ")
    assert account.kept_count == 1


def test_the_reason_of_trials_that_fail_alike_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    some = trials(4)
    progress = ProgressDisplay(Remaining({trial.id: 60.0 for trial in some}))
    for trial, reason in zip(some, ("no master", "no master", "no client", "no master"), strict=True):
        record: Any = SimpleNamespace(trial=trial, outcome=None, status="failed", reason=reason)
        progress(Notice("kept", trial=trial, record=record))
    reasons = [
        line.rpartition("failed: ")[2] for line in capsys.readouterr().err.splitlines() if "fail" in line
    ]
    assert reasons == ["no master", "as before", "no client", "no master"]


def test_the_speed_is_that_of_the_clients_that_load_in_emulated_time() -> None:
    trial = replace(trials(1)[0], clients_count=1)
    hosts = Hosts(
        tuple(
            _host(name, role)
            for name, role in [("storage-1", "storage"), ("client-1", "client"), ("client-2", "client")]
        )
    )
    hosts = replace(hosts, scale=0.5)
    latest: dict[Channel, tuple[float, float, float]] = {}
    notice = Notice(
        "trial", trial=trial, hosts=hosts, servers=frozenset({"storage-1"}), latest=lambda: latest
    )
    progress = ProgressDisplay(Remaining({trial.id: 1.0}))
    progress(notice)

    def count(t_s: float, **sent_bytes: float) -> str:
        for name, value in sent_bytes.items():
            latest[_channel(name.replace("_", "-"), "network_sent")] = (t_s, value, 0.0)
        # of reads before; and now acknowledgements
        latest[_channel("client-1", "network_received")] = (t_s, 1e12 + t_s, 0.0)
        return progress._live_text(latest, notice)

    count(10.0, client_1=5e9, client_2=5e9, storage_1=5e9)
    said = count(12.0, client_1=5e9 + 20 * MIB, client_2=9e9, storage_1=9e9)
    assert said.strip() == "20.0 MiB/s on the clients' network"
    latest[replace(_channel("storage-1", "power"), component="board", grade="modelled")] = (12.0, 40.0, 0.5)
    latest[replace(_channel("", "power"), component="switch", grade="modelled")] = (12.0, 8.5, 0.5)
    assert count(12.0).endswith("  40.0 W (simulated)")  # as in the table: the servers without the switch


def _channel(host: str, quantity: Any) -> Channel:
    return Channel("system", host, "all", quantity, "W" if quantity == "power" else "B", "counter", "counter")


def _host(name: str, role: str) -> Any:
    return SimpleNamespace(name=name, role=role)


def test_doubts_are_marks_behind_the_repetitions_and_the_line_below_has_the_mark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    headers = ("file system", "n", "failed", "doubts")
    rows = (("a", "3", "–", "–"), ("b", "4", "–", "1"), ("c", "10", "–", "12"))
    display.show(
        Table(headers, rows), [replace(Cell("b", "f", "read", 1, {}), doubts=(Doubt("unsteady"),))], []
    )
    assert capsys.readouterr().out.splitlines() == [
        "file system      n",
        "a             3",
        "b             4 !",
        "c            10 !!",
        "! doubt in all rows: unsteady",
    ]
    display.show(Table(headers, (("a", "3", "1", "–"),)), [], [])
    assert capsys.readouterr().out.splitlines() == ["file system  n  failed", "a            3       1"]


def test_a_narrow_terminal_names_what_it_leaves_out_and_how_to_see_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = io.StringIO()
    monkeypatch.setattr(display, "out", display.Terminal(file=lines, width=24))
    rows = (("moosefs", "10.0 ± 0.1", "10.1", "5.0"), ("nfs", "9.0 ± 0.1", "9.1", "4.0"))
    table = Table(("file system", "MiB/s", "max", "J"), rows)
    display.show(table, [], [], whole="perjoule show DIR --wide")
    assert lines.getvalue().splitlines() == [
        "file system       MiB/s",
        "moosefs      10.0 ± 0.1",
        "nfs           9.0 ± 0.1",
        "not shown for lack of",
        "  width: J, max;",
        "  `perjoule show DIR",
        "  --wide` shows all",
    ]
    assert display.laid_out(table, 1000).hidden == ()


def test_a_table_says_which_columns_hold_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Signs and bounds do not make words of numbers, nor do digits make numbers of words."""
    laid = Table(
        ("network", "g", "ratio"), (("1 GbE", "+0.5", "–"), ("100 GbE", "-18.1", "> 30")), ("network",)
    )
    display.show(laid, (), ())
    assert capsys.readouterr().out.splitlines() == [
        "network      g  ratio",
        "1 GbE     +0.5      –",
        "100 GbE  -18.1   > 30",
    ]


def test_notes_say_in_how_many_rows_a_doubt_is() -> None:
    one = Cell("a", "b", "read", 1, {"mean_w": Interval(1, 1, 1, (1.0,))}, doubts=(Doubt("unsteady"),))
    assert notes([one, one], []) == ["! doubt in all rows: unsteady"]
    assert notes([one, replace(one, doubts=())], []) == ["! doubt in 1 of 2 rows: unsteady"]


def test_notes_that_differ_in_a_number_alone_are_one() -> None:
    said = (Doubt("others took 60 % of the CPUs"), Doubt("others took 50 % of the CPUs"), Doubt("unsteady"))
    one = Cell("a", "b", "read", 1, {}, doubts=said)
    assert notes([one, replace(one, doubts=said[1:2])], []) == [
        "! doubt in all rows: others took 50 to 60 % of the CPUs; and 1 more like it",
        "! doubt in 1 of 2 rows: unsteady",
    ]


def test_a_combination_that_needs_no_more_repetitions_is_named_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = trials(1)[0], replace(trials(1)[0], clients_count=7)
    asked = [replace(of, repetition=n) for n in (4, 5, 6) for of in (one, other)]
    progress = ProgressDisplay(Remaining(dict.fromkeys((trial.id for trial in asked), 10.0)))
    for trial in asked:
        progress(Notice("settled", f"known after {trial.clients_count}", trial=trial))
    assert capsys.readouterr().err.count("not needed") == 2


def test_what_few_repetitions_cannot_show_is_said_once_for_each_number_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [replace(trials(1)[0], clients_count=count, repetition=4) for count in (1, 2, 3)]
    progress = ProgressDisplay(Remaining(dict.fromkeys((trial.id for trial in asked), 10.0)))
    for trial, repetitions_count in zip(asked, (3, 3, 4), strict=True):
        text = f"MiB/J ± {trial.clients_count} %; unseen by {repetitions_count}"
        progress(Notice("settled", text, trial=trial))
    shown = [line.partition("not needed, ")[2] for line in capsys.readouterr().err.splitlines()]
    assert shown == ["MiB/J ± 1 %; unseen by 3", "MiB/J ± 2 %", "MiB/J ± 3 %; unseen by 4"]


def test_escape_sequences_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    said = "\x1b]0;owned\x07 \x1b[2J\x9b31m \u202e\udcff end"
    terminal = display.Terminal(
        force_terminal=True, color_system="truecolor", no_color=False, width=200, highlight=False
    )
    table = RichTable("a")
    table.add_row(said)
    for one in (said, Text(said), table, Group(said)):
        terminal.print(one, style="bold red", soft_wrap=True)
        shown = capsys.readouterr().out
        assert "\x1b]" not in shown and "\x1b[2J" not in shown
        assert not set("\x07\x9b\u202e\udcff") & set(shown)
        if one is not table:  # which breaks what grows in its cells
            assert r"\x1b]0;owned" in shown and r"\x1b[2J\x9b31m \u202e\udcff end" in shown
        assert "\x1b[1;31m" in shown  # its own styles stay


def test_all_that_is_printed_goes_through_it() -> None:
    assert isinstance(display.out, display.Terminal)
    assert isinstance(display.err, display.Terminal)
