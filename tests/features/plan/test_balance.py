"""What a plan says of the default's levels, and of what pays for them."""

import pytest

import geodp


def balance(grid, method="pyramid", **given):
    notes = geodp.plan(grid, method, **{"epsilon": 1, **given}).notes
    return [note for note in notes if "less accurate" in note or "small domain" in note]


@pytest.mark.parametrize("loss", [{"epsilon": "1/10"}, {"epsilon": None, "rho": "1/200"}])
def test_both_figures_of_the_worst_blocks_are_told(loss):
    grid = geodp.Grid.regular((512, 512))
    (note,) = balance(grid, **loss)
    ours, theirs = (geodp.plan(grid, name, **loss).blocks for name in ("pyramid", "topdown"))
    pairs = zip(ours, theirs, strict=True)
    one, other = max(pairs, key=lambda pair: pair[0].standard_error / pair[1].standard_error)
    assert f"those of {one.cells:,} cells" in note
    assert (
        f"error of {one.standard_error:,.1f}, instead of {other.standard_error:,.1f} with" in note
    )


@pytest.mark.parametrize(
    ("people", "said"), [(676 * 8, "few compared"), (676 * 12, "many compared"), (None, "")]
)
def test_a_small_domain_is_said_to_be_dense_or_sparse(people, said):
    notes = balance(geodp.Grid.regular((26, 26)), people=people)
    assert [said in note for note in notes] == [True] * bool(said)


@pytest.mark.parametrize(
    "method", ["pyramid:setting=R", "topdown", "pyramid:chain=9-9,shares=1-1-1"]
)
def test_nothing_is_said_of_levels_that_were_asked_for(method):
    assert balance(geodp.Grid.regular((512, 512)), method, people=1e6) == []
    grid = geodp.Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
    assert balance(grid.with_official_order()) == []
