"""The drawn tables replaced by fixed ones: what a run then shows depends on nothing confidential.

A mechanism gets another table than the run has read: one that is made from the public grid alone,
and a key that is always the same. What it returns is therefore a valid release of its own kind,
and the same for every input. All that comes before and after the draw runs as it is.
"""

import datetime
import secrets
import sys
from contextlib import contextmanager
from functools import wraps

import numpy as np

from geodp.cluster import publishing
from geodp.cluster.partitions import InformedPartition, PyramidPartition, TreePartition
from geodp.grid.joint import split_grid
from geodp.kinds.amounts import publish as amounts_publish
from geodp.kinds.census import publish as census_publish
from geodp.kinds.census.streams import CensusTruth
from geodp.kinds.flows.streams import StreamsPlan, TripStreams
from geodp.kinds.households import publish as households_publish
from geodp.kinds.selection.question import Question
from geodp.kinds.series import publish as series_publish
from geodp.local import collect
from geodp.local.coins import Coins
from geodp.mechanisms import METHODS
from geodp.mechanisms.parts.measuring import TrueParts
from geodp.privacy.key import NoiseKey
from geodp.release.measurements import MeasurementsRequest
from geodp.table.counts import Cells, CountTable

MOST = 400
"""Cells of a fixed table at most."""

ONE_KEY = bytes(range(32))


def fixed_table(grid):
    """Return a table with some cells of a grid's domain, by nothing but the grid."""
    number = min(grid.size, MOST)
    rank = np.unique(np.linspace(0, grid.size - 1, number).astype(np.int64))
    key = np.sort(grid.domain.keys_of_ranks(rank))
    count = 5 + (np.arange(key.size, dtype=np.int64) * 37) % 211
    return CountTable.of_cells(grid, key, count)


def fixed_key():
    return NoiseKey(ONE_KEY)


def _replaced(real, table_at, key_at):
    """Return a method that is called with the fixed table and key in place of its own."""

    @wraps(real)
    def call(self, *given):
        given = list(given)
        given[table_at] = fixed_table(given[table_at].grid)
        given[key_at] = fixed_key()
        return real(self, *given)

    return call


def _fix_methods(patch):
    at = {"release": (0, 2), "release_informed": (0, 2), "refine_base": (1, 3)}
    classes = {one for method in METHODS.values() for one in type(method).__mro__}
    for one in classes:
        for name, places in at.items():
            if name in vars(one) and not getattr(vars(one)[name], "__isabstractmethod__", False):
                patch.setattr(one, name, _replaced(vars(one)[name], *places))


def _fix_measurements(patch):
    patch.setattr(MeasurementsRequest, "measure", _replaced(MeasurementsRequest.measure, 0, 2))


def _fix_series(patch):
    real = series_publish.Smoother

    def smoother(tables, keys, *more):
        fixed = tuple(fixed_table(table.grid) for table in tables)
        return real(fixed, tuple(fixed_key() for _ in keys), *more)

    patch.setattr(series_publish, "Smoother", smoother)


def _fix_census(patch):
    streams = census_publish.release_streams

    def release_streams(plan, truth, _key):
        populations = {name: fixed_table(plan.ground) for name in truth.populations}
        parts = {}
        for name in truth.parts:
            table = fixed_table(plan.margins.grid(plan.ground, name))
            parts[name] = TrueParts(*split_grid(table.grid).split(table.key), table.count)
        return streams(plan, CensusTruth(populations, parts, truth.given), fixed_key())

    patch.setattr(census_publish, "release_streams", release_streams)


def _fix_households(patch):
    streams = households_publish.release_streams

    def release_streams(households, _members, method, event, _key, max_size):
        # As many further members as households, which any largest size allows.
        fixed = fixed_table(households.grid)
        return streams(fixed, fixed, method, event, fixed_key(), max_size)

    patch.setattr(households_publish, "release_streams", release_streams)


def _fix_amounts(patch):
    real = amounts_publish.release_streams

    def release_streams(streams, design, _key, priors):
        fixed = [one._replace(counts=fixed_table(one.counts.grid)) for one in streams]
        return real(fixed, design, fixed_key(), priors)

    patch.setattr(amounts_publish, "release_streams", release_streams)


def _fix_flows(patch):
    def fix(name, real):
        def draw(self, _trips, _key, *priors):
            trips = TripStreams.of(fixed_table(self.pairs), self.zones)
            return real(self, trips, fixed_key(), *priors)

        patch.setattr(StreamsPlan, name, draw)

    fix("draw_ends", StreamsPlan.draw_ends)
    fix("draw_pairs", StreamsPlan.draw_pairs)
    fix("draw_labels", StreamsPlan.draw_labels)
    seed = StreamsPlan.draw_seed
    patch.setattr(StreamsPlan, "draw_seed", lambda self, _key, *of: seed(self, fixed_key(), *of))


