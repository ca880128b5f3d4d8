"""Doubts about clients or directions that did not run together."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.units import seconds_text


class ApartDoubts(Kind):
    """Doubts about clients or directions that did not run together."""

    @doubt
    def starts(self, *, spread_s: float, shortest_s: float) -> str:
        """Clients started far apart. Lengthen the load."""
        return f"clients started {spread_s:.3g} s apart, the shortest ran {shortest_s:.3g} s"

    @doubt
    def little_overlap(
        self, *, overlap_ratio: float, refused: bool, host: str, later_s: float, client: str, signs: str
    ) -> str:
        """Some clients ended long before others.

        Lengthen the load, give it a fixed time, or look at the slow one.
        """
        rate = "; no aggregate rate is given" if refused else ""
        return (
            f"all clients ran together for only {100 * overlap_ratio:.0f} % of the time{rate}: "
            f"{host} ended {later_s:.3g} s after {client}{signs and f' ({signs})'}"
        )

    @doubt
    def mixed(self) -> str:
        """Reads and writes ran at once, and each has all of the energy.

        Measure them as one load of two users.
        """
        return "reads and writes ran together: each is charged with the energy and overhead of both"

    @doubt
    def users_alone(self, *, together_ratio: float) -> str:
        """Users hardly ran at once. Lengthen the shorter loads."""
        share = f"{100 * together_ratio:.0f} %"
        return f"several users ran at once for only {share} of the time; for the rest, one user ran alone"

    @doubt
    def same_load_elsewhere(self, *, clients: str) -> str:
        """Clients of one load were imported as several trials. Import them together."""
        return (
            f"{clients} ran the same load at the same time in another trial: import the clients of one "
            "trial together again"
        )

    @doubt
    def same_load_near(self, *, clients: str, apart_s: float, before: bool) -> str:
        """Clients of one load may have been imported as several trials.

        If their clocks differ, import them together.
        """
        when = f"{seconds_text(apart_s)} {'before' if before else 'after'}"
        return (
            f"{clients} ran the same load {when}: if they ran at once, their clocks differ and this is one "
            "trial"
        )


APART = ApartDoubts(
    "apart",
    "Clients that did not run as one",
    "the throughput of all clients together may be too low or too high",
    disqualifies=True,
)
