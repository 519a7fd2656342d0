"""What a round asks devices: protocol and depth, from devices, epsilon and the grid alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from geodp.grid.grid import Grid
from geodp.mechanisms import Protocol


@dataclass(frozen=True)
class LocalPlan:
    grid: Grid
    depth: int
    protocol: Protocol
    epsilon: Fraction
    devices: int
    unit: str = "device"
    period: str = "day"
    allow_weak: bool = False
