from geodp.kinds.households.api import *
from geodp.kinds.households.api import __all__ as __all__
