"""What can happen while a load runs, a kind a file: `kind` of an [[event]] table names one."""
