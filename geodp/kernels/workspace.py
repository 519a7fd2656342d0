"""Arrays that are used again and again, so that their memory is asked for once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace(threading.local):
    """Arrays by name, for each thread its own.

    Memory that comes from the operating system costs as much as a pass over it, for each page is
    found when it is first touched.

    Examples
    --------
    >>> workspace = Workspace()
    >>> first, other = workspace.arrays(("words", 5, np.int64), ("places", 2, np.uint64))
    >>> (again,) = workspace.arrays(("words", 3, np.int64))
    >>> np.shares_memory(first, again), np.shares_memory(other, again)
    (True, False)
    """

    def __init__(self) -> None:
        self._held: dict[object, NDArray[Any]] = {}

    def arrays(self, *wanted: tuple[object, int, type[np.generic]]) -> list[NDArray[Any]]:
        """Return arrays by name, length and type, with anything in them.

        Each holds until its name is asked for again.
        """
        found = []
        for name, size, kind in wanted:
            held = self._held.get(name)
            if held is None or held.size < size:
                held = self._held[name] = np.empty(size, kind)
            found.append(held[:size])
        return found
