"""Counts are whole numbers until their noise is in: what the sources and compiled kernels show.

Three rules. Methods draw no noise of their own: they call ``add_noise``, which takes int64. The
few that do draw it, for nodes of a tree, add it in kernels or to the table's own int64 counts.
And no kernel computes with floating point, in words or by a conversion that Numba infers, but for
those of a list, which see noisy values only.
"""

import ast
import inspect
import io
import re
from pathlib import Path

import numba
import numpy as np
import pytest

import geodp
from geodp.kernels import (
    baselines,
    bounded_counts,
    jit,
    key_lists,
    noise,
    part_tables,
    raster,
    topdown,
    tree,
)
from geodp.kernels.learned import families as predicted
from geodp.kernels.learned import lanes, residuals
from geodp.kernels.learned import passes as both_passes
from geodp.kernels.pyramid import families, passes, reweighting, rows, shares
from geodp.kernels.pyramid.edges import STEP
from geodp.local.kernels import hashing, oracles, projective
from geodp.local.oracles import ORACLES
from geodp.mechanisms.central import topdown as refinement
from geodp.mechanisms.central.topdown import RefinementNoise
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms

MECHANISMS = Path(inspect.getfile(geodp)).parent / "mechanisms"
KERNELS = MECHANISMS.parent / "kernels"

DRAWING = {
    "measure.py",  # add_noise
    "traversal.py",  # to the roots' whole counts; of others a kernel, which adds counts
    "pyramid.py",  # of single nodes, which the caller adds to whole counts
    "informed.py",  # into a kernel, which adds counts
    "topdown.py",  # into a kernel, and a Python integer
    "chain.py",  # to whole counts of parts
    "filter.py",  # to the table's counts
    "shrinkage.py",  # of made-up counts
}
"""Sources that draw noise themselves; every other method calls ``add_noise``."""

SOURCES_OF_NOISE = {"laplace_noise", "NodeNoise"}

MADE_NOISY = "noisy counts, their variances, and released totals"
PREDICTED = "noisy counts and what was predicted of them from released totals and a prior"
NOISY = {
    noise: ("uniform families", "uniform numbers of nodes"),
    rows: (
        "uniform_of draw _finish_row find_candidates raise_thresholds",
        "noise, before a count is added, arrays handed on, and noisy counts",
    ),
    families: (
        "open_children open_wide _list_wide _sum_wide _sum_shut descend combine_families",
        "the same, numbers of nodes, and where data begin",
    ),
    passes: (
        "first_pass second_pass _share _close _put_out write_record apportion_record",
        "they hand arrays on: counts to add_counts and widen, noisy counts to the others",
    ),
    shares: (
        "combine could_be_above_zero project project_integers share_between_two share_family share",
        MADE_NOISY,
    ),
    predicted: ("share_prior merge_scaled combine", "a prior, released counts, noisy counts"),
    residuals: (
        "size_class _locate gather note bring_nearer shrink "
        "fit_weights expect _below _enclose medians",
        PREDICTED,
    ),
    both_passes: (
        "gather_children _predict open_children _open_plainly _open_family _place_families "
        "_share_plainly share_again",
        PREDICTED,
    ),
    lanes: (
        "share_lanes _find_candidates _round _give_all _share_each reweight_lanes _reweight_each",
        PREDICTED,
    ),
    part_tables: (
        "share_parts _fit _take_excess _repeat _make_exact _raise",
        "noisy counts of parts, and released totals",
    ),
    reweighting: ("may_reweight reweight close_small reweight_all", MADE_NOISY),
    baselines: ("update_density _fill", "noisy counts, and an estimate"),
    bounded_counts: ("combine clip find_multiplier apportion", MADE_NOISY),
    raster: ("find_empty spread", "released counts, and their intervals"),
}
"""Kernels that may compute with floating point, and what they see instead of true counts."""

MAY = {getattr(module, name) for module, (names, _) in NOISY.items() for name in names.split()}

RAW = (
    predicted.count_children,
    rows.add_counts,
    rows.widen,
    topdown._add_details,
    tree.forward_dense,
    key_lists.coalesce,
    part_tables.tally,
)
"""Kernels that true counts are given to."""

LOCAL = (oracles.answer, oracles.project, projective.respond, hashing.draw_bits, hashing.flip_bits)
"""Kernels that draw the reports of devices."""


def own_noise(source):
    """Names of what draws noise that a source mentions."""
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return names & SOURCES_OF_NOISE


@pytest.mark.parametrize("path", sorted(MECHANISMS.rglob("*.py")), ids=lambda path: path.name)
def test_methods_add_noise_to_whole_counts_only(path):
    assert path.name in DRAWING or not own_noise(path.read_text(encoding="utf-8"))


def test_the_list_of_those_that_draw_has_no_idle_entry():
    files = {path.name: path for path in MECHANISMS.rglob("*.py")}
    for name in DRAWING:
        assert own_noise(files[name].read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    "planted",
    [
        "noisy = table.to_vector() + laplace_noise(key, 0, scale, n) * float(step)",
        "noisy = table.to_vector() / 1.0 + measure.laplace_noise(key, 0, scale, n)",
        "drawn = NodeNoise(key, 5, law).sequence(n)",
    ],
)
def test_a_method_with_noise_of_its_own_is_caught(planted):
    assert own_noise(planted)


