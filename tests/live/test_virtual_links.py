"""Latency and loss between virtual hosts, on kernels that have netem: `make kernels` boots one where this
machine's lacks it.
"""

import re
import sys
from math import sqrt
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import campaign
from perjoule.drivers.protocols import Host, LosesPackets, able
from perjoule.execution import runner
from perjoule.model import healthy_since
from perjoule.results.verification import verify
from perjoule.store import create, open_results
from perjoule.testbeds.virtual import requirements
from perjoule.testbeds.virtual.host import VirtualHost

pytestmark = [
    pytest.mark.live,
    pytest.mark.alone,
    pytest.mark.skipif(
        not requirements.netem().ok,
        reason="this kernel has no netem (CONFIG_NET_SCH_NETEM); run `make kernels`",
    ),
]

RECEIVE = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 5001))
print("listening", flush=True)
while True:
    text, sender = server.recvfrom(2000)
    server.sendto(text, sender)
"""
ASK = """
import socket, statistics, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect((sys.argv[1], 5001))
client.settimeout(1)
took, lost = [], 0
for number in range(int(sys.argv[2])):
    began = time.monotonic()
    client.send(b"%d" % number)
    try:
        while client.recv(2000) != b"%d" % number: pass
        took.append(time.monotonic() - began)
    except TimeoutError:
        lost += 1
print(statistics.median(took), lost)
"""


def asked(client: Host, server: Host, count: int) -> tuple[float, int]:
    """The median time until an answer, and how many questions had none."""
    echo = server.spawn([sys.executable, "-c", RECEIVE], log=server.directory / "echo.log")
    while echo.output() != "listening\n":
        assert echo.returncode is None
    took_s, lost = client.run(
        [sys.executable, "-c", ASK, server.address, str(count)], timeout_s=300
    ).stdout.split()
    echo.stop()
    return float(took_s), int(lost)


def test_a_round_trip_takes_the_latency_longer_between_any_two_hosts_and_in_their_own_time() -> None:
    with hosts_of(servers=2).hold(1) as hosts:
        bare_s, _ = asked(hosts.clients[0], hosts.by_role("storage")[0], 20)
    with hosts_of(servers=2, latency="50 ms", scale=0.5).hold(1) as hosts:
        one, two = hosts.by_role("storage")
        for client, server in ((hosts.clients[0], one), (two, one)):
            took_s, lost = asked(client, server, 20)
            assert 0.100 <= took_s < 0.100 + 3 * bare_s + 0.01
            assert lost == 0
        assert hosts.facts["network_delay_s"] == 0.05


def test_packets_are_lost_on_both_ways() -> None:
    with hosts_of(servers=1, loss="10 %").hold(1) as hosts:
        _, lost = asked(hosts.clients[0], hosts.by_role("storage")[0], 200)
    assert 18 <= lost <= 62  # 38 of 200 by 1 - 0.9^2, within 4.4 standard deviations


def test_a_host_loses_a_share_of_what_it_sends_for_a_time() -> None:
    with hosts_of(servers=1).hold(1) as hosts:
        client, (server,) = hosts.clients[0], hosts.by_role("storage")
        able(server, LosesPackets).lose_packets(0.2)
        _, lost = asked(client, server, 200)
        able(server, LosesPackets).lose_packets(0.0)
        _, lost_after = asked(client, server, 50)
    assert 15 <= lost <= 65  # 40 of 200, within 4.4 standard deviations
    assert lost_after == 0


CAMPAIGN = """
name = "lossy"
repetitions = 1
settle = "500 ms"
quiet = "60 s"
[testbed]
kind = "virtual"
servers = 2
disk = "directory"
cpu_cap = false
[[filesystem]]
kind = "moosefs"
goal = 2
[[workload]]
kind = "duty"
operation = "write"
load = "50 %"
full = "2 MiB/s"
transfer = "64 KiB"
duration = "16 s"
[[event]]
at = "3 s"
kind = "lossy"
host = "storage-2"
loss = "10 %"
[[event]]
at = "13 s"
kind = "back"
host = "storage-2"
"""


def test_in_a_trial_a_server_is_lossy_from_its_event_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was lost, the kernel's own scheduler says, just before the end of it."""
    said: list[str] = []

    def lose(host: VirtualHost, loss_ratio: float) -> None:
        said.append(host.run(statistics, timeout_s=60).stdout)
        lose_packets(host, loss_ratio)
        said.append(host.run(statistics, timeout_s=60).stdout)

    lose_packets, statistics = VirtualHost.lose_packets, ["tc", "-statistics", "qdisc", "show", "dev", "eth0"]
    monkeypatch.setattr(VirtualHost, "lose_packets", lose)
    wanted = campaign.parse(CAMPAIGN)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    (record,) = results.records()
    assert (record.status, record.reason) == ("valid", "")
    assert [one.event.text for one in record.events] == ["lossy storage-2 10 %", "back storage-2"]
    assert ["netem" in one for one in said] == [False, True, True, False]
    sent, lost = map(int, re.findall(r"netem.*\n Sent \d+ bytes (\d+) pkt \(dropped (\d+)", said[2])[0])
    print(f"{lost} of {sent + lost} packets lost")
    assert sent + lost > 100
    assert abs(lost - 0.1 * (sent + lost)) < 4.4 * sqrt((sent + lost) * 0.1 * 0.9)
    assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(results).differences == ()
