"""Checks of who can reach a cluster, from its scheduler and workers, before any file is read.

Dask runs any code that reaches a scheduler or a worker, as the user of these processes. Such code
can read confidential counts and the key of the release, anywhere; so a cluster is accepted only if
nobody else can reach it, and nobody else is connected to it.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from geodp.errors import UsageError

INTERNAL_CLIENT = "fire-and-forget"
"""Internal client of the scheduler, for tasks that nobody waits for."""

CONFIRM = (
    "If nobody else can reach it, or everybody who can may see the data, confirm this: "
    "trust_cluster=True."
)


def require_trusted(client: Any) -> None:
    """Refuse a cluster that others can reach, or are connected to.

    Every address that the scheduler or a worker listens on must be inside one process, on the
    loopback interface, or TLS with ``require_encryption`` set, so that clients need a certificate
    of the cluster. No other client may be connected. Both are checked when the run begins; clients
    that connect later are not noticed.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    UsageError
        The cluster does not meet these conditions.
    """
    scheduler, encrypted, clients = client.run_on_scheduler(_of_scheduler)
    servers = [("scheduler", scheduler, encrypted)]
    servers += [("worker", *listening) for listening in client.run(_of_worker).values()]
    for what, addresses, required in servers:
        for address in addresses:
            if not _is_closed(address, required and client.security.require_encryption):
                raise UsageError(
                    f"A {what} of the cluster listens on {address}, where others can reach it, "
                    "and Dask runs any code that does. Let it listen on 127.0.0.1 (--host), or use "
                    "TLS: tls:// addresses, and require_encryption in the security of the "
                    f"scheduler, the workers and the client. {CONFIRM}",
                    code="cluster-listens-openly",
                )
    # A client can submit code at any time, even if it is idle now.
    if others := set(clients) - {client.id, INTERNAL_CLIENT}:
        raise UsageError(
            f"The cluster has {len(others)} other client(s), whose code can read the counts and "
            f"the key while they are in use; close them, or start a separate cluster. {CONFIRM}",
            code="cluster-has-clients",
        )


def _is_closed(address: str, encrypted: bool) -> bool:
    """Whether only this machine, or holders of a certificate, can reach an address."""
    parts = urlsplit(address)
    if parts.scheme == "inproc":
        return True
    if parts.scheme == "tls" and encrypted:
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    # A host name may resolve to any address.
    except ValueError:
        return False


def _of_scheduler(dask_scheduler: Any) -> tuple[list[str], bool, list[str]]:
    """Return the addresses, whether encryption is required, and the names of clients."""
    addresses = [listener.listen_address for listener in dask_scheduler.listeners]
    required = bool(dask_scheduler.security.require_encryption)
    return addresses, required, [*dask_scheduler.clients]


def _of_worker(dask_worker: Any) -> tuple[list[str], bool]:
    """Return the addresses, and whether encryption is required."""
    addresses = [listener.listen_address for listener in dask_worker.listeners]
    return addresses, bool(dask_worker.security.require_encryption)
