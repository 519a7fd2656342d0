from geodp.features.select.api import *
from geodp.features.select.api import __all__ as __all__
