"""Amounts as one release: they agree everywhere, are charged once, and replay for free."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UndeclaredDrawError, UsageError
from geodp.io.folder.staged_release import StagedTables
from geodp.io.verify.verify import verify
from geodp.kinds.amounts.amounts import Amounts
from geodp.kinds.amounts.publish import prepare_amounts
from geodp.kinds.amounts.streams import release_streams
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.grids import FORMS
from tests.kinds.amounts.made import EDGES, GIVEN, GRID, KEY, publish, rows, truth
from tests.refusals import refuses


def numbers(release):
    """Records, sums and classes, by row and column."""
    found = [release.count.table.to_dense()]
    if release.sum is not None:
        found.append(release.sum.table.to_dense())
    return found + [one.to_dense() for one in release.classes]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(numbers(one), numbers(other), strict=True))


def test_numbers_agree_in_every_cell(release):
    scale, count = release.scale, release.count.table.to_dense()
    if release.sum is not None:
        total = release.sum.table.to_dense()
        assert (count * scale.lower <= total).all()
        assert (total <= count * scale.upper).all()
    if release.classes:
        classes = np.stack([one.to_dense() for one in release.classes], axis=-1)
        np.testing.assert_array_equal(classes.sum(axis=-1), count)


def test_numbers_are_near_the_truth(release):
    number, total, _ = truth()
    one = release.estimate((0, 0, 16, 16))
    assert abs(one.count.count - number.sum()) < 400
    if release.sum is not None:
        assert abs(one.sum.value / total.sum() - 1) < 0.03
        assert abs(one.mean.value / (total.sum() / number.sum()) - 1) < 0.02
    if release.classes:
        assert 200 < one.median.low <= one.median.value <= one.median.high < 300


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_grid_is_published(form):
    grid = FORMS[form]
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    records = geodp.CountTable.from_keys(grid, key, np.full(key.size, 50))
    scale = geodp.amounts.Scale.of((0, 100), 1, "EUR", "rent")
    table = geodp.amounts.AmountTable(records, 30 * records.count, scale)
    release = geodp.amounts.publish(table, contribution=1, epsilon=5)
    assert abs(release.sum.table.total / release.count.table.total - 30) < 5


def test_streams_have_noise_of_their_own():
    table = geodp.amounts.read_records(
        rows(), **{k: v for k, v in GIVEN.items() if k not in ("contribution", "epsilon", "method")}
    )
    request = Request(
        terms=Terms.of(epsilon=1, contribution=1), method="pyramid:setting=R", key=KEY
    )
    prepared = prepare_amounts(table, request)
    plan = prepared.design.plan
    streams = plan.streams(table)
    assert len({label for *_, label in streams}) == 2
    other = replace(plan, whole=replace(plan.whole, epsilon=Fraction(2)))
    key = NoiseKey.generate().restrict(other.declare(GRID))
    # The declaration is of streams, whose events are the same.
    release_streams(streams, plan, key)
    with pytest.raises(UndeclaredDrawError):
        release_streams(streams, plan, NoiseKey.generate())


BAD = [
    ("amounts-unit-missing", {"unit_of_amount": None}),
    ("amounts-nothing-released", {"means": False}),
    ("amounts-share", {"classes": EDGES, "share": 1}),
    ("amounts-number-form", {"classes": EDGES, "share": "half"}),
    ("pyramid-needed", {"method": "laplace"}),
    ("contribution-unstated", {"contribution": None}),
    ("amounts-records-of-person", {"contribution": None, "person": "id"}),
    ("amount-negative", {"amount": "debt"}),
    ("amount-with-currency", {"amount": "mixed"}),
    ("amount-not-number", {"amount": "text"}),
    ("amount-missing", {"amount": "gap"}),
    ("amount-thousands", {"amount": "grouped"}),
    ("count-negative|count-form|count-not-whole", {"value": "debt", "value_unit": 1}),
    ("amounts-edges-form", {"classes": "100"}),
    ("amounts-edges-form", {"classes": 100}),
    ("weights-bound", {"weight": "income", "max_weight": 2.5}),
    ("weights-bound", {"weight": "income", "max_weight": "5"}),
]


@pytest.mark.parametrize(("code", "more"), BAD)
def test_bad_input_is_refused_before_the_charge(ledger, code, more):
    n = 10
    data = rows(n)
    for name, value in {
        "debt": -1, "mixed": "300 USD", "text": "much", "gap": None, "grouped": "1,000",
    }.items():  # fmt: skip
        first = [300] if isinstance(value, int) else ["300"]
        data = data.append_column(name, [first * (n - 1) + [value]])
    with refuses((UsageError, InputError), code) as refused:
        publish(data, ledger=ledger, dataset="census", **more)
    assert not ledger.charges("census")
    # One sentence, which names no value.
    assert "USD" not in str(refused.value)


def test_noise_that_is_too_wide_for_the_step_is_drawn_on_notches():
    release = publish(step="0.0001", clip=(0, 1000), epsilon="1/10")
    notches = release.index.amount.notches
    assert release.scale.span % notches == 0
    assert notches < release.scale.span
    assert any(
        "is rounded to a multiple of" in one for one in release.index.guarantee.not_protected
    )
    # The notch is far below the noise: the same errors as on the coarse step.
    coarse = publish(epsilon="1/10")
    one, other = (each.estimate((0, 0, 16, 16)).sum for each in (release, coarse))
    assert 0.8 < (one.high - one.low) / (other.high - other.low) < 1.25


def weighed():
    return rows().append_column("w", [["3"] * 20_000])


def test_persons_with_weights_are_bounded_by_geodp():
    data = weighed()
    given = {"person": "id", "contribution": 2, "weight": "w", "max_weight": 5}
    release = publish(data, **given)
    promise = release.index.guarantee
    # Two records of a person, each with a weight of at most five.
    assert promise.contribution == 10
    assert promise.assumptions[0].stated_by == "geodp"
    assert "weights of at most 10 together" in promise.assumptions[0].statement
    ends = {name: one for name, one in GIVEN.items() if name not in ("clip", "method")}
    choice = geodp.amounts.choose_clip(data, **{**ends, **given}, lowest=100, highest=1000)
    assert choice.selected.card().guarantee.contribution == 10


def large(amount, number):
    """One row that stands for many records of one amount."""
    return pa.table({"x": [0.5], "y": [0.5], "income": [amount], "n": [number]})


@pytest.mark.parametrize(
    ("amount", "number", "more", "code"),
    [
        (10**12, 20_000_000, {"clip": (10**12, 10**12 + 10)}, "amounts-sum-too-large"),
        (-(10**12), 20_000_000, {"clip": (-(10**12) - 10, -(10**12))}, "amounts-sum-too-large"),
        (10**15, 20_000, {"clip": (0, 10**16), "step": 10**9}, "amounts-sum-too-large"),
        (1, 1, {"clip": (0, 10**19), "step": 10**19}, "amounts-clip-too-large"),
        # The noise alone would be too large.
        (10**12, 1, {"clip": (10**12, 10**12 + 1), "epsilon": "1/10"},
         "amounts-sum-too-large"),
    ],
)  # fmt: skip
def test_sums_that_are_not_exact_are_refused_before_the_charge(amount, number, more, code, ledger):
    with refuses(UsageError, code):
        publish(large(amount, number), value="n", ledger=ledger, dataset="census", **more)
    assert ledger.charges("census") == ()


def test_the_largest_sums_are_exact(tmp_path):
    clip = {"clip": (0, 10**12), "step": 10**6}
    release = publish(large(10**12, 10**6), value="n", **clip)
    total = release.to_arrow()["sum"].to_numpy()
    assert abs(total.sum() / 10**18 - 1) < 0.01
    assert (total % 10**6 == 0).all()
    release.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out" / "public"))


@pytest.mark.parametrize(
    "name", ["sum", "Mean", "median", "sum_low", "mean_high", "count_0_to_100", "count"]
)
def test_attributes_called_as_columns_are_refused_before_the_charge(name, ledger):
    data = rows(100).append_column(name, pa.array(["f", "m"] * 50))
    code = "columns-of-one-name" if name == "count" else "amounts-column-taken"
    with refuses(UsageError, code):
        publish(data, by=[name], labels={name: ["f", "m"]}, classes=EDGES, ledger=ledger,
                dataset="census")  # fmt: skip
    assert ledger.charges("census") == ()


def test_one_record_is_written_before_the_charge(tmp_path, monkeypatch):
    prepared = prepare_amounts(
        geodp.amounts.read_records(rows(), grid=GRID, x="x", y="y", amount="income",
                                   clip=(0, 1000), unit_of_amount="EUR", classes=EDGES),
        Request(terms=Terms.of(epsilon=1, contribution=1)),
    )  # fmt: skip
    written = []
    monkeypatch.setattr(Amounts, "write_joint", lambda one, _: written.append(one.to_arrow()))
    with StagedTables.stage(tmp_path / "out", overwrite=False) as place:
        design = prepared.design
        place.try_out(design.preview, [prepared.cells], design.example)
    assert [one.num_rows for one in written] == [0, 1]
    assert written[1]["count"].to_pylist() == [1]


RAKED_TO = "residents by age and sex of this survey"


@pytest.mark.parametrize("more", [{"weight": None}, {"raked_to": " "}, {"raked_to": 5},
                                  {"raked_to": "a\nb"}, {"raked_to": "a" * 501}])  # fmt: skip
def test_raked_to_is_a_sentence_about_weights(more):
    given = {"weight": "w", "max_weight": 5, "raked_to": RAKED_TO} | more
    if given["weight"] is None:
        given["max_weight"] = 1
    with refuses(UsageError, "weights-raked-to|weights-raked-without"):
        publish(weighed(), **given)
