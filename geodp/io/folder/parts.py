"""A release in parts: one folder of GeoParquet files, which several processes write."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodp.errors import OutputError
from geodp.grid.grid import Grid
from geodp.io.folder.digest import OWN
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.folder.publication import RUN, json_text, said_of, write_restricted
from geodp.io.folder.staged_release import check_publication, listed_at_most, require_space
from geodp.io.folder.staging import CARD, PARTS_SCHEMA, staged
from geodp.io.write import tables
from geodp.io.write.geometry import has_geometry
from geodp.io.write.hierarchy import regions_file, write_regions
from geodp.io.write.uncertainty import Errors, beside_of
from geodp.privacy.event import Measurement
from geodp.table.released import ReleasedTable

LAST_FILES = 5.0
"""Seconds in which a folder that is given up should be gone."""

check_parts = check_publication
"""Raise UsageError where a release could not be written; before any noise is drawn."""


def part_path(public: Path, name: str, number: int) -> Path:
    """Where a part belongs; parts are numbered in key order."""
    return public / f"{name}.parquet" / f"part-{number:05d}.parquet"


def about(event: Measurement, name: str) -> dict[str, Any]:
    """What every part says of its release; its identity is known when all parts are."""
    said = said_of(event, {"schema": PARTS_SCHEMA}, name, "")
    del said["release_id"]
    return said


def write_part(
    table: ReleasedTable,
    path: Path,
    *,
    name: str,
    errors: Errors | None,
    metadata: dict[str, Any],
) -> dict[str, Any]:
    """Write one part; it appears complete or not at all, and again the same if written again.

    Returns
    -------
    dict
        ``name`` inside the public folder, ``rows`` and ``sha256``.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        tables.write_parquet(table, beside, name=name, errors=errors, metadata=metadata)
        digest = sha256(beside)
        os.replace(beside, path)
    except OSError as error:
        raise OutputError(f"A part could not be written ({error.strerror or error}).") from None
    where = f"{path.parent.name}/{path.name}"
    return {"name": where, "rows": table.key.size, "sha256": digest}


def parts_id(files: list[dict[str, Any]], card: dict[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 over the files' digests and the card as given.

    ``card``: with or without what :meth:`PartsFolder.finish` adds.
    """
    given = {key: value for key, value in card.items() if key not in OWN}
    digests = "".join(f"{entry['sha256']}\n" for entry in files)
    text = digests + json.dumps(given, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PartsFolder:
    """A folder that takes up parts, and is then finished with the card."""

    folder: Path
    grid: Grid
    name: str

    @property
    def public(self) -> Path:
        """What is published."""
        return self.folder / "public"

    def require_space(self, cells: int) -> None:
        """Raise OutputError where a release of so many occupied cells hardly fits."""
        require_space(self.folder, listed_at_most(self.grid, cells))

    def finish(
        self,
        card: dict[str, Any],
        entries: list[dict[str, Any]],
        restricted: dict[str, Any],
        rasters: list[dict[str, Any]],
        no_raster: str | None,
    ) -> dict[str, Any]:
        """Write the card, the digests and the restricted files; returns the card.

        ``rasters``: entries of the files of a map; ``no_raster``: why there are none.
        """
        files = [*(self._described(card, entry) for entry in entries), *rasters]
        listed = {entry["name"] for entry in files}
        for path in self.public.glob("*/*"):
            if path.relative_to(self.public).as_posix() not in listed:
                path.unlink()  # of a worker that died while it wrote
        if self.grid.regions is not None:
            table = self.public / regions_file(self.name)
            write_regions(self.grid.regions, self.grid, table)
            what = "the public table of regions: the code of each cell, and of its regions"
            files.append({"name": table.name, "what": what, "sha256": sha256(table)})
        given = {**card, "schema": PARTS_SCHEMA}
        identity = parts_id(files, given)
        why = "a release in parts has its tables as Parquet only"
        left_out = [{"name": f"{self.name}.csv", "why": why}]
        if no_raster is not None:
            left_out.append({"name": f"{self.name}.vrt", "why": no_raster})
        complete = {**given, **dict(zip(OWN, (self.name, identity, files, left_out), strict=True))}
        (self.public / CARD).write_text(json_text(complete), encoding="utf-8")
        sums = {entry["name"]: entry["sha256"] for entry in files}
        sums[CARD] = sha256(self.public / CARD)
        (self.public / SUMS).write_text(sums_text(sums), encoding="utf-8")
        hidden = self.folder / "restricted"
        hidden.mkdir(mode=0o700)
        write_restricted(hidden, RUN, restricted)
        return complete

    def _described(self, card: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
        located = has_geometry(self.grid)
        columns = [*tables.column_names(self.grid, self.name, beside_of(card))]
        listed = "above 0" if card["mechanism"]["nonnegative"] else "that is not 0"
        return {
            "name": entry["name"],
            "media_type": "application/vnd.apache.parquet",
            "what": f"a part of the counts, in key order: one row for every cell {listed}",
            "columns": columns + (["geometry", "bbox"] if located else []),
            "rows": entry["rows"],
            "geoparquet": "1.1.0" if located else None,
            "sha256": entry["sha256"],
        }


@contextmanager
def write_parts(
    path: str | Path, grid: Grid, *, name: str, overwrite: bool
) -> Iterator[PartsFolder]:
    """A folder for parts, which takes the place of ``path`` when the block ends well.

    Raises
    ------
    UsageError
        The folder exists, or holds something else than a release.
    OutputError
        The file system refused; nothing is published.
    """
    with staged(path, overwrite=overwrite) as folder:
        (folder / "public" / f"{name}.parquet").mkdir(parents=True)
        try:
            yield PartsFolder(folder, grid, name)
        except BaseException:
            _remove(folder)
            raise


def _remove(folder: Path) -> None:
    """Remove a folder into which workers may still write a file or two, but make no folders."""
    deadline = time.monotonic() + LAST_FILES
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
