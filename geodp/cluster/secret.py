"""A release's key on its way to the workers, and checks of who else can reach a cluster.

The task graph, the scheduler and the workers' stores contain only the path of that file. A task
opens it, reads the key, draws its noise and overwrites its copy.

Dask runs any code that reaches a scheduler or a worker, as the user of these processes. Such code
can read confidential counts and the key of the release, anywhere; so a cluster is accepted only if
nobody else can reach it, and nobody else is connected to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from geodp.errors import InputError, OutputError, UsageError
from geodp.privacy.key import NoiseKey, has_owners, write_key
from geodp.privacy.noise.draws import Draws

NAME = "release-key"


@dataclass(frozen=True)
class KeyFile:
    """The file with the key of a release.

    Attributes
    ----------
    path : str
    """

    path: str

    @contextmanager
    def open(self, draws: Draws) -> Iterator[NoiseKey]:
        """Open the key while a task needs it, restricted to the declared draws.

        Raises UsageError if the file does not exist, or other users than this process's may read or
        replace it.
        """
        try:
            key = NoiseKey.from_file(self.path)
        except InputError as error:
            raise UsageError(
                f"A worker cannot use the key of the release. {error} Give a key_folder that the "
                "workers' user, and nobody else, can read on every machine, and run the workers "
                "as the user who publishes.",
                code=error.code,
            ) from None
        with key:
            restricted = key.restrict(draws)
        with restricted:
            yield restricted


def require_owners() -> None:
    """Raise UsageError on a system where permissions cannot protect a file from other users."""
    if not has_owners():
        raise UsageError(
            "geodp.cluster needs file permissions of POSIX; use Linux or macOS.",
            code="cluster-needs-posix",
        )


@contextmanager
def key_file(key: NoiseKey, folder: str | Path | None = None) -> Iterator[KeyFile]:
    """Create a file with the key of one release, which is overwritten and removed at the end.

    Parameters
    ----------
    key : NoiseKey
        Key of the release; never the stored key that it is derived from.
    folder : path, optional
        Parent of a new folder that only this user can enter. Default: in this machine's memory, if
        it has such a file system, which workers on other machines cannot read.
    """
    private_folder = Path(
        tempfile.mkdtemp(prefix="geodp-", dir=_home() if folder is None else folder)
    )
    path = private_folder / NAME
    with _guard(path):
        words = key.words().astype("<u4")
        try:
            write_key(path, words.view(np.uint8).data)
        finally:
            words.fill(0)
        yield KeyFile(str(path))


GUARD = """
import os, sys
sys.stdin.read()
try:
    handle = os.open(sys.argv[1], os.O_WRONLY)
    os.write(handle, bytes(os.fstat(handle).st_size))
    os.fsync(handle)
    os.unlink(sys.argv[1])
finally:
    os.rmdir(os.path.dirname(sys.argv[1]))
"""
"""Script that erases a file when its standard input ends, as the driver is done or was killed."""


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Erase a file and its folder at the end of the block, or when this process is killed."""
    # A child in its own session: SIGKILL of the driver runs no handler here, but closes the pipe
    # that the child waits for.
    call = [sys.executable, "-I", "-S", "-c", GUARD, str(path)]
    quiet = subprocess.DEVNULL
    guard = subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        yield
    finally:
        guard.communicate()
        if path.exists():
            raise OutputError(
                f"The key file {path} could not be erased; erase it before you publish.",
                code="key-not-erased",
            )


def _home() -> str:
    """Return a folder in memory, if this machine has one."""
    for home in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
        if home and os.access(home, os.W_OK | os.X_OK):
            return home
    return tempfile.gettempdir()


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
