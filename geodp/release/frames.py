"""A release as tables in memory: of Arrow, pandas and geopandas, with the columns of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.io.write.geometry import geometry, has_geometry
from geodp.io.write.tables import arrow_columns

if TYPE_CHECKING:
    from geodp.io.write.uncertainty import Errors
    from geodp.table.released import ReleasedTable


class InMemory:
    """What a release is to those who work with frames: one row for every cell that is not 0.

    Columns are those of the files: codes or centres, other axes and labels, the count under its
    name, and where its error is known ``standard_error``, ``low`` and ``high``.
    """

    table: ReleasedTable

    if TYPE_CHECKING:

        def errors(self) -> Errors | None:
            """As :class:`geodp.release.release.Release` has it."""

    def to_arrow(self, name: str = "population") -> Any:
        """Return the rows as a ``pyarrow.Table``; ``name`` is that of the count's column."""
        table = self.table
        index = table.grid.decode(table.key)
        return arrow_columns(table, slice(0, table.key.size), index, name, self.errors())

    def to_pandas(self, name: str = "population") -> Any:
        """Return the rows as a ``pandas.DataFrame``; codes are text, counts keep their type.

        Raises UsageError where pandas is not installed.
        """
        try:
            return self.to_arrow(name).to_pandas()
        except ModuleNotFoundError:
            raise UsageError(
                "pandas is not installed: pip install pandas, or to_arrow()."
            ) from None

    def to_geopandas(self, name: str = "population") -> Any:
        """Return the rows as a ``geopandas.GeoDataFrame`` in the grid's CRS.

        Cells are their outlines; a row of origin and destination is a line between the cells'
        centres, of length 0 for those who stay.

        Raises UsageError on a grid that lies nowhere on the Earth, and without geopandas.
        """
        if not has_geometry(self.table.grid):
            raise UsageError("Rows of this grid lie nowhere on the Earth: use to_pandas().")
        try:
            import geopandas
        except ModuleNotFoundError:
            raise UsageError("geopandas is not installed: pip install geopandas.") from None
        import shapely

        wkb, _ = geometry(self.table.grid, self.table.grid.decode(self.table.key))
        shapes = shapely.from_wkb(wkb.to_numpy(zero_copy_only=False))
        return geopandas.GeoDataFrame(
            self.to_pandas(name), geometry=shapes, crs=self.table.grid.places[0].crs
        )
