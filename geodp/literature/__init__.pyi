from geodp.literature.api import *
from geodp.literature.api import __all__ as __all__
