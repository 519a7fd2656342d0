"""Methods of the literature, to be compared with and rarely to be used."""

from geodp.advice import names_of

globals().update(names_of(__name__, "geodp.literature.api"))
