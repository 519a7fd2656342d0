"""Publication on a cluster of Dask workers.

The public names, those of ``geodp.cluster``, are defined in :mod:`geodp.features.cluster.api`.
"""
