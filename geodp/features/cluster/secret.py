"""How the key of a release reaches the workers: a file that only its user can read.

The task graph, the scheduler and the workers' stores hold the path of that file and nothing else.
A task opens it, reads the key, draws its noise and overwrites its copy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geodp.errors import InputError, OutputError, UsageError
from geodp.privacy.access import has_owners
from geodp.privacy.key import NoiseKey
from geodp.privacy.key_file import write_key
from geodp.privacy.noise.draws import Draws

NAME = "release-key"


@dataclass(frozen=True)
class KeyFile:
    """Where the key of a release lies.

    Attributes
    ----------
    path : str
    """

    path: str

    @contextmanager
    def open(self, draws: Draws) -> Iterator[NoiseKey]:
        """Open the key for as long as a task needs it, for what the release declares.

        Raises UsageError where the file is not there, or others than this process's user may
        read or replace it.
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
        try:
            own = key.restrict(draws)
        finally:
            key.forget()
        try:
            yield own
        finally:
            own.forget()


def require_owners() -> None:
    """Raise UsageError on a system where no file can be kept from other users by its bits."""
    if not has_owners():
        raise UsageError(
            "geodp.cluster needs file permissions of POSIX; use Linux or macOS.",
            code="cluster-needs-posix",
        )


@contextmanager
def key_file(key: NoiseKey, folder: str | Path | None = None) -> Iterator[KeyFile]:
    """Make a file with the key of one release, overwritten and removed at the end.

    Parameters
    ----------
    key : NoiseKey
        Of the release; never the kept key that it is derived from.
    folder : path, optional
        Where, in a new folder that only this user can enter. Default: in this machine's memory
        where it has such a file system, which workers on other machines cannot read.
    """
    own = Path(tempfile.mkdtemp(prefix="geodp-", dir=_home() if folder is None else folder))
    path = own / NAME
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
"""Erases a file when its standard input ends: the driver is done with it, or dead."""


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Erase a file and its folder at the end of the block, or of this process if it is killed."""
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
                f"The key file {path} could not be erased; do so before you publish.",
                code="key-not-erased",
            )


def _home() -> str:
    """Return a folder in memory, if this machine has one."""
    for home in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
        if home and os.access(home, os.W_OK | os.X_OK):
            return home
    return tempfile.gettempdir()
