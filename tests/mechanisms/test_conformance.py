"""The same questions to every row of METHODS, and to its variants by yes-or-no settings."""

import json
import re
import subprocess
import sys
import tracemalloc
from dataclasses import fields, is_dataclass
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.mechanisms import mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import NEIGHBOURS, Terms
from tests.mechanisms.baselines.cases import spent
from tests.refusals import refuses

METHODS = sorted(geodp.METHODS)
GRID = geodp.Grid.regular((12, 20))  # padded to 16 x 32 keys
PEOPLE = np.zeros(GRID.shape, int)
PEOPLE[3:8, 5:14] = np.random.default_rng(3).poisson(40, (5, 9))
LARGEST_TRACE = 32 << 20
"""Bytes that a refusal, or a sparse method on a huge grid, may take at most."""


def variants():
    """Every method, and every one with a single yes-or-no setting turned round."""
    specs = list(METHODS)
    for name in METHODS:
        row = geodp.METHODS[name]
        for field in fields(row):
            value = getattr(row, field.name)
            if isinstance(value, bool):
                specs.append(f"{name}:{field.name}={'no' if value else 'yes'}")
    return specs


SPECS = variants()
every_method = pytest.mark.parametrize("method", METHODS)
every_variant = pytest.mark.parametrize("spec", SPECS)


def table_of(people, grid):
    return geodp.CountTable.from_dense(people, grid)


@pytest.fixture(scope="module")
def table():
    return table_of(PEOPLE, GRID)


def key(number):
    return geodp.NoiseKey(bytes([number]) * 32)


def masked_grid():
    row, col = np.indices(GRID.shape)
    inside = (row - 6) ** 2 / 30 + (col - 10) ** 2 / 70 < 1
    return GRID.with_mask(mask_of_blocks(GRID, blocks_of_array(inside), "an ellipse"))


GRIDS = {
    "one cell": geodp.Grid.regular((1, 1)),
    "two cells": geodp.Grid.regular((2,)),
    "square": geodp.Grid.regular((8, 8)),
    "strip": geodp.Grid.regular((1, 5)),
    "tall": geodp.Grid.regular((30, 3)),
    "line": geodp.Grid.regular((50,)),
    "three axes": geodp.Grid.regular((3, 4, 5)),
    "attribute": geodp.Grid.regular((4, 6)).with_attribute("age", ["child", "adult", "old"]),
    "pairs": geodp.Grid.regular((2, 3)).pairs(),
    "mask": masked_grid(),
    "tens": geodp.Grid.regular((10,)).with_order(Order((0, 0), (2, 5))),
}
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))


@every_method
class TestWhatItSaysOfItself:
    def test_names_and_sources(self, method):
        row = geodp.METHODS[method]
        assert row.name == method
        assert re.fullmatch(r"[a-z][a-z0-9-]*", method), "a name is typed on the command line"
        assert row.title
        assert "\n" not in row.title
        for sentence in (row.citation, row.guarantee.source, row.guarantee.precondition, row.noise):
            assert len(sentence) > 10
        assert row.guarantee.variant
        assert row.postprocessing
        assert all(sentence.endswith(".") for sentence in row.postprocessing)
        assert row.describe_sensitivity(GRID)

    def test_its_docstring_names_every_setting(self, method):
        row = geodp.METHODS[method]
        assert is_dataclass(row)
        assert type(row).__doc__
        assert not type(row).__doc__.startswith(type(row).__name__ + "("), "a docstring of its own"
        described = re.split(r"\n *(?:Attributes|Parameters)\n", type(row).__doc__)[1:]
        for field in fields(row):
            assert re.search(rf"^ *{field.name} : \S", "".join(described), re.MULTILINE), field.name

    def test_it_is_frozen(self, method):
        with pytest.raises((AttributeError, TypeError)):
            geodp.METHODS[method].anything = 1

    def test_unknown_settings_are_refused_with_the_known_ones(self, method):
        row = geodp.METHODS[method]
        for text in ("surely_unknown=1", "surely_unknown", "="):
            with pytest.raises(UsageError) as refused:
                mechanism(f"{method}:{text}")
            assert str(refused.value).startswith(f"Settings of {method}")
            for field in fields(row):
                assert f"{field.name}=" in str(refused.value)
        for field in fields(row):
            default = getattr(row, field.name)
            if not isinstance(default, str):
                with refuses(UsageError, f"setting-kind: {method}:{field.name} "):
                    mechanism(f"{method}:{field.name}=surely wrong")

    def test_other_values_of_a_setting_come_back_or_are_refused_in_a_sentence(self, method):
        row = geodp.METHODS[method]
        for field in fields(row):
            default = getattr(row, field.name)
            others = (
                ["no", "yes"] if isinstance(default, bool) else ["1", "2", "3", "1000000", "-1"]
            )
            for text in others:
                try:
                    changed = mechanism(f"{method}:{field.name}={text}")
                except UsageError as refused:
                    assert str(refused).endswith(".")  # noqa: PT017
                    continue
                assert mechanism(changed.spec) == changed
                value = getattr(changed, field.name)
                assert (value == default) == (changed.spec == method)
                assert type(value) is type(default)

    def test_sensitivity_is_a_whole_number_of_at_least_one(self, method):
        row = geodp.METHODS[method]
        for grid in GRIDS.values():
            if row.unsupported(grid) is None:
                assert isinstance(row.sensitivity(grid), int)
                assert row.sensitivity(grid) >= 1


