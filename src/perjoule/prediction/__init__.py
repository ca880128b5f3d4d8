"""What a file system would do on hardware that one does not have: throughput, watts and work per joule, with a band."""

from perjoule.prediction.bounds import RESOURCES, Demand, Fleet, Resource, bound_bytes_per_s, times_s_per_byte
from perjoule.prediction.identification import Parameter, parameters
from perjoule.prediction.observation import Case, Observation, observations
from perjoule.prediction.predicting import Prediction, Target, predictions
from perjoule.prediction.profile import Profile, bound_shares, names, profile, read, shipped

__all__ = [
    "RESOURCES",
    "Case",
    "Demand",
    "Fleet",
    "Observation",
    "Parameter",
    "Prediction",
    "Profile",
    "Resource",
    "Target",
    "bound_bytes_per_s",
    "bound_shares",
    "names",
    "observations",
    "parameters",
    "predictions",
    "profile",
    "read",
    "shipped",
    "times_s_per_byte",
]
