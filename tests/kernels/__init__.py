"""Live tests on kernels that this machine does not run: Debian's own, booted by QEMU's emulation.

`python -m tests.kernels --help`; see CONTRIBUTING.md.
"""
