"""Local differential privacy: counts from reports that devices randomise themselves."""

from geodp.advice import names_of

globals().update(names_of(__name__, "geodp.local.api"))
