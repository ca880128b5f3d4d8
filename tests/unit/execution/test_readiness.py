"""What stops a campaign before it starts: a requirement is named once, however many roles need it."""

import pytest

from perjoule.drivers.protocols import Check
from perjoule.execution import readiness
from perjoule.model.errors import MachineError


def test_what_several_roles_need_is_named_once_and_the_rest_is_counted() -> None:
    names = ("pvfs2-server", "pvfs2-server", "pvfs2-statfs", "pvfs2-viewdist", "pvfs2fuse")
    roles = ("storage", "metadata", "client", "client", "client")
    checked = [Check(name, False, "not on the PATH", "install it", on=role) for name, role in zip(names, roles, strict=True)]
    checked += [Check("fio", True, "3.33"), Check("sensors", False, "not on the PATH", needed=False)]
    with pytest.raises(MachineError) as refused:
        readiness.require(checked)
    assert str(refused.value) == (
        "pvfs2-server: not on the PATH; pvfs2-statfs: not on the PATH; pvfs2-viewdist: not on the PATH; and 1 more; "
        "install it; `perjoule doctor`"
    )
