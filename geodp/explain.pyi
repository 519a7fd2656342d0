from geodp.features.explain.api import *
from geodp.features.explain.api import __all__ as __all__
