"""A release in parts: one folder of GeoParquet files that several processes write."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp.errors import OutputError
from geodp.grid.grid import Grid
from geodp.io.folder.manifest import sha256
from geodp.io.folder.publication import RUN, write_card, write_restricted
from geodp.io.folder.staged_release import max_listed_cells, require_space
from geodp.io.folder.staging import stage
from geodp.io.write import tables
from geodp.io.write.geometry import has_geometry
from geodp.io.write.parquet import MEDIA_TYPE, write_parquet
from geodp.io.write.public_tables import hierarchy_file, names_file, write_hierarchy, write_names
from geodp.io.write.tables import extra_columns_of
from geodp.io.write.view import View
from geodp.table.card import PARTS_SCHEMA, Card, File, LeftOut, drop_written

LAST_FILES = 5.0
"""Seconds in which a folder that is given up should be gone."""

ONLY_PARQUET = "a release in parts has its tables as Parquet only"


def part_path(public: Path, name: str, number: int) -> Path:
    """Return the path of a part; parts are numbered in key order."""
    return public / f"{name}.parquet" / f"part-{number:05d}.parquet"


def write_part(view: View, path: Path) -> dict[str, Any]:
    """Write one part; it appears complete or not at all, and writing it again gives the same file.

    Returns
    -------
    dict
        ``name`` inside the public folder, ``rows`` and ``sha256``.
    """
    # Workers may write the same part twice, when one of them is thought dead: each writes under a
    # name that no other has, and the last rename wins with the same bytes.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write_parquet(view, draft)
        digest = sha256(draft)
        os.replace(draft, path)
    except OSError as error:
        raise OutputError(
            f"A part could not be written ({error.strerror or error}).", code="part-unwritten"
        ) from None
    where = f"{path.parent.name}/{path.name}"
    return {"name": where, "rows": view.size, "sha256": digest}


def parts_id(digests: Iterable[str], plain: Mapping[str, Any]) -> str:
    """Compute 16 hexadecimal digits of the SHA-256 over the files' digests and the card.

    ``plain``: a card as :meth:`geodp.table.card.Card.to_json` gives it, with or without files.
    """
    lines = "".join(f"{digest}\n" for digest in digests)
    text = lines + json.dumps(drop_written(plain), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PartsFolder:
    """A folder that collects parts, and is completed by the card."""

    folder: Path
    grid: Grid
    name: str

    @property
    def public(self) -> Path:
        """Folder that is published."""
        return self.folder / "public"

    def name_card(self, card: Card) -> Card:
        """Return the card of a release in parts, with the name of the count."""
        return replace(card, schema=PARTS_SCHEMA, name=self.name)

    def require_space(self, cells: int) -> None:
        """Raise OutputError if a release of so many occupied cells would hardly fit."""
        require_space(self.folder, max_listed_cells(self.grid, cells))

    def finish(
        self,
        card: Card,
        entries: list[dict[str, Any]],
        restricted: dict[str, Any],
        rasters: list[File],
        no_raster: str | None,
    ) -> Card:
        """Write the card, the digests and the restricted files; returns the card.

        ``rasters``: the files of a map; ``no_raster``: why there are none.
        """
        files = [*(self._describe(card, entry) for entry in entries), *rasters]
        listed = {file.name for file in files}
        for path in self.public.glob("*/*"):
            if path.relative_to(self.public).as_posix() not in listed:
                # The public folder must hold exactly what the card lists, or verification fails.
                path.unlink()  # the draft of a worker that died while it wrote
        for regions in self.grid.areas.tables:
            table = self.public / hierarchy_file(self.name)
            write_hierarchy(regions, self.grid, table)
            what = "the public table of regions: the code of each cell, and of its regions"
            files.append(File(name=table.name, what=what, sha256=sha256(table)))
        if self.grid.names.titled:
            names = self.public / names_file(self.name)
            write_names(self.grid, names)
            what = "the public names of all units of the domain"
            files.append(File(name=names.name, what=what, sha256=sha256(names)))
        left_out = [LeftOut(f"{self.name}.csv", ONLY_PARQUET)]
        if no_raster is not None:
            left_out.append(LeftOut(f"{self.name}.vrt", no_raster))
        named = self.name_card(card)
        complete = replace(
            named,
            release_id=parts_id([file.sha256 for file in files], named.to_json()),
            files=tuple(files),
            left_out=tuple(left_out),
        )
        write_card(complete, self.public)
        hidden = self.folder / "restricted"
        hidden.mkdir(mode=0o700)
        write_restricted(hidden, RUN, restricted)
        return complete

    def _describe(self, card: Card, entry: dict[str, Any]) -> File:
        located = has_geometry(self.grid)
        columns = tables.column_names(self.grid, self.name, extra_columns_of(card))
        listed = "above 0" if card.mechanism.nonnegative else "that is not 0"
        return File(
            name=entry["name"],
            media_type=MEDIA_TYPE,
            what=f"a part of the counts, in key order: one row for every cell {listed}",
            extras={
                "columns": (*columns, *(("geometry", "bbox") if located else ())),
                "rows": entry["rows"],
                "geoparquet": "1.1.0" if located else None,
            },
            sha256=entry["sha256"],
        )


@contextmanager
def write_parts(
    path: str | Path, grid: Grid, *, name: str, overwrite: bool
) -> Iterator[PartsFolder]:
    """Create a folder for parts, which takes the place of ``path`` when the block ends well.

    Raises
    ------
    UsageError
        The folder exists, or holds something other than a release.
    OutputError
        The file system refused; nothing is published.
    """
    with stage(path, overwrite=overwrite) as folder:
        (folder / "public" / f"{name}.parquet").mkdir(parents=True)
        try:
            yield PartsFolder(folder, grid, name)
        except BaseException:
            _remove(folder)
            raise


def _remove(folder: Path) -> None:
    """Remove a folder into which workers may still write a file or two, but make no folders."""
    # A worker that has not heard of the end may still create a file between listing and removing.
    deadline = time.monotonic() + LAST_FILES
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
