"""Clusters of real worker processes, started once each."""

import logging

import pytest


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A client of a cluster with so many workers."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    running = {}

    def start(workers: int):
        if workers not in running:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.WARNING,
                local_directory=str(tmp_path_factory.mktemp("workers")),
            )
            running[workers] = cluster, distributed.Client(cluster)
        return running[workers][1]

    yield start
    for cluster, client in running.values():
        client.close()
        cluster.close()
