from geodp.features.statistics.api import *
from geodp.features.statistics.api import __all__ as __all__
