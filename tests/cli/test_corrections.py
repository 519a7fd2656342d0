"""``--supersedes`` of every command that publishes: one meaning, whatever is published."""

import json
import shutil

import pytest

import geodp as package
from geodp.io.folder.kinds import CARD, find_card
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import read_table_card
from geodp.io.verify.index import require_one_correction
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.command import geodp

GRID = ("--grid", "regular:8x8")
TABLE = ("rows.csv", *GRID, "--x", "x", "--y", "y", "--anchor", "index")
TERMS = ("--epsilon", "1", "--contribution", "1")
AMOUNT = (
    *("--grid", "jis:basic", "--bounds", "139.5", "35.5", "139.55", "35.525", "--code", "code"),
    *("--amount", "n", "--clip", "0", "9", "--unit-of-amount", "EUR"),
)
CALLS = {
    "table": ("publish", *TABLE, "--value", "n", *TERMS),
    "series": (
        *("publish-series", "2024-01=rows.csv", "2024-02=rows.csv", *TABLE[1:], "--value", "n"),
        *(*TERMS, "--person-in", "all"),
    ),
    "flows": (
        *("flows", "publish", "trips.csv", *GRID, "--from", "y,x", "--to", "to_y,to_x"),
        *("--value", "n", *TERMS),
    ),
    "households": (
        *("households", "publish", *TABLE, "--value", "n", "--households", "n", *TERMS),
        *("--protect", "person"),
    ),
    "amounts": ("amounts", "publish", "codes.csv", *AMOUNT, *TERMS),
    "amounts series": (
        *("amounts", "publish-series", "2015=codes.csv", "2020=codes.csv", *AMOUNT, *TERMS),
        *("--person-in", "all"),
    ),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A folder of inputs, with a release of each kind and one that corrects it."""
    folder = tmp_path_factory.mktemp("releases")
    cells = [(x, y) for x in range(8) for y in range(8)]
    rows = "".join(f"{x},{y},{20 + x}\n" for x, y in cells)
    (folder / "rows.csv").write_text(f"x,y,n\n{rows}")
    rows = "".join(f"{x},{y},{y},{x},{20 + x}\n" for x, y in cells)
    (folder / "trips.csv").write_text(f"x,y,to_x,to_y,n\n{rows}")
    (folder / "codes.csv").write_text("code,n\n" + "53392400,3\n53392411,8\n" * 40)
    for kind in CALLS:
        publish(folder, kind, "old")
        publish(folder, kind, "new", "--supersedes", name(kind, "old"))
    return folder


def name(kind, which):
    return f"{kind.replace(' ', '-')}-{which}"


def publish(folder, kind, which, *more):
    done = geodp(*CALLS[kind], *more, "--output", name(kind, which), cwd=folder)
    assert done.returncode == 0, done.stderr


def identify(release):
    """Return the id as a reader finds it: in the card, or from the digest of the index."""
    card = find_card(release / "public")
    table = json.loads(card.read_text()) if card.name == CARD else {}
    return table.get("release_id") or sha256(card)[:16]


def list_superseded(release):
    cards = [json.loads(one.read_text()) for one in sorted(release.rglob(CARD))]
    return [card.get("metadata", {}).get("supersedes") for card in cards]


@pytest.mark.parametrize("kind", CALLS)
def test_every_card_names_the_release_that_is_corrected(releases, kind):
    old, new = (releases / name(kind, which) for which in ("old", "new"))
    superseded = list_superseded(new)
    assert superseded == [identify(old)] * len(superseded)
    assert len(superseded) == len([*old.rglob(CARD)]) > 0
    assert {*list_superseded(old)} == {None}
    for one in (old, new):
        done = geodp("verify", one)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", CALLS)
def test_a_correction_is_corrected_in_turn(releases, kind):
    publish(releases, kind, "third", "--supersedes", name(kind, "new"))
    old, new, third = (releases / name(kind, which) for which in ("old", "new", "third"))
    assert {*list_superseded(third)} == {identify(new)} != {identify(old)}
    shutil.rmtree(third)


@pytest.mark.parametrize("kind", CALLS)
def test_a_release_of_another_kind_is_refused_before_the_charge(releases, kind, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", PureDP(2))
    charged = ("--ledger", tmp_path / "ledger", "--dataset", "census")
    into = (*charged, "--output", tmp_path / "out")
    for other in {*CALLS} - {kind}:
        superseded = releases / name(other, "old")
        done = geodp(*CALLS[kind], *into, "--supersedes", superseded, cwd=releases)
        assert done.returncode == 2
        assert "A release is corrected (--supersedes) by one of its kind" in done.stderr
        assert not (tmp_path / "out").exists()
        assert not ledger.charges("census")


@pytest.mark.parametrize("kind", CALLS)
def test_a_correction_never_takes_the_place_of_what_it_corrects(releases, kind):
    old = name(kind, "old")
    before = {path: path.read_bytes() for path in (releases / old).rglob("*") if path.is_file()}
    done = geodp(*CALLS[kind], "--output", old, cwd=releases)
    assert done.returncode == 2
    assert "--supersedes" in done.stderr
    for path in (old, f"{old}/public"):
        words = ("--output", old, "--supersedes", path, "--overwrite")
        done = geodp(*CALLS[kind], *words, cwd=releases)
        assert done.returncode == 2
        assert "write the new one to another folder" in done.stderr
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize("kind", [kind for kind in CALLS if kind != "table"])
def test_tables_that_correct_different_releases_are_not_one_release(releases, kind):
    folders = [one.parent for one in sorted((releases / name(kind, "new")).rglob(CARD))]
    cards = [read_table_card(one) for one in folders]
    require_one_correction(cards)
    former = read_table_card(next((releases / name(kind, "old")).rglob(CARD)).parent)
    with pytest.raises(package.errors.VerificationError, match="same earlier release"):
        require_one_correction([*cards, former])


def test_the_library_states_the_corrected_series_by_its_id(releases):
    table = package.CountTable.from_dense([[40, 2], [3, 1]], package.Grid.regular((2, 2)))
    supersedes = identify(releases / "series-old")
    series = package.publish_series(
        [table, table], times=["2024-01", "2024-02"], person="all", epsilon=1, contribution=1,
        metadata={"supersedes": supersedes},
    )  # fmt: skip
    assert [one.card().metadata.supersedes for one in series] == [supersedes] * 2
