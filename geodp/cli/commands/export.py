"""``geodp export``: a written release in other formats."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.release.opening import WrittenRelease
    from geodp.table.card import StatedMetadata


@click.command(cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "formats",
    required=True,
    help="gpkg, qml, fgb, parquet, csv:excel, csv:estat, xlsx, geojson, pmtiles, maplibre, netcdf, "
    "stac; several with commas between.",
)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder that is made; each published level has a file of its own.",
)
@click.option(
    "--metadata",
    type=click.Path(path_type=Path),
    help="TOML file with title, reference_date and so on, instead of what the release says.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def export(release: Path, formats: str, output: Path, metadata: Path | None, as_json: bool) -> None:
    """Write a written RELEASE in other formats. It costs no privacy: only public files are read."""
    complete_with_commit()
    from geodp.io.folder.exports import choose_exports, write_exports
    from geodp.release.opening import open_release

    chosen = choose_exports(formats)
    _require_outside(release, output)
    found = open_release(release)
    if metadata is not None:
        found = replace(found, written=replace(found.written, metadata=_restate(found, metadata)))
    with report_progress():
        progress.begin("Writing", public=True)
        written = write_exports(found.view(), chosen, output)
    if as_json:
        document = {"output": str(output), "files": written}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    for file, who in written.items():
        click.echo(f"{output / file}: {who}")


def _restate(found: WrittenRelease, path: Path) -> StatedMetadata | None:
    """Return what an office says now; unless it says others, what the release replaced and its
    limit of display stay.
    """
    from geodp.release.metadata import read_metadata
    from geodp.table.card import StatedMetadata

    said, own = read_metadata(path), found.written.metadata
    if own is None:
        return said
    stays: dict[str, Any] = {
        name: getattr(own, name)
        for name in ("supersedes", "display_below")
        if getattr(said, name, None) is None and getattr(own, name) is not None
    }
    return replace(said or StatedMetadata(), **stays) if stays else said


def _require_outside(release: Path, path: Path) -> None:
    """Raise UsageError where a path lies in a release's own folder.

    ``release``: the folder of a release, or that of its public files.
    """
    from geodp.io.verify.card import public_folder

    public = Path(os.path.realpath(public_folder(release)))
    own = public.parent if (public.parent / "restricted").is_dir() else public
    final = Path(os.path.realpath(path))
    if own == final or own in final.parents:
        raise UsageError(
            "A release's own folder takes no other files; export to another one.",
            code="export-into-release",
        )


COMMAND = export
