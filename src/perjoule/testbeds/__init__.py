"""Where hosts come from: this machine, a virtual low-power cluster on it, or a simulation."""
