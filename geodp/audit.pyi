from geodp.tools.audit.api import *
