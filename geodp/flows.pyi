from geodp.features.flows.api import *
from geodp.features.flows.api import __all__ as __all__
