"""Public names of ``geodp.cluster``: publication on a Dask cluster, files in, released parts out.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from geodp.features.cluster.cluster import publish, write
from geodp.features.cluster.joining import join
from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.reports import aggregate
from geodp.io.read.rows.persons import Records

__all__ = ["Partitions", "Records", "aggregate", "join", "publish", "write"]
