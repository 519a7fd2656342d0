from geodp.features.plan.api import *
from geodp.features.plan.api import __all__ as __all__
