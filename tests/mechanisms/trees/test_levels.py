"""Levels of a pyramid and their shares of the budget, as written down by hand."""

from fractions import Fraction as F
from itertools import pairwise
from math import prod

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.levels import (
    GAUSSIAN,
    LAPLACE,
    LevelScheme,
    group_digits,
    ladder,
    preset,
    steps_of,
    table_levels,
    weights_of,
)
from geodp.privacy.event import Measurement
from geodp.privacy.noise.law import DiscreteGaussian, DiscreteLaplace
from geodp.privacy.terms import Terms
from tests.refusals import refuses

BITS = {  # digits of each level by setting and number of binary digits
    "R": {0: [], 1: [1], 3: [3], 4: [4], 5: [1, 4], 8: [4, 4], 18: [2, 4, 4, 4, 4]},
    "flat": {0: [], 1: [1], 2: [2], 3: [1, 2], 6: [2, 2, 2]},
    "fine": {
        **{0: [], 1: [1], 3: [1, 2], 4: [4], 5: [1, 4], 6: [2, 4], 7: [3, 4], 8: [1, 3, 4]},
        **{10: [3, 3, 4], 11: [1, 3, 3, 4], 18: [2, 2, 2, 2, 3, 3, 4]},
    },
}


@pytest.mark.parametrize(
    ("setting", "bits", "steps"),
    [(s, bits, steps) for s, rows in BITS.items() for bits, steps in rows.items()],
)
def test_levels_of_binary_digits(setting, bits, steps):
    assert preset(setting, (2,) * bits)[0] == steps


@pytest.mark.parametrize(
    ("setting", "radices", "steps"),
    [
        ("R", (10, 10), [1, 1]),
        ("R", (3, 5, 3), [1, 2]),  # 5 * 3 = 15 children fit, 45 do not
        ("R", (2, 2, 2, 2, 3), [2, 3]),  # 2 * 2 * 3
        ("R", (4, 4, 3), [1, 2]),
        ("R", (16, 4, 4), [1, 2]),  # 16 children are allowed
        ("R", (17, 2), [1, 1]),
        ("flat", (2, 2, 3), [2, 1]),
        ("flat", (3, 4, 5), [1, 1, 1]),
        ("fine", (2, 2, 3), [2, 1]),
        ("fine", (3,) * 5, [1, 1, 1, 1, 1]),
    ],
)
def test_levels_of_other_digits(setting, radices, steps):
    assert preset(setting, radices)[0] == steps


@pytest.mark.parametrize("radices", [(2,) * 7, (10, 3)])
def test_weights_of_the_presets(radices):
    assert preset("R", radices)[1] == []
    top = len(preset("flat", radices)[0])
    assert preset("flat", radices)[1] == [1] * (top + 1)


def test_weights_of_fine_are_the_table_s():
    # 2 for the root and 3 for each upper level share 0.350; the others have 0.115, 0.110, 0.425.
    assert preset("fine", (2,) * 12)[1] == [350 * F(2, 5), 350 * F(3, 5), 115, 110, 425]
    # A level that is not there gives its share back to all.
    assert preset("fine", (2,) * 7)[1] == [350, 110, 425]
    assert preset("fine", (2,) * 4)[1] == [350, 425]
    assert preset("fine", (3,) * 5)[1] == [
        *(350 * F(w, 8) for w in (2, 3, 3)),
        *(115, 110, 425),
    ]


@pytest.mark.parametrize(
    ("fanouts", "strides"), [((), (1,)), ((4,), (4, 1)), ((2, 3, 5), (30, 15, 5, 1))]
)
def test_a_node_covers_the_keys_of_all_below_it(fanouts, strides):
    assert LevelScheme(fanouts, ()).strides == strides


@pytest.mark.parametrize(("text", "steps"), [("", []), ("1", [1]), ("2-4-10", [2, 4, 10])])
def test_an_own_chain_is_read(text, steps):
    assert steps_of(text) == steps
    assert weights_of(text) == steps


