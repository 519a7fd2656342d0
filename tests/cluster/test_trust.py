"""A cluster that others can reach, or are connected to, is refused; sizes that Dask plans by."""

import asyncio
import pickle
from types import SimpleNamespace

import distributed
import numpy as np
import pytest

import geodp
import geodp.cluster.tasks as tasks
from geodp.cluster.api import publish, write
from geodp.cluster.partitions import partition_of
from geodp.cluster.secret import require_trusted
from geodp.errors import UsageError
from geodp.mechanisms.trees.layer import Roots
from geodp.table.counts import Cells
from tests.cluster.tables import GRID, KEY, ONCE, kept, split, town
from tests.refusals import refuses

pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]


def stand_in(scheduler="tcp://127.0.0.1:1", worker="tcp://127.0.0.1:2", encrypted=True, others=()):
    """What a client tells of servers that listen there."""

    def server(address):
        return SimpleNamespace(
            listeners=[SimpleNamespace(listen_address=address)],
            security=SimpleNamespace(require_encryption=encrypted),
            clients=dict.fromkeys(["me", "fire-and-forget", *others]),
        )

    return SimpleNamespace(
        id="me",
        security=SimpleNamespace(require_encryption=True),
        run_on_scheduler=lambda function: function(server(scheduler)),
        run=lambda function: {
            "one": function(server("inproc://1")),
            "two": function(server(worker)),
        },
    )


@pytest.mark.parametrize(
    "addresses",
    [
        ("tcp://127.0.0.1:8786", "tcp://[::1]:8786"),
        ("tls://0.0.0.0:8786", "tls://[::]:8786"),
        ("inproc://10.0.0.1/7/1", "inproc://10.0.0.1/7/2"),
    ],
)
def test_closed_clusters_are_taken(addresses):
    require_trusted(stand_in(*addresses))


@pytest.mark.parametrize(
    ("open_one", "message"),
    [
        (
            {"scheduler": "tcp://0.0.0.0:8786"},
            "cluster-listens-openly: tcp://0.0.0.0",
        ),
        (
            {"worker": "tcp://[::]:40001"},
            "cluster-listens-openly: A worker of the cluster listens on",
        ),
        (
            {"worker": "tcp://198.51.100.7:40001"},
            "cluster-listens-openly: A worker of the cluster listens on",
        ),
        (
            {"scheduler": "ws://cluster.example:80"},
            "cluster-listens-openly: A scheduler of the cluster listens on",
        ),
        ({"scheduler": "tls://0.0.0.0:8786", "encrypted": False}, "cluster-listens-openly"),
        ({"others": ("Client-2",)}, r"cluster-has-clients: \b1\b"),
    ],
)
def test_clusters_that_others_can_reach_are_refused(open_one, message):
    with refuses(UsageError, message) as found:
        require_trusted(stand_in(**open_one))
    assert "trust_cluster=True" in str(found.value)


def test_a_real_scheduler_on_all_interfaces_is_refused(tmp_path):
    files = split(town(100), tmp_path / "files", 2)

    async def ask():
        async with distributed.Scheduler(host="0.0.0.0", dashboard=False, port=0) as scheduler:
            return [listener.listen_address for listener in scheduler.listeners]

    (address,) = asyncio.run(ask())
    assert address.startswith("tcp://0.0.0.0:")  # what Dask says of such a listener
    with refuses(UsageError, "cluster-listens-openly"):
        publish(stand_in(scheduler=address), files, **{"contribution": 1, **ONCE})
    with refuses(UsageError, "cluster-listens-openly"):
        write(stand_in(scheduler=address), files, tmp_path / "out", **ONCE)
    assert not (tmp_path / "out").exists()


def test_a_second_client_is_refused_until_it_is_gone(cluster, tmp_path):
    files, client = split(town(100), tmp_path, 2), cluster(2)
    with (
        distributed.Client(client.scheduler.address),
        refuses(UsageError, "cluster-has-clients: 1 other"),
    ):
        publish(client, files, key=kept(), **{"contribution": 1, **ONCE})
    with distributed.Client(client.scheduler.address):
        vouched = publish(
            client, files, key=kept(), trust_cluster=True, **{"contribution": 1, **ONCE}
        )
    alone = publish(client, files, key=kept(), **{"contribution": 1, **ONCE})
    assert vouched.table.count.tolist() == alone.table.count.tolist()


def test_a_cluster_with_tls_is_taken(tmp_path):
    security = distributed.Security.temporary()
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            security=security,
            protocol="tls://",
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as running,
        distributed.Client(running, security=security) as client,
    ):
        assert client.scheduler.address.startswith("tls://")
        require_trusted(client)


def test_dask_is_told_the_size_of_what_tasks_keep(tmp_path):
    from dask.sizeof import sizeof

    n = 100_000
    piece = tasks.Piece(np.arange(n, dtype=np.uint64), np.ones(n, np.int64))
    assert 16 * n <= sizeof(piece) < 17 * n
    assert 48 * n <= sizeof([piece, piece, piece]) < 49 * n
    table = town(200_000)
    event = geodp.publish(table, epsilon=1, key=kept(), contribution=1).event
    cut = partition_of(geodp.mechanisms.mechanism("pyramid"), GRID, event)
    cells = Cells(GRID, table.key, table.count)
    node, first = np.unique(table.key // np.uint64(cut.stride), return_index=True)
    totals = Cells(GRID, node * np.uint64(cut.stride), np.add.reduceat(table.count, first))
    key = geodp.NoiseKey(KEY)
    roots = cut.above(totals, key)
    below = cut.below(cells, roots, key)
    assert isinstance(roots, Roots)
    for kept_by_task in (roots, below):
        stored = len(pickle.dumps(kept_by_task, protocol=5))
        assert 0.8 * stored < sizeof(kept_by_task) < 1.2 * stored
