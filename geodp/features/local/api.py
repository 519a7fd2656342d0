"""Local collection, as ``geodp.local``: counts from reports that devices randomise themselves.

A round is opened, devices randomise, their reports are summed up, and a map is published.
"""

from geodp.features.local.amplification import amplify_by_shuffling
from geodp.features.local.blending import blend
from geodp.features.local.collect import aggregate, publish, randomize
from geodp.features.local.opening import open_round
from geodp.features.local.oracles import ORACLES
from geodp.features.local.plan import plan
from geodp.features.local.protocols import PROTOCOLS
from geodp.features.local.round import read_round

__all__ = [
    "ORACLES",
    "PROTOCOLS",
    "aggregate",
    "amplify_by_shuffling",
    "blend",
    "open_round",
    "plan",
    "publish",
    "randomize",
    "read_round",
]
