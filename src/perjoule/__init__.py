"""perjoule: the open-source lab for the energy efficiency of storage."""

__version__ = "0.1.0"
