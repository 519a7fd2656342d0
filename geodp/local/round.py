"""The public file of a round: all that devices and servers have to share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from geodp import __version__
from geodp.errors import InputError, UsageError, VerificationError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.io.opening import read_json
from geodp.io.verify.readback import grid_of
from geodp.local.oracles import Oracle
from geodp.local.oracles.base import require_epsilon
from geodp.local.protocols import protocol
from geodp.local.tree import Protocol
from geodp.privacy.reports import LocalReports
from geodp.reprs import one_line
from geodp.table.plain import AtLeast, Text, read_plain, write_plain
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Digest, Exact, Software, StatedCharge

SCHEMA: Literal["geodp-round-1"] = "geodp-round-1"

DIGITS = 4
"""Numbers of 32 binary digits each that a round's file gives of a chance."""

# The text is part of the file, and so of its digest: another wording is another round.
COINS = (
    "Every random number is drawn from the operating system's entropy, in units of 32 bits. A "
    "whole number below b is a unit, or two for b above 2^32, the lower first, divided by b, and "
    "drawn again where it lies in the last, incomplete run of b numbers. A chance p comes true "
    "where a unit is below the first 32 binary digits of p; where it is the same, the next unit is "
    "compared with the next 32 digits."
)
"""Specification of how a device draws, for those who write one."""


@dataclass(frozen=True)
class RoundInfo:
    """The content of a round's file, without its digest.

    Attributes
    ----------
    schema : "geodp-round-1"
    software : Software
    id : str
        Random, 64 hexadecimal digits.
    protocol : str
        Name and settings; ``version``: version of the protocol.
    epsilon : str
        Epsilon of one report, exact; ``epsilon_decimal``: the nearest decimal.
    allow_weak : bool
        Whether an epsilon above 16 was allowed.
    unit, period : str
        What the guarantee protects, and the time between reports of a device.
    neighbours : "replace-one"
    guarantee : str
        The guarantee as a sentence.
    coins : str
        How a device draws.
    domain : StatedDomain
        The grid whose cells the devices report.
    depth : int
        Digits of a key that devices report.
    cells : int
        Number of cells of the release: blocks of keys that share ``depth`` digits.
    levels : tuple of (int, int)
        Children of a node of each level from the root on, and the weight by which it is drawn.
    oracles : tuple of mapping
        Settings of the oracles: one for all levels, or one for each.
    chances : tuple of tuples of tuples of int
        For each of these oracles, the first 128 binary digits of the chances of its coins, 32 in
        each number.
    report : tuple of (str, str)
        Names and types of the fields of a report.
    dataset : str or None
        The data set that was charged; ``budget``: the charge.
    """

    schema: Literal["geodp-round-1"]
    software: Software
    id: Digest
    protocol: str
    version: Annotated[int, AtLeast(1)]
    epsilon: Exact
    epsilon_decimal: float
    allow_weak: bool
    unit: str
    period: str
    neighbours: Literal["replace-one"]
    guarantee: str
    coins: str
    domain: StatedDomain
    depth: Annotated[int, AtLeast(1)]
    cells: Annotated[int, AtLeast(1)]
    levels: tuple[tuple[int, Annotated[int, AtLeast(1)]], ...]
    oracles: tuple[Mapping[str, bool | int | str | None], ...]
    chances: tuple[tuple[tuple[Annotated[int, AtLeast(0)], ...], ...], ...]
    report: tuple[tuple[str, Annotated[str, Text(r"[<|]?u[1248]")]], ...]
    dataset: str | None
    budget: StatedCharge | None


