from geodp.kinds.amounts.api import *
from geodp.kinds.amounts.api import __all__ as __all__
