"""Features: what a publisher of one map never loads, each in a folder of its own.

The core finds them through :mod:`geodp.feature_registry`, by the names of their files:

- ``api``: public names, such as those of ``geodp.select``;
- ``kind``: kinds of release;
- ``commands/NAME``: the command ``geodp NAME``;
- ``methods``: methods of tables that releases of several tables have;
- ``protocols``: protocols of local collection, which make releases of tables;
- ``publishing``: how ``geodp publish`` runs on a cluster.
"""
