from geodp.features.audit.api import *
from geodp.features.audit.api import __all__ as __all__
