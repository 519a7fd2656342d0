"""Local collection, as ``geodp.local``: counts from reports that devices randomise themselves.

A round is opened, devices randomise, their reports are summed up, and a map is published.
"""

from geodp.features.local.amplification import Shuffled, amplify_by_shuffling
from geodp.features.local.blending import Blend, Share, SquareError, blend
from geodp.features.local.coins import Coins
from geodp.features.local.collect import Sums, aggregate, publish, randomize
from geodp.features.local.opening import open_round
from geodp.features.local.oracles import ORACLES
from geodp.features.local.oracles.base import Oracle
from geodp.features.local.plan import LocalPlan, plan
from geodp.features.local.protocols import PROTOCOLS
from geodp.features.local.round import Round, read_round
from geodp.features.local.tree import Protocol
from geodp.privacy.reports import LocalReports

__all__ = [
    "ORACLES",
    "PROTOCOLS",
    "Blend",
    "Coins",
    "LocalPlan",
    "LocalReports",
    "Oracle",
    "Protocol",
    "Round",
    "Share",
    "Shuffled",
    "SquareError",
    "Sums",
    "aggregate",
    "amplify_by_shuffling",
    "blend",
    "open_round",
    "plan",
    "publish",
    "randomize",
    "read_round",
]
