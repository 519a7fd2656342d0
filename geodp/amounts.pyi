from geodp.kinds.amounts.api import *
