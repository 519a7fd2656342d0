"""Priors of amounts: the shape that every stream of a release is expected to have.

A prior enters without noise, so that it is public by declaration of the operator, or a release that
was charged itself. Only the ratios of its counts matter: by how much the children of a node of a
stream differ from them is learned from the noisy values of that stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from geodp.features.amounts.card import Shape, StatedAmountsPrior, StatedStreamPrior
from geodp.privacy.key import digest
from geodp.reprs import one_line
from geodp.table.prior import RULES, Prior
from geodp.table.stated.prior import StatedPrior

MEANING = (
    "every stream of amounts is expected to be divided among the children of a node as the prior's "
    "shares say: as the same stream of an earlier release of amounts, or as the records of a map, "
    "with which children are expected to have the mean of their node. How far such shares can be "
    "trusted was learned from the noisy values of each stream, so that it costs no budget. Changes "
    "against the prior are attenuated, and so are differences between means nearby that it does "
    "not know. Comparing this release with its prior understates what has changed"
)
"""What a prior means, for the index."""


@dataclass(frozen=True, eq=False)
class AmountsPrior:
    """Expected shapes of the streams of a release.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    streams : tuple of Prior
        Of every stream, in the order of :meth:`geodp.features.amounts.streams.Design.streams`.
    shapes : tuple of {"amounts", "records"}
        Whether each is that of the same stream of an earlier release, or of a map of records.
    identity : str or None
        Digest that names the earlier release of amounts.
    """

    __repr__ = one_line

    source: str
    streams: tuple[Prior, ...] = field(repr=False)
    shapes: tuple[Shape, ...]
    identity: str | None = None

    @cached_property
    def sha256(self) -> str:
        """Digest of the cells of all streams, for the operator."""
        parts = [bytes.fromhex(one.sha256) for one in self.streams]
        return digest(b"geodp amounts prior 1", *parts).hex()

    def state(self) -> StatedAmountsPrior:
        """State the prior before anything is drawn."""
        streams = [
            StatedStreamPrior(shape, one.finest)
            for shape, one in zip(self.shapes, self.streams, strict=True)
        ]
        return StatedAmountsPrior(self.source, RULES, MEANING, tuple(streams), self.identity)


def state_learned(
    stated: StatedAmountsPrior | None, learned: Sequence[StatedPrior]
) -> StatedAmountsPrior | None:
    """State how far the noisy values of every stream show that a prior can be trusted."""
    if stated is None or not learned:
        return stated
    streams = tuple(
        replace(one, levels=known.levels, attenuation=known.attenuation)
        for one, known in zip(stated.streams, learned, strict=True)
    )
    return replace(stated, streams=streams)
