from geodp.cluster.api import *
from geodp.cluster.api import __all__ as __all__
