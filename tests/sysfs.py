"""A folder of attributes like sysfs, and drives whose tools are scripts, for tests of power states.

PERJOULE_SYSFS of the environment has perjoule set states there.
"""

from pathlib import Path

POLICIES, CPUS = (0, 2), range(4)
DRIVE, NVME = "/dev/disk/by-id/ata-disk", "/dev/disk/by-id/nvme-drive"
LINK = "class/scsi_host/host3/link_power_management_policy"
HDPARM = """#!/bin/sh
here=${0%/*}
[ $# = 2 ] || echo "$2" | sed 's/255/off/' > "$here/apm"
[ ! -e "$here/record" ] || [ $# = 2 ] || cat "$here"/record/*/power.end > "$here/record-when-set" 2> "$here/none"
printf '\\n%s:\\n APM_level\\t= %s\\n' "$2" "$(cat "$here/apm")"
"""
NVME_CLI = """#!/bin/sh
here=${0%/*}
case "$1" in
id-ctrl) echo "npss      : 4" ;;
set-feature) printf '%08x' "${4#--value=}" > "$here/feature"; echo "set-feature:0x02" ;;
get-feature) echo "get-feature:0x02 (Power Management), Current value:0x$(cat "$here/feature")" ;;
esac
"""


class Sysfs:
    """Four CPUs in two policies, three idle states, ASPM, a SATA disk and an NVMe drive, as Linux 6.1
    shows them.
    """

    def __init__(self, folder: Path) -> None:
        self.root, self.dev, self.tools = folder / "sys", folder / "dev", folder / "tools"
        cpu = "devices/system/cpu"
        self._files = {"module/pcie_aspm/parameters/policy": "[default] performance powersave powersupersave"}
        self._files |= {f"{cpu}/cpuidle/current_driver": "intel_idle", LINK: "max_performance"}
        for number in POLICIES:
            policy = f"{cpu}/cpufreq/policy{number}"
            self._files |= {
                f"{policy}/scaling_driver": "intel_pstate",
                f"{policy}/scaling_governor": "performance",
            }
            self._files |= {f"{policy}/scaling_available_governors": "performance powersave"}
            self._files |= {
                f"{policy}/energy_performance_available_preferences": "performance balance_power power"
            }
            self._files |= {f"{policy}/energy_performance_preference": "performance"}
            for name in ("scaling", "cpuinfo"):
                self._files |= {f"{policy}/{name}_min_freq": "800000", f"{policy}/{name}_max_freq": "3600000"}
        for number in CPUS:
            for state, name in enumerate(("POLL", "C1", "C6")):
                self._files |= {
                    f"{cpu}/cpu{number}/cpuidle/state{state}/{key}": v
                    for key, v in (("name", name), ("disable", "0"))
                }
        disk = "devices/pci0/ata4/host3/target3:0:0/3:0:0:0"
        self._files |= {f"{disk}/power/control": "on", f"{disk}/power/autosuspend_delay_ms": "-1"}
        self._files |= {f"{disk}/block/sda/size": "1", f"{disk}/block/sda/sda1/partition": "1"}
        self._files |= {"devices/pci1/nvme/nvme0/power/pm_qos_latency_tolerance_us": "100000"}
        self._files |= {"devices/pci1/nvme/nvme0/nvme0n1/size": "1"}
        for path, text in self._files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(f"{text}\n")
        links = {"class/block/sda": f"{disk}/block/sda", "class/block/sda1": f"{disk}/block/sda/sda1"}
        links |= {
            "class/block/nvme0n1": "devices/pci1/nvme/nvme0/nvme0n1",
            "class/nvme/nvme0": "devices/pci1/nvme/nvme0",
        }
        for link, target in links.items():
            (self.root / link).parent.mkdir(parents=True, exist_ok=True)
            (self.root / link).symlink_to(self.root / target)
        (self.root / disk / "block/sda/device").symlink_to(self.root / disk)
        (self.dev / "disk/by-id").mkdir(parents=True)
        for id, name in ((DRIVE, "sda"), (f"{DRIVE}-part1", "sda1"), (NVME, "nvme0n1")):
            (self.dev / name).write_text("")
            (self.dev / id.removeprefix("/dev/")).symlink_to(self.dev / name)
        self.tools.mkdir()
        for tool, text in (("hdparm", HDPARM), ("nvme", NVME_CLI)):
            (self.tools / tool).write_text(text)
            (self.tools / tool).chmod(0o755)
        (self.tools / "apm").write_text("254\n")
        (self.tools / "feature").write_text("00000000")

    def options(self, **wanted: object) -> dict[str, object]:
        """Options of the table `power`."""
        return wanted

    def changed(self) -> dict[str, str]:
        """What is different from how it was made."""
        now = {path: (self.root / path).read_text().strip() for path in self._files}
        now |= {name: (self.tools / name).read_text().strip() for name in ("apm", "feature")}
        before = {**self._files, "apm": "254", "feature": "00000000"}
        return {
            path.removeprefix("devices/system/cpu/"): value
            for path, value in now.items()
            if value != before[path]
        }


def acpi_meter(root: Path) -> Path:
    """An ACPI power meter as kernels show it that register it the old way: all attributes in
    hwmonN/device.
    """
    behind = root.parent / "devices" / "ACPI000D:00"
    behind.mkdir(parents=True)
    words = {
        "name": "power_meter",
        "power1_average": "210000000",
        "power1_average_interval": "1000",
        "power1_accuracy": "80.0%",
    }
    for attribute, text in {**words, "power1_is_battery": "0", "power1_oem_info": ""}.items():
        (behind / attribute).write_text(f"{text}\n")
    (root / "hwmon1").mkdir(parents=True)
    (root / "hwmon1/device").symlink_to(behind)
    return root
