from geodp.features.households.api import *
from geodp.features.households.api import __all__ as __all__
