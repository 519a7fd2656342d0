"""Export as NetCDF after the CF conventions 1.8, as for series, but without a time; or of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from geodp.io.write import netcdf, netcdf_pairs
from geodp.io.write.format import Export
from geodp.io.write.view import View
from geodp.table.caption import list_captioned


class NetCDF(Export):
    """Counts over y and x, the southernmost row first; of pairs, over origins and destinations."""

    name: ClassVar[str] = "netcdf"
    ending: ClassVar[str] = "nc"
    help: ClassVar[str] = "NetCDF after CF 1.8: xarray, GDAL, climate tools"

    def why_not(self, view: View) -> str | None:
        """Require one map without attributes, or pairs, of not too many cells."""
        if len(view.table.grid.places) == len(netcdf_pairs.ENDS):
            return netcdf_pairs.why_no_pairs(view)
        return netcdf.why_not([view])

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        from scipy.io import netcdf_file

        place = view.table.grid.places[0]
        with netcdf_file(path, "w", version=2) as file:
            for name, value in self._attributes(view).items():
                setattr(file, name, value.encode())
            if len(view.table.grid.places) == len(netcdf_pairs.ENDS):
                netcdf_pairs.write_pairs(file, view)
                return
            file.createDimension("y", place.rows)
            file.createDimension("x", place.cols)
            netcdf.write_places(file, place)
            netcdf.write_counts(file, [view], ("y", "x"))

    def _attributes(self, view: View) -> dict[str, str]:
        """Return the global attributes of the file."""
        card = view.card
        attributes = {
            "Conventions": "CF-1.8",
            "title": card.name,
            "source": f"{card.software}, {card.mechanism.spec}",
            "comment": card.guarantee.in_words,
            "history": f"released by {card.software}",
            "geodp_spends": card.guarantee.spends,
            "geodp_private": "yes" if card.private else "NO",
            "geodp_release_id": card.release_id,
        }
        if view.level is not None:
            attributes["geodp_level"] = view.level
        captions = list_captioned(view.card.metadata)
        return attributes | {one.cf or f"geodp_{name}": value for name, one, value in captions}


EXPORTS = (NetCDF(),)