@pytest.mark.parametrize("text", ["0", "2-0", "x", "-", "2--4", "-1"])
def test_a_chain_that_is_none_is_refused(text):
    with refuses(UsageError, "chain-form: pyramid:chain"):
        steps_of(text)
    with refuses(UsageError, "pyramid-shares-form"):
        weights_of(text)


def test_weights_may_be_fractions_and_steps_may_not():
    assert weights_of("1/2-0.25") == [F(1, 2), F(1, 4)]
    for text in ("1/2", "1.5"):
        with refuses(UsageError, "chain-form: pyramid:chain"):
            steps_of(text)
    for text in ("1/0", "0/1", "0.0"):
        with refuses(UsageError, "pyramid-shares-form"):
            weights_of(text)


# -- on a grid


def line(bits):
    return geodp.Grid.regular((1 << bits,))


@pytest.mark.parametrize(("bits", "root"), [(7, 1), (8, 1), (9, 1), (10, 2), (11, 2), (18, 2)])
def test_r_gives_a_level_the_bits_that_it_splits(bits, root):
    chain = Pyramid(setting="R").levels(line(bits))
    steps = [bits % 4] * bool(bits % 4) + [4] * (bits // 4)
    assert chain.fanouts == tuple(2**step for step in steps)
    assert chain.shares == tuple(F(w, root + bits) for w in (root, *steps))


def test_who_trusts_a_prior_spends_less_on_the_cells():
    for bits, steps, weights in (
        (18, [6, 6, 6], (2, 16, 32, 50)),
        (20, [2, 6, 6, 6], (2, 8, 16, 32, 50)),
        (4, [4], (2, 50)),
        (0, [], (2,)),
    ):
        chain = Pyramid(setting="informed").levels(line(bits))
        assert chain.fanouts == tuple(2**step for step in steps)
        assert chain.shares == tuple(F(weight) / sum(weights) for weight in weights)
    chain = Pyramid(setting="informed").levels(line(18), gaussian=True)
    assert chain.fanouts == (4,) * 9
    assert list(chain.shares) == sorted(chain.shares)


@pytest.mark.parametrize("setting", ["R", "flat", "fine", "islands"])
def test_the_law_of_the_noise_matters_to_the_default_only(setting):
    grid = line(18)
    assert Pyramid(setting=setting).levels(grid, gaussian=True) == (
        Pyramid(setting=setting).levels(grid)
    )
    assert Pyramid().levels(grid) == Pyramid(setting="auto").levels(grid)
    assert Pyramid().levels(grid) != Pyramid().levels(grid, gaussian=True)
    assert Pyramid().levels(grid) != Pyramid(setting=setting).levels(grid)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("bits", range(13, 63))
def test_the_default_is_a_line_of_the_table_and_longer_ones_repeat_a_share(bits, gaussian):
    rows, step = (GAUSSIAN, 2) if gaussian else (LAPLACE, 4)
    steps, weights = table_levels(bits, gaussian=gaussian)
    assert sum(steps) == bits
    assert len(weights) == len(steps) + 1
    lowest = [] if gaussian else [6]
    assert steps[len(steps) - len(lowest) :] == lowest
    assert set(steps[1 : len(steps) - len(lowest)]) == {step}
    if bits in rows:
        assert rows[bits] == "-".join(map(str, weights))
        assert sum(weights) == 10_000
    else:
        shorter, fewer = table_levels(bits - step, gaussian=gaussian)
        assert steps == [*shorter[:1], step, *shorter[1:]]
        assert weights == [*fewer[:2], fewer[2], *fewer[2:]]
    grid = geodp.Grid.regular((1 << bits // 2, 1 << bits - bits // 2))
    chain = Pyramid().levels(grid, gaussian=gaussian)
    assert chain.fanouts == tuple(1 << size for size in steps)
    assert chain.shares == tuple(weight / sum(weights) for weight in weights)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("shape", [(2,), (26, 26), (64, 64), (4096,)])
def test_small_domains_have_cells_and_a_total(shape, gaussian):
    chain = Pyramid().levels(geodp.Grid.regular(shape), gaussian=gaussian)
    size = prod(1 << (side - 1).bit_length() for side in shape)
    assert chain.fanouts == (size,)
    assert chain.shares == ((F(3, 63), F(60, 63)) if gaussian else (F(3, 67), F(64, 67)))
    assert Pyramid().levels(geodp.Grid.regular((1,))).shares == (1,)


def test_a_ladder_repeats_its_last_rung():
    assert ladder(0, gaussian=False) == [3]
    assert ladder(4, gaussian=False) == [3, 8, 12, 19, 64]
    assert ladder(10, gaussian=False) == [3, 2, 2, 2, 3, 4, 5, 8, 12, 19, 64]
    assert ladder(3, gaussian=True) == [3, 11, 14, 60]
    assert ladder(13, gaussian=True)[:4] == [3, 2, 2, 2]


@pytest.mark.parametrize(
    ("gaussian", "fanouts", "weights"),
    [
        # Published areas of 80, 10 and 5 km; the cells of half a kilometre directly below.
        (False, (16, 64, 4, 100), [3, 8, 12, 19, 64]),
        (True, (16, 64, 4, 25, 4), [3, 7, 9, 11, 14, 60]),
    ],
)
def test_published_areas_are_nodes_and_lowest_nodes_have_many_cells(gaussian, fanouts, weights):
    grid = geodp.Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
    chain = Pyramid().levels(grid.with_official_order(), gaussian=gaussian)
    assert chain.fanouts == fanouts
    assert chain.shares == tuple(F(w, sum(weights)) for w in weights)


def regions(cells, codes):
    """Make a grid of one row, in regions of these codes for each level."""
    at = np.array([np.zeros(cells, np.int64), np.arange(cells)])
    table = Hierarchy.of_cells(at, codes, "made up")
    return geodp.Grid.regular((1, cells)).with_hierarchy(table)


@pytest.mark.parametrize(
    ("gaussian", "fanouts", "weights"),
    [
        (False, (2, 4, 8, 64), [3, 8, 14, 19, 64]),
        (True, (2, 4, 2, 4, 4, 4, 4), [3, 5, 8, 7, 9, 11, 14, 60]),
    ],
)
def test_regions_are_nodes_and_their_cells_are_divided_anew(gaussian, fanouts, weights):
    number = np.arange(8 * 512)
    grid = regions(number.size, {"state": number // 2048, "town": number // 512})
    chain = Pyramid().levels(grid, gaussian=gaussian)
    assert chain.fanouts == fanouts
    assert chain.shares == tuple(F(w, sum(weights)) for w in weights)


@pytest.mark.parametrize(
    ("cells", "inside"), [(1, ()), (2, (2,)), (64, (64,)), (128, (2, 64)), (1 << 17, (64, 32, 64))]
)
def test_large_regions_have_more_levels_inside(cells, inside):
    number = np.arange(3 * cells)
    assert Pyramid().levels(regions(number.size, {"town": number // cells})).fanouts == (3, *inside)


@pytest.mark.parametrize(
    ("radices", "fewest", "steps"),
    [
        ((8, 8, 10, 10, 2, 2), (64, 16), [2, 4]),  # 400 and 64 children
        ((8, 8, 10, 10, 2, 2), (4, 4), [1, 1, 1, 1, 2]),
        ((4096, 3, 5), (64, 16), [1, 2]),  # 3 * 5 are too few, and with 4096 there are too many
        ((3, 2000, 5), (64, 16), [1, 1, 1]),
        ((2, 3), (64, 16), [2]),
        ((), (64, 16), []),
    ],
)
def test_digits_that_are_no_bits_are_grouped_from_the_cells_up(radices, fewest, steps):
    assert group_digits(radices, *fewest) == steps


@pytest.mark.parametrize("bits", [*range(13, 37), 45, 62])
def test_no_aligned_block_is_planned_worse_than_the_default_promises(bits):
    """Than with the paper's method: by closed forms, all powers of two, all sizes of domains.

    Mean absolute errors too, as those of the paper's noise are at least .706 of its standard
    error for the total and .744 for smaller blocks, and no sum of Laplace noises has more than a
    normal one: .798.
    """
    grid = geodp.Grid.regular((1 << bits // 2, 1 << bits - bits // 2))
    total, block = 0.706 / 0.798, 0.744 / 0.798
    for loss, small, noise in (({"epsilon": 1}, 1.05, block), ({"rho": 1}, 1.4, 1.0)):
        ours, theirs = (
            np.array([one.standard_error for one in geodp.plan(grid, method, **loss).blocks])
            for method in ("pyramid", "topdown")
        )
        ratio = ours / theirs
        ratio[-1] *= noise / total if noise < 1 else 1
        first_large = 11 if bits < 22 else 19
        assert ratio[:first_large].max() <= small * noise
        assert ratio.max() <= 3 * noise


def test_the_card_says_what_the_default_is_for_where_its_table_is_used():
    mesh = geodp.Grid.mesh("jis:half", bounds=(139, 35, 141, 36 + 1 / 3))
    noisy, normal = (Terms.of(**loss, contribution=1) for loss in ({"epsilon": 1}, {"rho": 1}))
    for method, grid, terms, said in (
        (Pyramid(), line(13), noisy, True),
        (Pyramid(), line(12), noisy, False),
        (Pyramid(passes=1), mesh, noisy, True),
        (Pyramid(), line(13), normal, False),
        (Pyramid(), mesh.with_official_order(), noisy, False),
        (Pyramid(setting="R"), line(8), noisy, False),
        (Pyramid(chain="8", shares="1-9"), line(8), noisy, False),
    ):
        words = method.describe_sensitivity(grid, method.event(grid, terms))
        assert ("for cells, municipalities and polygons" in words) == said


def test_an_own_chain_goes_before_the_setting():
    own = Pyramid(chain="1-4-3", shares="1-2-3-1/2")
    for gaussian in (False, True):
        chain = own.levels(line(8), gaussian=gaussian)
        assert chain.fanouts == (2, 16, 8)
        assert chain.shares == (F(2, 13), F(4, 13), F(6, 13), F(1, 13))


def test_official_areas_are_levels_where_they_are_asked_for():
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 35 + 2 / 3)).with_official_order()
    radices, steps = grid.order.radices, [step for _, step in grid.areas.steps]
    assert sum(steps) == len(radices)
    ends = [sum(steps[:i]) for i in range(len(steps) + 1)]
    fanouts = tuple(prod(radices[a:b]) for a, b in pairwise(ends))
    for gaussian in (False, True):
        chain = Pyramid(setting="official").levels(grid, gaussian=gaussian)
        assert chain.fanouts == fanouts
        weights = [2 if prod(fanouts) >= 2**10 else 1, *(f.bit_length() - 1 for f in fanouts)]
        assert chain.shares == tuple(F(w, sum(weights)) for w in weights)
    assert Pyramid(setting="R").levels(grid).fanouts != fanouts


@pytest.mark.parametrize("rho", [None, F(1, 8)])
def test_every_level_has_the_noise_of_its_share(rho):
    epsilon = F(1, 3) if rho is None else None
    spent = Measurement.of(
        "pyramid", Terms.of(epsilon=epsilon, rho=rho, neighbours="replace-one", contribution=5), 1
    )
    method = Pyramid(prune=F(3, 2), passes=1, chain="3-5", shares="1-3-4")
    steps = method.descent(line(8), spent)
    if rho is None:
        wanted = [DiscreteLaplace.of_scale(30 / share) for share in (F(1, 8), F(3, 8), F(1, 2))]
    else:
        wanted = [DiscreteGaussian.of_sigma2(400 / share) for share in (F(1, 8), F(3, 8), F(1, 2))]
    assert list(steps.laws) == wanted
    widths = [spent.width(share) for share in (F(1, 8), F(3, 8), F(1, 2))]
    assert list(steps.min_counts) == [1.5 * width for width in widths]
    assert (steps.fanouts, steps.strides, steps.passes) == ((8, 32), (256, 32, 1), 1)
