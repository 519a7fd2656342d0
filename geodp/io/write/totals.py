"""The public totals that a release meets, as they were given."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from geodp.io.write.csv import MEDIA_TYPE, encoding_for
from geodp.io.write.format import Entry, Format
from geodp.io.write.view import View


class TotalsTable(Format):
    """The table of public totals, where a release has some."""

    name: ClassVar[str] = "totals"
    endings: ClassVar[tuple[str, ...]] = ("totals.csv",)
    rank: ClassVar[int] = 50

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        found = view.totals
        if found is None:
            return
        path = folder / totals_file(view.name)
        texts = "".join(text for name in (found.columns, *found.names) for text in name)
        with path.open("w", encoding=encoding_for(texts), newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow([*found.columns, "total"])
            for name, total in zip(found.names, found.total.tolist(), strict=True):
                rows.writerow([*name, total])
        what = f"public totals of areas, which the counts meet exactly; from: {found.source}"
        columns = [*found.columns, "total"]
        yield Entry(path.name, MEDIA_TYPE, what, {"columns": columns})


def totals_file(name: str) -> str:
    """Name of the file in a release's public folder that holds them."""
    return f"{name}.totals.csv"


FORMATS = (TotalsTable(),)
