from geodp.kinds.flows.api import *
