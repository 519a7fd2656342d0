from geodp.tools.compare.api import *
from geodp.tools.compare.api import __all__ as __all__