@every_variant
class TestWhatItReleases:
    def test_settings_come_back(self, spec):
        assert mechanism(spec).spec == spec
        assert mechanism(mechanism(spec).spec) == mechanism(spec)
        assert (
            mechanism(geodp.METHODS[mechanism(spec).name].spec)
            == geodp.METHODS[mechanism(spec).name]
        )

    def test_the_event_holds_the_settings_and_the_card_is_plain(self, spec, table):
        release = geodp.publish(table, method=spec, epsilon=1, key=key(1), contribution=1)
        assert release.event.mechanism == spec
        assert release.table.event is release.event
        text = json.dumps(release.card().to_json(), allow_nan=False)
        assert mechanism(spec).citation in json.loads(text)["mechanism"]["citation"]

    def test_output_lies_in_the_domain_and_is_what_is_claimed(self, spec, table):
        row = mechanism(spec)
        values = []
        for number in range(6):
            people = PEOPLE if number % 2 else np.zeros(GRID.shape, int)
            release = geodp.publish(
                table_of(people, GRID),
                method=spec,
                epsilon=1,
                key=key(number),
                allow_empty=True,
                contribution=1,
            )
            released = release.table
            assert GRID.contains_keys(released.key).all()
            assert (np.diff(released.key.astype(np.int64)) > 0).all()
            assert released.count.dtype == (np.int64 if row.whole else np.float64)
            visited = row.visited(released)
            assert isinstance(visited, int)
            assert visited >= 0
            values.append(released.count)
        values = np.concatenate(values)
        assert (values >= 0).all() == row.nonnegative

    def test_same_key_same_release_other_key_other_release(self, spec, table):
        """Whatever was released before: no state is kept between runs."""
        empty = table_of(np.zeros(GRID.shape, int), GRID)
        made = {"method": spec, "contribution": 1}
        one = geodp.publish(table, epsilon="1/10", key=key(1), **made).table
        geodp.publish(empty, epsilon="1/7", key=key(2), allow_empty=True, **made)
        two, other = (
            geodp.publish(table, epsilon="1/10", key=own, **made).table for own in (key(1), key(2))
        )
        bytes_of = [run.key.tobytes() + run.count.tobytes() for run in (one, two, other)]
        assert bytes_of[0] == bytes_of[1]
        assert bytes_of[0] != bytes_of[2]

    @pytest.mark.parametrize("neighbours", NEIGHBOURS)
    def test_sensitivity_scales_with_neighbours_and_contribution(self, spec, neighbours, table):
        release = geodp.publish(
            table, method=spec, epsilon="1/3", neighbours=neighbours, contribution=4, key=key(1)
        )
        once = mechanism(spec).sensitivity(table.grid)
        factor = 4 * (2 if neighbours == "replace-one" else 1)
        assert release.event.sensitivity == once * factor
        assert release.event.scale == Fraction(once * factor * 3)

    def test_only_the_scale_counts(self, spec, table):
        """Noise depends on budget, neighbours and contribution through the event's scale alone."""
        row = mechanism(spec)
        once = row.sensitivity(GRID)
        events = [
            Measurement.of(
                row.spec, Terms.of(epsilon=Fraction(1, 4), contribution=1), once, "fixed"
            ),
            Measurement.of(row.spec, Terms.of(epsilon=Fraction(1), contribution=4), once, "fixed"),
            Measurement.of(
                row.spec,
                Terms.of(epsilon=Fraction(1), neighbours="replace-one", contribution=2),
                once,
                "fixed",
            ),
        ]
        runs = [row.release(table, spent, key(5)) for spent in events]
        for run in runs[1:]:
            assert np.array_equal(run.key, runs[0].key)
            assert np.array_equal(run.count, runs[0].count)

    def test_noise_too_wide_to_draw_is_refused_before_the_charge(
        self, spec, table, tmp_path, monkeypatch
    ):
        """Every stage's noise, not only that of the whole budget."""
        for module in (
            geodp.privacy.noise.law,
            geodp.privacy.noise.law,
            geodp.privacy.event,
        ):
            monkeypatch.setattr(module, "LARGEST_SCALE", 5000)
        row = mechanism(spec)
        least = row.min_share(GRID, spent(row, GRID, Fraction(1, 10**6)))
        widest = row.sensitivity(GRID) / least / 5000
        ledger = Ledger.create(tmp_path / "office.ledger")
        ledger.add_dataset("census", PureDP(Fraction(10**6)))
        given = {"method": spec, "contribution": 1, "ledger": ledger, "dataset": "census"}
        with refuses(UsageError, "noise-too-wide"):
            geodp.publish(table, epsilon=widest * Fraction(99, 100), **{"contribution": 1, **given})
        assert not ledger.charges("census")
        with refuses(UsageError, "noise-too-wide"):
            geodp.plan(GRID, spec, epsilon=widest * Fraction(99, 100), contribution=1)
        try:
            geodp.publish(
                table, epsilon=widest * Fraction(101, 100), **{"contribution": 1, **given}
            )
        except UsageError:  # for another reason, and as early
            assert row.explain_noise_limit(GRID, spent(row, GRID, widest * Fraction(101, 100)))
            assert not ledger.charges("census")

    def test_expected_error_is_there_before_any_data(self, spec):
        row = mechanism(spec)
        variances = row.variances(GRID, spent(row, GRID))
        if variances is None:
            pytest.skip("the error depends on the data")
        assert variances.dtype == np.float64
        assert variances.shape == (GRID.bits + 1,)
        assert np.isfinite(variances).all()
        assert (variances > 0).all()
        half = row.variances(GRID, spent(row, GRID, Fraction(1, 2)))
        assert np.allclose(np.sqrt(half / variances), 2, rtol=0.05)

    @every_grid
    def test_a_grid_is_taken_or_refused_in_a_sentence(self, spec, grid):
        """Empty, padded, masked, of one or many axes."""
        row = mechanism(spec)
        index = (
            np.zeros((len(grid.shape), 1), int)
            if grid.mask is None
            else grid.decode(grid.mask.ranges[:1, 0])
        )
        table = geodp.CountTable.from_index(grid, index, [30])
        refusal = row.unsupported(grid)
        if refusal is None:
            release = geodp.publish(table, method=spec, epsilon=1, key=key(1), contribution=1)
            assert grid.contains_keys(release.table.key).all()
            assert row.whole == (release.table.count.dtype == np.int64)
            variances = row.variances(grid, release.event)
            assert variances is None or variances.shape == (grid.bits + 1,)
        else:
            assert refusal.endswith(".")
            assert row.name in refusal
            with pytest.raises(UsageError) as refused:
                geodp.publish(table, method=spec, epsilon=1, contribution=1)
            assert str(refused.value) == refusal


