"""Publish on a cluster of Dask workers.

Its public names, those of ``geodp.cluster``, are offered by :mod:`geodp.features.cluster.api`.
"""
