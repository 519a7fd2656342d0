"""What every method offers, and what most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import PURE as PURE
from geodp.accounting import Event, Guarantee, event
from geodp.areas import BlockError, errors_of_blocks
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.noise import DiscreteLaplace, NodeNoise
from geodp.randomness import NoiseKey, Stream
from geodp.table import Counts, CountTable, ReleasedTable
from geodp.variance import TreeVariance

MOST_CELLS = 1 << 26
"""Most keys of a domain that a dense method takes: its arrays have half a GiB each."""

PUBLIC_DOMAIN = (
    "one person adds at most `contribution` to the sum of all counts, and the domain was chosen "
    "without looking at the data"
)


@dataclass(frozen=True)
class Mechanism(ABC):
    """A published method: a frozen value, whose fields are its settings.

    A subclass gives the class attributes, :meth:`release` and what differs from the defaults
    here. The file that holds it lists an instance in ``METHODS``, and that is all it takes.

    Attributes
    ----------
    name : str
        On the command line and in ``geodp.METHODS``.
    title : str
        One line for people.
    citation : str
        The publication that defines it.
    guarantee : Guarantee
        What it promises.
    postprocessing : tuple of str
        What is done to the noisy values, and the bias that it causes; a sentence each.
    noise : str
        The law, in words.
    whole, nonnegative : bool
        Whether all released values are whole numbers, or not negative.
    gaussian : bool
        Whether it takes Gaussian noise too (``event.law``): it measures whole numbers, each of
        which one person changes by at most 1, and their number is the sensitivity.
    skips_outside : bool
        Whether nodes of its tree share out among children that overlap the domain only; otherwise
        padding is estimated too, and every node has all of its children.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    postprocessing: ClassVar[tuple[str, ...]] = ()
    noise: ClassVar[str] = "discrete Laplace on integers, sampled exactly"
    whole: ClassVar[bool] = False
    nonnegative: ClassVar[bool] = False
    gaussian: ClassVar[bool] = False
    skips_outside: ClassVar[bool] = False

    @abstractmethod
    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """Run the method; ``event.scale`` is the noise's scale for its sensitivity."""

    def refusal(self, grid: Grid) -> str | None:
        """Why the method cannot take a grid, as one sentence; asked before it allocates."""
        if 1 << grid.bits > MOST_CELLS:
            return (
                f"{self.name} works on every cell of the domain, and takes at most "
                f"{MOST_CELLS:,} cells (padded to powers of two); this grid has {grid.size:,}."
            )
        return None

    def overload(self, grid: Grid, event: Event) -> str | None:
        """Why the noise of an event would be too much for a grid; asked before any charge."""
        return None

    def event(
        self,
        grid: Grid,
        amounts: Mapping[str, Fraction | None],
        neighbours: str,
        contribution: int,
        *,
        enforced: bool = False,
        unit: str = "person",
        key_origin: str = "entropy",
    ) -> Event:
        """What a release on a grid spends: parameters of :func:`geodp.accounting.event`.

        Raises UsageError for Gaussian noise where the method has none.
        """
        if amounts["rho"] is not None and not self.gaussian:
            raise UsageError(f"{self.name} has Laplace noise only: give epsilon alone.")
        return event(
            self.spec,
            amounts["epsilon"],
            neighbours,
            contribution,
            enforced,
            self.sensitivity(grid),
            unit,
            key_origin,
            amounts["rho"],
            amounts["delta"],
        )

    def sensitivity(self, grid: Grid) -> int:
        """L1 change of the measured vector when one person is added, once, to one cell.

        Methods that measure in several stages have 1, and share out the budget themselves.
        """
        return 1

    def sensitivity_words(self, grid: Grid, event: Event | None = None) -> str:
        """Why it is that, as one sentence for the release card of an event."""
        return "a person counted once changes one count by 1"

    def variances(self, grid: Grid, event: Event) -> NDArray[np.float64] | None:
        """Closed-form variance of the sum of a block of ``2**(bits - i)`` keys at index i.

        None where the error depends on the data.
        """
        return None

    def tree_variance(self, grid: Grid, event: Event) -> TreeVariance | None:
        """The tree whose nodes it estimates, for the error of any set of cells, if it is one.

        Its variances hold for nodes with all of their children; at the edges of the domain they
        are bounds.
        """
        return None

    def block_errors(self, grid: Grid, event: Event) -> tuple[BlockError, ...] | None:
        """Errors of blocks whose keys share their first i digits, at index i.

        None where the error depends on the data.
        """
        tree, radices = self.tree_variance(grid, event), grid.order.radices
        largest = self.variances(grid, event)
        if largest is None and tree is not None and prod(tree.fanouts) == prod(radices):
            largest = tree.largest(grid) if self.skips_outside else tree.prefixes(radices)
        if largest is None:
            return None
        return errors_of_blocks(largest, tree if self.skips_outside else None, grid)

    def isolated_cell(self, grid: Grid, event: Event) -> dict[str, float] | None:
        """``bias`` and ``rmse`` of a populous cell in an empty region, if the method has one."""
        return None

    def clamp_losses(self, grid: Grid, event: Event) -> list[tuple[float, float]] | None:
        """What the clamp takes from the occupied among a node's children, the others empty.

        Mean and standard deviation in counts, for every split of its tree from the root's on,
        where the node's own error is that of the closed form.
        """
        return None

    def visited(self, released: ReleasedTable) -> int:
        """Nodes, cells or coefficients that the release took, as its output tells."""
        return 1 << released.grid.bits

    @property
    def spec(self) -> str:
        """Name and settings that differ from the default, as :meth:`with_settings` reads them."""
        default = type(self)()
        changed = [
            f"{f.name}={written(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        ]
        return ":".join([self.name, *([",".join(changed)] if changed else [])])

    def with_settings(self, text: str) -> Self:
        """This method with settings such as ``"fanout=4,nonnegative=yes"``.

        Raises UsageError for a setting that the method does not have, or a value of a wrong kind.
        """
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        found: dict[str, Any] = {}
        for part in text.split(",") if text else []:
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in known or name in found:
                settings = ", ".join(f"{n}={written(v)}" for n, v in known.items()) or "none"
                raise UsageError(f"Settings of {self.name}, each once: {settings}.")
            found[name] = _read(value, known[name], f"{self.name}:{name}")
        return replace(self, **found)


def written(value: Any) -> str:
    """A setting's value as :meth:`Mechanism.with_settings` reads it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _read(text: str, default: Any, name: str) -> Any:
    """A setting's value, of the default's type."""
    try:
        if isinstance(default, bool):
            return {"yes": True, "no": False}[text]
        return type(default)(text)
    except (KeyError, ValueError, ZeroDivisionError):
        kinds = {bool: "yes or no", int: "a whole number", Fraction: "a decimal or a ratio"}
        raise UsageError(f"{name} is {kinds.get(type(default), 'a text')}.") from None


def laplace_noise(key: NoiseKey, stage: int, scale: Fraction, n: int) -> NDArray[np.int64]:
    """Exact discrete Laplace noise of the n measurements of a stage: int64[n].

    Measurement i has the same noise whatever else is drawn. Stages are numbered from 0; each
    has noise of its own.
    """
    return NodeNoise(key, Stream.STAGE + stage, DiscreteLaplace.of_scale(scale)).sequence(n)


def released_vector(values: Counts, grid: Grid, event: Event) -> ReleasedTable:
    """A release of values of all ``2**bits`` keys; those outside the domain are dropped."""
    key = np.flatnonzero(values).astype(np.uint64)
    if grid.size < values.size:
        key = key[grid.domain.contains_keys(key)]
    return ReleasedTable(grid, key, values[key], event)


def released_dense(values: Counts, grid: Grid, event: Event) -> ReleasedTable:
    """A release of an array of the grid's box; cells outside the domain are dropped."""
    return released_vector(grid.domain.to_vector(values), grid, event)
