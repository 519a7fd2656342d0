from geodp.features.amounts.api import *
from geodp.features.amounts.api import __all__ as __all__
