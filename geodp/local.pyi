from geodp.features.local.api import *
from geodp.features.local.api import __all__ as __all__
