"""``geodp export``: a written release in other formats."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit
from geodp.options.option import Option, joined
from geodp.options.shared import JSON, PART

if TYPE_CHECKING:
    from geodp.table.card import Card, StatedMetadata

EXPORT = joined(
    PART,
    Option(
        "--to",
        "Formats, separated by commas: gpkg, qml, fgb, parquet, csv:excel, csv:estat, xlsx, "
        "geojson, pmtiles, maplibre, netcdf, omx, stac, office (the columns of a census in the "
        "layout of their publisher).",
        name="formats",
        group="Output",
        required=True,
    ),
    Option(
        "--output",
        "New folder; each table and each published level gets its own file, and each period of a "
        "series a folder.",
        group="Output",
        type=Path,
        required=True,
    ),
    Option(
        "--metadata",
        "TOML file with title, reference_date and so on, instead of the release's own metadata.",
        group="Output",
        type=Path,
    ),
    JSON,
)
"""Options of an export."""


@click.command(cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(EXPORT)
def export(
    release: Path,
    formats: str,
    output: Path,
    metadata: Path | None,
    as_json: bool,
    **part: Any,
) -> None:
    """Write a RELEASE in other formats. It costs no privacy: only public files are read."""
    complete_with_commit()
    from geodp.io.folder.formats import choose_exports, write_exports
    from geodp.release.opening import find_part, list_views

    # A wrong format is refused before the release is opened, which may take long.
    chosen = choose_exports(formats)
    _require_outside(release, output)
    views = list_views(find_part(release, **part).folder)
    if metadata is not None:
        views = {
            place: [
                replace(one, card=replace(one.card, metadata=_restate(one.card, metadata)))
                for one in listed
            ]
            for place, listed in views.items()
        }
    with report_progress():
        progress.begin("Writing", public=True)
        written = write_exports(views, chosen, output)
    if as_json:
        document = {"output": str(output), "files": written}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    for file, who in written.items():
        click.echo(f"{output / file}: {who}")


def _restate(card: Card, path: Path) -> StatedMetadata | None:
    """Read new metadata; the superseded release and the display limit stay, unless replaced."""
    from geodp.release.metadata import read_metadata
    from geodp.table.card import StatedMetadata

    metadata, former = read_metadata(path), card.metadata
    if former is None:
        return metadata
    stays: dict[str, Any] = {
        name: getattr(former, name)
        for name in ("supersedes", "display_below")
        if getattr(metadata, name, None) is None and getattr(former, name) is not None
    }
    return replace(metadata or StatedMetadata(), **stays) if stays else metadata


def _require_outside(release: Path, path: Path) -> None:
    """Raise UsageError if a path lies in a release's own folder.

    ``release``: the folder of a release, or that of its public files.
    """
    from geodp.io.verify.card import public_folder

    public = Path(os.path.realpath(public_folder(release)))
    # Checksums and manifests cover the folder, and a further file would fail verification.
    root = public.parent if (public.parent / "restricted").is_dir() else public
    final = Path(os.path.realpath(path))
    if root == final or root in final.parents:
        raise UsageError(
            "A release's own folder takes no other files; export to another one.",
            code="export-into-release",
        )