def floats(function):
    """Floating point in a kernel's own words: code, not its docstring or types in comments."""
    return [
        ast.unparse(node)
        for node in ast.walk(function)
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div))
        or (isinstance(node, ast.Name) and node.id == "float")
        or (isinstance(node, ast.Attribute) and re.match("float|inf|nan|sqrt|exp|log", node.attr))
    ]


def functions(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize(
    "path", sorted({*KERNELS.rglob("*.py")} - {KERNELS / "jit.py"}), ids=lambda path: path.name
)
def test_kernels_have_no_word_of_floating_point(path):
    allowed = {one.py_func.__name__ for one in MAY if one.py_func.__module__.endswith(path.stem)}
    for function in functions(path.read_text(encoding="utf-8")):
        assert function.name in allowed or not floats(function), function.name


def inferred(compiled):
    """Lines of a compiled kernel in which Numba has inferred a floating-point type."""
    text = io.StringIO()
    compiled.inspect_types(file=text)
    return [
        line for line in text.getvalue().splitlines() if re.search(r"::.*(float|complex)", line)
    ]


@pytest.fixture(scope="module")
def compiled():
    """Every kernel that a release or a local oracle calls, with true counts and without."""
    grid = geodp.Grid.regular((4, 4))
    table = geodp.CountTable.from_dense(np.arange(16).reshape(4, 4), grid)
    for method in ("pyramid", "topdown"):
        geodp.publish(table, method=method, epsilon=1, contribution=1)
    geodp.publish(
        table,
        epsilon=1,
        prior=geodp.publish(table, epsilon=1, contribution=1),
        prior_source="made up",
        contribution=1,
    )
    sexes = grid.with_attribute("sex", ["f", "m"])
    geodp.publish(
        geodp.CountTable.from_dense(np.full(sexes.shape, 1000), sexes), epsilon=1, contribution=1
    )
    row, key = geodp.METHODS["topdown"], NoiseKey(bytes(32))
    made = RefinementNoise.of(row.event(grid, Terms.of(epsilon=1, contribution=1)), key)
    refinement.refine_dense(table, made)
    for kind in ORACLES.values():
        oracle = kind(cells=9, epsilon=1)
        state = oracle.aggregate(oracle.randomize([0, 8, 3]))
        oracle.estimate(state)
        oracle.estimate(state, [3])
    # What is compiled into another kernel has types of its own only when it is called.
    looked_up, workspace = (
        refinement.RefinementRun(table, made.detail)._tables,
        refinement._make_workspace(),
    )
    workspace.top[0], workspace.place[0, 0], workspace.data[0, :, 0] = 0, 0, (0, 0, table.key.size)
    topdown._add_details(workspace, 1, 0, 0, looked_up)
    made.detail.families(np.zeros(1, np.uint64), 2)
    noise.uniform(np.zeros(2048, np.uint32), 0)
    nodes, scratch = np.array([[0, 0, 0, table.key.size, 1]]).T.copy(), np.zeros((3, 128), int)
    cumulative, places = np.append(0, np.cumsum(table.count)), 16 * STEP
    noisy = np.zeros(places, np.int32)
    rows.add_counts(nodes, (0, 1), (16, 1), table.key, cumulative, noisy, scratch)
    rows.widen(16, 1, cumulative, noisy, scratch, np.zeros(places, int))
    return [one for one in jit._kernels if one.signatures]


def test_kernels_have_no_floating_point_that_numba_infers(compiled):
    assert {*RAW, *LOCAL} <= set(compiled)
    for one in compiled:
        if one.py_func.__module__.startswith("geodp.kernels") and one not in MAY:
            assert not inferred(one), one.py_func.__name__


def test_the_pyramid_hands_true_counts_to_kernels_that_add_them_to_noise_only():
    seen = []
    for path in (KERNELS / "pyramid").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if any(isinstance(a, ast.Attribute) and a.attr == "cumulative" for a in call.args):
                seen.append(ast.unparse(call.func))
        read = [node for node in ast.walk(tree) if getattr(node, "attr", "") == "cumulative"]
        assert len(read) == 2 * (path.stem == "passes")
    assert seen == ["rows.add_counts", "rows.widen"]


def test_those_that_may_compute_with_floats_do(compiled):
    assert not MAY & set(RAW)
    for one in MAY & set(compiled):
        assert inferred(one), one.py_func.__name__


def measured_as_floats(count, noise, out):
    for i in range(count.size):
        out[i] = float(noise[i]) + float(count[i])


def rounded_on_the_way(count, noise, out):
    for i in range(count.size):
        out[i] = noise[i] + int(float(count[i]))


def without_a_word(count, noise, out):
    for i in range(count.size):
        out[i] = noise[i] + int(count[i : i + 1].mean())


def averaged(count, noise, out):
    for i in range(count.size):
        out[i] = noise[i] + count[i] / 2


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize(
    "planted", [measured_as_floats, rounded_on_the_way, without_a_word, averaged]
)
def test_a_kernel_that_makes_floats_of_counts_is_caught(planted, kind):
    made = numba.njit(planted)
    counts = np.arange(3)
    made(counts, counts, np.zeros(3, kind))
    assert inferred(made)
    (function,) = functions(inspect.getsource(planted))
    assert floats(function) or planted is without_a_word