@every_method
class TestGridsOfPractice:
    def test_a_huge_grid_is_refused_before_anything_is_allocated_or_handled_sparsely(self, method):
        grid = geodp.Grid.regular((1 << 20, 1 << 20))
        keys = np.array([0, 5, 1 << 30], np.uint64)
        table = geodp.CountTable.from_keys(grid, keys, np.array([1000, 20, 3000]))
        row = geodp.METHODS[method]
        tracemalloc.start()
        try:
            refusal = row.unsupported(grid)
            try:
                release = geodp.publish(table, method=method, epsilon=1, key=key(1), contribution=1)
            except UsageError as refused:
                assert str(refused) == refusal  # noqa: PT017
            else:
                assert refusal is None
                assert grid.contains_keys(release.table.key).all()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < LARGEST_TRACE


def test_a_method_is_loaded_without_the_others():
    code = (
        "import sys; from geodp.mechanisms import METHODS, mechanism; mechanism('pyramid'); "
        "found = [name for name in sys.modules if name.startswith('geodp.mechanisms.')]; "
        "print(*found); print('topdown' in METHODS, 'nothing' in METHODS, len(METHODS) > 10)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, listed = done.stdout.splitlines()
    assert "geodp.mechanisms.central.pyramid" in loaded.split()
    assert not {"topdown", "dawa", "mwem"} & {name.rpartition(".")[2] for name in loaded.split()}
    assert listed == "True False True"
