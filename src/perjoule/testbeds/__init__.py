"""The hosts: this machine, a virtual low-power cluster on it, real hosts over SSH, or a simulation."""
