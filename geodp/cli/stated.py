"""What an office says of a release: a TOML file, and the release that the new one replaces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.table.card import StatedMetadata

METADATA = "recipe_metadata"
"""Under which what a recipe says of the release stands beside options; no option has this name."""


def read_metadata_options(options: Mapping[str, Any]) -> StatedMetadata | None:
    """Return what the office says; None where it says nothing. A file goes before a recipe.

    Raises UsageError where an option and the file say the same thing.
    """
    from geodp.io.verify.card import public_folder, read_table_card
    from geodp.release.metadata import read_metadata, state_metadata
    from geodp.table.card import StatedMetadata

    names = ("metadata", "supersedes", "display_below")
    file, replaced, limit = (options.get(name) for name in names)
    said = state_metadata(options.get(METADATA, {})) if file is None else read_metadata(file)
    if limit is not None:
        if said is not None and said.display_below is not None:
            raise UsageError(
                "Give --display-below or display_below in the file of --metadata.",
                code="display-below-twice",
            )
        said = replace(said or StatedMetadata(), display_below=limit)
    if replaced is None:
        return said
    if said is not None and said.supersedes is not None:
        raise UsageError(
            "Either --supersedes or the file of --metadata names what is replaced.",
            code="supersedes-twice",
        )
    folder, output = public_folder(replaced), options.get("output")
    if output is not None and os.path.realpath(output) in map(os.path.realpath, folder.parents):
        raise UsageError(
            "The release that is corrected (--supersedes) stays where it is for those who have "
            "read it; write the new one to another folder (--output).",
            code="supersedes-own-folder",
        )
    own = read_table_card(folder).release_id
    return replace(said or StatedMetadata(), supersedes=own)
