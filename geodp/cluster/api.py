"""Public names of ``geodp.cluster``: publication on a Dask cluster, files in, released parts out.

Needs the extra ``dask``. See ``docs/distributed.md`` for the data that is
transferred, and for trust.
"""

from geodp.cluster.cluster import aggregate as aggregate
from geodp.cluster.cluster import join as join
from geodp.cluster.cluster import publish as publish
from geodp.cluster.cluster import write as write
from geodp.cluster.partitions import Partitions as Partitions
from geodp.io.read.rows.persons import Records as Records
