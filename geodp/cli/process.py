"""The process of a command: what it does without, and how it ends.

A process that runs one command may drop what a library must leave alone.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import NoReturn

COLLECT = 100_000
"""New objects between two searches for garbage; Python's 700 search all imports many times."""

INTERRUPTED, TERMINATED = 130, 143
"""The exit codes after Ctrl-C and after SIGTERM."""


class _Lean:
    """Keeps libraries from work that no command needs.

    Arrow imports pandas, if it is there, to tell its series from arrays; Numba imports SciPy's
    linear algebra for the products of matrices in kernels, of which there are none here; and
    Matplotlib lists for every class of things that are drawn what can be set.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for what is left out; leave the others to Python."""
        if name == "pandas" or (name == "scipy.linalg" and _starting("numba.np.arraymath")):
            raise ModuleNotFoundError("geodp's command line does without it", name=name)
        if name != "matplotlib.artist":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Artist(spec.loader.name, spec.loader.path)
        return spec


class _Artist(SourceFileLoader):
    """Loads the class of all things that are drawn, so that it writes no documentation."""

    def exec_module(self, module: ModuleType) -> None:
        """Load it, and let the list of what can be set, which is most of it, be empty."""
        super().exec_module(module)
        module.kwdoc = lambda artist: ""  # type: ignore[attr-defined]


def _starting(name: str) -> bool:
    """Whether a module is being imported just now."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def lean() -> None:
    """Import and collect less, from here to the end of the process."""
    gc.set_threshold(COLLECT)
    if not any(isinstance(finder, _Lean) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Lean())


def leave(code: int) -> NoReturn:
    """End the process at once: to take the modules apart first can last longer than the command.

    Everything that is registered for the end runs, and what was printed is out. Where other
    threads still run, but not after Ctrl-C, or where the output cannot be written, Python ends the
    usual way.
    """
    if threading.active_count() > 1 and code != INTERRUPTED:
        sys.exit(code)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # everything is done
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        sys.exit(code)
    os._exit(code)
