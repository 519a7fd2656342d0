"""Metadata of a release by its office: a TOML file, and the release that it replaces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.io.folder.kinds import Kind
    from geodp.table.card import StatedMetadata

METADATA = "recipe_metadata"
"""Key among the options for a recipe's metadata; no option has this name."""


def read_metadata_options(
    options: Mapping[str, Any], kind: Kind | None = None
) -> StatedMetadata | None:
    """Read the office's metadata; None if there is none. A file takes precedence over a recipe.

    ``kind``: that of the release that is published; None for the release of a table.

    Raises UsageError if an option and the file set the same field, and for a superseded release of
    another kind.
    """
    from geodp.io.verify.card import public_folder
    from geodp.release.metadata import read_metadata, state_metadata
    from geodp.table.card import StatedMetadata

    names = ("metadata", "supersedes", "display_below")
    file, replaced, limit = (options.get(name) for name in names)
    metadata = state_metadata(options.get(METADATA, {})) if file is None else read_metadata(file)
    if limit is not None:
        if metadata is not None and metadata.display_below is not None:
            raise UsageError(
                "Give --display-below or display_below in the file of --metadata.",
                code="display-below-twice",
            )
        metadata = replace(metadata or StatedMetadata(), display_below=limit)
    if replaced is None:
        return metadata
    if metadata is not None and metadata.supersedes is not None:
        raise UsageError(
            "Either --supersedes or the file of --metadata names what is replaced.",
            code="supersedes-twice",
        )
    # A superseded release must stay readable, so the new one may not be written into its folder.
    folder, output = public_folder(replaced), options.get("output")
    if output is not None and os.path.realpath(output) in map(os.path.realpath, folder.parents):
        raise UsageError(
            "The release that is corrected (--supersedes) stays where it is for those who have "
            "read it; write the new one to another folder (--output).",
            code="supersedes-own-folder",
        )
    release_id = _identify_corrected(folder, kind)
    return replace(metadata or StatedMetadata(), supersedes=release_id)


def _identify_corrected(folder: Path, kind: Kind | None) -> str:
    """Return the id of the release that is corrected; UsageError for one of another kind."""
    from geodp.io.folder.kinds import TABLE, kind_of
    from geodp.io.verify.card import identify_release, read_card
    from geodp.table.card import Card

    card = read_card(folder)
    former = None if isinstance(card, Card) else kind_of(card)
    here, there = (TABLE if one is None else one.title for one in (kind, former))
    if here != there:
        raise UsageError(
            f"A release is corrected (--supersedes) by one of its kind: {folder} holds {there}, "
            f"and this command publishes {here}.",
            code="supersedes-other-kind",
        )
    return identify_release(folder)
