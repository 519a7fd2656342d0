from geodp.tools.statistics.api import *
