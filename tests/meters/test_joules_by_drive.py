"""The campaign of docs/how-to/joules-by-drive.md with simulated instruments: each drive's joules, to the
report's bars.
"""

import re
from contextlib import ExitStack

import pytest

from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.model.waveform import Waveform
from perjoule.simulators import powersensor3, quarch, scope
from perjoule.simulators._behaviour import Behaviour
from perjoule.summary.computing import of_trial
from perjoule.views.power import parts as figure
from places import ROOT
from typed import present

PAGE = ROOT / "docs" / "how-to" / "joules-by-drive.md"
WATTS = {"quarch": 5.0, "powersensor3": 8.0, "scope": 30.0}


@pytest.mark.alone  # joules are those of the load's 1.5 seconds, by the clock
def test_each_drive_has_its_joules_and_a_bar(tmp_path):
    text = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    with ExitStack() as serving:
        for simulator in (quarch, powersensor3, scope):
            kind = simulator.__name__.rpartition(".")[2]
            table = serving.enter_context(
                simulator.serve(Behaviour(Waveform("constant", high_w=WATTS[kind])))
            )
            addressed = rf'(kind = "{kind}"\naddress = )"[^"]+"'
            text, count = re.subn(addressed, lambda found, to=table["address"]: f'{found[1]}"{to}"', text)
            assert count == 1
        text = re.sub(r"ampere_per_volt = .*", f"ampere_per_volt = {table['ampere_per_volt']}", text)
        asked = campaign.parse(text)
        results = store.create(tmp_path / "results", asked.text, asked.name)
        runner.run(asked, results, lambda event: None)
    (record,) = results.latest()
    found = of_trial(results, record).metered
    assert found is not None
    drives = {(part.host, part.part, part.meter, part.grade): part for part in found.parts}
    expected = {
        ("storage-1", "drive-nvme0", "quarch", "component"): 5.0,
        # 30 W of one pair of channels, 3 W of the other
        ("storage-1", "drive-sda", "scope", "component"): 33.0,
        ("storage-2", "drive-nvme0", "powersensor3", "component"): 8.0,
    }
    assert drives.keys() == expected.keys()
    outcome = present(record.outcome)
    length_s = outcome.ended_s - outcome.began_s
    for drive, watts in expected.items():
        assert drives[drive].mean_w == pytest.approx(watts, rel=0.03)
        assert drives[drive].energy_j == pytest.approx(watts * length_s, rel=0.05)
    bars = [row["bar"] for row in figure.parts(found.parts)["data"]["values"]]
    assert sorted(bars) == ["storage-1 nvme0", "storage-1 sda", "storage-2 nvme0"]
    (energies,) = found.energies.values()
    assert "net" not in energies.budgets  # a drive is no server
