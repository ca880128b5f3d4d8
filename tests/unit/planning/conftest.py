import pytest

# Round numbers, so that everything can be computed by hand: 0.36 USD/kWh is 1e-7 USD/J, 360 g/kWh is 1e-7
# kg/J.
NEED = """
name = "small"
capacity = "2.3 TB"
read = "50 MB/s"
write = "20 MB/s"
clients = 2
client_network = "1 GB/s"
failures = 1
years = 2
fill = "80 %"
grid = "360 g/kWh"
electricity = "0.36 USD/kWh"

[day]
read = "6 h"
write = "2 h"

[choose]
servers = ["box"]
drives = ["disk"]
filesystems = ["moosefs"]

[server.box]
title = "A box"
mips = 1000
idle_at_wall = "10 W"
dynamic_at_wall = "5 W"
supply_efficiency = 0.5
price = "100 USD"
embodied = "10 kg"
rack_units = 1
slots = { bay = 2 }
port = "150 MB/s"
networks = ["wire"]

[drive.disk]
title = "A disk"
technology = "hdd"
fits = ["bay"]
capacity = "1 TB"
read = "100 MB/s"
write = "100 MB/s"
idle_behind_supply = "2 W"
active_behind_supply = "4 W"
price = "50 USD"
embodied = "5 kg"

[failure]
disks_per_year = 0.02
rebuild = 0.5

[network.wire]
goodput = "100 MB/s"
card_behind_supply = "1 W"
card_price = "10 USD"
card_embodied = "1 kg"

[switch.hub]
network = "wire"
ports = 4
watts_at_wall = "8 W"
price = "40 USD"
embodied = "20 kg"
rack_units = 1

[filesystem.moosefs]
read_cpu = 1e-6
write_cpu = 1e-6
read_reached = 1
write_reached = 1
"""


@pytest.fixture
def small() -> str:
    return NEED
