"""Public totals that a release meets, as given by the operator."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from geodp.io.write.csv import MEDIA_TYPE, encoding_for
from geodp.io.write.format import Entry, Format
from geodp.io.write.view import View


class TotalsTable(Format):
    """The table of public totals, if a release has some."""

    name: ClassVar[str] = "totals"
    endings: ClassVar[tuple[str, ...]] = ("totals.csv",)
    rank: ClassVar[int] = 50

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        totals = view.totals
        if totals is None:
            return
        path = folder / totals_file(view.name)
        # The encoding depends on all texts, so they are collected before the file is opened.
        texts = "".join(text for name in (totals.columns, *totals.names) for text in name)
        with path.open("w", encoding=encoding_for(texts), newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow([*totals.columns, "total"])
            for name, total in zip(totals.names, totals.total.tolist(), strict=True):
                rows.writerow([*name, total])
        what = f"public totals of areas, which the counts meet exactly; from: {totals.source}"
        columns = [*totals.columns, "total"]
        yield Entry(path.name, MEDIA_TYPE, what, {"columns": columns})


def totals_file(name: str) -> str:
    """Return the name of the file in a release's public folder with its public totals."""
    return f"{name}.totals.csv"


FORMATS = (TotalsTable(),)
