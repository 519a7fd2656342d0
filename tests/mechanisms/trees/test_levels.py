"""Levels of a pyramid and their shares of the budget, as written down by hand."""

from fractions import Fraction as F
from itertools import pairwise
from math import prod

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.auto import LINES, PLANS, plan_of
from geodp.mechanisms.trees.levels import LevelScheme, preset, steps_of, weights_of
from geodp.privacy.event import Measurement
from geodp.privacy.noise.gaussian import DiscreteGaussian
from geodp.privacy.noise.laplace import DiscreteLaplace
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
    for bits, weights in (
        (18, (2, F(5, 2), 5, 5, 4, 2)),
        (8, (1, 4, 2)),
        (4, (1, 4)),
        (0, (1,)),
    ):
        chain = Pyramid(setting="informed").levels(line(bits))
        assert chain.fanouts == Pyramid(setting="R").levels(line(bits)).fanouts
        assert chain.shares == tuple(F(w) / sum(weights) for w in weights)


@pytest.mark.parametrize("setting", ["auto", "R", "flat", "fine", "informed", "series", "islands"])
def test_gaussian_noise_is_flat_by_default_only(setting):
    grid = line(8)
    named = "flat" if setting == "auto" else setting
    assert Pyramid(setting=setting).levels(grid, gaussian=True) == (
        Pyramid(setting=named).levels(grid)
    )
    assert Pyramid().levels(grid) == Pyramid(setting="auto").levels(grid)
    assert Pyramid().levels(grid) != Pyramid(setting="R").levels(grid)


@pytest.mark.parametrize("bits", range(1, 63))
def test_the_default_is_a_line_of_the_table_and_longer_ones_repeat_a_level(bits):
    steps, weights = plan_of(bits)
    assert sum(steps) == bits
    assert len(weights) == len(steps) + 1
    assert max(steps) <= 12
    if bits <= len(PLANS):
        assert PLANS[bits - 1] == " ".join("-".join(map(str, row)) for row in (steps, weights))
        assert sum(weights) == 10_000
    else:
        shorter, fewer = plan_of(bits - 3)
        assert steps == [*shorter[:1], 3, *shorter[1:]]
        assert weights == [*fewer[:2], fewer[2], *fewer[2:]]
    chain = Pyramid().levels(geodp.Grid.regular((1 << bits // 2, 1 << bits - bits // 2)))
    assert chain.fanouts == tuple(1 << step for step in steps)
    assert chain.shares == tuple(weight / sum(weights) for weight in weights)


@pytest.mark.parametrize("bits", [12, 13, 14, 15])
def test_lowest_nodes_are_narrower_in_one_dimension(bits):
    found = {}
    for shape in ((1 << bits,), (1, 1 << bits), (1 << bits, 1), (2, 1 << bits - 1)):
        chain = Pyramid().levels(geodp.Grid.regular(shape))
        found.setdefault(chain, []).append(shape)
        steps, weights = plan_of(bits, line=2 not in shape)
        assert chain.fanouts == tuple(1 << step for step in steps)
        assert chain.shares == tuple(weight / 10_000 for weight in weights)
    assert len(found) == (2 if bits in LINES else 1)
    assert Pyramid().levels(geodp.Grid.regular((1 << bits,))).fanouts[-1] == (
        64 if bits == 15 else 32
    )


@pytest.mark.parametrize(
    "shape", [(2**13,), (2**14,), *[2**bits for bits in [*range(1, 37), 45, 62]]]
)
def test_no_aligned_block_is_planned_worse_than_the_default_promises(shape):
    """Than with the paper's method: by closed forms, all powers of two, all sizes of domains.

    Mean absolute errors too, as those of the paper's noise are at least .706 of its standard
    error for the total and .744 for smaller blocks, and no sum of Laplace noises has more than a
    normal one: .798.
    """
    if isinstance(shape, int):
        bits = shape.bit_length() - 1
        shape = (1 << bits // 2, 1 << bits - bits // 2)
    grid = geodp.Grid.regular(shape)
    ours, theirs = (
        np.array([block.standard_error for block in geodp.plan(grid, method, epsilon=1).blocks])
        for method in ("pyramid", "topdown")
    )
    ratio = ours / theirs
    total, block = 0.706 / 0.798, 0.744 / 0.798
    assert ratio[:13].max() <= 1.05
    assert ratio[:-1][:13].max() <= (1 if grid.bits == 13 else 1.05 * block)
    assert ratio[:-1].max() <= 1.25 * block
    assert ratio[-1] <= (1.05 if grid.bits < 13 else 1.25) * total


def test_the_card_says_what_the_default_is_for_where_its_table_is_used():
    mesh = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 35 + 2 / 3))
    noisy, normal = (Terms.of(**loss, contribution=1) for loss in ({"epsilon": 1}, {"rho": 1}))
    for method, grid, terms, said in (
        (Pyramid(), line(8), noisy, True),
        (Pyramid(passes=1), mesh, noisy, True),
        (Pyramid(), line(8), normal, False),
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


def test_official_areas_are_levels_of_laplace_noise_and_where_they_are_asked_for():
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 35 + 2 / 3)).with_official_order()
    radices, steps = grid.order.radices, [step for _, step in grid.areas.steps]
    assert sum(steps) == len(radices)
    ends = [sum(steps[:i]) for i in range(len(steps) + 1)]
    fanouts = tuple(prod(radices[a:b]) for a, b in pairwise(ends))
    for method, gaussian in (("auto", False), ("official", False), ("official", True)):
        chain = Pyramid(setting=method).levels(grid, gaussian=gaussian)
        assert chain.fanouts == fanouts
        weights = [2 if prod(fanouts) >= 2**10 else 1, *(f.bit_length() - 1 for f in fanouts)]
        assert chain.shares == tuple(F(w, sum(weights)) for w in weights)
    assert Pyramid().levels(grid, gaussian=True) == Pyramid(setting="flat").levels(grid)
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
    assert list(steps.least) == [1.5 * width for width in widths]
    assert (steps.fanouts, steps.strides, steps.passes) == ((8, 32), (256, 32, 1), 1)
