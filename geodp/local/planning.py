"""Plan a round: choose protocol and depth from the number of devices, epsilon and the grid."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

from geodp.accuracy.closed_form import BlockError, resolution_floor
from geodp.errors import GeodpError, InputError, Rule, UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.io.opening import parse_json, require_regular
from geodp.io.verify.readback import grid_of
from geodp.local.collect import MIN_REPORTS
from geodp.local.protocols import protocol as find_protocol
from geodp.local.round import Round
from geodp.local.tree import Protocol
from geodp.privacy.loss import Budget, rational
from geodp.privacy.reports import LocalReports
from geodp.privacy.terms import canonical_unit
from geodp.reprs import one_line
from geodp.table.plain import read_plain
from geodp.table.stated.domain import StatedDomain

FORMAT = 1
"""Version of the file's format."""

DENSER = 2.2
"""Density, over the mean, from which on people should be resolved.

People live close together: on levels whose standard error is up to this multiple of the mean people
of their blocks, most people live in blocks well above it. Measured on the census of Kanto, 1e5 to
1e7 devices, epsilon 1/2 to 3: blocks of 2^8 of 2^18 cells then have at most 6 % more error than
with the best of six depths and chains of two levels or more. One level alone was 1.7 times better
with 1e7 devices at epsilon 3; it has no coarser squares, and is used where it is named.
"""

FINE_BITS = 4
"""Bits that the finest level splits; two thirds of the devices report it."""

# More would overflow no sum, but no collection is near it: a larger number is a typing error.
MAX_DEVICES = 1 << 40