def _fix_selections(patch):
    def fix(question):
        real = question.draw

        def draw(self, selector, grid, measured, rate, key):
            event = Event()
            return real(
                self, selector, grid, self.measure(fixed_table(grid), event), rate, fixed_key()
            )

        patch.setattr(question, "draw", draw)

    questions = {subclass.__name__ for subclass in Question.__subclasses__()}
    assert questions == {"Top", "Quantile"}, questions
    for one in Question.__subclasses__():
        fix(one)


class Event:
    """What a question's measurement reads of an event, which is public."""

    neighbours, contribution = "add-remove-one", 1


class FixedCoins(Coins):
    """Coins that are always the same."""

    def __init__(self):
        super().__init__()
        self._fresh = np.random.default_rng(5)

    def ahead(self, units):
        if self._held.size < units:
            more = self._fresh.integers(0, 1 << 32, max(units, 4096), np.uint64)
            self._held = np.concatenate([self._held, more.astype(np.uint32)])
        return self._held


def _fix_devices(patch):
    """As many devices as there are, which neighbours agree on, all in one cell."""
    real = collect.randomize

    def randomize(round_, cells, coins=None):
        number = np.shape(cells)[-1]
        (code,) = round_.grid.places[0].format(np.array([0]), np.array([0])).tolist()
        return real(round_, [code] * number, FixedCoins())

    patch.setattr(collect, "randomize", randomize)


def _cells_below(cells, roots, stride):
    """Return the fixed cells that lie below some roots."""
    fixed = fixed_table(cells.grid)
    some = np.isin(fixed.key // np.uint64(stride), roots.prefix)
    return Cells(cells.grid, fixed.key[some], fixed.count[some])


def _totals(cells, stride):
    """Return the fixed totals of the cut's nodes at the first key of each."""
    fixed = fixed_table(cells.grid)
    node = fixed.key // np.uint64(stride)
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    return Cells(cells.grid, node[first] * np.uint64(stride), np.add.reduceat(fixed.count, first))


def _fix_cluster(patch):
    """Run the workers in this process, and fix what they and their driver draw."""

    @contextmanager
    def connect(address, workers):
        from distributed import Client, LocalCluster

        local = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            silence_logs=50,
        )
        with local, Client(local) as client:
            yield client

    patch.setattr(publishing, "connect", connect)
    # Few people are in several files, so that their ends would show what they depend on.
    patch.setattr("geodp.cluster.run.LIGHTEST", 8)

    def of_totals(real):
        def call(self, totals, key, *more):
            return real(self, _totals(totals, self.stride), fixed_key(), *more)

        return call

    def of_roots(real):
        def call(self, cells, found, *more):
            *others, _ = more
            roots = getattr(found, "roots", found)
            some = _cells_below(cells, roots, self.stride)
            return real(self, some, found, *others, fixed_key())

        return call

    for one in (
        TreePartition,
        PyramidPartition,
        InformedPartition,
        *TreePartition.__subclasses__(),
    ):
        for names, fix in (
            (("above", "improve", "learn_above"), of_totals),
            (("below", "look", "open"), of_roots),
        ):
            for name in names:
                real = vars(one).get(name)
                done = getattr(real, "fixed", False)
                if real is None or done or getattr(real, "__isabstractmethod__", False):
                    continue
                call = fix(real)
                call.fixed = True
                patch.setattr(one, name, call)


RUN = []
"""Fingerprints of the run so far."""


def begin_run():
    """Begin another run, whose fingerprints are those of the run before."""
    RUN.clear()


def _fix_keys(patch):
    """Fingerprints are random, or functions of a secret key: here they are numbers."""
    real = secrets.token_hex

    def fingerprint(*_given):
        RUN.append(len(RUN))
        return f"{len(RUN):064x}"

    patch.setattr(NoiseKey, "fingerprint", fingerprint)
    patch.setattr(secrets, "token_hex", lambda size=32: fingerprint() if size == 32 else real(size))


class Frozen(datetime.datetime):
    """The wall clock, stopped."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)


def _stop_clock(patch):
    for name, module in list(sys.modules.items()):
        if name.startswith("geodp.privacy") and getattr(module, "datetime", None) is (
            datetime.datetime
        ):
            patch.setattr(module, "datetime", Frozen)


def fix_draws(patch):
    """Fix all draws, by a MonkeyPatch."""
    _fix_methods(patch)
    _fix_measurements(patch)
    _fix_series(patch)
    _fix_census(patch)
    _fix_households(patch)
    _fix_amounts(patch)
    _fix_flows(patch)
    _fix_selections(patch)
    _fix_devices(patch)
    _fix_cluster(patch)
    _fix_keys(patch)
    _stop_clock(patch)
