from geodp.local.api import *
