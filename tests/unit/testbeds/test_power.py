"""Power states on a folder like sysfs, and on this machine's own: what is found, set, refused, and put
back.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import Completed, Offered
from perjoule.model.errors import MachineError, UnexpectedOutput, WorkloadError
from perjoule.testbeds import _power
from perjoule.testbeds._power import Power, setting, states
from perjoule.testbeds._power.offers import offers
from perjoule.testbeds._power.scripts import record
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.local import Local, LocalHost
from sysfs import DRIVE, LINK, NVME, Sysfs
from typed import as_written

IDLE = Path("/sys/devices/system/cpu/cpu0/cpuidle")
DISK = "devices/pci0/ata4/host3/target3:0:0/3:0:0:0"
TOLERANCE = "devices/x/power/pm_qos_latency_tolerance_us"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sysfs]:
    found = Sysfs(tmp_path)
    monkeypatch.setenv(setting.ROOT, str(found.root))
    monkeypatch.setattr(setting, "DEV", str(found.dev))
    monkeypatch.setenv("PATH", f"{found.tools}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield found
    assert found.changed() == {}, "something was not put back"
    assert not list(tmp_path.glob("perjoule-*"))


def test_states_are_set_on_each_cpu_read_back_and_put_back(fake: Sysfs) -> None:
    wanted = fake.options(
        cpu_governor="powersave", cpu_preference="power", cpu_max="1.2 GHz", cpu_deepest_idle="C1"
    )
    with as_written(Local, power=wanted).hold(1) as hosts:
        expected = {f"cpu{n}/cpuidle/state2/disable": "1" for n in range(4)}
        for n in (0, 2):
            expected |= {
                f"cpufreq/policy{n}/scaling_governor": "powersave",
                f"cpufreq/policy{n}/scaling_max_freq": "1200000",
            }
            expected |= {f"cpufreq/policy{n}/energy_performance_preference": "power"}
        assert fake.changed() == expected
        power = hosts.facts["power"]
        assert isinstance(power, dict)
        facts = power["local"]
        assert isinstance(facts, dict)
        assert facts["cpu_governor"] == "powersave"
        assert facts["cpu_max_hz"] == 1.2e9
        assert facts["cpu_idle_states"] == "POLL+C1"
        assert facts["former"] == {
            "cpu_governor": "performance",
            "cpu_preference": "performance",
            "cpu_max_hz": 3.6e9,
            "cpu_idle_states": "POLL+C1+C6",
        }


def test_states_of_drives_are_set_on_named_ones_after_their_former_values_are_written(
    fake: Sysfs, tmp_path: Path
) -> None:
    # hdparm copies the record that it finds when it is to change something
    (fake.tools / "record").symlink_to(tmp_path)
    wanted = fake.options(devices=[DRIVE], disk_apm=127, sata_link="min_power", disk_spin_down="10 s")
    with as_written(Local, power=wanted).hold(1):
        assert fake.changed() == {
            "apm": "127",
            LINK: "min_power",
            f"{DISK}/power/control": "auto",
            f"{DISK}/power/autosuspend_delay_ms": "10000",
        }
        record = (fake.tools / "record-when-set").read_text()
        assert f"apm {DRIVE} 127 254" in record
        assert f"file {LINK} min_power max_performance" in record
    with as_written(Local, power=fake.options(devices=[NVME], nvme_state=3, nvme_tolerance="0 s")).hold(
        1
    ) as hosts:
        assert fake.changed() == {
            "feature": "00000003",
            "devices/pci1/nvme/nvme0/power/pm_qos_latency_tolerance_us": "0",
        }
        assert "'nvme_state': 3" in str(hosts.facts)


@pytest.mark.parametrize(
    ("wanted", "what", "fix"),
    [
        (
            {"cpu_governor": "ondemand"},
            'does not offer cpu_governor = "ondemand"',
            "choose one of: performance, powersave",
        ),
        ({"cpu_max": "9 GHz"}, 'does not offer cpu_max = "9000 MHz"', "choose one of: 800 MHz to 3600 MHz"),
        ({"cpu_deepest_idle": "C7"}, 'does not offer cpu_deepest_idle = "C7"', "choose one of: POLL, C1, C6"),
        (
            {"pcie_aspm": "x"},
            'does not offer pcie_aspm = "x"',
            "choose one of: default, performance, powersave, powersupersave",
        ),
        (
            {"devices": [NVME], "nvme_state": 9, "nvme_tolerance": "0 s"},
            'does not offer nvme_state = "9"',
            "choose one of: 0, 1, 2, 3, 4",
        ),
        (
            {"devices": [NVME], "disk_apm": 1},
            "has no disk_apm",
            "remove it from power, or this host from its `on`",
        ),
        ({"devices": [f"{DRIVE}-part1"], "disk_apm": 1}, "is a partition", "name the whole drive"),
        (
            {"devices": ["/dev/disk/by-id/none"], "disk_apm": 1},
            "has none of the devices of power",
            "correct devices",
        ),
    ],
)
def test_what_a_host_lacks_or_does_not_offer_is_one_sentence_and_changes_nothing(
    wanted: dict[str, object], what: str, fix: str, fake: Sysfs
) -> None:
    bed = as_written(Local, power=fake.options(**wanted))
    with pytest.raises(MachineError) as raised, bed.hold(1):
        pass
    assert raised.value.what == what
    assert raised.value.next.startswith(fix)
    found = next(check for check in bed.checks() if check.name == "power states")
    assert (found.ok, found.detail, found.fix) == (False, what, raised.value.next)


def test_a_machine_offers_a_tuning_the_values_that_its_kernel_lists(
    fake: Sysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = as_written(Local, power=fake.options(cpu_governor="powersave")).offered(1)
    assert offered == {
        "power.cpu_governor": Offered(("performance", "powersave"), "performance"),
        "power.cpu_max": Offered(("800 MHz", "1.5 GHz", "2.2 GHz", "2.9 GHz", "3.6 GHz"), "3.6 GHz"),
        "power.cpu_deepest_idle": Offered(("POLL", "C1", "C6"), "C6"),
    }
    assert as_written(Local).offered(1) == {}
    monkeypatch.setenv(setting.ROOT, "/no/such")
    assert as_written(Local, power=fake.options(cpu_governor="powersave")).offered(1) == {}
    bed = as_written(Local, power=fake.options(cpu_governor="powersave"))
    with pytest.raises(MachineError, match="has no cpu_governor"), bed.hold(1):
        pass


def test_what_is_offered_is_common_to_all_cpus_of_all_hosts_and_leaves_out_what_can_not_be_held(
    fake: Sysfs,
) -> None:
    cpu = fake.root / "devices/system/cpu"
    first, second = (cpu / f"cpufreq/policy{n}" for n in (0, 2))

    def offered(**wanted: object) -> Mapping[str, Offered]:
        return as_written(Local, power=fake.options(**wanted)).offered(1)

    kept = {path: path.read_text() for path in cpu.rglob("*") if path.is_file()}
    (first / "scaling_available_governors").write_text("schedutil userspace performance\n")
    (second / "scaling_available_governors").write_text("performance userspace schedutil powersave\n")
    (second / "scaling_governor").write_text("schedutil\n")
    for policy, listed in (
        (first, "400000 1000000 1200000 1800000"),
        (second, "2200000 1800000 1200000 1000000 800000"),
    ):
        (policy / "scaling_available_frequencies").write_text(f"{listed}\n")
    (cpu / "cpu1/cpuidle/state1/disable").write_text("1\n")
    found = offered(cpu_max="1.2 GHz")
    # not now the same on all CPUs
    assert found["power.cpu_governor"] == Offered(("schedutil", "performance"))
    assert found["power.cpu_max"].values == ("1 GHz", "1.2 GHz", "1.8 GHz", "3.6 GHz")
    assert found["power.cpu_deepest_idle"].now is None  # a state above the deepest is disabled on one CPU
    assert offered(cpu_min="1.1 GHz")["power.cpu_max"].values == ("1.2 GHz", "1.8 GHz", "3.6 GHz")
    # which the kernel refuses with some governors
    assert "power.cpu_governor" not in offered(cpu_preference="power")
    for path in cpu.rglob("scaling_available_frequencies"):
        path.unlink()
    for path, text in kept.items():
        path.write_text(text)


def test_each_offered_value_is_one_that_a_machine_takes(fake: Sysfs) -> None:
    for name, offer in as_written(Local, power=fake.options(cpu_governor="powersave")).offered(1).items():
        for value in offer.values:
            with as_written(Local, power=fake.options(**{name.partition(".")[2]: value})).hold(1) as hosts:
                assert hosts.facts["power"]


def test_a_value_that_the_kernel_refuses_is_a_sentence_and_the_others_are_put_back(fake: Sysfs) -> None:
    preference = fake.root / "devices/system/cpu/cpufreq/policy2/scaling_max_freq"
    preference.unlink()
    preference.symlink_to("/proc/sys/kernel/ngroups_max")  # a number that nobody can change
    with (
        pytest.raises(
            MachineError,
            match=r"can't set its power states: .*policy2/scaling_max_freq is 65536, not 1200000",
        ),
        as_written(Local, power=fake.options(cpu_governor="powersave", cpu_max="1.2 GHz")).hold(1),
    ):
        pass
    preference.unlink()
    preference.write_text("3600000\n")


def test_a_state_that_something_else_changes_fails_the_trial_and_stays_as_it_was_changed(fake: Sysfs) -> None:
    governor = fake.root / "devices/system/cpu/cpufreq/policy2/scaling_governor"
    with as_written(Local, power=fake.options(cpu_governor="powersave", pcie_aspm="powersave")).hold(
        1
    ) as hosts:
        check = hosts.all[0].check_power
        assert check is not None
        check()
        governor.write_text("schedutil\n")
        with pytest.raises(
            WorkloadError,
            match=r"cpu_governor was set to powersave, but .*policy2/scaling_governor is schedutil",
        ):
            check()
    assert hosts.all[0].check_power is None
    assert fake.changed() == {
        "cpufreq/policy2/scaling_governor": "schedutil",
        "module/pcie_aspm/parameters/policy": "default",  # a kernel would show all of them again
    }
    governor.write_text("performance\n")
    (fake.root / "module/pcie_aspm/parameters/policy").write_text(
        "[default] performance powersave powersupersave\n"
    )


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("npss\t{}\tx", True),
        ("npss\t{}\t\N{SUPERSCRIPT TWO}", True),
        ("npss\t{}\t" + "9" * 5000, True),
        ("nvme\t{}\t" + "f" * 5000, True),
        (f"{TOLERANCE}\t{{}}\t" + "9" * 400, False),
    ],
)
def test_what_no_drive_says_of_its_states_is_a_sentence_or_kept_as_a_text(said: str, refused: bool) -> None:
    answer = f"boot\tx\ndrive\t{{}}\tdevices/x\nnvme\t{{}}\t0\nnpss\t{{}}\t4\n{TOLERANCE}\t{{}}\t0\n{said}"
    found = states.states(answer.replace("{}", DRIVE))
    wanted = as_written(Power, devices=[DRIVE], nvme_state=3, nvme_tolerance="0 s")
    with pytest.raises(MachineError) if refused else nullcontext():
        states.settings(wanted, found, "h1")
    json.dumps(states.facts(found))


def test_a_clock_that_no_processor_has_lists_no_steps_up_to_it() -> None:
    policy = "devices/system/cpu/cpufreq/policy0/"
    lines = {"cpuinfo_min_freq": "800000", "cpuinfo_max_freq": "9" * 12, "scaling_max_freq": "900000"}
    found = states.states("".join(f"{policy}{name}\t{value}\n" for name, value in lines.items()))
    assert "power.cpu_max" not in offers([found], Power(cpu_governor="powersave"))


def test_an_answer_about_other_states_than_were_set_is_an_error_about_the_host(
    fake: Sysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with as_written(Local, power=fake.options(cpu_governor="powersave")).hold(1) as hosts:
        check = hosts.all[0].check_power
        assert check is not None
        for answer in ("", "powersave\n", "powersave\n" * 3):
            with monkeypatch.context() as patch:
                patch.setattr(LocalHost, "run", lambda *_, answer=answer, **__: Completed((), 0, answer, ""))
                with pytest.raises(UnexpectedOutput, match=r"power states of .*: unexpected output: "):
                    check()


def test_a_record_of_another_boot_changes_no_attribute(fake: Sysfs, tmp_path: Path) -> None:
    place = "devices/system/cpu/cpufreq/policy0/scaling_governor"
    for boot, governor in (
        ("another", "performance"),
        (Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "powersave"),
    ):
        end = tmp_path / "power.end"
        end.write_text(record([str(fake.root), "/dev", boot, "file", place, "performance", "powersave"]))
        _power.put_back(LocalHost(tmp_path), end)
        assert not end.exists()
        assert (fake.root / place).read_text() == f"{governor}\n"
    (fake.root / place).write_text("performance\n")


def test_two_runs_cannot_set_the_states_of_one_machine(fake: Sysfs) -> None:
    bed = as_written(Local, power=fake.options(cpu_governor="powersave"))
    with bed.hold(1):
        with (
            pytest.raises(MachineError, match="another run has set power states of this machine"),
            bed.hold(1),
        ):
            pass
        assert fake.changed()


@pytest.mark.parametrize(
    ("power", "sentence"),
    [
        ({}, "power sets nothing"),
        ({"disk_apm": 1}, "sets states of drives, but names none"),
        ({"devices": [DRIVE]}, "names devices, but nothing to set"),
        ({"devices": ["/dev/sda"], "disk_apm": 1}, "devices"),
        ({"devices": [NVME], "nvme_state": 3}, "autonomous transitions would change nvme_state"),
        ({"cpu_min": "2 GHz", "cpu_max": "1 GHz"}, "cpu_min is above cpu_max"),
        ({"cpu_governor": "a/../b"}, "cpu_governor"),
    ],
)
def test_a_table_that_means_nothing_is_refused(power: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        as_written(Power, **power)


def test_hosts_have_to_be_named() -> None:
    hosts = [{"name": "storage-1", "address": "192.0.2.11", "role": "storage"}]
    for on, sentence in (
        ([], "power names no hosts"),
        (["stroage"], 'power is on "stroage", which is not a host'),
    ):
        with pytest.raises(ValidationError, match=sentence):
            as_written(SshCluster, hosts=hosts, power={"cpu_governor": "powersave", "on": on})
    assert as_written(SshCluster, hosts=hosts, power={"cpu_governor": "powersave", "on": ["storage"]})
    with pytest.raises(ValidationError, match="this machine is the only one"):
        as_written(Local, power={"cpu_governor": "powersave", "on": ["storage"]})


def test_facts_of_this_machine_are_what_its_kernel_says(tmp_path: Path) -> None:
    found = _power.facts(LocalHost(tmp_path))
    for name, path in (
        ("cpu_idle_driver", "cpuidle/current_driver"),
        ("cpu_governor", "cpufreq/policy0/scaling_governor"),
    ):
        there = Path("/sys/devices/system/cpu", path)
        assert found[name] == (there.read_text().strip() if there.exists() else None)
    if IDLE.exists():
        said = subprocess.run(
            ["grep", "-h", ".", *sorted(IDLE.glob("state*/name"))], capture_output=True, text=True, check=True
        )
        assert found["cpu_idle_states"] == "+".join(said.stdout.splitlines())


def test_a_campaign_can_not_say_where_attributes_are(tmp_path: Path) -> None:
    """A link below a folder of its own would put any text file out of service for the length of a run."""
    with pytest.raises(ValidationError, match="root"):
        as_written(Power, cpu_governor="powersave", root=str(tmp_path))
