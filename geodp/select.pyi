from geodp.kinds.selection.api import *
