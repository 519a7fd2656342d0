from geodp.cluster.api import *
