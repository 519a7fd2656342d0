"""What every method offers, and what most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.blocks import (
    BlockError,
    block_variances,
    errors_of_blocks,
    errors_of_every_block,
)
from geodp.accuracy.parts import Split
from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.privacy.event import Guarantee, Measurement, TableEvent
from geodp.privacy.key import NOISE_FORMAT, NoiseKey
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.table.measured import NodeLevel
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable
from geodp.table.stated.prior import StatedPrior

MOST_CELLS = 1 << 26
"""Most keys of a domain that a dense method takes: its arrays have half a GiB each."""

PUBLIC_DOMAIN = (
    "one person adds at most `contribution` to the sum of all counts, and the domain was chosen "
    "without looking at the data"
)

Plain = None | bool | int | str | bytes | Fraction | tuple["Plain", ...]
"""What can be written down exactly; floats cannot."""


@dataclass(frozen=True, slots=True)
class Query:
    """A list of integers that a method measures, each with noise of one law.

    Attributes
    ----------
    stream : int
        Of the noise, see :class:`geodp.privacy.key.Stream`.
    noise : tuple of (str, Fraction)
        The law's name and its exact parameter, see ``Law.identity``.
    what : tuple of plain values
        Which integers, in words and numbers: whatever decides what number i of the list counts.
    """

    stream: int
    noise: tuple[str, Fraction]
    what: tuple[Plain, ...]


E = TypeVar("E", bound=TableEvent)


@dataclass(frozen=True)
class Method(ABC, Generic[E]):
    """What releases, cards and closed forms ask of a method: a frozen value; fields are settings.

    Attributes
    ----------
    name : str
        On the command line and in the table of methods.
    version : int
        Higher whenever what is measured or released of the same table under the same key and
        settings changes, by a default or otherwise: see :mod:`tests.golden`.
    title : str
        One line for people.
    citation : str
        The publication that defines it.
    guarantee : Guarantee
        What it promises.
    postprocessing : tuple of str
        What is done to the noisy values, and the bias that it causes; a sentence each.
    noise, noise_format : str
        The law, in words, and the version of how it is drawn.
    whole, nonnegative : bool
        Whether all released values are whole numbers, or not negative.
    skips_outside : bool
        Whether nodes of its tree share out among children that overlap the domain only; otherwise
        padding is estimated too, and every node has all of its children.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    postprocessing: ClassVar[tuple[str, ...]] = ()
    noise: ClassVar[str]
    noise_format: ClassVar[str]
    whole: ClassVar[bool] = False
    nonnegative: ClassVar[bool] = False
    skips_outside: ClassVar[bool] = False

    @abstractmethod
    def unsupported(self, grid: Grid) -> str | None:
        """Why the method cannot take a grid, as one sentence; asked before it allocates."""

    def describe_sensitivity(self, grid: Grid, event: E | None = None) -> str:
        """Why it is that, as one sentence for the release card of an event."""
        return "a person counted once changes one count by 1"

    def variances(self, grid: Grid, event: E) -> NDArray[np.float64] | None:
        """Closed-form variance of the sum of a block of ``2**(bits - i)`` keys at index i.

        None where the error depends on the data.
        """
        return None

    def tree_variance(self, grid: Grid, event: E) -> TreeVariance | None:
        """Return the tree whose nodes it estimates, for errors of any cells; None if it is none.

        Its variances hold for nodes with all of their children; at the edges of the domain they
        are bounds.
        """
        return None

    def block_errors(self, grid: Grid, event: E) -> tuple[BlockError, ...] | None:
        """Errors of blocks whose keys share their first i digits, at index i.

        None where the error depends on the data.
        """
        if not grid.order.is_binary and not self.skips_outside:
            return errors_of_every_block(partial(self.variances_of, grid, event), grid)
        tree = self.tree_variance(grid, event) if self.skips_outside else None
        largest = self.variances(grid, event)
        if largest is None and tree is not None:
            largest = tree.largest(grid)
        return None if largest is None else errors_of_blocks(largest, tree, grid)

    def variances_of(
        self, grid: Grid, event: E, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Closed-form variances of sums over the domain's cells in aligned blocks of keys.

        Parameters
        ----------
        grid : Grid
        event : Measurement
        stride : int
            Keys that a block covers: a product of the last radices of the grid's order.
        block : uint64[n]
            Block b covers the keys from ``b * stride`` on; each holds a cell of the domain.

        Returns
        -------
        float64[n] or None
            As :meth:`variances`.
        """
        tree = self.tree_variance(grid, event) if self.skips_outside else None
        return None if tree is None else block_variances(tree, block, stride, grid)

    def isolated_cell(self, grid: Grid, event: E) -> dict[str, float] | None:
        """``bias`` and ``rmse`` of one lone cell in an empty region, if the method has one."""
        return None

    def isolated_block(self, grid: Grid, event: E) -> dict[str, Any] | None:
        """Return the same of the sum of a lone settlement of several cells."""
        return None

    def label_totals(
        self, grid: Grid, event: E, people: float | None
    ) -> list[dict[str, Any]] | None:
        """Of small labels' totals, see :mod:`geodp.mechanisms.trees.attributes`; None: no such
        bias."""
        return None

    def list_signals(
        self, grid: Grid, event: E, people: float | None
    ) -> list[dict[str, Any]] | None:
        """Return which parts carry a signal at which areas; None: the method measures no parts.

        ``people``: a public guess of the sum of all counts. Of each: ``parts`` (how many are told
        apart), ``cells`` of an area of the map, ``noise`` of a part's count there, ``least`` people
        of a part that carry a signal, ``expected`` people of a part by the guess, and whether that
        is enough (``signal``); None without a guess.
        """
        return None

    def split(self, released: ReleasedTable) -> Split | None:
        """Return the map and the parts of a release of both; None: the method has no such."""
        return None

    def clamp_losses(self, grid: Grid, event: E) -> list[tuple[float, float]] | None:
        """Return what the clamp takes from the occupied among a node's children, the others empty.

        Mean and standard deviation in counts, for every split of its tree from the root's on,
        where the node's own error is that of the closed form.
        """
        return None

    def list_postprocessing(self) -> tuple[str, ...]:
        """Return what is done to the noisy values with these settings; a sentence each."""
        return self.postprocessing

    def visited(self, released: ReleasedTable) -> int:
        """Nodes, cells or coefficients that the release took, as its output tells."""
        return 1 << released.grid.bits

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """Names and values of all settings, those left at their defaults too."""
        return tuple((f.name, getattr(self, f.name)) for f in fields(self))

    @cached_property
    def spec(self) -> str:
        """Name and settings that differ from the default, as :meth:`with_settings` reads them."""
        default = type(self)()
        changed = [
            f"{f.name}={write_setting(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        ]
        return ":".join([self.name, *([",".join(changed)] if changed else [])])

    def with_settings(self, text: str) -> Self:
        """Return this method with settings such as ``"fanout=4,nonnegative=yes"``.

        Raises UsageError for a setting that the method does not have, or a value of a wrong kind.
        """
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        found: dict[str, Any] = {}
        for part in text.split(",") if text else []:
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in known or name in found:
                settings = ", ".join(f"{n}={write_setting(v)}" for n, v in known.items()) or "none"
                raise UsageError(
                    f"Settings of {self.name}, each once: {settings}.",
                    code="method-settings-unknown",
                )
            found[name] = _read(value, known[name], f"{self.name}:{name}")
        return replace(self, **found)


class BaseUse(NamedTuple):
    """The release that another one begins with and refines: its grid, method, and event."""

    grid: Grid
    method: Mechanism
    event: Measurement


@dataclass(frozen=True)
class Mechanism(Method[Measurement]):
    """A published method of central privacy.

    A subclass gives the class attributes, :meth:`release` and what differs from the defaults
    here. The file that holds it lists an instance in ``METHODS``, and that is all it takes.

    Attributes
    ----------
    gaussian : bool
        Whether it takes Gaussian noise too (``event.law``): it measures whole numbers, each of
        which one person changes by at most 1, and their number is the sensitivity.
    informed : bool
        Whether it can go by a prior: :meth:`release_informed`.
    """

    noise: ClassVar[str] = "discrete Laplace on integers, sampled exactly"
    noise_format: ClassVar[str] = NOISE_FORMAT
    gaussian: ClassVar[bool] = False
    informed: ClassVar[bool] = False

    @abstractmethod
    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Run the method; ``event.scale`` is the noise's scale for its sensitivity."""

    def release_informed(
        self, table: CountTable, event: Measurement, key: NoiseKey, prior: Prior
    ) -> tuple[ReleasedTable, StatedPrior]:
        """Run the method with a prior, and state what was learned of it.

        What is measured is what :meth:`release` measures, and with the same key the same: the
        prior is public, and all that it changes is post-processing.
        """
        raise NotImplementedError

    def base(self, grid: Grid, event: Measurement) -> BaseUse | None:
        """Return the method whose release this one begins with, if there is one, and its event.

        Its key is derived from what it is made of: it is the same, bit for bit, where nothing else
        is released. Its version and queries are part of this release's identity as well.
        """
        return None

    def first(self, table: CountTable) -> CountTable:
        """Return the table that :meth:`base` releases."""
        raise NotImplementedError

    def refine_base(
        self, first: ReleasedTable, table: CountTable, event: Measurement, key: NoiseKey
    ) -> ReleasedTable:
        """Draw the rest of a release of which :meth:`base` is drawn; as :meth:`release`."""
        raise NotImplementedError

    @abstractmethod
    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """All that :meth:`release` can measure on a grid, written out from what it goes by.

        Part of a release's identity: under one kept key two releases with different queries have
        independent noise, also where a constant or a default was changed and nothing that the
        caller gave. So nothing is left out for being a default. Where an earlier, noisy
        measurement decides what is measured later, all that it can decide for is listed.
        """

    def declare(self, grid: Grid, event: Measurement) -> Draws:
        """Return all that a key of the method draws: its queries. The key refuses the rest."""
        return Draws.of(Draw(query.stream, query.noise) for query in self.queries(grid, event))

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """Return the levels whose noisy values can be written, the root's first; perhaps none.

        All of them together are what :meth:`queries` lists, so that writing any of their nodes is
        in the guarantee and costs nothing more.
        """
        return ()

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return the noise of nodes of a level of :meth:`list_levels`, as :meth:`release` has it.

        Parameters
        ----------
        level : int
            Position in that list.
        node : uint64[n]
            Strictly increasing.

        Returns
        -------
        int64[n]
        """
        raise NotImplementedError

    def unsupported(self, grid: Grid) -> str | None:
        """Why the method cannot take a grid, as one sentence; asked before it allocates."""
        if 1 << grid.bits > MOST_CELLS:
            return Rule(
                "method-too-many-cells",
                f"{self.name} works on every cell of the domain, and takes at most "
                f"{MOST_CELLS:,} cells (padded to powers of two); this grid has {grid.size:,}.",
            )
        return None

    def explain_noise_limit(self, grid: Grid, event: Measurement) -> str | None:
        """Why the noise of an event would be too much for a grid; asked before any charge."""
        try:
            event.require_drawable(self.min_share(grid, event))
        except UsageError as error:
            return Rule(error.code, str(error))
        return None

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Smallest part of the budget that noise is drawn with: of scale ``event.scale / part``."""
        return Fraction(1)

    def event(self, grid: Grid, terms: Terms, key_origin: str = "entropy") -> Measurement:
        """Return what a release on a grid spends under terms whose contribution is settled.

        Raises UsageError for Gaussian noise where the method has none.
        """
        if terms.gaussian and not self.gaussian:
            raise UsageError(
                f"{self.name} has Laplace noise only: give epsilon alone.",
                code="method-has-no-gaussian",
            )
        return Measurement.of(self.spec, terms, self.sensitivity(grid), key_origin)

    def sensitivity(self, grid: Grid) -> int:
        """L1 change of the measured vector when one person is added, once, to one cell.

        Methods that measure in several stages have 1, and share out the budget themselves.
        """
        return 1


def write_setting(value: Any) -> str:
    """Write a setting's value as :meth:`Mechanism.with_settings` reads it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _read(text: str, default: Any, name: str) -> Any:
    """Read a setting's value, of the default's type."""
    try:
        if isinstance(default, bool):
            return {"yes": True, "no": False}[text]
        return type(default)(text)
    except (KeyError, ValueError, ZeroDivisionError):
        kinds = {bool: "yes or no", int: "a whole number", Fraction: "a decimal or a ratio"}
        raise UsageError(
            f"{name} is {kinds.get(type(default), 'a text')}.", code="setting-kind"
        ) from None
