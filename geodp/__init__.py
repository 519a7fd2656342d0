"""Differentially private release of sparse geospatial counts."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from geodp.advice import names_of, no_attribute

if TYPE_CHECKING:
    from geodp import amounts as amounts
    from geodp import audit as audit
    from geodp import cluster as cluster
    from geodp import compare as compare
    from geodp import explain as explain
    from geodp import flows as flows
    from geodp import households as households
    from geodp import literature as literature
    from geodp import local as local
    from geodp import planning as planning
    from geodp import select as select
    from geodp import statistics as statistics
    from geodp.accuracy.area_sums import Areas as Areas
    from geodp.accuracy.closed_form import BlockError as BlockError
    from geodp.accuracy.interval import Estimate as Estimate
    from geodp.accuracy.interval import Interval as Interval
    from geodp.accuracy.margins import Margins as Margins
    from geodp.errors import AccessWarning as AccessWarning
    from geodp.errors import BudgetError as BudgetError
    from geodp.errors import CodeError as CodeError
    from geodp.errors import GeodpError as GeodpError
    from geodp.errors import InputError as InputError
    from geodp.errors import LettersWarning as LettersWarning
    from geodp.errors import OutputError as OutputError
    from geodp.errors import PluginWarning as PluginWarning
    from geodp.errors import UndeclaredDrawError as UndeclaredDrawError
    from geodp.errors import UsageError as UsageError
    from geodp.errors import VerificationError as VerificationError
    from geodp.errors import WithdrawnWarning as WithdrawnWarning
    from geodp.grid.area_levels import AreaLevels as AreaLevels
    from geodp.grid.axes import Attribute as Attribute
    from geodp.grid.axes import Mask as Mask
    from geodp.grid.codes.system import CodeSystem as CodeSystem
    from geodp.grid.domain import Domain as Domain
    from geodp.grid.grid import Grid as Grid
    from geodp.grid.hierarchy import Hierarchy as Hierarchy
    from geodp.grid.lattice import Lattice as Lattice
    from geodp.grid.order import Order as Order
    from geodp.grid.region import Region as Region
    from geodp.io.read.counting.choosing import read as read
    from geodp.io.read.points import read_points as read_points
    from geodp.io.read.public.areas import find_bounds as find_bounds
    from geodp.io.read.raster import read_raster as read_raster
    from geodp.io.read.table import read_mesh as read_mesh
    from geodp.io.read.table import read_table as read_table
    from geodp.io.write.tables import Intervals as Intervals
    from geodp.io.write.tables import RowErrors as RowErrors
    from geodp.kinds.series.kind import SeriesCard as SeriesCard
    from geodp.kinds.series.publish import publish_series as publish_series
    from geodp.kinds.series.series import Series as Series
    from geodp.kinds.series.smoothing import Smoothing as Smoothing
    from geodp.mechanisms import METHODS as METHODS
    from geodp.mechanisms.base import Mechanism as Mechanism
    from geodp.mechanisms.base import Method as Method
    from geodp.privacy.accounts import Account as Account
    from geodp.privacy.accounts import Charge as Charge
    from geodp.privacy.assumption import Assumption as Assumption
    from geodp.privacy.assumption import ContributionBound as ContributionBound
    from geodp.privacy.event import Composed as Composed
    from geodp.privacy.event import Event as Event
    from geodp.privacy.event import Guarantee as Guarantee
    from geodp.privacy.event import Measurement as Measurement
    from geodp.privacy.event import TableEvent as TableEvent
    from geodp.privacy.hash_chain import Head as Head
    from geodp.privacy.key import NoiseKey as NoiseKey
    from geodp.privacy.ledger import Ledger as Ledger
    from geodp.privacy.loss import ApproximateDP as ApproximateDP
    from geodp.privacy.loss import PureDP as PureDP
    from geodp.privacy.loss import ZeroConcentratedDP as ZeroConcentratedDP
    from geodp.privacy.noise.law import Law as Law
    from geodp.privacy.samples import SecretSample as SecretSample
    from geodp.privacy.terms import Terms as Terms
    from geodp.release.estimates import PartErrors as PartErrors
    from geodp.release.opening import WrittenRelease as WrittenRelease
    from geodp.release.opening import open_written as open_written
    from geodp.release.periods import Periods as Periods
    from geodp.release.publish import publish as publish
    from geodp.release.release import Release as Release
    from geodp.release.sharing import Sharing as Sharing
    from geodp.table.card import Card as Card
    from geodp.table.counts import CountTable as CountTable
    from geodp.table.counts import ReleasedTable as ReleasedTable
    from geodp.table.prior import Prior as Prior
    from geodp.table.public_totals import PublicTotals as PublicTotals
    from geodp.table.reading import Reading as Reading
    from geodp.table.source import Fact as Fact
    from geodp.table.source import Source as Source
    from geodp.tools.evaluate.evaluate import evaluate as evaluate
    from geodp.tools.evaluate.result import Evaluation as Evaluation
    from geodp.tools.plan.plan import Plan as Plan
    from geodp.tools.plan.plan import plan as plan

    open = open_written  # noqa: A001

__version__ = "0.1.0"

# Module of each name; after a colon its name there.
_HOME = {
    "AccessWarning": "geodp.errors",
    "Account": "geodp.privacy.accounts",
    "ApproximateDP": "geodp.privacy.loss",
    "AreaLevels": "geodp.grid.area_levels",
    "Areas": "geodp.accuracy.area_sums",
    "Assumption": "geodp.privacy.assumption",
    "Attribute": "geodp.grid.axes",
    "BlockError": "geodp.accuracy.closed_form",
    "BudgetError": "geodp.errors",
    "Card": "geodp.table.card",
    "Charge": "geodp.privacy.accounts",
    "CodeError": "geodp.errors",
    "CodeSystem": "geodp.grid.codes.system",
    "Composed": "geodp.privacy.event",
    "ContributionBound": "geodp.privacy.assumption",
    "CountTable": "geodp.table.counts",
    "Domain": "geodp.grid.domain",
    "Estimate": "geodp.accuracy.interval",
    "Interval": "geodp.accuracy.interval",
    "Evaluation": "geodp.tools.evaluate.result",
    "Event": "geodp.privacy.event",
    "Fact": "geodp.table.source",
    "GeodpError": "geodp.errors",
    "Grid": "geodp.grid.grid",
    "Guarantee": "geodp.privacy.event",
    "Head": "geodp.privacy.hash_chain",
    "Hierarchy": "geodp.grid.hierarchy",
    "InputError": "geodp.errors",
    "Intervals": "geodp.io.write.tables",
    "Lattice": "geodp.grid.lattice",
    "Law": "geodp.privacy.noise.law",
    "Ledger": "geodp.privacy.ledger",
    "LettersWarning": "geodp.errors",
    "METHODS": "geodp.mechanisms",
    "Margins": "geodp.accuracy.margins",
    "Mask": "geodp.grid.axes",
    "Measurement": "geodp.privacy.event",
    "Mechanism": "geodp.mechanisms.base",
    "Method": "geodp.mechanisms.base",
    "NoiseKey": "geodp.privacy.key",
    "Order": "geodp.grid.order",
    "OutputError": "geodp.errors",
    "PartErrors": "geodp.release.estimates",
    "Periods": "geodp.release.periods",
    "Plan": "geodp.tools.plan.plan",
    "PluginWarning": "geodp.errors",
    "Prior": "geodp.table.prior",
    "PublicTotals": "geodp.table.public_totals",
    "PureDP": "geodp.privacy.loss",
    "Reading": "geodp.table.reading",
    "Region": "geodp.grid.region",
    "Release": "geodp.release.release",
    "ReleasedTable": "geodp.table.counts",
    "RowErrors": "geodp.io.write.tables",
    "SecretSample": "geodp.privacy.samples",
    "Series": "geodp.kinds.series.series",
    "SeriesCard": "geodp.kinds.series.kind",
    "Sharing": "geodp.release.sharing",
    "Smoothing": "geodp.kinds.series.smoothing",
    "Source": "geodp.table.source",
    "TableEvent": "geodp.privacy.event",
    "Terms": "geodp.privacy.terms",
    "UndeclaredDrawError": "geodp.errors",
    "UsageError": "geodp.errors",
    "VerificationError": "geodp.errors",
    "WithdrawnWarning": "geodp.errors",
    "WrittenRelease": "geodp.release.opening",
    "ZeroConcentratedDP": "geodp.privacy.loss",
    "evaluate": "geodp.tools.evaluate.evaluate",
    "find_bounds": "geodp.io.read.public.areas",
    "open": "geodp.release.opening:open_written",
    "plan": "geodp.tools.plan.plan",
    "publish": "geodp.release.publish",
    "publish_series": "geodp.kinds.series.publish",
    "read": "geodp.io.read.counting.choosing",
    "read_mesh": "geodp.io.read.table",
    "read_points": "geodp.io.read.points",
    "read_raster": "geodp.io.read.raster",
    "read_table": "geodp.io.read.table",
}

# Modules whose names have another home, imported when something of them is first asked for.
_NAMESPACES = {
    "audit": "geodp.tools.audit.api",
    "amounts": "geodp.kinds.amounts.api",
    "compare": "geodp.tools.compare.api",
    "explain": "geodp.tools.explain.api",
    "flows": "geodp.kinds.flows.api",
    "households": "geodp.kinds.households.api",
    "planning": "geodp.tools.plan.api",
    "select": "geodp.kinds.selection.api",
    "statistics": "geodp.tools.statistics.api",
}

# Packages whose names are their own.
_PACKAGES = ("cluster", "literature", "local")

__all__ = [*sorted(_HOME), *sorted((*_NAMESPACES, *_PACKAGES)), "__version__"]


# Hints for names that users of data frames may try.
_HINTS = {
    "load open_release read_release": "geodp.open(folder) opens a written release",
    "read_csv read_parquet read_excel read_file read_json from_pandas from_geopandas": (
        "geodp.read(path_or_frame, grid) reads files and frames, and geodp.publish takes them, too"
    ),
    "release run privatize anonymize": "geodp.publish(frame, grid=..., epsilon=...) releases it",
    "save write": "release.write(folder) writes a release",
    "mesh grid": "geodp.Grid.mesh('jis:half', bounds=...) is a grid of published cells",
}


for _name, _api in _NAMESPACES.items():
    _module = ModuleType(f"{__name__}.{_name}")
    vars(_module).update(names_of(_module.__name__, _api))
    # So that both ``geodp.audit`` and ``import geodp.audit`` work as they read.
    globals()[_name] = sys.modules[_module.__name__] = _module


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``geodp --help`` stays quick."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise no_attribute(sys.modules[__name__], "module 'geodp'", name, _HINTS)
    home, _, attribute = _HOME[name].partition(":")
    value: object = getattr(import_module(home), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
