"""Drivers that a campaign gets where it names none: the only drivers' names in code that is not a
driver's.
"""

FAKE = "simulated"  # of testbeds, file systems and workloads
TESTBED = "virtual"  # of `perjoule up` and of a repeated study
CLUSTER = "odroid-hc4"
COUNTERS = "system"  # the meter of all campaigns
MODEL = "modelled"  # the meter where the testbed's hosts let power be modelled
# of a first measurement (`perjoule measure`): this machine, a folder, its load and probe, and the power of a switch
MACHINE = "local"
FOLDER = "directory"
LOAD = "fio"
HOSTS = "cluster"  # that load beside this machine
DEVICE = "device"  # the file system and the load of a block device
NUMBER = "constant"
