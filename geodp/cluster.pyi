from geodp.features.cluster.api import *
from geodp.features.cluster.api import __all__ as __all__
