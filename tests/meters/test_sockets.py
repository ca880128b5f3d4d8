"""What plugs, sockets and PDUs with counters over HTTP have in common, whoever makes them."""

from types import ModuleType

import numpy as np
import pytest

from perjoule import campaign
from perjoule.model.errors import CampaignError
from perjoule.model.waveform import Waveform
from perjoule.simulators import gude, netio, shelly
from perjoule.simulators._behaviour import Behaviour

# An answer that is not late may take half a second on a busy machine, and without the first one nothing begins.
LIMIT_S = 1.0


def kind(simulator: ModuleType) -> str:
    return simulator.__name__.rpartition(".")[2]


@pytest.mark.parametrize("simulator", [gude, netio, shelly], ids=kind)
@pytest.mark.parametrize("fault", ["missing", "late", "disconnect"])
def test_what_does_not_come_in_time_is_a_gap_and_it_comes_back(listen, simulator, fault):
    behaviour = Behaviour(
        Waveform("constant"), faults=(fault,), share_ratio=0.3, seed=9, late_s=1.5 * LIMIT_S, away_s=0.2
    )

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) and valid[-1] and not valid[:-3].all()

    with simulator.serve(behaviour) as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": f"{LIMIT_S} s"}, back_again)
    values = heard.of("power")[1]
    assert set(values[np.isfinite(values)]) == {60.0}
    assert "reads failed" in heard.doubts[-1]


@pytest.mark.parametrize("simulator", [gude, netio], ids=kind)
@pytest.mark.parametrize("output", [0, 1])
def test_watts_and_joules_of_a_pdu_are_those_that_flow(listen, stepping, judge, simulator, output):
    truth = Waveform("sine", 40, 4000, period_s=7.3)
    with simulator.serve(Behaviour(truth, now_s=stepping), output=output) as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 50)
    if output:
        judge(heard, truth, step_w=1, step_j=3600)
    channels = {channel.quantity: channel for channel, *_ in heard.samples}
    assert (channels["energy"].semantics, channels["power"].semantics) == ("counter", "average")
    assert {channel.grade for channel in channels.values()} == {"PDU"}
    stated = {quantity: channel.specification.resolution for quantity, channel in channels.items()}
    assert stated == {"power": 1.0, "energy": 3600.0}


@pytest.mark.parametrize("pdu", ["gude", "netio"])
def test_the_total_includes_each_output(pdu):
    head = """
        [testbed]
        kind = "simulated"
        servers = 2
        [[filesystem]]
        kind = "simulated"
        [[workload]]
        kind = "simulated"
        """
    total, output = (
        f'[[meter]]\nkind = "{pdu}"\naddress = "192.0.2.1"\nname = "{name}"\ncovers = ["{covers}"]\n{more}\n'
        for name, covers, more in (("a", "switch", ""), ("b", "storage-1", "output = 2"))
    )
    with pytest.raises(CampaignError, match="the one of switch includes the one of storage-1"):
        campaign.parse(head + total + output, source="lab.toml")
    campaign.parse(head + total.replace('"switch"', '"switch", "servers"') + output, source="lab.toml")
