from geodp.tools.compare.api import *
