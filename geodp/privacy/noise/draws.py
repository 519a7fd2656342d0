"""Declarations of the draws of a key: streams, the laws of their numbers, and derived keys.

The code that makes the key of a release declares all draws of the release. The declaration enters
the digest that derives the key and that a ledger recognises. The key then refuses every other draw,
so that no noise is drawn without a charge that accounts for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Self, TypeAlias

from geodp.errors import UndeclaredDrawError

LawName: TypeAlias = tuple[str, Fraction]
"""A law's name and its exact parameter, see ``Law.identity``."""

UNIFORM: LawName = ("uniform", Fraction(1))
"""The law of plain random digits: for rounding, and for choices among equals."""


class Draw(NamedTuple):
    """Random numbers of one law, from one stream of a key.

    Attributes
    ----------
    stream : int
        See :class:`geodp.privacy.key.Stream`.
    law : (str, Fraction)
    """

    stream: int
    law: LawName


@dataclass(frozen=True)
class Draws:
    """Draws that are allowed with one key.

    Attributes
    ----------
    direct : frozenset of Draw
        With the key itself.
    derived : mapping of bytes to Draws
        With the keys that are derived from it, by the digest that derives each.

    Examples
    --------
    >>> coins = Draws.of([Draw(5, UNIFORM)])
    >>> coins.require(Draw(5, UNIFORM))
    >>> coins.require(Draw(6, UNIFORM))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    geodp.errors.UndeclaredDrawError: Stream 6 with the law uniform (1) is not declared ...
    """

    direct: frozenset[Draw] = frozenset()
    derived: Mapping[bytes, Draws] = field(default_factory=dict)

    @classmethod
    def of(cls, direct: Iterable[Draw], derived: Mapping[bytes, Draws] | None = None) -> Self:
        """Declare some draws, and the draws of derived keys."""
        return cls(frozenset(Draw(int(stream), law) for stream, law in direct), dict(derived or {}))

    def require(self, *draws: Draw) -> None:
        """Raise UndeclaredDrawError where one of some draws was not declared."""
        for draw in draws:
            if draw not in self.direct:
                (name, parameter), stream = draw.law, int(draw.stream)
                raise UndeclaredDrawError(
                    f"Stream {stream} with the law {name} ({parameter}) is not declared for this "
                    "key. No charge accounts for such a draw: the method must list it in "
                    "queries().",
                    code="draw-undeclared",
                )

    def of_derived(self, digest: bytes) -> Draws:
        """Return the draws of a derived key; UndeclaredDrawError where none was declared."""
        if digest not in self.derived:
            raise UndeclaredDrawError(
                "No key that is derived in this way was declared, so no charge accounts for what "
                "would be drawn with it.",
                code="derived-key-undeclared",
            )
        return self.derived[digest]
