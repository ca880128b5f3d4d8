"""Doubts about meters: energy that is missing, uncertain, or refused."""

from collections.abc import Sequence

from perjoule.model.doubts.kind import doubt
from perjoule.model.doubts.samples import SampleDoubts
from perjoule.model.format import number

CHECK = "check unit and covers"


class MeterDoubts(SampleDoubts):
    """Doubts about power, energy, and counters."""

    # of energies that can't be right

    @doubt
    def less_with_switch(self, *, channels: str, energy_j: float, others: str, others_j: float) -> str:
        """Servers with their switch draw less than without. Check what each meter covers, and its unit."""
        return (
            f"{channels}: {number(energy_j)} J of the servers alone, more than the {number(others_j)} J of "
            f"servers and switch by {others}: one of them covers something else (check covers), or has "
            "another unit; the energy is refused"
        )

    @doubt
    def too_low(self, *, channels: str, power_w: float, hosts_count: int, least_w: float) -> str:
        """No running computer draws so little. Check the unit, and what the meter covers."""
        return (
            f"{channels}: {power_w:.3g} W for {_hosts(hosts_count)}, where a running host draws {least_w:g} "
            "W at least: check the unit (kW read as W?), and what it covers; the energy is refused"
        )

    @doubt
    def too_high(self, *, channels: str, power_w: float, hosts_count: int, most_w: float) -> str:
        """No computer draws so much. Check the unit."""
        most = f"more than {most_w:g} W each"
        advice = "check the unit (mW read as W?); the energy is refused"
        return f"{channels}: {number(power_w)} W for {_hosts(hosts_count)}, {most}: {advice}"

    @doubt
    def below_idle(
        self, *, channels: str, power_w: float, hosts_count: int, cluster: str, idle_w: float
    ) -> str:
        """The hosts drew far less than the catalogue's hardware does idle.

        Check unit, covers and the hosts' hardware.
        """
        of = f"{_hosts(hosts_count)} of {cluster}"
        return f"{channels}: {power_w:.3g} W for {of}, which draw at least {idle_w:.3g} W idle by the catalogue: {CHECK}"

    @doubt
    def above_peak(
        self, *, channels: str, power_w: float, hosts_count: int, cluster: str, peak_w: float
    ) -> str:
        """The hosts drew far more than the catalogue's hardware can.

        Check unit, covers and the hosts' hardware.
        """
        of = f"{_hosts(hosts_count)} of {cluster}"
        return (
            f"{channels}: {power_w:.3g} W for {of}, which draw {peak_w:.3g} W at most by the catalogue: "
            f"{CHECK}"
        )

    @doubt
    def processors_above_servers(self, *, processors_j: float, servers_j: float, source: str) -> str:
        """Processors can't draw more than the servers that they are in. One of the meters is wrong."""
        more = f"are more than the {number(servers_j)} J of their servers"
        return f"{number(processors_j)} J of the processors (RAPL) {more} by {source}: one of them is wrong"

    @doubt
    def apart(
        self, *, channel: str, power_w: float, channels: str, others_w: float, error_w: float, more_count: int
    ) -> str:
        """Two meters of the same devices disagree. One of them is wrong, or covers something else."""
        more = f"; so are {more_count} more channels of these" if more_count else ""
        return (
            f"{channel} shows {number(power_w)} W, and {channels} {number(others_w)} W of the same devices: "
            f"more than their errors of {number(error_w)} W apart{more}"
        )

    @doubt
    def read_alike(self, *, channel: str, channels: str, count: int, within_w: float) -> str:
        """Two meters that are said to read different devices show the same watts: an outlet that is read
        twice, or a chassis whose power each node reports. Write all that it feeds in `covers` of one.
        """
        return (
            f"{channel} and {channels} show the same {count} changes of power to within {number(within_w)} W: "
            "their watts may be the same ones, and count twice (check what each reads, and covers)"
        )

    @doubt
    def sum_of_others(self, *, channel: str, channels: str, count: int, within_w: float) -> str:
        """A meter shows what others show together, of other devices: a PDU's inlet beside its outlets, a shelf
        in its controller's figure. Write all that it feeds in its `covers`.
        """
        return (
            f"{channel} shows the same {count} changes of power as {channels} together, to within "
            f"{number(within_w)} W: their watts may be in it, and count twice (check its covers)"
        )

    # of the choice of meters

    @doubt
    def instead(self, *, reason: str, grade: str) -> str:
        """A better meter has no energy, and one of a worse grade counts.

        Mend the better one, for the reason given.
        """
        return f"{reason}; {grade} watts count instead"

    @doubt
    def none_covers(self) -> str:
        """Meters show parts of servers alone. Say in `covers` what they show, or meter whole servers."""
        return "no meter covers a whole server"

    @doubt
    def outside(self) -> str:
        """The data lay on servers that the testbed does not have, so their power is unknown.

        Add them to the testbed.
        """
        return (
            "energy of the servers omitted: the data lay on servers outside the testbed (name them: on this "
            'machine metered = ["nas"] below [testbed], in a cluster a host with login = false; and write '
            'covers = ["nas"] below the [[meter]] that feeds them)'
        )

    @doubt
    def real_machine(self, *, meter: str, scale: str) -> str:
        """A meter of the real machine can't show what an emulated cluster draws. Use modelled watts."""
        return f"{meter}: power of the real machine is not that of a cluster emulated at {scale}"

    @doubt
    def no_disks_modelled(self, *, hosts: str) -> str:
        """Clients that hold data have disks that the catalogue's node lacks. Give them nodes with disks."""
        return f"modelled: the catalogue has no disks for {hosts}"

    @doubt
    def unmetered(self, *, meter: str, hosts: str) -> str:
        """A meter shows some hosts and not others. Meter these as well."""
        return f"{meter}: no power of {hosts}"

    @doubt
    def inseparable(self, *, meter: str) -> str:
        """The meter counts the servers together with other devices.

        Say in `covers` what it shows, or meter those as well.
        """
        return f"{meter}: no sum or difference of its channels covers the servers alone"

    @doubt
    def processors_alone(self) -> str:
        """RAPL shows processors and not servers: a reminder, and nothing to do."""
        return "cpu_package_* are joules of the processors alone (RAPL), not of a whole server"

    @doubt
    def corrected(self, *, cluster: str, changes: Sequence[str]) -> str:
        """The catalogue corrected coefficients after these trials.

        Repeat them before you quote their watts.
        """
        return (
            f"watts of {cluster} were modelled with coefficients that were corrected since: "
            f"{'; '.join(changes)}"
        )

    @doubt
    def recalculated(self, *, date: str, between_count: int, samples_count: int) -> str:
        """Watts were modelled again from the stored counters.

        Repeat the trials if the samples that are only bounded matter.
        """
        which = f"{between_count} of {samples_count} samples"
        bounded = f": {which} lie between readings of counters, and their work is that of the former watts"
        change = f"modelled watts were recalculated on {date} with corrected coefficients"
        return change + (bounded if between_count else "")

    @doubt
    def grades_differ(self, *, grades: Sequence[str]) -> str:
        """Repetitions were metered by meters of different grades. Repeat those of the worse one."""
        return f"repetitions have power of different grades ({', '.join(grades)})"

    @doubt
    def sources_differ(self, *, sources: Sequence[str]) -> str:
        """Repetitions were metered by different meters. Compare these meters, or repeat some."""
        return f"repetitions take their energy from different sources ({'; '.join(sources)})"

    # of how a meter was read

    @doubt
    def left_out(self, *, meter: str, count: int, all_count: int) -> str:
        """Samples came a whole period late. Lower `rate`, or free the host that reads."""
        return f"{meter}: {count} of {all_count} samples left out, the host was too slow or too busy"

    @doubt
    def calibration_old(self, *, meter: str, date: str, due: str) -> str:
        """A meter drifts: after so long its stated error may be exceeded. Have it calibrated again."""
        return f"{meter}: calibrated on {date}, to be calibrated again by {due}: its error may be larger"

    @doubt
    def reads_failed(self, *, meter: str, count: int, all_count: int, error: str) -> str:
        """The meter did not answer, or not in time. The last error says why."""
        return f"{meter}: {count} of {all_count} reads failed, the last with: {error}"

    @doubt
    def silent(self, *, meter: str) -> str:
        """Every poll succeeded, and none brought a number. See that it runs, and repeat the trial."""
        return f"{meter}: it delivered nothing during the trial"

    @doubt
    def host_reads_failed(self, *, meter: str, host: str, count: int, all_count: int, error: str) -> str:
        """A host's counters could not be read. The last error says why."""
        return f"{meter}: {count} of {all_count} readings of {host} failed, the last with: {error}"

    @doubt
    def not_to_the_end(self, *, meter: str, host: str, error: str) -> str:
        """Sampling on a host ended before the trial. The error says why."""
        return f"{meter}: the sensors of {host} were not read to the end ({error})"

    @doubt
    def host_clock_set(self, *, meter: str, host: str, set_s: float) -> str:
        """A host dates its samples by a clock that was set. Leave its clock to chrony, which slews."""
        return (
            f"{meter}: the samples of {host} are left out: its clock was set by {set_s:+.3g} s during the "
            "trial"
        )

    @doubt
    def job_uncounted(self, *, meter: str, error: str) -> str:
        """Slurm does not count this job's energy. The error says why."""
        return f"{meter}: Slurm counts no energy of this job: {error}"

    @doubt
    def stated_number(self, *, meter: str, power: str) -> str:
        """A number stands for the switch's power: a reminder. Meter the switch to be rid of it."""
        return f"{meter}: {power} of the switch are a number, and were not measured in this trial"

    @doubt
    def states_only(self, *, meter: str, drive: str) -> str:
        """The drive reports a power state and no power. Meter its supply."""
        return f"{meter}: {drive} reports only its power state, which bounds its power and gives no energy"

    @doubt
    def estimates(self, *, meter: str, drive: str) -> str:
        """The drive computes its power. Meter its supply if you quote it."""
        return f"{meter}: {drive} estimates its power, it says so itself"

    @doubt
    def shunt(self, *, meter: str, chip: str, device: str, shunt_ohm: float) -> str:
        """Nobody has verified the sensor's shunt. Measure it, and write `shunt_correction`."""
        return (
            f"{meter}: correct only if the shunt of {chip} at {device} has the {shunt_ohm * 1e3:g} mOhm "
            "that the kernel assumes (check it, then set shunt_correction)"
        )

    @doubt
    def means_multiplied(self, *, meter: str) -> str:
        """The oscilloscope multiplies means. Have it multiply waveforms."""
        return f"{meter}: mean voltage times mean current, which is the power only if one of them is steady"

    @doubt
    def module_multiplies(self, *, meter: str, module: str) -> str:
        """The module sends no power. Use one that does, unless its voltage is steady."""
        product = (
            "its power is the product of mean voltage and mean current, correct only if one of them is steady"
        )
        return f"{meter}: {module}: {product}"

    @doubt
    def part_time(self, *, meter: str, gpu: str) -> str:
        """The GPU's sensor sees a quarter of the time. Read its energy counter."""
        return f"{meter}: the power of {gpu} is sampled only a quarter of the time (read its energy counter)"

    @doubt
    def no_cpu_time(self, *, hosts: str) -> str:
        """The model needs the CPU time of hosts. Find out why they do not tell it."""
        return f"modelled: no power of {hosts}: CPU time is unknown"

    @doubt
    def no_disk_reads(self, *, hosts: str) -> str:
        """The model lacks the reads of disks. Find out why hosts do not tell them."""
        return f"modelled: disk reads of {hosts} are unknown and count as zero: a lower bound"

    @doubt
    def no_disk_writes(self, *, hosts: str) -> str:
        """The model lacks the writes of disks. Find out why hosts do not tell them."""
        return f"modelled: disk writes of {hosts} are unknown and count as zero: a lower bound"

    @doubt
    def ratings_too_low(self, *, component: str, hosts: str) -> str:
        """Hosts did more than the catalogue's hardware can. Correct its ratings, or choose the right node."""
        return (
            f"modelled: the {component} of {hosts} did more than the catalogue's can: its ratings are too low"
        )

    @doubt
    def fresh_ssd(self, *, disks: str, sustained_w: float, active_w: float) -> str:
        """Writes were modelled as those of a fresh SSD. Predict sustained ones with `predict --sustained`, or
        meter a drive that was filled before.
        """
        return (
            f"modelled: writes of {disks} as fresh, {number(active_w)} W; in the steady state it takes "
            f"{number(sustained_w)} W, however few bytes get through"
        )

    @doubt
    def gaps_unseen(self, *, period_s: float, gap_s: float) -> str:
        """Disks were looked at too seldom for such short gaps. Raise `rate` of the meter `system`."""
        return f"disks are seen every {period_s:.2g} s: gaps of {gap_s:g} s between accesses are not visible"

    @doubt
    def devices_unclear(self, *, host: str, reason: str) -> str:
        """A host's imported counters do not say what to count. The reason says what was counted."""
        return f"{host}: {reason}"


def _hosts(count: int) -> str:
    return f"{count} hosts" if count != 1 else "1 host"


METERS = MeterDoubts(
    "meters",
    "Energy missing or uncertain",
    "power, energy and efficiency, or counters, may be wrong or missing; throughput is not affected",
)
