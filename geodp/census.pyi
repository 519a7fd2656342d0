from geodp.kinds.census.api import *
