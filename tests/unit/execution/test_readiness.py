"""What stops a campaign before it starts: a requirement is named once, however many roles need it."""

import socket
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.drivers.protocols import Check
from perjoule.execution import readiness
from perjoule.meters import _metered
from perjoule.model import Campaign
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import shelly
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.local import exports


def test_what_several_roles_need_is_named_once_and_the_rest_is_counted() -> None:
    names = ("pvfs2-server", "pvfs2-server", "pvfs2-statfs", "pvfs2-viewdist", "pvfs2fuse")
    roles = ("storage", "metadata", "client", "client", "client")
    checked = [
        Check(name, False, "not on the PATH", "install it", on=role)
        for name, role in zip(names, roles, strict=True)
    ]
    checked += [Check("fio", True, "3.33"), Check("sensors", False, "not on the PATH", needed=False)]
    with pytest.raises(MachineError) as refused:
        readiness.require(checked)
    assert str(refused.value) == (
        "pvfs2-server: not on the PATH; pvfs2-statfs: not on the PATH; pvfs2-viewdist: not on the PATH; "
        "and 1 more; install it; `perjoule doctor --all`"
    )


METERED = """
name = "metered"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
size = "8 MiB"
[[meter]]
{meter}
"""


def asked(meter: str) -> Campaign:
    return campaign.parse(METERED.format(meter=meter))


@pytest.mark.parametrize(
    "meter",
    [
        'kind = "shelly"\naddress = "127.0.0.1:9"',
        'kind = "redfish"\naddress = "http://127.0.0.1:9"',
        'kind = "prometheus"\naddress = "http://127.0.0.1:9/"\nmetric = "w"\nunit = "W"\nsemantics = '
        '"average"\ngrade = "BMC"',
    ],
)
def test_a_dead_meter_is_found_before_anything_is_deployed_and_only_if_it_may_be_asked(meter: str) -> None:
    (lacking,) = readiness.missing(readiness.checks(asked(meter)))
    assert lacking.name.startswith("answer of meter ")
    assert lacking.fix
    assert not readiness.missing(readiness.checks(asked(meter), connect=False))


def test_a_meter_that_answers_says_what_it_shows() -> None:
    with shelly.serve(Behaviour(Waveform("constant", 42.0, 42.0))) as table:
        found = readiness.checks(asked(f'kind = "shelly"\naddress = "{table["address"]}"'))
    (answer,) = (check for check in found if check.name == "answer of meter shelly")
    assert (answer.ok, answer.detail.partition(",")[0]) == (True, "42.00 W")


def test_a_clamp_that_is_the_wrong_way_round_is_found_before_anything_is_deployed() -> None:
    with shelly.serve(
        Behaviour(Waveform("constant", 42.0, 42.0), faults=("reversed",), share_ratio=1.0)
    ) as table:
        (lacking,) = readiness.missing(
            readiness.checks(asked(f'kind = "shelly"\naddress = "{table["address"]}"'))
        )
    assert (lacking.detail, lacking.fix) == (
        "it shows -42.00 W",
        "turn its clamp or its wires: power flows one way",
    )


def test_a_meter_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_metered, "ASKED_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        (lacking,) = readiness.missing(
            readiness.checks(asked(f'kind = "shelly"\naddress = "{address}"\ntimeout = "1 h"'))
        )
    assert lacking.detail == "no answer within 0.2 s"


def test_a_missing_rapl_is_reported_without_connecting(tmp_path: Path) -> None:
    (lacking,) = readiness.missing(
        readiness.checks(asked(f'kind = "rapl"\nroot = "{tmp_path}"'), connect=False)
    )
    assert lacking.name == "RAPL"


KERNEL = """
name = "kernel"
[testbed]
kind = "local"
{beside}
[[filesystem]]
kind = "nfs"
server = "{server}"
client = "fuse"
[[workload]]
kind = "fio"
size = "16 MiB"
"""


@pytest.mark.parametrize(
    ("etab", "server", "beside", "named"),
    [
        ("/srv/homes\t10.0.0.0/24(rw)\n/srv/a\\040b\t*(ro)\n", "kernel", "", "/srv/a\\040b, /srv/homes"),
        ("/srv/homes\t10.0.0.0/24(rw)\n", "kernel", "beside_production = true", ""),
        ("/srv/homes\t10.0.0.0/24(rw)\n", "ganesha", "", ""),
        ("# Version 1.1\n\n", "kernel", "", ""),
        # of a killed run of ours
        ("/tmp/perjoule-local-abc_12de/nfs/export\t127.0.0.1(rw)\n", "kernel", "", ""),
        (None, "kernel", "", ""),
    ],
)
def test_exports_of_a_sites_own_on_this_machine_get_none_beside_them(
    etab: str | None, server: str, beside: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "EXPORTS", (tmp_path / "etab", tmp_path / "exports"))
    if etab is not None:
        (tmp_path / "etab").write_text(etab)
    checked = readiness.checks(campaign.parse(KERNEL.format(beside=beside, server=server)))
    found = [check for check in checked if "exports folders" in check.detail]
    assert [check.detail for check in found] == (
        [f"the kernel's NFS server exports folders of a site's own: {named}"] if named else []
    )
    assert all(check.needed and not check.ok and "beside_production = true" in check.fix for check in found)
