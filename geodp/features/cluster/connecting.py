"""Connection to a cluster that a command names or starts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geodp.errors import Rule, UsageError

PATIENCE = 30.0
"""Seconds in which a scheduler must answer."""

SILENT = Rule(
    "cluster-silent",
    "The scheduler of the cluster does not answer; check its address (--cluster), and for tls:// "
    "the certificates in Dask's configuration.",
)


def require_dask() -> None:
    """Raise UsageError if the extra is not installed."""
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError(
            "A cluster needs Dask: pip install 'geodp[dask]'.", code="library-missing"
        ) from None


@contextmanager
def connect(address: str | None, workers: int) -> Iterator[Any]:
    """Connect to a cluster until the block ends; without an address, start one.

    Parameters
    ----------
    address : str, optional
        Address of the scheduler. Certificates are those of Dask's configuration.
    workers : int
        Number of processes of a cluster that is started here, and listens on the
        loopback interface only.

    Raises UsageError if no scheduler answers.
    """
    from distributed import Client, LocalCluster

    if address is None:
        started = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            # Dask logs arguments of failed tasks.
            silence_logs=logging.CRITICAL,
        )
        with started, Client(started) as client:
            yield client
        return
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError, RuntimeError):
        client = None
    if client is None:
        raise UsageError(SILENT)
    with client:
        yield client
