from geodp.tools.plan.api import *
