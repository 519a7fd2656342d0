from geodp.tools.plan.api import *
from geodp.tools.plan.api import __all__ as __all__
