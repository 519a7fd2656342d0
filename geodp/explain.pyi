from geodp.tools.explain.api import *
