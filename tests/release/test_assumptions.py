"""Every card lists what its guarantee assumes, and who answers for it."""

import json

import numpy as np

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.grid.hierarchy import Hierarchy
from geodp.io.verify.readback import read_release_table
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey
from geodp.release.report.markdown import markdown
from geodp.release.report.sentences import plain
from geodp.table.public_totals import PublicTotals
from geodp.tools.explain.api import explain
from tests.keys import keep
from tests.ledgers import small_ledger
from tests.refusals import refuses
from tests.release.report.html.pages import page_of

PLACE = {"crs": "EPSG:3035", "transform": (1000, 0, 0, 0, 1000, 0)}
GRID = geodp.Grid.regular((8, 8), **PLACE)
LAYOUT = ContributionBound(1, "layout", "census (Census <of> 2020)")
COUNTS = np.arange(64).reshape(8, 8) + 5


def table(grid=GRID, counts=COUNTS, **more):
    made = geodp.CountTable.from_dense(counts, grid)
    return geodp.CountTable.from_keys(made.grid, made.key, made.count, **more)


def listed(release):
    return [(one.kind, one.stated_by, one.source) for one in release.card().guarantee.assumptions]


def test_a_plain_release_has_two():
    release = geodp.publish(table(), epsilon=1, contribution=2)
    assert listed(release) == [("contribution", "operator", None), ("domain", "operator", None)]
    bounded = geodp.publish(table(bound=ContributionBound(2, "geodp")), epsilon=1)
    assert listed(bounded)[0] == ("contribution", "geodp", None)
    stated = geodp.publish(table(bound=LAYOUT), epsilon=1)
    assert listed(stated)[0] == ("contribution", "layout", LAYOUT.layout)


def test_who_states_it_himself_answers_himself():
    release = geodp.publish(table(bound=LAYOUT), epsilon=1, contribution=1)
    assert listed(release)[0] == ("contribution", "operator", None)
    assert "vouched for by the operator" in release.card().guarantee.contribution_bound


def test_masks_priors_and_totals_are_listed_with_their_sources():
    cells = np.array(np.nonzero(np.ones((8, 8))))
    grid = GRID.with_hierarchy(Hierarchy.of_cells(cells, {"city": ["a"] * 64}, "Atlas"))
    totals = PublicTotals.of(grid, {("a",): int(COUNTS.sum())}, "Law of 2020")
    release = geodp.publish(
        table(totals.grid), epsilon=1, contribution=1, totals=totals,
        prior=table(totals.grid, COUNTS[::-1]), prior_source="Census of 2015",
    )  # fmt: skip
    sentences = [one.statement for one in release.card().guarantee.assumptions]
    assert sentences == [
        "One person adds at most 1 to the sum of all counts.",
        "The grid and the domain were chosen without the records.",
        "The table of regions is public and was not made from the records.",
        "The prior is public, or a release that was charged itself.",
        "The totals that the release meets exactly were public before.",
    ]
    assert listed(release)[2:] == [
        ("table of regions", "operator", "Atlas"),
        ("prior", "operator", "Census of 2015"),
        ("public totals", "operator", "Law of 2020"),
    ]


def test_what_is_written_is_read_back_and_explained(tmp_path):
    release = geodp.publish(table(bound=LAYOUT), epsilon=1)
    release.write(tmp_path / "out")
    _, card = read_release_table(tmp_path / "out")
    assert card.guarantee.layout == LAYOUT.layout
    assert geodp.open(tmp_path / "out").event.layout == LAYOUT.layout
    for language, words in (("en", "the layout of the official table"), ("ja", "公的な表の形式")):
        text = explain(card, language).to_text()
        assert words in text
        assert "the office answers for that" not in text
    sentence = card.guarantee.assumptions[0].sentence
    assert plain(sentence) in markdown(card)
    page = page_of(geodp.open(tmp_path / "out"), card)
    assert "Census &lt;of&gt; 2020" in page
    assert "Census <of>" not in page


def test_a_card_whose_assumptions_contradict_it_is_refused(tmp_path):
    geodp.publish(table(), epsilon=1, contribution=2).write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "release.json"
    card = json.loads(path.read_text())
    card["guarantee"]["assumptions"][0]["stated_by"] = "geodp"
    path.write_text(json.dumps(card))
    with refuses(VerificationError, "card-guarantee-contradicts"):
        geodp.open(tmp_path / "out")


def test_a_selection_lists_them_too():
    selection = geodp.select.top_cells(table(bound=LAYOUT), 1, epsilon=1)
    assert [one.stated_by for one in selection.card().guarantee.assumptions] == [
        "layout",
        "operator",
    ]
    assert "stated by the layout" in selection.card().guarantee.contribution_bound


def test_the_same_input_is_the_same_release_whoever_answers(tmp_path):
    key = NoiseKey.from_file(keep(tmp_path / "key"))
    ledger = small_ledger(tmp_path)
    held = {"key": key, "ledger": ledger, "dataset": "census", "epsilon": "1/2"}
    one = geodp.publish(table(bound=LAYOUT), **held)
    two = geodp.publish(table(), contribution=1, **held)
    assert one.table.count.tobytes() == two.table.count.tobytes()
    assert two.charge.replay


# Priors: public, or a release that was charged.


def test_an_unpublished_table_is_no_prior_and_leaves_no_digest(tmp_path):
    prior = table(counts=COUNTS + 1)
    with refuses(UsageError, "prior-source-missing"):
        geodp.publish(table(), epsilon=1, contribution=1, prior=prior)
    kwargs = {"prior": prior, "prior_source": "Census of 2015"}
    release = geodp.publish(table(), epsilon=1, contribution=1, **kwargs)
    other = geodp.publish(
        table(), epsilon=1, contribution=1, **kwargs | {"prior": table(counts=3 * COUNTS + 3)}
    )
    # Shares are the same where all counts are three times as many: no sum and no digest differs.
    fixed = ("source", "version", "finest", "meaning")
    one, two = ([getattr(said.prior, name) for name in fixed] for said in (release, other))
    assert one == two
    release.write(tmp_path / "out")
    text = (tmp_path / "out" / "public" / "release.json").read_text()
    said = json.loads(text)["prior"]
    assert {*said} == {"source", "version", "finest", "meaning", "levels", "attenuation"}


def test_a_charged_release_needs_no_words_and_an_uncharged_one_does(tmp_path):
    ledger = small_ledger(tmp_path)
    held = {"ledger": ledger, "dataset": "census"}
    charged = geodp.publish(table(counts=COUNTS + 3), epsilon="1/4", contribution=1, **held)
    plain = geodp.publish(table(counts=COUNTS + 3), epsilon="1/4", contribution=1)
    release = geodp.publish(table(), epsilon="1/4", contribution=1, prior=charged)
    stated = charged.charge.describe()
    assert release.prior.source == (
        f"an earlier release that was charged itself: entry {stated['sequence']} of the ledger "
        f"{stated['ledger']}, data set census"
    )
    with refuses(UsageError, "prior-source-missing"):
        geodp.publish(table(), epsilon="1/4", contribution=1, prior=plain)
    charged.write(tmp_path / "before")
    opened = geodp.open(tmp_path / "before")
    assert geodp.publish(table(), epsilon="1/4", contribution=1, prior=opened).prior.source == (
        release.prior.source
    )


def test_a_release_with_a_fixed_key_is_no_prior():
    fixed = geodp.publish(table(), epsilon=1, contribution=1, key=NoiseKey(bytes(32)))
    with refuses(UsageError, "prior-not-private"):
        geodp.publish(table(), epsilon=1, contribution=1, prior=fixed, prior_source="ours")