@dataclass(frozen=True)
class LocalPlan:
    """The reports that a round will request, and the error that its release will have.

    Attributes
    ----------
    grid : Grid
        The grid whose cells the devices report.
    depth : int
        Digits of a key that devices report: the release has blocks of keys that share them.
    protocol : Protocol
    epsilon : Fraction
        Epsilon of one report.
    devices : int
        Expected number of reports; a public guess.
    unit, period : str
        What the guarantee protects, and the time between reports of a device.
    allow_weak : bool
        Accept an epsilon above 16.
    """

    __repr__ = one_line

    grid: Grid
    depth: int
    protocol: Protocol
    epsilon: Fraction
    devices: int
    unit: str = "device"
    period: str = "day"
    allow_weak: bool = False

    @cached_property
    def round(self) -> Round:
        """The round that would be opened, without an id."""
        return Round(
            grid=self.grid,
            depth=self.depth,
            protocol=self.protocol,
            epsilon=self.epsilon,
            # A plan has no id: it is drawn when the round is opened.
            id="0" * 64,
            unit=self.unit,
            period=self.period,
            allow_weak=self.allow_weak,
        )

    @property
    def released(self) -> Grid:
        """The grid of the release."""
        return self.round.coarse.grid

    @property
    def event(self) -> LocalReports:
        """The event of the release: local reports of the expected number of devices."""
        return self.round.event(self.devices)

    @cached_property
    def errors(self) -> tuple[BlockError, ...]:
        """The errors of blocks whose keys share their first i digits, at index i."""
        errors = self.protocol.block_errors(self.released, self.event)
        # Every protocol has a closed form.
        assert errors is not None
        return errors

    @property
    def floor(self) -> int | None:
        """The cells of the finest block whose standard error is at most its mean devices."""
        return resolution_floor(self.errors, self.devices, self.released.size)

    @property
    def report_bytes(self) -> int:
        """The bytes of a report before compression."""
        return self.round.report_type.itemsize

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        fanouts, chances = self.protocol.levels(self.released)
        side = self.round.coarse.side
        return {
            "model": "local",
            "protocol": self.protocol.spec,
            "depth": self.depth,
            "levels": [
                {"children": fanout, "chance": str(chance)}
                for fanout, chance in zip(fanouts, chances, strict=True)
            ],
            "oracles": [oracle.name for oracle in self.round.oracles],
            "epsilon": str(self.epsilon),
            "devices": self.devices,
            "unit": self.unit,
            "period": self.period,
            "cells": self.released.size,
            "fine_cells_of_a_cell": side * side,
            "report_bytes": self.report_bytes,
            "guarantee": self.event.statement,
            "floor": self.floor,
            "blocks": [error.describe() for error in reversed(self.errors)],
            "areas": [
                {"level": name, **self.errors[digits].describe()}
                for name, digits in self.released.areas.above_cells
            ],
        }

    def toml(self) -> str:
        """Write the text of a file for ``geodp local open --plan``."""
        domain = json.dumps(self.grid.describe(), sort_keys=True, ensure_ascii=True)
        lines = ["# A plan of geodp, for: geodp local open --plan FILE ...", "#"]
        lines += [
            f"# {error.cells} cells of the release: standard error {error.standard_error:,.1f}"
            for error in self.errors[::-1]
        ]
        plain = {
            "protocol": self.protocol.spec,
            "depth": self.depth,
            "epsilon": str(self.epsilon),
            "devices": self.devices,
            "unit": self.unit,
            "period": self.period,
            "allow_weak": self.allow_weak,
            "domain": domain,
        }
        lines += ["", f"format = {FORMAT}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
        return "\n".join(lines) + "\n"


def plan(
    grid: Grid,
    *,
    devices: float,
    epsilon: Budget,
    protocol: str | None = None,
    depth: int | None = None,
    unit: str = "device",
    period: str = "day",
    allow_weak: bool = False,
) -> LocalPlan:
    """Choose what a round's devices report, without reading any report.

    A level that the noise hides only takes devices away from the others, so depth matters most.
    The chosen depth is the finest one whose blocks have a standard error of at most 2.2 times their
    mean devices, among squares of cells, or among published areas on a grid in their order; devices
    report it and one level above, or all areas above.

    Parameters
    ----------
    grid : Grid
        One map, without attributes and without a mask, in Morton order or that of official areas.
    devices : int
        Expected number of reports: a public guess, at least 1,000.
    epsilon : str, int, float, Decimal or Fraction
        Epsilon of one report, read exactly.
    protocol : str, optional
        A name in ``PROTOCOLS``, with settings; then only the depth is chosen.
    depth : int, optional
        Digits of a key; then only the protocol is chosen.
    unit, period : str
        What the guarantee protects, and the time between reports of a device.
    allow_weak : bool
        Accept an epsilon above 16.

    Returns
    -------
    LocalPlan

    Raises
    ------
    UsageError
        A grid that does not suit a round, or a value out of range.

    Examples
    --------
    >>> chosen = plan(Grid.regular((512, 512)), devices=10**6, epsilon=1)
    >>> chosen.protocol.spec, chosen.released.shape
    ('counts:chain=4-4,weights=1-2', (16, 16))
    """
    _require_map(grid)
    n, exact = _check_devices(devices), rational(epsilon)
    named = None if protocol is None else find_protocol(protocol)
    plan_at = partial(
        LocalPlan,
        grid,
        epsilon=exact,
        devices=n,
        unit=canonical_unit(unit),
        period=_check_period(period),
        allow_weak=allow_weak,
    )
    if depth is not None:
        candidate_plan = plan_at(depth, named or _suitable_protocol(grid, depth))
        # The property validates depth and protocol together, so that errors show here.
        candidate_plan.round  # noqa: B018
        return candidate_plan
    best, sentence = None, "The grid has no coarser squares of cells to report; give a depth."
    refused = Rule("round-needs-depth", sentence)
    for candidate in _depths(grid):
        candidate_plan = plan_at(candidate, named or _suitable_protocol(grid, candidate))
        try:
            limit = DENSER * n / candidate_plan.released.size
        # A chain or weights of the protocol may fit one depth only: others are passed over.
        except UsageError as error:
            refused = Rule(error.code, str(error))
            continue
        # A finer depth is accepted only while its blocks still rise above the noise.
        if best is not None and candidate_plan.errors[-1].standard_error > limit:
            break
        best = candidate_plan
    if best is None:
        raise UsageError(refused)
    return best


def _require_map(grid: Grid) -> None:
    """Refuse a grid that does not suit a round."""
    if grid.plain_map is None or not grid.domain.is_box:
        raise UsageError(
            "A round covers one map, in Morton order or that of official areas: leave out mask, "
            "attributes, regions and pairs.",
            code="round-needs-plain-map",
        )


def _depths(grid: Grid) -> Iterator[int]:
    """Yield numbers of digits whose blocks are squares or published areas, the coarsest first."""
    for digits in range(1, len(grid.order.radices) + 1):
        try:
            Coarsening.by_digits(grid, digits)
        except UsageError:
            if digits == len(grid.order.radices):
                raise
            continue
        yield digits


def _suitable_protocol(grid: Grid, depth: int) -> Protocol:
    """Choose the protocol for a depth: the finest level has two thirds of the devices."""
    if grid.areas.nested:
        steps = [step for _, step in grid.areas.steps]
        ends = list(accumulate(steps))
        steps = steps[: ends.index(depth) + 1]
    elif depth <= FINE_BITS + 1:
        steps = [depth]
    else:
        steps = [depth - FINE_BITS, FINE_BITS]
    if len(steps) == 1:
        return find_protocol(f"counts:chain={steps[0]}")
    # Two thirds of the devices for the finest level, the rest in equal parts for the others.
    weights = [*[1] * (len(steps) - 1), 2 * (len(steps) - 1)]
    return find_protocol(f"counts:chain={_join(steps)},weights={_join(weights)}")


def _join(numbers: list[int]) -> str:
    return "-".join(map(str, numbers))


def _check_devices(devices: object) -> int:
    number = isinstance(devices, Real) and not isinstance(devices, bool) and devices == devices
    if not number or not MIN_REPORTS <= devices <= MAX_DEVICES or devices % 1:  # type: ignore[operator]
        raise UsageError(
            "devices must be the expected number of reports, a whole number of at least "
            f"{MIN_REPORTS:,} and at most 2**40.",
            code="devices-out-of-range",
        )
    return int(devices)  # type: ignore[call-overload, no-any-return]


def _check_period(period: object) -> str:
    if isinstance(period, str) and period.strip() and period.isprintable() and len(period) <= 200:
        return " ".join(period.split())
    raise UsageError(
        "period must name the time until a device reports again: day, week ...",
        code="period-in-words",
    )


def read_local_plan(path: str | PathLike[str]) -> LocalPlan:
    """Read the plan of a file that ``LocalPlan.toml`` wrote.

    Raises
    ------
    InputError
        A file that is unreadable or not such a plan.
    """
    file = Path(path)
    require_regular(file)
    wrong = InputError(
        f"{file.name} is not a plan of a round; geodp local plan writes one.",
        code="plan-of-round-expected",
    )
    try:
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
        domain = read_plain(StatedDomain, parse_json(fields.pop("domain").encode()), "domain")
        # A newer format may have fields that change the meaning of the others.
        if fields.pop("format", None) != FORMAT:
            raise wrong
        kinds = {"devices": Integral, "depth": Integral, "allow_weak": bool}
        if any(not isinstance(value, kinds.get(name, str)) for name, value in fields.items()):
            raise wrong
        return plan(grid_of(domain), **fields)
    except OSError as error:
        raise InputError(
            f"{file.name} cannot be read ({error.strerror}).", code="plan-of-round-unreadable"
        ) from None
    except InputError:
        raise
    except GeodpError as error:
        raise InputError(f"{file.name}: {error}", code=error.code) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise wrong from None
