"""``--formats``: further formats that are written with a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp.cli.help import option

if TYPE_CHECKING:
    from geodp.io.folder.staged_release import StagedRelease
    from geodp.io.write.format import Export

formats_option = option(
    "--formats",
    group="Output",
    help="Further formats for OUTPUT/formats, separated by commas: those of geodp export.",
)


def choose_formats(options: Mapping[str, Any]) -> list[Export]:
    """Return the requested formats; UsageError for unknown ones."""
    from geodp.io.folder.exports import choose_exports

    return [] if options["formats"] is None else choose_exports(options["formats"])


def write_formats(place: StagedRelease, chosen: Sequence[Export]) -> dict[str, list[str]]:
    """Write the formats from the public files; return the written files by folder."""
    from geodp.release.opening import open_view

    if not chosen:
        return {}
    return {"formats": place.write_exports(open_view(place.folder), chosen)}
