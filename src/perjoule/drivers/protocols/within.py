"""A part of a mounted file system: folders below those of the whole, for a trial's files or for a user's."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from perjoule.drivers.protocols.abilities import able
from perjoule.drivers.protocols.filesystem import Bucket, Mounted, UnmappedImage
from perjoule.drivers.protocols.host import Host
from perjoule.drivers.protocols.mounted_abilities import (
    CachesOnServers,
    MakesPools,
    OffersBuckets,
    OffersImages,
    Unmounts,
)


class Within(Mounted, CachesOnServers, MakesPools, OffersBuckets, OffersImages, Unmounts):
    """The same file system with other folders; what happens to the whole happens to it."""

    def __init__(self, mounted: Mounted, below: Path, names: Iterable[str], layout_name: str = "") -> None:
        """Take the folder `below` that of each of the hosts named, which must exist where it is used.

        Args:
            mounted: what it is part of.
            below: relative.
            names: of hosts; those without a folder in the whole have none here.
            layout_name: what distinguishes its data from those of other trials, where names of files or
                objects do not; by default, as in the whole.
        """
        self._whole = mounted
        self.directories: Mapping[str, Path] = {
            n: mounted.directories[n] / below for n in names if n in mounted.directories
        }
        self.pools, self.devices, self.facts, self.logs = (
            mounted.pools,
            mounted.devices,
            mounted.facts,
            mounted.logs,
        )
        self.data_hosts, self.undropped, self.layout_name = (
            mounted.data_hosts,
            mounted.undropped,
            layout_name or mounted.layout_name,
        )

    @property
    def caching(self) -> tuple[Host, ...]:
        """As of the whole."""
        return self._whole.caching if isinstance(self._whole, CachesOnServers) else ()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Locate a path as its own first host sees it; the whole asks its own first client."""
        relative = path.relative_to(self._whole.directories[next(iter(self.directories))])
        return self._whole.locate(next(iter(self._whole.directories.values())) / relative)

    def drop_caches(self) -> None:
        """As of the whole."""
        self._whole.drop_caches()

    def alive(self) -> None:
        """As of the whole."""
        self._whole.alive()

    def unmounted(self) -> AbstractContextManager[None]:
        """As of the whole."""
        return able(self._whole, Unmounts).unmounted()

    def bucket(self, client: str) -> Bucket:
        """As of the whole."""
        return able(self._whole, OffersBuckets).bucket(client)

    def shared(self, client: str) -> Bucket:
        """As of the whole."""
        return able(self._whole, OffersBuckets).shared(client)

    def image(self, client: str) -> UnmappedImage:
        """As of the whole."""
        return able(self._whole, OffersImages).image(client)

    def make_pool(self, client: str) -> None:
        """As of the whole."""
        able(self._whole, MakesPools).make_pool(client)

    def delete_pool(self, client: str) -> None:
        """As of the whole."""
        able(self._whole, MakesPools).delete_pool(client)
