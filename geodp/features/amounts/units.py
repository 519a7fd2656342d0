"""Units of amounts: what the operator states, against what titles and cells say."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import Rule, UsageError, printable
from geodp.features.amounts.scale import Scale
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.title_units import TitleUnit, read_title, read_unit

OTHER_UNIT = Rule(
    "amounts-unit-of-title",
    "Column {name}: a title says that amounts are in {said}, and unit_of_amount (--unit-of-amount) "
    "says {stated}. State the unit of the numbers as they are written, such as '{suggested}' "
    "(--unit-of-amount '{suggested}', unit_of_amount=), with the clip in this unit; or correct the "
    "title, if it is wrong.",
)

_MARKED = re.compile(
    r"(?P<before>[^0-9+-]*?)[ \u00a0\u202f]*"
    r"(?P<number>[+-]?[0-9](?:[0-9.,' \u2019\u00a0\u202f]*[0-9])?(?:e0)?)"
    r"[ \u00a0\u202f]*(?P<after>[^0-9]*)"
)


def require_unit(scale: Scale, found: TitleUnit) -> None:
    """Raise UsageError where titles say another unit of the amounts than the operator.

    Examples
    --------
    >>> require_unit(Scale.of((0, 10), 1, "1,000 EUR", "income"), read_title("income (Tsd. EUR)"))
    """
    stated = read_unit(scale.unit)
    if not found.differs_from(stated):
        return
    codes = [one for one in (found.currencies, stated.currencies) if len(one) == 1]
    unit = min(codes[0]) if codes else found.written if found.currencies else scale.unit
    factor = "" if found.factor in (None, 1) else f"{int(found.factor or 1):,} "
    raise UsageError(
        OTHER_UNIT.format(
            name=printable(scale.name),
            said=printable(found.written),
            stated=printable(scale.unit),
            suggested=printable(f"{factor}{unit}"),
        )
    )


def drop_marks(column: pa.Array, unit: str) -> pa.Array:
    """Remove the currency beside amounts where it is that of their unit, as in ``300 €``.

    Workbooks show numbers so in cells with a format of currency. Other texts, and columns that are
    not text, stay as they are, and are refused or read as such.

    Parameters
    ----------
    column : pyarrow.Array
    unit : str
        Unit of the amount, as the operator states it.

    Examples
    --------
    >>> drop_marks(pa.array(["300 €", "$5", "7"]), "EUR").to_pylist()
    ['300', '$5', '7']
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    stated = read_unit(unit)
    if not stated.currencies or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    coded = as_text(column).dictionary_encode()
    entries = coded.dictionary.to_pylist()
    for at, text in enumerate(entries):
        match = _MARKED.fullmatch(text.strip())
        mark = "" if match is None else (match["before"] + match["after"]).strip()
        if match is None or not mark:
            continue
        found = read_title(f"({mark})")
        if found.currencies and not found.differs_from(stated):
            entries[at] = match["number"]
    return pc.take(pa.array(entries, pa.string()), coded.indices)
