"""Buckets behind gateways that speak S3: each client has one with keys of its own, and uses gateways in turns."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import ClassVar

from perjoule.drivers.protocols import Bucket, Host, Hosts, OffersBuckets, PassesOn
from perjoule.filesystems._deployment import SHORT_S, Deployment, Options
from perjoule.filesystems._flows import Hops
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.model import HOPS, Amplification

REGION = "us-east-1"  # which gateways take, whatever theirs is called
FIRST = "perjoule-first/"
SHARED = "shared-credentials"  # file with the first user's keys, in the folder of each
CONNECT_S = 5  # to a gateway, at scale 1


def own_ratio(gates: Collection[Host], holders: Collection[Host]) -> float:
    """Return the share of objects that gateways expect on their own hosts, of each one copy."""
    return len({*gates} & {*holders}) / max(1, len(gates) * len(holders))


class BehindGateways(Deployment[Options], OffersBuckets, PassesOn):
    """A store with a bucket for each client, which mounts nothing. Healthy means also that each client has put
    an object. To be inherited before the servers' own class.
    """

    port: ClassVar[int]  # of a gateway
    clients_make_buckets: ClassVar[bool]  # or the servers have

    def __init__(self, options: Options, hosts: Hosts) -> None:
        super().__init__(options, hosts)
        self.directories = {}
        self.gates = self.gateway_hosts()
        self.gate_of = {user.name: self.gates[n % len(self.gates)] for n, user in enumerate(hosts.users)}
        self.hops: Mapping[str, Hops] = {}  # of each user; not known before it is mounted
        self.buckets = {
            # by number, as S3 has no capital letters in names of buckets
            user.name: Bucket(
                f"perjoule-{number}",
                f"http://{self.gate_of[user.name].address}:{self.port}",
                REGION,
                self.folder(user) / "credentials",
            )
            for number, user in enumerate(hosts.users)
        }

    @abstractmethod
    def gateway_hosts(self) -> tuple[Host, ...]:
        """Return the hosts of gateways."""

    @abstractmethod
    def hop_ratios(self) -> Mapping[str, Hops]:
        """Return the hops of each user's bytes, as data are placed; {}: not known."""

    def note(self) -> None:
        """Record also the hops."""
        super().note()
        self.hops = self.hop_ratios()
        self.facts = {**self.facts, HOPS: {name: hops._asdict() for name, hops in self.hops.items()}}

    def amplification(self, moved_bytes: Mapping[str, int]) -> Amplification | None:
        """Derive it from the hops of those who moved any."""
        movers = {name: count for name, count in moved_bytes.items() if name in self.hops}
        if not (total_bytes := sum(movers.values())):
            return None
        weights = {name: count / total_bytes for name, count in movers.items()}
        mean = Hops(
            sum(weight * self.hops[name].write_ratio for name, weight in weights.items()),
            sum(weight * self.hops[name].read_ratio for name, weight in weights.items()),
        )
        return self.options.explained(self.hosts, mean)

    def bucket(self, client: str) -> Bucket:
        """Its own."""
        return self.buckets[client]

    def shared(self, client: str) -> Bucket:
        """The first user's, with that one's keys, by its own gateway."""
        bucket = self.buckets[client]
        name = self.buckets[self.hosts.users[0].name].name
        return replace(bucket, name=name, credentials=bucket.credentials.with_name(SHARED))

    def configure(self) -> None:
        """Have each client put an object, and remove it."""
        each(self.hosts.users, lambda user: self.daemons.retry("a first put", lambda: self._put_first(user)))

    def silent(self) -> str:
        """Return which gateways take no connection; "" if all do."""

        def silent(host: Host) -> bool:
            argv = ["timeout", f"{CONNECT_S / self.hosts.scale:g}", "bash", "-c"]
            argv += [f": < /dev/tcp/{host.address}/{self.port}"]
            done = self.hosts.management.run(argv, timeout_s=self.patience_s, check=False)
            return done.returncode != 0

        named = [host.name for host, lost in zip(self.gates, each(self.gates, silent), strict=True) if lost]
        return f"no gateway answers on {', '.join(named)}" if named else ""

    def give_keys(self, user: Host, key: str, secret: str) -> None:
        """Write the keys of its bucket for a client; those of the first one's for all. Raises WorkloadError."""
        text = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
        user.put(text, self.buckets[user.name].credentials, mode=0o600)
        if user is self.hosts.users[0]:
            each(
                self.hosts.users,
                lambda sharer: sharer.put(text, self.shared(sharer.name).credentials, mode=0o600),
            )

    def _put_first(self, user: Host) -> None:
        bucket = self.buckets[user.name]
        if self.clients_make_buckets:
            buckets.ask(user, bucket, "make", "", timeout_s=self.patience_s)
        buckets.ask(user, bucket, "write", f"{FIRST}1", timeout_s=self.patience_s, text="perjoule")
        buckets.ask(user, bucket, "remove", FIRST, timeout_s=self.patience_s)
        user.run(["rm", user.directory / buckets.PROGRAM_NAME], timeout_s=SHORT_S)
