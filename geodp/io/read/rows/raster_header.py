"""What a raster says beside its numbers: how they are stored, what they count, where they lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.crs import name_plane, same_plane
from geodp.io.read.rows.classes import find_classes, is_thematic
from geodp.io.read.rows.forms.netcdf import Header, Variable, read_header
from geodp.io.read.rows.input_files import FilePath, guard
from geodp.table.source import Fact
from geodp.table.stored import (
    CLASSES,
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)

ALIGNED = 1e-3
"""How far, in cells, a raster's cells may lie from where they should."""

OFF = 0.25
"""How far, in cells, coordinates may be rounded at most by their own type."""

COLOURS = {
    *("palette", "alpha", "hue", "saturation", "lightness", "cyan", "magenta", "yellow", "black"),
    *("Y", "Cb", "Cr"),
}
"""GDAL's interpretations of bands that hold colours or classes. Red, green and blue are not here:
GDAL writes three bands of bytes so by itself."""

NARROW = {"16": 11, "24": 17}
"""Binary digits of floating-point types of so many bits, which GDAL shows as float32."""

TAGGED_NUMBERS = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
TAGGED_TEXTS = (*CLASSES, "units", "standard_name", "long_name", "cell_methods")
"""Attributes by the conventions CF that writers of GeoTIFF keep as tags of a band."""

DIRECTIONS = {
    "x": ("degrees_east", "longitude", "projection_x_coordinate", "X"),
    "y": ("degrees_north", "latitude", "projection_y_coordinate", "Y"),
}
"""What units, standard_name or axis of a coordinate say of its direction."""

METRES, DEGREES = r"m|met(?:re|er)s?|1", r"deg(?:ree)?s?(?:_.*)?|1"
"""Units of coordinates by which a CRS in metres, or in degrees, is meant."""

NO_PLACE = Rule(
    "raster-without-place",
    "The raster states no placement by which its cells lie on the Earth (no transform); write it "
    "into the raster (gdal_translate -a_ullr -a_srs).",
)
CURVED = Rule(
    "raster-curved",
    "The raster is placed by {}, by which its cells are no rectangles of one size; it has to be "
    "brought onto a grid first, from its records and not by warping, which makes counts of "
    "fractions.",
)
UNEVEN = Rule(
    "raster-uneven",
    "The coordinates {} of the file are not evenly spaced, or are rounded too far, so that its "
    "cells have no one size; write the counts on a regular grid with coordinates in double "
    "precision, or as a table with a column of cells.",
)