@dataclass(frozen=True)
class Round:
    """A round: what devices report, and what was charged for it.

    Attributes
    ----------
    grid : Grid
        The grid whose cells the devices report.
    depth : int
        Digits of a key that devices report.
    protocol : Protocol
    epsilon : Fraction
        Epsilon of one report.
    id : str
        Random, 64 hexadecimal digits.
    unit, period : str
        What the guarantee protects, and the time between reports of a device.
    allow_weak : bool
        Accept an epsilon above 16.
    dataset : str, optional
        The data set that was charged; ``budget``: the charge.

    Raises
    ------
    UsageError
        Settings that do not go together.
    """

    __repr__ = one_line

    grid: Grid
    depth: int
    protocol: Protocol
    epsilon: Fraction
    id: str
    unit: str = "device"
    period: str = "day"
    allow_weak: bool = False
    dataset: str | None = None
    budget: StatedCharge | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon, self.allow_weak)
        if refusal := self.protocol.unsupported(self.coarse.grid):
            raise UsageError(refusal)
        if self.protocol.spread:
            raise UsageError(
                "Blocks are spread when counts are published, not by a round.",
                code="round-not-spread",
            )
        # Only to refuse weights of another depth here, and not at the first report.
        self.protocol.levels(self.coarse.grid)
        if not self.oracles:
            raise UsageError("A round needs at least one level.", code="round-without-levels")

    @cached_property
    def coarse(self) -> Coarsening:
        """The grid and its coarsening, which is the grid of the release."""
        return Coarsening.by_digits(self.grid, self.depth)

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        """The oracles through which devices report: one for all levels, or one for each."""
        return self.protocol.oracles(self.coarse.grid, self.epsilon)

    @property
    def report_type(self) -> np.dtype[Any]:
        """Fields of a report."""
        return self.protocol.report_type(self.oracles)

    def event(self, reports: int) -> LocalReports:
        """Build the event of a release of this number of reports."""
        return LocalReports(self.protocol.spec, self.epsilon, self.unit, self.period, reports)

    @cached_property
    def info(self) -> RoundInfo:
        """The content of the round's file, without its digest."""
        coarse, kind = self.coarse.grid, self.report_type
        fanouts, chances = self.protocol.levels(coarse)
        return RoundInfo(
            schema=SCHEMA,
            software=Software("geodp", __version__),
            id=self.id,
            protocol=self.protocol.spec,
            version=self.protocol.version,
            epsilon=str(self.epsilon),
            epsilon_decimal=float(self.epsilon),
            allow_weak=self.allow_weak,
            unit=self.unit,
            period=self.period,
            neighbours="replace-one",
            guarantee=self.event(0).statement,
            coins=COINS,
            domain=StatedDomain.of(self.grid),
            depth=self.depth,
            cells=coarse.size,
            levels=tuple(zip(fanouts, _integer_weights(chances), strict=True)),
            oracles=tuple(oracle.settings for oracle in self.oracles),
            chances=tuple(_digits(oracle) for oracle in self.oracles),
            report=tuple((name, kind[name].str) for name in kind.names or ()),
            dataset=self.dataset,
            budget=self.budget,
        )

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file's content, which every file of reports records: hexadecimal."""
        # Sorted keys and ASCII make the bytes, and so the digest, independent of the writer.
        text = json.dumps(write_plain(self.info), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file as plain values."""
        return {**write_plain(self.info), "sha256": self.digest}

    @classmethod
    def from_json(cls, plain: Any, where: str = "round") -> Round:
        """Read a round from plain values, which may come from an untrusted file.

        Raises
        ------
        InputError
            They are not those of a round, are of another version, or contradict their digest.
        """
        content = dict(plain) if isinstance(plain, dict) else {}
        digest = content.pop("sha256", None)
        try:
            info = read_plain(RoundInfo, content, where)
            method = protocol(info.protocol)
            round_ = cls(
                grid_of(info.domain),
                info.depth,
                method,
                Fraction(info.epsilon),
                info.id,
                info.unit,
                info.period,
                info.allow_weak,
                info.dataset,
                info.budget,
            )
            # Everything that follows from the settings is computed again, so that a file cannot
            # claim chances that its protocol does not have.
            agrees = replace(round_.info, software=info.software) == info
        except (VerificationError, UsageError, ArithmeticError) as error:
            raise InputError(
                f"This is not a round that geodp can read: {error}", file=where, code="round-broken"
            ) from None
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        if digest != hashlib.sha256(text.encode()).hexdigest() or not agrees:
            raise InputError(
                "The round's file was changed, or is of another version of its protocol.",
                file=where,
                code="round-changed",
            )
        # Keep the software that opened the round: it is part of the digest of later files.
        round_.__dict__["info"] = info
        return round_


def _integer_weights(chances: tuple[Fraction, ...]) -> list[int]:
    """Convert chances that add up to 1 to the smallest whole numbers in their ratios."""
    parts = lcm(*(chance.denominator for chance in chances))
    return [int(chance * parts) for chance in chances]


def _digits(oracle: Oracle) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(chance.digits(DIGITS)) for chance in oracle.flip_chances)


def read_round(path: str | Path) -> Round:
    """Read the round of a file; InputError for any other file.

    Examples
    --------
    >>> import tempfile, geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opened = geodp.local.open_round(plan, path=f"{folder}/round.json")
    ...     geodp.local.read_round(f"{folder}/round.json") == opened
    True
    """
    try:
        plain = read_json(Path(path))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"The file is not readable as JSON: {error}.", file=str(path), code="round-not-json"
        ) from None
    return Round.from_json(plain, Path(path).name)
