"""Store the draw of a command before it is charged, so that ``--resume`` can complete it.

Nothing is charged here: :mod:`geodp.release.charging` does that.
"""

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
def store_before_charge(
    folder: Path,
    request: Request,
    call: Mapping[str, str],
    run: Mapping[str, Any],
    pack: Callable[[Drawn], Packed],
) -> Iterator[Keep[Drawn]]:
    """Yield a function that stores a draw in a staged folder before the charge.

    After an interruption, the ledger shows whether the draw was charged.

    Parameters
    ----------
    folder : Path
    request : Request
        Without a ledger nothing is stored.
    call : mapping
        Options of the command, by name.
    run : mapping
        Facts for the operator.
    pack : callable
        Converts the draw to plain values and arrays.
    """
    from geodp.io.folder.pending import PendingDraw, keep, mark_charged

    ledger, dataset = request.ledger, request.dataset

    def keep_drawn(drawn: Drawn, fingerprint: str) -> None:
        if ledger is not None and dataset is not None:
            card, arrays = pack(drawn)
            path = str(ledger.path)
            # Written before the charge: if the process dies after it, the ledger knows the
            # fingerprint and the draw is still here, so the budget is not lost.
            keep(
                folder, PendingDraw(path, ledger.id, dataset, fingerprint, call, run, card, arrays)
            )

    yield keep_drawn
    mark_charged(folder)