@dataclass(frozen=True)
class RasterHeader:
    """What the header of an open raster says.

    Attributes
    ----------
    raster : rasterio.io.DatasetReader
    path : path
    """

    raster: Any
    path: FilePath

    @property
    def name(self) -> str:
        """The file, for errors."""
        return str(self.path)

    @cached_property
    def netcdf(self) -> Header | None:
        """The header of a NetCDF file; None of other rasters."""
        return read_header(self.path) if self.raster.driver == "netCDF" else None

    @property
    def variable(self) -> Variable | None:
        """The variable of a NetCDF file whose pixels are read; None of other rasters."""
        if self.netcdf is None:
            return None
        return self.netcdf.variables[self.raster.tags(1)["NETCDF_VARNAME"]]

    @cached_property
    def crs(self) -> str | None:
        """The CRS as text; of an ASCII grid, what a ``.prj`` file beside it says."""
        if self.raster.crs is not None:
            return str(self.raster.crs.to_wkt())
        beside = Path(self.path).with_suffix(".prj")
        if self.raster.driver != "AAIGrid" or not beside.is_file():
            return None
        text = guard(self.name, beside.read_bytes).decode("utf-8", "replace")
        if not same_plane(text, text):
            raise InputError(
                f"{beside.name} beside the raster is no CRS as WKT, so that nothing says where its "
                "cells lie; write it as WKT, or move it away and name the CRS with the grid.",
                file=self.name,
                code="raster-crs-file",
            )
        return text

    def stored(
        self, band: int, unit: float | None, missing: Sequence[float], *, counted: bool
    ) -> Stored:
        """Return how a band's numbers mean counts, or, where they are not ``counted``, a mask.

        Raises InputError for numbers that are no counts, or not those that were written.
        """
        if not self.raster.dtypes[band - 1].startswith(("int", "uint", "float")):
            raise InputError(
                "The raster's values must be real numbers.", file=self.name, code="raster-not-real"
            )
        self._require_numbers(band, counted)
        if counted:
            self._require_no_classes(band, unit)
        attributes = self._attributes(band)
        try:
            if counted:
                require_counts(attributes, unit)
            found = read_stored(attributes, self._dtype(band), unit=unit, missing=missing)
        except UsageError as error:
            rule = Rule(error.code, str(error))
        else:
            digits = NARROW.get(self.raster.tags(band, ns="IMAGE_STRUCTURE").get("NBITS", ""))
            return found if digits is None else Stored(**{**vars(found), "digits": digits})
        raise InputError(rule, file=self.name)

    @property
    def ambiguous_fill(self) -> bool:
        """Whether a number is missing by default alone, and may as well be a count.

        NetCDF fills what was never written with a number of its own. Where numbers are signed it is
        negative; where they are unsigned it may be a count.
        """
        variable = self.variable
        return (
            variable is not None
            and self._dtype(1).kind == "u"
            and not {"_FillValue", "missing_value"} & {*variable.attributes}
        )

    def typed(self, band: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return a band's numbers, as GDAL has them, in the type that the file states."""
        return values.view(self._dtype(band))

    def facts(
        self, band: int, stored: Stored, unit: float | None, missing: Sequence[float]
    ) -> tuple[Fact, ...]:
        """Return what was read of the header, or was stated with it, and who says it."""
        raster = self.raster
        attributes = self._attributes(band)
        named = "" if self.variable is None else f" ({raster.tags(1)['NETCDF_VARNAME']})"
        found = [
            Fact("format", raster.driver, "file"),
            Fact("band", f"{band} of {raster.count}{named}", "file"),
            *describe_stored(stored, str(self._dtype(band)), unit, missing),
            Fact("transform", " ".join(f"{one:.17g}" for one in [*raster.transform][:6]), "file"),
        ]
        if raster.nodatavals[band - 1] is not None:
            found.append(Fact("nodata", str(raster.nodatavals[band - 1]), "file"))
        if self.crs is not None:
            found.append(Fact("CRS", name_plane(self.crs), "file"))
        for field, key in (("unit", "units"), ("title", "long_name")):
            if attributes.get(key):
                found.append(Fact(field, str(attributes[key]), "file"))
        masks = [flag.name for flag in raster.mask_flag_enums[band - 1]]
        if "per_dataset" in masks:
            found.append(Fact("mask", "in the file", "file"))
        if point := raster.tags().get("AREA_OR_POINT"):
            found.append(Fact("pixel is", point.lower(), "file"))
        return tuple(found)

    def require_affine(self) -> tuple[float, float]:
        """Require that a transform places the cells, and that it is the only placement.

        Returns how far, in the CRS's units, x and y may be off as their coordinates are rounded.
        Raises InputError.
        """
        raster = self.raster
        if raster.gcps[0]:
            raise InputError(CURVED.format("ground control points"), file=self.name)
        if raster.rpcs is not None:
            raise InputError(CURVED.format("a sensor model (RPC)"), file=self.name)
        if raster.transform.is_identity and "GEOLOCATION" in raster.tag_namespaces():
            raise InputError(UNEVEN.format("x or y"), file=self.name)
        header, variable = self.netcdf, self.variable
        slack = 0.0, 0.0
        if header is not None and variable is not None:
            x, y = (self._coordinate(header, variable, number) for number in (-1, -2))
            if not raster.transform.is_identity:
                slack = self._slack("x", x), self._slack("y", y)
        if raster.transform.is_identity:
            raise InputError(NO_PLACE, file=self.name)
        return slack

    def _dtype(self, band: int) -> np.dtype[Any]:
        """Return the type of a band's numbers, as ``_Unsigned`` has it."""
        found: np.dtype[Any] = np.dtype(self.raster.dtypes[band - 1])
        return found if self.variable is None else signed_as(self.variable.attributes, found)

    def _require_numbers(self, band: int, counted: bool) -> None:
        """InputError for colours, for compression with loss, and for pages beside the first."""
        raster = self.raster
        kinds = {one.name for one in raster.colorinterp}
        own = raster.colorinterp[band - 1].name
        if "alpha" in kinds:
            raise InputError(
                "The raster has an alpha band, by which it is a picture that hides some of its "
                "numbers (GDAL makes the fourth band of bytes one by itself). Write the band of "
                "counts alone, or all with PHOTOMETRIC=MINISBLACK and ALPHA=NO.",
                file=self.name,
                code="raster-has-alpha",
            )
        if own in COLOURS and (counted or own != "palette"):
            raise InputError(
                "The raster's numbers stand for colours or classes (it has a colour table), which "
                "are not counted; give a raster of counts.",
                file=self.name,
                code="raster-has-colours",
            )
        about = raster.tags(ns="IMAGE_STRUCTURE")
        packed = about.get("COMPRESSION", "")
        if (
            "JPEG" in packed
            or about.get("COMPRESSION_REVERSIBILITY", "").startswith("LOSSY")
            or float(about.get("MAX_Z_ERROR", 0))
        ):
            raise InputError(
                f"The raster was compressed with loss ({packed}), so that its numbers are not "
                "those that were counted; write it again from its source without loss, such as "
                "with COMPRESS=DEFLATE.",
                file=self.name,
                code="raster-lossy",
            )

    def _require_no_classes(self, band: int, unit: float | None) -> None:
        """InputError for numbers that stand for classes, or may where no ``unit`` is stated."""
        if found := find_classes(self.path, self.raster):
            raise InputError(
                f"The raster's numbers stand for classes (it has {found}), which are not counted; "
                "give a raster of counts. If they are counts all the same, move a file beside the "
                "raster away, or write the raster without its metadata.",
                file=self.name,
                code="raster-has-classes",
            )
        if unit is None and is_thematic(self.path, self.raster, band):
            raise InputError(
                "The raster says that it is thematic, as classes are, which are not counted. If "
                "its numbers are counts all the same, state the value of one person, such as 1 "
                "(--raster-unit, unit=).",
                file=self.name,
                code="raster-thematic",
            )

    def _attributes(self, band: int) -> dict[str, Any]:
        """Return what a band says by the conventions CF, whatever its format."""
        raster, variable = self.raster, self.variable
        if variable is not None:
            return dict(variable.attributes)
        tags = raster.tags(band)
        found: dict[str, Any] = {key: tags[key] for key in TAGGED_TEXTS if key in tags}
        found |= {key: _parse(tags[key]) for key in TAGGED_NUMBERS if key in tags}
        for key, own in (
            ("scale_factor", raster.scales[band - 1]),
            ("add_offset", raster.offsets[band - 1]),
        ):
            said = _parse(tags.get(key, ""))
            if key in tags and not (
                isinstance(said, np.ndarray) and said.size == 1 and exact(said.item()) == exact(own)
            ):
                raise InputError(
                    f"The band has a tag {key} that is another than its own scale or offset, so "
                    "that it is not certain what its numbers mean; delete the one that is wrong.",
                    file=self.name,
                    code="raster-tag-differs",
                )
            found[key] = own
        nodata = raster.nodatavals[band - 1]
        if nodata is not None and not (self._dtype(band).itemsize == 8 and abs(nodata) > 2**53):
            fills = np.atleast_1d(found.get("_FillValue", np.empty(0)))
            found["_FillValue"] = np.append(fills, nodata)
        if raster.units[band - 1] and not self._is_of_heights(raster.units[band - 1]):
            found["units"] = raster.units[band - 1]
        if raster.descriptions[band - 1]:
            found["long_name"] = raster.descriptions[band - 1]
        return found

    def _is_of_heights(self, unit: str) -> bool:
        """Whether GDAL took a unit from the vertical axis of the CRS, as the band states none."""
        from pyproj import CRS

        axes = [] if self.crs is None else CRS.from_user_input(self.crs).axis_info[2:]
        return any(axis.unit_name == unit for axis in axes)

    def _coordinate(self, header: Header, variable: Variable, number: int) -> NDArray[Any] | None:
        """Return the coordinate of x (-1) or y (-2), None where the file has none."""
        if len(variable.dimensions) < 2:
            raise InputError(NO_PLACE, file=self.name)
        dimension = variable.dimensions[number]
        one = header.variables.get(dimension)
        if one is None or one.dimensions != (dimension,):
            return None
        here, other = ("x", "y") if number == -1 else ("y", "x")
        said = {str(one.attributes.get(key)) for key in ("units", "standard_name", "axis")}
        if said & {*DIRECTIONS[other]} and not said & {*DIRECTIONS[here]}:
            raise InputError(
                "The file's rows run along x and its columns along y, and it would be read with "
                "x and y exchanged; turn it (ncpdq -a y,x).",
                file=self.name,
                code="raster-axes-exchanged",
            )
        units, crs = str(one.attributes.get("units", "")), self.raster.crs
        if units and crs is not None:
            metric = crs.is_projected and crs.linear_units_factor[1] == 1
            wanted = METRES if metric else DEGREES if crs.is_geographic else ".*"
            if not re.fullmatch(wanted, units, re.IGNORECASE):
                raise InputError(
                    f"The coordinates {here} of the file are in another unit than its CRS; write "
                    "them in the unit of the CRS, such as metres.",
                    file=self.name,
                    code="raster-coordinate-unit",
                )
        if {"scale_factor", "add_offset"} & {*one.attributes}:
            raise InputError(
                f"The coordinates {here} of the file are packed (scale_factor); write them as they "
                "are (ncpdq -U).",
                file=self.name,
                code="raster-coordinate-packed",
            )
        if one.dtype.kind not in "if":
            raise InputError(UNEVEN.format(here), file=self.name)
        return header.values(dimension)

    def _slack(self, here: str, middles: NDArray[Any] | None) -> float:
        """Return by how much a coordinate may be rounded; InputError where it is uneven."""
        if middles is None:
            return 0.0
        a, _, c, _, e, f = [*self.raster.transform][:6]
        step, first = (a, c) if here == "x" else (e, f)
        wide = middles.astype(np.float64)
        if (wide[-1] - wide[0]) * step < 0:  # GDAL shows rows from north to south
            wide = wide[::-1]
        away = wide - (first + step * (np.arange(wide.size) + 0.5))
        if here == "x":  # GDAL shows longitudes within half a turn of Greenwich
            away -= 360 * np.round(away[0] / 360)
        rounded = middles.dtype.kind == "f" and middles.dtype.itemsize == 4
        size = np.abs(middles).max().astype(np.float32 if rounded else np.float64)
        slack: float = min(2 * float(np.spacing(size)), OFF * abs(step))
        if not np.abs(away).max() <= ALIGNED * abs(step) + slack:  # nor where one is NaN
            raise InputError(UNEVEN.format(here), file=self.name)
        return slack


def _parse(text: str) -> Any:
    """Return the numbers of a tag such as ``-9`` or ``{10,20}`` as an array, or the text."""
    try:
        return np.array([_number(one) for one in text.strip().strip("{}").split(",")])
    except (ValueError, OverflowError):
        return text


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def describe_raster(header: RasterHeader) -> Mapping[str, Any]:
    """Return what a header says, as plain values: of the file, and lists of what bands say."""
    raster = header.raster
    return {
        "driver": raster.driver,
        "crs": None if header.crs is None else name_plane(header.crs),
        "transform": list(raster.transform)[:6],
        "shape": list(raster.shape),
        "bands": raster.count,
        "types": list(raster.dtypes),
        "nodata": raster.nodata,
        "scales": list(raster.scales),
        "offsets": list(raster.offsets),
        "units": [unit or "" for unit in raster.units],
        "masks": [" ".join(flag.name for flag in flags) for flags in raster.mask_flag_enums],
        "pixel_is": raster.tags().get("AREA_OR_POINT", "").lower(),
    }
