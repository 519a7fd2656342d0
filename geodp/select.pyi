from geodp.kinds.selection.api import *
from geodp.kinds.selection.api import __all__ as __all__
