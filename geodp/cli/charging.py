"""Keep what a command has drawn before it is charged, so that ``--resume`` completes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from geodp.release.charging import Keep
    from geodp.release.request import Request

Drawn = TypeVar("Drawn")

Packed = tuple[Mapping[str, Any], "Mapping[str, NDArray[Any]]"]
"""Plain values, and arrays."""


@contextmanager
def keep_charged(
    folder: Path,
    request: Request,
    call: Mapping[str, str],
    run: Mapping[str, Any],
    pack: Callable[[Drawn], Packed],
) -> Iterator[Keep[Drawn]]:
    """Yield what keeps a draw in a staged folder; when the block ends well, it has been charged.

    A run that is stopped in between asks the ledger whether it has.

    Parameters
    ----------
    folder : Path
    request : Request
        Without a ledger nothing is kept.
    call : mapping
        What the command was asked for, option by option.
    run : mapping
        What the operator is told.
    pack : callable
        Returns what was drawn as plain values and arrays.
    """
    from geodp.io.folder.pending import PendingDraw, keep, mark_charged

    ledger, dataset = request.ledger, request.dataset

    def keep_drawn(drawn: Drawn, fingerprint: str) -> None:
        if ledger is not None and dataset is not None:
            card, arrays = pack(drawn)
            path = str(ledger.path)
            keep(
                folder, PendingDraw(path, ledger.id, dataset, fingerprint, call, run, card, arrays)
            )

    yield keep_drawn
    mark_charged(folder)
