"""Local collection, as ``geodp.local``: counts from reports that devices randomise themselves.

A round is opened, devices randomise, their reports are summed up, and a map is published.
"""

from geodp.local.amplification import Shuffled as Shuffled
from geodp.local.amplification import amplify_by_shuffling as amplify_by_shuffling
from geodp.local.coins import Coins as Coins
from geodp.local.collect import Sums as Sums
from geodp.local.collect import aggregate as aggregate
from geodp.local.collect import publish as publish
from geodp.local.collect import randomize as randomize
from geodp.local.opening import open_round as open_round
from geodp.local.oracles import ORACLES as ORACLES
from geodp.local.oracles.base import Oracle as Oracle
from geodp.local.planning import LocalPlan as LocalPlan
from geodp.local.planning import plan as plan
from geodp.local.protocols import PROTOCOLS as PROTOCOLS
from geodp.local.round import Round as Round
from geodp.local.round import read_round as read_round
from geodp.local.tree import Protocol as Protocol
from geodp.privacy.reports import LocalReports as LocalReports
