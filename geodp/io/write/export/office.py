"""Exports in the layout of the publisher whose file was read: the columns that went in come out.

Every layout is a class, listed in `LAYOUTS` by the name of its preset. Flags and marks of hidden
counts say that none is hidden.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv

from geodp.grid.codes import JISMesh
from geodp.io.numbers import column_of
from geodp.io.write.export.spreadsheet import HEADER, INDENT
from geodp.io.write.format import Export
from geodp.io.write.geopackage import why_no_geopackage, write_geopackage
from geodp.io.write.tables import slices
from geodp.io.write.view import JointView, Original, View, ViewRows

FIRST = 1980, 1, 1, 0, 0, 0
"""Time of every file in an archive, so that the same release gives the same bytes."""


class Layout(ABC):
    """Files of one publisher's layout."""

    @abstractmethod
    def why_not(self, original: Original) -> str | None:
        """Return why a table cannot be written, as the end of a sentence; None if it can."""

    @abstractmethod
    def list_files(self, original: Original) -> Iterable[str]:
        """List the names of the files."""

    @abstractmethod
    def write(self, view: JointView, original: Original, path: Path) -> None:
        """Write one of the files; OSError if the file system refuses."""


class MeshStatistics(Layout):
    """Files of e-Stat: an archive for each primary mesh, with one text in CP932.

    A row has HTKSYORI 0, which says that it is counted as it is, and neither HTKSAKI nor GASSAN.
    """

    name: ClassVar[re.Pattern[str]] = re.compile(r"(T\d{6})\d{3}")

    def why_not(self, original: Original) -> str | None:
        """Require codes of meshes, and those of the columns of one table."""
        if not isinstance(original.table.grid.maps.system, JISMesh):
            return "the layout of e-Stat requires one map of JIS meshes"
        found = [self.name.fullmatch(one) for one in original.titles]
        if len({None if one is None else one[1] for one in found}) > 1 or None in found:
            return "the layout of e-Stat has columns of one table, such as T001141001"
        try:
            "".join(original.titles.values()).encode("cp932")
        except UnicodeEncodeError:
            return "a title has letters that CP932 lacks"
        return None

    def list_files(self, original: Original) -> Iterator[str]:
        """Name the archives as the statistics bureau does: ``tblT001141H5339.zip``."""
        table = next(iter(original.titles))[: len("T001141")]
        for primary in np.unique(original.codes.astype("U4")).tolist():
            yield f"tbl{table}H{primary}.zip"

    def write(self, view: JointView, original: Original, path: Path) -> None:
        """Write the cells of a primary mesh, in the order of their codes."""
        own = np.flatnonzero(original.codes.astype("U4") == path.stem[-4:])
        own = own[np.argsort(original.codes[own])]
        counts = [one.tolist() for one in original.count(original.table.key[own])]
        text = StringIO(newline="")
        rows = csv.writer(text)
        before = HEADER[:-1]
        rows.writerow([*before, *original.titles])
        titles = [f"{INDENT}{one}" if one else "" for one in original.titles.values()]
        rows.writerow(["" for _ in before] + titles)
        for code, *row in zip(original.codes[own].tolist(), *counts, strict=True):
            rows.writerow([code, 0, "", "", *row])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = json.dumps(view.about, ensure_ascii=False).encode()
            member = zipfile.ZipInfo(f"{path.stem}.txt", FIRST)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, text.getvalue().encode("cp932"))


class CensusGrid(Layout):
    """Files of Eurostat's census grid: a CSV and a GeoPackage, with GRD_ID.

    LAND_SURFACE, which is no count, is empty; POPULATED is 1, as cells without persons have no row,
    and the flags of confidential counts (``_CI``) are 0.
    """

    name: ClassVar[str] = "ESTAT_Census_2021_V2"

    def why_not(self, original: Original) -> str | None:
        """Require a grid with codes."""
        system = original.table.grid.maps.system
        return None if system is not None else "a census grid has codes of cells"

    def list_files(self, original: Original) -> list[str]:
        """Name both files as Eurostat does."""
        why = why_no_geopackage(original.table.grid)
        return [f"{self.name}.csv", *([f"{self.name}.gpkg"] if why is None else [])]

    def write(self, view: JointView, original: Original, path: Path) -> None:
        """Write one of both."""
        rows = GridView(view.table, view.card, stem=self.name, original=original)
        if path.suffix == ".gpkg":
            write_geopackage(rows, path)
            return
        options = pyarrow.csv.WriteOptions(quoting_style="none")
        with pyarrow.csv.CSVWriter(path, rows.empty.columns.schema, write_options=options) as file:
            for some in rows.rows("Writing CSV"):
                file.write_table(some.columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class GridView(JointView):
    """The rows of a table with the columns of the census grid."""

    @cached_property
    def empty(self) -> ViewRows:
        """Zero rows, whose columns have the names and types of all."""
        return ViewRows(self, slice(0), self._arrange(slice(0)))

    def _make(self) -> Iterator[ViewRows]:
        for part in slices(self.size):
            yield ViewRows(self, part, self._arrange(part))

    def _arrange(self, part: slice) -> Any:
        """Return the columns of some rows: an Arrow table."""
        original = self.original
        assert original is not None  # as only `CensusGrid.write` makes these views
        codes = original.codes[part]
        counts = map(column_of, original.count(original.table.key[part]))
        columns = {"GRD_ID": pa.array(codes.tolist(), pa.string())}
        columns |= dict(zip(original.titles, counts, strict=True))
        columns["LAND_SURFACE"] = pa.nulls(codes.size, pa.float64())
        columns["POPULATED"] = column_of(np.ones(codes.size, np.int64))
        nothing = column_of(np.zeros(codes.size, np.int64))
        return pa.table(columns | {f"{one}_CI": nothing for one in original.titles})


LAYOUTS: Mapping[str, Layout] = {"census2021": CensusGrid(), "estat": MeshStatistics()}
"""Layouts by the names of their presets."""


class Office(Export):
    """The columns of the input, in the layout of its publisher, whose names the files have."""

    name: ClassVar[str] = "office"
    ending: ClassVar[str] = ""
    help: ClassVar[str] = "the columns that went in, in the layout of their publisher"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a table of the columns of a layout that is written."""
        original = view.original if isinstance(view, JointView) else None
        if original is None:
            return "only a whole table (geodp census publish) has the columns of its input"
        if original.layout not in LAYOUTS:
            return f"its input had none of the layouts {', '.join(LAYOUTS)}"
        return LAYOUTS[original.layout].why_not(original)

    def list_files(self, view: View, stem: str) -> Iterable[str]:
        """List the names that the publisher's own files have."""
        original = _find(view)
        return LAYOUTS[original.layout].list_files(original)

    def write(self, view: View, path: Path) -> None:
        """Write one file of the layout."""
        assert isinstance(view, JointView)  # see why_not
        original = _find(view)
        LAYOUTS[original.layout].write(view, original, path)


def _find(view: View) -> Original:
    """Return the columns of the input of a view for which `Office.why_not` is None."""
    assert isinstance(view, JointView)
    assert view.original is not None
    return view.original


EXPORTS = (Office(),)
