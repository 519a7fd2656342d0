"""Base classes of methods: the interface that releases use, and the defaults most methods share.

:class:`Method` is what cards and closed forms need; :class:`Mechanism` adds central privacy. How to
write one is described in docs/how-to/add-a-method.md; :mod:`geodp.mechanisms.measure` adds noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import (
    BlockError,
    block_variances,
    errors_of_blocks,
    errors_of_every_block,
)
from geodp.accuracy.part_errors import Split
from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Guarantee, Measurement, TableEvent
from geodp.privacy.key import NOISE_FORMAT, NoiseKey
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.measured import NodeLevel
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior

MAX_CELLS = 1 << 26
"""Most keys of a domain for a dense method: each of its arrays then takes half a GiB."""

Plain = None | bool | int | str | bytes | Fraction | tuple["Plain", ...]
"""Values that can be written down exactly, as a digest needs them; floats cannot."""


@dataclass(frozen=True, slots=True)
class Query:
    """A list of integers that a method measures, with noise of one law.

    Attributes
    ----------
    stream : int
        Stream of the noise, see :class:`geodp.privacy.key.Stream`.
    noise : tuple of (str, Fraction)
        The law's name and its exact parameter, see ``Law.identity``.
    what : tuple of plain values
        Everything that determines what entry i of the list counts.
    """

    # Queries are part of the digest from which the key of a release is derived: two releases under
    # one kept key have independent noise as soon as anything in them differs.

    stream: int
    noise: tuple[str, Fraction]
    what: tuple[Plain, ...]


def within(low: Any, high: Any = None, *, strictly: bool = False) -> dict[str, Any]:
    """Return the metadata of a setting that is a number between two ends, or from one on.

    ``strictly``: the ends themselves are excluded.
    """
    return {"ends": (low, high), "strictly": strictly}


def _require_setting(value: Any, name: str, metadata: Mapping[str, Any]) -> None:
    """Raise UsageError for a value that a setting does not take, by the metadata of its field."""
    choices, (low, high) = metadata.get("choices"), metadata.get("ends", (None, None))
    allowed, fits = [f"one of {', '.join(choices or ())}"], not choices or value in choices
    if low is not None:
        above, below = ("above", "below") if metadata["strictly"] else ("at least", "at most")
        allowed = [
            f"{word} {end}" for word, end in ((above, low), (below, high)) if end is not None
        ]
        fits = low <= value and (high is None or value <= high)
        fits = fits and not (metadata["strictly"] and value in (low, high))
    if not fits:
        raise UsageError(f"{name} is {' and '.join(allowed)}.", code="method-setting-out-of-range")


E = TypeVar("E", bound=TableEvent)


@dataclass(frozen=True)
class Method(ABC, Generic[E]):
    """Method as releases, cards and closed forms use it.

    It is a frozen value whose fields are settings. Their metadata say what they take: numbers
    (:func:`within`), or one of the texts ``choices``.

    Attributes
    ----------
    name : str
        Its name on the command line and in the table of methods.
    version : int
        Increased whenever the release of the same table under the same key and settings changes,
        by a default or otherwise: see :mod:`tests.golden`.
    title : str
        One line of description.
    citation : str
        The publication that defines it.
    guarantee : Guarantee
        The privacy guarantee.
    postprocessing : tuple of str
        The steps after the noise and the bias that they cause, a sentence each.
    noise, noise_format : str
        Description of the law, and version of the format in which it is drawn.
    whole, nonnegative : bool
        Whether all released values are integers, or not negative.
    skips_outside : bool
        Whether a node's count is shared among the children that overlap the domain only;
        otherwise padding is estimated too, and every node has all of its children.
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

    def __post_init__(self) -> None:
        for one in fields(self):
            _require_setting(getattr(self, one.name), f"{self.name}:{one.name}", one.metadata)

    @abstractmethod
    def unsupported(self, grid: Grid) -> str | None:
        """Explain why the method does not support a grid; None if it does.

        Called before anything is allocated.
        """

    def describe_sensitivity(self, grid: Grid, event: E | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card of an event."""
        return "a person counted once changes one count by 1"

    def variances(self, grid: Grid, event: E) -> NDArray[np.float64] | None:
        """Compute the variance of the sum of a block of ``2**(bits - i)`` keys, at index i.

        None if there is no closed form because the error depends on the data.
        """
        return None

    def tree_variance(self, grid: Grid, event: E) -> TreeVariance | None:
        """Return the tree of the estimates, for errors of any set of cells; None if there is none.

        Its variances hold for nodes with all of their children; at the edges of the domain they
        are bounds.
        """
        return None

    def block_errors(self, grid: Grid, event: E) -> tuple[BlockError, ...] | None:
        """Compute the errors of blocks whose keys share their first i digits, at index i.

        None if they depend on the data.
        """
        # Digits that are no bits have no blocks of 2**i keys, so every size of block that the order
        # has is computed exactly.
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
        """Compute the variances of sums over the domain's cells in aligned blocks of keys.

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
        """Return ``bias`` and ``rmse`` of an isolated cell in an empty region; None if unbiased."""
        return None

    def isolated_block(self, grid: Grid, event: E) -> dict[str, Any] | None:
        """Return ``bias`` and ``rmse`` of the sum of an isolated settlement of several cells."""
        return None

    def label_totals(
        self, grid: Grid, event: E, people: float | None
    ) -> list[dict[str, Any]] | None:
        """Return the bias of small labels' totals; None if the method has none.

        See :mod:`geodp.mechanisms.trees.attributes`.
        """
        return None

    def list_signals(
        self, grid: Grid, event: E, people: float | None
    ) -> list[dict[str, Any]] | None:
        """List which parts carry a signal at which areas; None: the method measures no parts.

        ``people``: a public guess of the sum of all counts. Each row has ``parts`` (their number),
        ``cells`` of an area of the map, ``noise`` of a part's count there, ``least`` people of a
        part with a signal, ``expected`` people of a part by the guess, and ``signal``, whether that
        is enough; the last two are None without a guess.
        """
        return None

    def split(self, released: ReleasedTable) -> Split | None:
        """Split a release into the map and its parts; None: the method releases no parts."""
        return None

    def clamp_losses(self, grid: Grid, event: E) -> list[tuple[float, float]] | None:
        """Compute the clamp's loss: what a node's occupied children lose to empty siblings.

        Mean and standard deviation in counts, for every level of its tree from the root's on, if
        the node's own error is that of the closed form.
        """
        return None

    def assume(self, event: E) -> Assumption:
        """Return the bound on the contribution as the card of a table of this method lists it."""
        return event.assumption

    def list_postprocessing(self) -> tuple[str, ...]:
        """List the steps after the noise with these settings, a sentence each."""
        return self.postprocessing

    def visited(self, released: ReleasedTable) -> int:
        """Count the nodes, cells or coefficients of the release, from its public output."""
        return 1 << released.grid.bits

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """Names and values of all settings, including defaults."""
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
        defaults = {f.name: getattr(self, f.name) for f in fields(self)}
        changed: dict[str, Any] = {}
        for part in text.split(",") if text else []:
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in defaults or name in changed:
                settings = (
                    ", ".join(f"{n}={write_setting(v)}" for n, v in defaults.items()) or "none"
                )
                raise UsageError(
                    f"Settings of {self.name}, each once: {settings}.",
                    code="method-settings-unknown",
                )
            changed[name] = _read(value, defaults[name], f"{self.name}:{name}")
        return replace(self, **changed)


class BaseUse(NamedTuple):
    """The release that another one refines: its grid, method and event."""

    grid: Grid
    method: Mechanism
    event: Measurement


@dataclass(frozen=True)
class Mechanism(Method[Measurement]):
    """A published method of central privacy.

    A subclass defines the class attributes, :meth:`release` and what differs from the defaults
    here. Its file lists an instance in ``METHODS``; nothing else is needed.

    Attributes
    ----------
    gaussian : bool
        Whether Gaussian noise is supported too (``event.law``): the method measures integers, each
        of which one person changes by at most 1, and their number is the sensitivity.
    informed : bool
        Whether a prior is supported: :meth:`release_informed`.
    max_cells : int
        Most cells of a domain, padded to powers of two.
    """

    noise: ClassVar[str] = "discrete Laplace on integers, sampled exactly"
    noise_format: ClassVar[str] = NOISE_FORMAT
    gaussian: ClassVar[bool] = False
    informed: ClassVar[bool] = False
    max_cells: ClassVar[int] = MAX_CELLS

    @abstractmethod
    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Run the method; ``event.scale`` is the noise's scale for its sensitivity."""

    def release_informed(
        self, table: CountTable, event: Measurement, key: NoiseKey, prior: Prior
    ) -> tuple[ReleasedTable, StatedPrior]:
        """Run the method with a prior, and describe how reliable the prior was.

        The measurements are those of :meth:`release`, with the same noise under the same key: the
        prior is public, and everything that it changes is post-processing.
        """
        raise NotImplementedError

    def base(self, grid: Grid, event: Measurement) -> BaseUse | None:
        """Return the method and event of the release that this one refines, if there is one.

        Its key is derived from its own inputs, so the base release is the same, bit for bit, when
        it is published alone. Its version and queries are part of this release's identity as well.
        """
        return None

    def first(self, table: CountTable) -> CountTable:
        """Return the table that :meth:`base` releases."""
        raise NotImplementedError

    def refine_base(
        self, first: ReleasedTable, table: CountTable, event: Measurement, key: NoiseKey
    ) -> ReleasedTable:
        """Complete a release whose :meth:`base` is drawn already; otherwise as :meth:`release`."""
        raise NotImplementedError

    @abstractmethod
    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List everything that :meth:`release` can measure on a grid.

        Queries are part of a release's identity: under one kept key, releases with different
        queries have independent noise, even if only a constant or a default changed. So defaults
        are written out too. If an earlier, noisy measurement decides what is measured later, all
        possible measurements are listed.
        """

    def declare(self, grid: Grid, event: Measurement) -> Draws:
        """Declare all draws of the method, which are its queries. The key refuses any other."""
        return Draws.of(Draw(query.stream, query.noise) for query in self.queries(grid, event))

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """List the levels whose noisy values can be written, the root's first; perhaps none.

        They are the measurements of :meth:`queries`, so writing the values of any of their nodes
        is covered by the guarantee and costs nothing more.
        """
        return ()

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Draw the noise of nodes of a level of :meth:`list_levels`, the same as :meth:`release`.

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
        """Explain why the method does not support a grid; None if it does."""
        if 1 << grid.bits > self.max_cells:
            return Rule(
                "method-too-many-cells",
                f"{self.name} works on every cell of the domain, and takes at most "
                f"{self.max_cells:,} cells (padded to powers of two); this grid has {grid.size:,}.",
            )
        return None

    def explain_noise_limit(self, grid: Grid, event: Measurement) -> str | None:
        """Explain why the noise of an event is too large for a grid; None: it is not.

        Called before any charge.
        """
        try:
            event.require_drawable(self.min_share(grid, event))
        except UsageError as error:
            return Rule(error.code, str(error))
        return None

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share of the budget: its noise scale is ``event.scale / share``."""
        return Fraction(1)

    def event(self, grid: Grid, terms: Terms, key_origin: str = "entropy") -> Measurement:
        """Return the privacy event of a release on a grid, under terms with a bound contribution.

        Raises UsageError for Gaussian noise if the method does not support it.
        """
        # A method that measures sums other than counts has no proof for Gaussian noise here.
        if terms.gaussian and not self.gaussian:
            raise UsageError(
                f"{self.name} has Laplace noise only: give epsilon alone.",
                code="method-has-no-gaussian",
            )
        return Measurement.of(self.spec, terms, self.sensitivity(grid), key_origin)

    def sensitivity(self, grid: Grid) -> int:
        """Return the L1 change of all measurements when one person is added to one cell.

        Methods that measure in several stages return 1 and divide the budget themselves.
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
