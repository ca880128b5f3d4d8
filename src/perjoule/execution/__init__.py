"""A campaign's trials to records: hold hosts, mount, load, wait, keep."""
