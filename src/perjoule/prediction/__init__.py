"""What a file system would do on hardware that one does not have: throughput, watts and work per joule, with a band."""

from perjoule.prediction.bounds import RESOURCES, Demand, Fleet, Resource, bound_bytes_per_s, times_s_per_byte

__all__ = ["RESOURCES", "Demand", "Fleet", "Resource", "bound_bytes_per_s", "times_s_per_byte"]
