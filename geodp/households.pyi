from geodp.kinds.households.api import *
