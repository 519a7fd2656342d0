from geodp.literature.api import *
