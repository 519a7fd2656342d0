from geodp.tools.explain.api import *
from geodp.tools.explain.api import __all__ as __all__
