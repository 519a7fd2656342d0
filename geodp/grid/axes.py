"""Axes of a grid other than its places: attributes, and the public mask."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError, is_utf8
from geodp.reprs import one_line

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of texts that spreadsheets run as formulas when they open a CSV."""

NO_FORMULA = Rule(
    "name-is-formula",
    "A name or label begins with = + - @, a tab or a line break: spreadsheets read it as a "
    "formula when they open the CSV. Start it with a letter or a digit.",
)


JOINT = "*"
"""Separator between the names of attributes that a table or a margin combines: sex*age."""


@dataclass(frozen=True)
class Attribute:
    """An axis that is not a place, such as sex, age band or hour; ``labels`` name its indices."""

    __repr__ = one_line

    name: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        texts = all(isinstance(text, str) and text for text in (self.name, *self.labels))
        if not texts or not self.labels or len(set(self.labels)) != len(self.labels):
            raise UsageError(
                "An attribute needs a name and labels, as non-empty texts; no label may repeat.",
                code="attribute-form",
            )
        if not all(map(is_utf8, (self.name, *self.labels))):
            raise UsageError(
                "The name and the labels of an attribute must be UTF-8.", code="attribute-not-utf8"
            )
        # Labels are written into CSV files that recipients open in spreadsheets: refusing formulas
        # here protects every writer at once.
        if any(text.startswith(FORMULA) for text in (self.name, *self.labels)):
            raise UsageError(NO_FORMULA)

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card."""
        return {"attribute": self.name, "labels": list(self.labels)}


@dataclass(frozen=True)
class Mask:
    """The public part of a grid where people can be: disjoint, sorted ranges of keys.

    Attributes
    ----------
    ranges : uint64[r, 2]
        [start, stop) each, padded attribute indices included.
    cells : int
        Cells of the spatial axes inside.
    source : str
        Where the mask comes from, as text; published with every release. By naming it you assert
        that the mask is public and was not made from the data. Blank: UsageError.
    """

    __repr__ = one_line

    ranges: NDArray[np.uint64] = field(repr=False)
    cells: int
    source: str

    def __post_init__(self) -> None:
        # The source is the only evidence a reader has that the mask does not depend on the data,
        # so a mask without one is refused; control characters would break the card and the page.
        if not self.source.strip() or not self.source.isprintable():
            raise UsageError(
                "A mask needs a description of its public source; it is published.",
                code="mask-source-missing",
            )

    @property
    def sha256(self) -> str:
        """Digest of the ranges."""
        # Little-endian on every machine, so that the digest in a card can be checked anywhere.
        return hashlib.sha256(self.ranges.astype("<u8").tobytes()).hexdigest()
