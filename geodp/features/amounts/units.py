"""Units of amounts: what the operator states, against what titles say."""

from __future__ import annotations

from geodp.errors import Rule, UsageError, printable
from geodp.features.amounts.scale import Scale
from geodp.io.read.rows.title_units import TitleUnit, read_unit

OTHER_UNIT = Rule(
    "amounts-unit-of-title",
    "Column {name}: a title says that amounts are in {said}, and unit_of_amount (--unit-of-amount) "
    "says {stated}. State the unit of the numbers as they are written, such as '{suggested}' "
    "(--unit-of-amount '{suggested}', unit_of_amount=), with the clip in this unit; or correct the "
    "title, if it is wrong.",
)


def require_unit(scale: Scale, titled: TitleUnit) -> None:
    """Raise UsageError where titles say another unit of the amounts than the operator.

    Examples
    --------
    >>> from geodp.io.read.rows.title_units import read_title
    >>> require_unit(Scale.of((0, 10), 1, "1,000 EUR", "income"), read_title("income (Tsd. EUR)"))
    """
    stated = read_unit(scale.unit)
    if not titled.differs_from(stated):
        return
    codes = [one for one in (titled.currencies, stated.currencies) if len(one) == 1]
    unit = min(codes[0]) if codes else titled.written if titled.currencies else scale.unit
    factor = "" if titled.factor in (None, 1) else f"{int(titled.factor or 1):,} "
    raise UsageError(
        OTHER_UNIT.format(
            name=printable(scale.name),
            said=printable(titled.written),
            stated=printable(scale.unit),
            suggested=printable(f"{factor}{unit}"),
        )
    )
