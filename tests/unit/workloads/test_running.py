"""What all loads do before they measure: with cold caches on every host that keeps data."""

from perjoule import drivers
from perjoule.drivers.protocols import CachesOnServers, Host
from perjoule.model import Spec
from perjoule.model.errors import WorkloadError
from perjoule.workloads._running import cold
from perjoule.workloads.together.user import UserJob, UserTable
from scripted import ScriptedHost, ScriptedMount
from typed import as_written


class Served(ScriptedMount, CachesOnServers):
    """A file system of servers with kernels of their own, of which one also loads."""

    def __init__(self, clients: tuple[Host, ...], servers: tuple[Host, ...]) -> None:
        super().__init__(*clients)
        self._servers, self.data_hosts = servers, ()

    @property
    def caching(self) -> tuple[Host, ...]:
        return self._servers


class Forbidden(ScriptedHost):
    def drop_caches(self) -> None:
        raise WorkloadError("can't drop the page cache (Permission denied)", where=self.name)


def test_servers_with_a_kernel_of_their_own_drop_its_caches_too_and_every_host_once() -> None:
    client, one, two = ScriptedHost("client-1"), ScriptedHost("storage-1"), ScriptedHost("storage-2")
    assert cold((client, one), Served((client, one), (one, two))) == []
    assert [host.ran for host in (client, one, two)] == [[["drop caches"]]] * 3


def test_a_server_that_may_not_is_a_doubt_with_its_name() -> None:
    client, server = ScriptedHost("client-1"), Forbidden("storage-1")
    (doubt,) = cold((client,), Served((client,), (server,)))
    assert (
        str(doubt) == "page caches were not dropped: storage-1: can't drop the page cache (Permission denied)"
    )


def test_servers_drop_them_for_one_of_several_users_too() -> None:
    client, server = ScriptedHost("client-1"), ScriptedHost("storage-1")
    user = as_written(UserTable, user="one")
    job = UserJob(user, drivers.workload(Spec("fio", {"size": "4 MiB"})), 1, 0.0)
    assert cold((client,), job.mounted(Served((client,), (server,)), (client,))) == []
    assert server.ran == [["drop caches"]]
