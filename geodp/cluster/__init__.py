"""Publication on a cluster of Dask workers, files in and released parts out."""

from geodp.advice import names_of

globals().update(names_of(__name__, "geodp.cluster.api"))
