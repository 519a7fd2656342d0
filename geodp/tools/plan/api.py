"""Public names of ``geodp.planning``, which accompanies ``geodp.plan``."""

from geodp.release.plan_file import Settings as Settings
from geodp.release.plan_file import read_plan as read_plan
from geodp.tools.plan.plan import Comparison as Comparison
from geodp.tools.plan.plan import Planned as Planned
from geodp.tools.plan.plan import compare as compare
from geodp.tools.plan.plan import trust as trust
