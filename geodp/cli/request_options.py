"""The request of a release, made of a command's options and the office's file of metadata.

An option needs an entry in ``REQUEST`` of :mod:`geodp.options.shared`; where it is a field of
:class:`geodp.release.request.Request` and not that field's value, ``read_request`` makes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.inputs import read_public_totals
from geodp.cli.readers import read_prior
from geodp.cli.recipes import METADATA
from geodp.errors import UsageError
from geodp.options.shared import REQUEST

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.folder.kinds import Kind
    from geodp.mechanisms import Mechanism
    from geodp.privacy.key import NoiseKey
    from geodp.privacy.ledger import Ledger
    from geodp.privacy.terms import Terms
    from geodp.release.request import Request
    from geodp.table.card import StatedMetadata


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


def read_request(
    options: dict[str, Any], grid: Grid, *, kind: Kind | None = None, **fields: Any
) -> Request:
    """Make the request from a command's options; fields without an option keep their defaults.

    Parameters
    ----------
    options : dict
        Options of the command. The inputs are not read.
    grid : Grid
        The grid that is published.
    kind : Kind, optional
        The kind of release that is published. Default: the release of a table.
    **fields
        Fields that are not made from options here.
    """
    from geodp.privacy.terms import NAMES
    from geodp.release.request import Request

    makers: dict[str, Callable[[], Any]] = {
        # Lazy, as a command lacks some options and passes some fields ready-made.
        "terms": lambda: terms_of(options),
        "method": lambda: choose_with_marginals(options, grid),
        "key": lambda: open_key(options),
        "ledger": lambda: open_ledger(options),
        "totals": lambda: read_public_totals(options, grid),
        "prior": lambda: read_prior(options, grid),
        # True means the default depth; a text names the smallest complete areas.
        "measurements": lambda: (
            options["measurements"] and (options["measurements_complete_to"] or True)
        ),
        "metadata": lambda: read_metadata_options(options, kind),
    }
    # The first option of a field is the one that says whether a command has it.
    asked = {one.field: one.name for one in reversed(REQUEST) if one.name in options}
    # Terms are of several options; what is superseded, and the limit, are parts of the metadata.
    without = {*NAMES, "supersedes", "display_below", *fields}
    found = {
        name: makers[name]() if name in makers else options[asked[name]]
        for name in dict.fromkeys((*makers, *asked))
        if name not in without and name in {"terms", *asked}
    }
    return Request(**found, **fields)


def open_key(options: Mapping[str, Any]) -> NoiseKey | None:
    """Read the key of --key-file; None without the option."""
    from geodp.privacy.key import NoiseKey

    return None if options["key_file"] is None else NoiseKey.from_file(options["key_file"])


def open_ledger(options: Mapping[str, Any]) -> Ledger | None:
    """Open the ledger of --ledger; None without the option."""
    from geodp.privacy.ledger import Ledger

    return None if options["ledger"] is None else Ledger.open(options["ledger"])


def terms_of(options: dict[str, Any]) -> Terms:
    """Make the terms from a command's options; options that it lacks are left out."""
    from geodp.privacy.terms import NAMES, Terms

    return Terms.of(**{name: options[name] for name in NAMES if name in options})


def choose_with_marginals(options: dict[str, Any], grid: Grid) -> Mechanism:
    """Return the requested method, or the default for a grid, with marginals if any."""
    from geodp.mechanisms import choose_method

    method = choose_method(options["method"] or None, grid)
    if options["marginals"] is None:
        return method
    if method.name != "parts":
        raise UsageError(
            f"--marginals is for attributes that the method parts splits, and {method.name} is "
            "another one.",
            code="marginals-need-parts",
        )
    if "marginals" in dict(method.settings):
        raise UsageError(
            "Give marginals once: by --marginals, or in --method.", code="marginals-twice"
        )
    # Settings of a method are separated by commas themselves, so marginals use a plus sign there.
    return method.with_settings(f"marginals={options['marginals'].replace(',', '+')}")
