from geodp.features.compare.api import *
from geodp.features.compare.api import __all__ as __all__
