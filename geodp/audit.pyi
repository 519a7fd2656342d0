from geodp.tools.audit.api import *
from geodp.tools.audit.api import __all__ as __all__
