from geodp.kinds.flows.api import *
from geodp.kinds.flows.api import __all__ as __all__
