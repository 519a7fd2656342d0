"""Labels of records of persons, which wait with these until it is known which of them give trips.

A record that gives no trip may have any label, or none: only the labels that trips have are
required to be listed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from geodp.errors import InputError, Rule
from geodp.features.flows.reading.labels import LabelColumns
from geodp.grid.axes import Attribute
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable, Rows
from geodp.io.read.rows.scratch import Columns
from geodp.typing import IntArray


@dataclass(eq=False)
class RecordLabels:
    """Labels of records from columns, over all files.

    Attributes
    ----------
    attributes : tuple of Attribute
    columns : tuple of str
        Column of each.
    """

    attributes: tuple[Attribute, ...]
    columns: tuple[str, ...]
    _tables: list[InputTable] = field(default_factory=list, repr=False)
    _starts: list[int] = field(default_factory=lambda: [0], repr=False)

    @classmethod
    def of(cls, labelled: LabelColumns) -> RecordLabels:
        """Make the reader of the attributes that have columns."""
        some = tuple(one for one in labelled.attributes if one.name in labelled.columns)
        return cls(some, tuple(labelled.columns[one.name] for one in some))

    @property
    def held(self) -> int:
        """Bytes that the labels and the number of a row take while trips are made; 0 without any.

        All of them twice, as parts are joined, and the labels once more to be sorted.
        """
        labels = len(self.columns)
        return 2 * (4 * labels + 8) + 8 * labels if labels else 0

    def read(self, rows: Rows, arrays: Sequence[pa.Array]) -> Columns:
        """Read the labels of a batch; no columns without attributes.

        Returns
        -------
        int32[n] for each attribute
            Numbers of labels; their number where a row has none of them.
        int64[n]
            Numbers of the rows, which increase over all files.

        Raises InputError for a column that holds neither texts nor numbers.
        """
        if not self.columns:
            return ()
        if not self._tables or rows.table is not self._tables[-1]:
            self._tables.append(rows.table)
            self._starts.append(self._starts[-1])
        labels = []
        for attribute, column, array in zip(self.attributes, self.columns, arrays, strict=True):
            with rows.named(column):
                labels.append(fields.find_labels(array, attribute.labels))
        # The last of the starts is that of the next file: above all numbers so far.
        record = self._starts[-2] + rows.records(labels[0].size)
        if record.size:
            self._starts[-1] = int(record[-1]) + 1
        return (*labels, record)

    def split(self, columns: Columns) -> tuple[Columns, Columns]:
        """Split off what :meth:`read` returned from the end of the columns of rows."""
        own = len(columns) - (len(self.columns) + 1 if self.columns else 0)
        return columns[:own], columns[own:]

    def take(self, columns: Columns, row: IntArray) -> Mapping[str, IntArray]:
        """Take the labels of trips from their rows: int64[n] for each attribute, by its name.

        Parameters
        ----------
        columns : as :meth:`read` returns them
        row : int64[n]
            Row of each trip.

        Raises InputError at the first of these rows that has none of the labels of an attribute.
        """
        if not self.columns:
            return {}
        labels = [one[row].astype(np.int64) for one in columns[:-1]]
        sizes = [len(one.labels) for one in self.attributes]
        wrong = np.stack([one >= size for one, size in zip(labels, sizes, strict=True)])
        if wrong.any():
            record = np.where(wrong.any(axis=0), columns[-1][row], np.iinfo(np.int64).max)
            first = int(record.argmin())
            raise self._refuse(int(wrong[:, first].argmax()), int(record[first]))
        return dict(zip((one.name for one in self.attributes), labels, strict=True))

    def _refuse(self, attribute: int, record: int) -> InputError:
        """Return the error for a row without a label of an attribute, by its number."""
        at = bisect_right(self._starts[:-1], record) - 1
        table = self._tables[at]
        labels = ", ".join(self.attributes[attribute].labels)
        rule = Rule(
            "flows-record-label",
            f"a trip has its label from this row, and the labels of the attribute are {labels}; "
            "correct the label, or add one to the list (--labels, labels=).",
        )
        return InputError(
            Rule(rule.code, f"Column {self.columns[attribute]}: {rule}"),
            file=table.name,
            row=table.line(record - self._starts[at]),
        )
