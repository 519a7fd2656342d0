"""Public names of ``geodp.cluster``: publication on a Dask cluster, files in, released parts out.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from geodp.cluster.cluster import aggregate, join, publish, write
from geodp.cluster.partitions import Partitions
from geodp.io.read.rows.persons import Records

__all__ = ["Partitions", "Records", "aggregate", "join", "publish", "write"]
