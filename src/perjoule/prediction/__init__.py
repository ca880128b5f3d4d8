"""What a file system would do on hardware that one does not have: throughput, watts and work per joule,
with a band.
"""

from perjoule.prediction.bounds import RESOURCES, Demand, Fleet, Resource, bound_bytes_per_s, times_s_per_byte
from perjoule.prediction.identification import Parameter, ends, parameters
from perjoule.prediction.law import Law, law
from perjoule.prediction.observation import Case, Observation, observations
from perjoule.prediction.predicting import Prediction, predictions
from perjoule.prediction.profile import Profile, band_ratio, bound_shares, names, profile, read, shipped
from perjoule.prediction.targets import Target
from perjoule.prediction.validation import LEVELS

__all__ = [
    "LEVELS",
    "RESOURCES",
    "Case",
    "Demand",
    "Fleet",
    "Law",
    "Observation",
    "Parameter",
    "Prediction",
    "Profile",
    "Resource",
    "Target",
    "band_ratio",
    "bound_bytes_per_s",
    "bound_shares",
    "ends",
    "law",
    "names",
    "observations",
    "parameters",
    "predictions",
    "profile",
    "read",
    "shipped",
    "times_s_per_byte",
]
