"""BeeGFS's own tool on the management host, `beegfs-ctl` or `beegfs`."""

from perjoule.drivers.protocols import Host
from perjoule.filesystems._daemons import last_words
from perjoule.filesystems.beegfs import parse as words
from perjoule.filesystems.beegfs.client import folder
from perjoule.filesystems.beegfs.versions import Argv, Series
from perjoule.model.errors import WorkloadError


class Tool:
    """What the servers are asked and told from the management host, as root, without a mount."""

    def __init__(self, host: Host, series: Series, *, path: str, timeout_s: float) -> None:
        self._host, self._timeout_s = host, timeout_s
        self.series = series
        self._command = (
            "env",
            f"PATH={path}",
            *series.command(host.address, folder(host) / "auth", folder(host) / "client.conf"),
        )

    def ask(self, argv: Argv) -> str:
        """Query or command it. Raises WorkloadError with its own message."""
        done = self._host.run([*self._command, *argv], timeout_s=self._timeout_s, check=False)
        pardoned = self.series.pardoned and self.series.pardoned in done.stderr
        if done.returncode != 0 and not pardoned:
            what = (
                f"{self.series.tool} {argv[0]} ended with exit code {done.returncode}; it last said: {last_words(done.stderr, 2)}"
            )
            raise WorkloadError(what, where=self._host.name)
        return done.stdout

    def does(self, argv: Argv) -> bool:
        """Have it do something; always True. Raises WorkloadError when it could not."""
        self.ask(argv)
        return True

    def targets(self, kind: words.Kind) -> tuple[words.Target, ...]:
        """All targets as the management sees them."""
        return words.targets(self.ask(self.series.targets(kind)))

    def entry(self, path: str) -> words.Entry:
        """How an entry lies on the servers, by its path below the root of the file system."""
        return words.entry(self.ask(self.series.entry(path)))
