"""Answers of ``geodp estimate``, ``compare`` and ``diff`` about amounts, beyond other kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from geodp.cli.figures import ShownRows
from geodp.cli.regions import keep_shapes, read_labels, show_labels
from geodp.cli.translation import translate
from geodp.cli.using import (
    Changed,
    Parts,
    asks_regions,
    compare_quantities,
    diff_quantities,
    estimate_quantities,
)
from geodp.kinds.amounts.english import PAGE
from geodp.kinds.amounts.estimates import list_outside, share_outside
from geodp.kinds.amounts.joint import count_places
from geodp.kinds.amounts.scale import show_number

if TYPE_CHECKING:
    from geodp.kinds.amounts.amounts import Amounts
    from geodp.kinds.amounts.scale import Scale


def decimals_of(scale: Scale) -> int:
    """Return the decimals of amounts: those of the tables, and at least those of the step.

    Examples
    --------
    >>> from geodp.kinds.amounts.scale import Scale
    >>> decimals_of(Scale.of((0, 1000), "0.01", "EUR", "income"))
    3
    >>> decimals_of(Scale.of((0, 1000), "0.00001", "EUR", "income"))
    5
    """
    _, _, decimals = show_number(scale.step).partition(".")
    return max(count_places(scale), len(decimals))


SHARES = 6
"""Decimals of shares in documents."""


def estimate(parts: Parts, options: Mapping[str, Any]) -> ShownRows:
    """Estimate quantities of areas, with quantiles and shares.

    It says what amounts are, and which areas lie partly outside the map.
    """
    release = next(iter(parts.values()))
    answer = partial(
        estimate_quantities,
        parts,
        quantiles=options["quantile"],
        below=options["below"],
    )
    return _describe(answer, release, options)


def compare(releases: Sequence[Amounts], options: Mapping[str, Any]) -> ShownRows:
    """Estimate differences of quantities of areas, and say what amounts are."""
    return _describe(partial(compare_quantities, releases), releases[0], options)


def diff(pairs: Changed, options: Mapping[str, Any]) -> ShownRows:
    """Estimate changes of quantities, and say what amounts are."""
    return _describe(partial(diff_quantities, pairs), next(iter(pairs.values()))[0], options)


def _describe(
    answer: Callable[..., ShownRows], release: Amounts, options: Mapping[str, Any]
) -> ShownRows:
    """Answer, say what amounts are, and which of the requested areas lie partly outside the map."""
    grid, amount, shapes = release.count.grid, release.index.amount, {}
    if asks_regions(options):
        options = keep_shapes(options, grid)
        shapes = options["area"]
    found = answer(options=options)
    outside = {name: share_outside(grid, one) for name, one in shapes.items()}
    labels = {} if options.get("against") else read_labels(options["labels_of"], "--label")
    of_labels = f"; {show_labels(labels)}" if labels else ""
    said = translate("{name} in {unit}, from {lower} to {upper}").format(
        name=amount.name, unit=amount.unit, lower=amount.lower, upper=amount.upper
    )
    said += of_labels
    return replace(
        found,
        about={**found.about, "amount": asdict(amount), "labels": labels, "outside": outside},
        # Shares have six.
        decimals=max(decimals_of(release.scale), SHARES),
        head=(said,),
        notes=(*found.notes, *list_outside(outside, PAGE["outside"])),
    )
