"""Write a release of several tables: drawn, stored and charged in a staged folder, or resumed.

What commands of all kinds do around the one transaction of :mod:`geodp.release.charging`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from geodp.cli.draw_storage import Packed, store_before_charge
from geodp.cli.layout import write_recipe
from geodp.cli.running import describe_call, time_phase

if TYPE_CHECKING:
    from geodp.io.folder.pending import PendingDraw
    from geodp.privacy.ledger import Charge
    from geodp.release.charging import Keep
    from geodp.release.request import Request

Written = dict[str, list[str]]
"""Paths of all that was written, by ``public`` and ``restricted``."""


class Staged(Protocol):
    """A staged folder."""

    @property
    def folder(self) -> Path:
        """The folder before it takes the place of the output."""


Place = TypeVar("Place", bound=Staged)
PlaceOf = TypeVar("PlaceOf", bound=Staged, contravariant=True)
Drawn = TypeVar("Drawn")
DrawnOf = TypeVar("DrawnOf", covariant=True)
Made = TypeVar("Made", covariant=True)


class Writable(Protocol[PlaceOf]):
    """A release that is written into a staged folder."""

    def write_into(self, place: PlaceOf, restricted: dict[str, Any], /) -> Written:
        """Write the release and the operator's record; return all paths."""


class Drawable(Protocol[DrawnOf, Made]):
    """A release that is ready to be drawn and charged."""

    @property
    def request(self) -> Request:
        """What was asked for."""

    def release(self, keep: Keep[DrawnOf] | None = None) -> Made:
        """Draw and charge; ``keep`` stores the draw before the charge."""


Stage = Callable[..., AbstractContextManager[Place]]
"""Yields a folder that replaces a path, as ``StagedTables.stage`` does."""

Release = TypeVar("Release", bound=Writable[Any])


def write_release(
    options: Mapping[str, Any],
    stage: Stage[Place],
    make: Callable[[Place], tuple[Release, dict[str, Any]]],
    seconds: dict[str, float],
    *,
    inferred: bool = False,
) -> tuple[Release, Written]:
    """Stage the folder of a release, make the release there, and write it.

    Parameters
    ----------
    options : mapping
        Options of the command: ``output``, ``overwrite`` and ``resume``.
    stage : callable
    make : callable
        Draws and charges the release in the folder, or restores an interrupted one from it;
        returns it with the operator's record.
    seconds : dict
        Gets those of both phases, ``mechanism`` and ``writing``.
    inferred : bool
        Whether options were inferred from a layout, which a recipe in the folder then states.

    Returns
    -------
    release
    written : dict of str to list of str
    """
    output, overwrite, resume = (options[name] for name in ("output", "overwrite", "resume"))
    with stage(output, overwrite=overwrite, resume=resume) as place:
        if inferred:
            write_recipe(options, place.folder)
        with time_phase("Releasing", "mechanism", seconds):
            release, run = make(place)
        with time_phase("Writing", "writing", seconds):
            written = release.write_into(place, run)
    return release, written


def draw_in(
    folder: Path,
    prepared: Drawable[Drawn, Made],
    options: Mapping[str, Any],
    run: Mapping[str, Any],
    pack: Callable[[Drawn], Packed],
) -> Made:
    """Draw and charge a release; the draw is stored in a staged folder before the charge.

    Parameters
    ----------
    folder : Path
    prepared : Drawable
    options : mapping
        Options of the command, by which a run that resumes this one is recognised.
    run, pack
        See :func:`geodp.cli.draw_storage.store_before_charge`.
    """
    call = describe_call(options)
    with store_before_charge(folder, prepared.request, call, run, pack) as keep:
        return prepared.release(keep)


def read_charged_draw(
    folder: Path, request: Request, options: Mapping[str, Any]
) -> tuple[PendingDraw, Charge]:
    """Read what an interrupted run of the same command has drawn, and find its charge.

    Raises
    ------
    UsageError
        The folder holds no such draw, it is of another call, or the ledger has no such charge.
    """
    from geodp.io.folder.pending import read_pending_draw
    from geodp.release.charging import find_charge

    stored = read_pending_draw(folder, describe_call(options))
    return stored, find_charge(request.ledger, stored.dataset, stored.fingerprint)
