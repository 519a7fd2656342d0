"""Arrays that are used again and again, so that their memory is asked for once."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=np.generic)


class Workspace(threading.local):
    """Arrays by name, for each thread its own.

    Memory that comes from the operating system costs as much as a pass over it, for each page is
    found when it is first touched.

    Examples
    --------
    >>> workspace = Workspace()
    >>> first = workspace.array("words", 5, np.int64)
    >>> np.shares_memory(first, workspace.array("words", 3, np.int64))
    True
    """

    def __init__(self) -> None:
        self._held: dict[object, NDArray[Any]] = {}

    def array(self, name: object, size: int, kind: type[Item]) -> NDArray[Item]:
        """Of some length, with anything in it; it holds until the same name is asked for again."""
        held = self._held.get(name)
        if held is None or held.size < size:
            held = self._held[name] = np.empty(size, kind)
        return held[:size]
