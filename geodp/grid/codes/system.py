"""Protocol that all code systems implement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.grid.codes.arrays import Pair
from geodp.typing import IntArray


class CodeSystem(Protocol):
    """A lattice of cells with published codes: `JISMesh` or `PatternGrid`.

    Arrays may have any shape, and results have the same; the position in a `CodeError`
    counts through the flattened array.
    """

    @property
    def name(self) -> str:
        """Name for `code_system`, such as "jis:half" or "inspire:1km"."""

    @property
    def crs(self) -> str:
        """Coordinate reference system of `origin`, `step` and `locate`, such as "EPSG:6668"."""

    @property
    def origin(self) -> Pair:
        """(y, x) of the lower left corner of cell (0, 0), in CRS units, exact."""

    @property
    def step(self) -> Pair:
        """(dy, dx), the size of a cell in CRS units, exact."""

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """(row0, col0, rows, cols) of the full public extent, in cells."""

    @property
    def around(self) -> int | None:
        """Number of columns once around the Earth, where the first follows the last.

        Otherwise None.
        """

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Published areas that nest, from the coarsest to the cell: names and sides in cells."""

    @property
    def zeros(self) -> bool:
        """Whether codes may begin with 0 and their length does not show that zeros were lost.

        Integers are refused as codes of such systems. Where codes have one length, missing zeros
        are detected.
        """

    @property
    def definition(self) -> Mapping[str, Any] | None:
        """Definition that a release contains, so that its codes can be read without any file.

        None for a system that its name defines.
        """

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes to int64 row and col.

        Codes are NumPy, pandas or pyarrow arrays or lists of str, bytes or, unless `zeros`, int.
        Those outside `extent` are valid, as the grid decides which cells belong to it. CodeError at
        the first value that is not a code of this system.
        """

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert row and col, integers of one shape, to codes; CodeError if there is none."""

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return int64 row and col of the cells that contain points.

        x is longitude or easting, y latitude or northing, float64 of one shape, in `crs`.
        Cells are closed in the south and west; a point that rounding left just below an edge
        belongs to the cell above it. South or west of `origin` indices are negative.
        CodeError at the first point that is not finite or not on Earth.
        """
