"""Local collection, as ``geodp.local``: counts from reports that devices randomise themselves.

A round is opened, devices randomise, their reports are summed up, and a map is published.
"""

from geodp.local.amplification import Shuffled, amplify_by_shuffling
from geodp.local.coins import Coins
from geodp.local.collect import Sums, aggregate, publish, randomize
from geodp.local.opening import open_round
from geodp.local.oracles import ORACLES
from geodp.local.oracles.base import Oracle
from geodp.local.planning import LocalPlan, plan
from geodp.local.protocols import PROTOCOLS
from geodp.local.round import Round, read_round
from geodp.local.tree import Protocol
from geodp.privacy.reports import LocalReports

__all__ = [
    "ORACLES",
    "PROTOCOLS",
    "Coins",
    "LocalPlan",
    "LocalReports",
    "Oracle",
    "Protocol",
    "Round",
    "Shuffled",
    "Sums",
    "aggregate",
    "amplify_by_shuffling",
    "open_round",
    "plan",
    "publish",
    "randomize",
    "read_round",
]
