"""Servers beside this machine that only meters know."""

import pytest
from pydantic import ValidationError

from perjoule.model.errors import MachineError
from perjoule.testbeds.local import Local


def test_a_nas_is_a_storage_host_without_counters_on_which_nothing_runs() -> None:
    bed = Local(metered=("nas",))
    assert [(host.name, host.role) for host in bed.planned(1).all] == [
        ("local", "client"),
        ("nas", "storage"),
    ]
    with bed.hold(1) as hosts:
        (nas,) = hosts.servers
        assert nas.name == "nas"
        assert nas.counters().cpu_s is None
        with pytest.raises(MachineError, match="only meters know it"):
            nas.run(["true"], timeout_s=1)


@pytest.mark.parametrize("names", [("local",), ("nas", "nas"), ("a b",)])
def test_each_needs_a_name_of_its_own(names: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Local(metered=names)
