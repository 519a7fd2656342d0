from geodp.tools.statistics.api import *
from geodp.tools.statistics.api import __all__ as __all__
