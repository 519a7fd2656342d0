from geodp.local.api import *
from geodp.local.api import __all__ as __all__
