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

GRID = ("--grid", "inspire:1km", "--bounds", "4000000", "3000000", "4008000", "3008000")
TABLE = ("rows.csv", *GRID, "--x", "x", "--y", "y")
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
        *TERMS,
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
    places = [(4_000_500 + 1000 * x, 3_000_500 + 1000 * y) for x in range(8) for y in range(8)]
    rows = "".join(f"{x},{y},{20 + i}\n" for i, (x, y) in enumerate(places))
    (folder / "rows.csv").write_text(f"x,y,n\n{rows}")
    rows = "".join(f"{x},{y},{x},{y}\n" for x, y in places) * 20
    (folder / "trips.csv").write_text(f"x,y,to_x,to_y\n{rows}")
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


DAY = "2026-01-31"
REASON = "One <district> was counted twice."
PAGES = {
    "table": [("report", ""), ("report", "", "--embed")],
    "series": [("report", ""), ("report", "/public/2024-01")],
    "flows": [("report", "", "--simulations", "20")],
    "households": [("report", "")],
    "amounts": [("report", "")],
    "amounts series": [("report", "", "--time", "2015"), ("report", "/public/2015")],
}
"""Commands that write a page, by kind; the place in a release is a word that is empty or begins
with a slash."""
SAID = {
    "en": ("WITHDRAWN: this release was withdrawn on 31 January 2026", "Use the release"),
    "ja": ("撤回済み: この公開物は2026年1月31日に撤回", "代わりに公開物"),
}


def withdraw(folder, kind, *more):
    """Return a copy of a release that was withdrawn for the one that corrects it."""
    shutil.copytree(folder / name(kind, "old"), folder / name(kind, "gone"))
    words = ("withdraw", name(kind, "gone"), "--reason", REASON, "--date", DAY, *more)
    done = geodp(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / name(kind, "gone")


@pytest.fixture(scope="module")
def withdrawn(releases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("withdrawn") / "releases"
    shutil.copytree(releases, folder)
    for kind in CALLS:
        withdraw(folder, kind, "--use", name(kind, "new"))
    return folder


def write_page(words, release, language, path):
    placed = [f"{release}{one}" if not one or one[0] == "/" else one for one in words]
    done = geodp(*placed, "--language", language, "--output", path)
    assert done.returncode == 0, done.stderr
    return path.read_text(encoding="utf-8").replace("\u00a0", " "), done


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", CALLS)
def test_every_page_says_first_that_its_release_was_withdrawn(withdrawn, kind, language, tmp_path):
    for number, words in enumerate(PAGES[kind]):
        page, done = write_page(
            words, withdrawn / name(kind, "gone"), language, tmp_path / "a.html"
        )
        top = page[page.index("<body>") :].split("</p>")[0]
        assert SAID[language][0] in top, number
        assert "One &lt;district&gt; was counted twice." in top
        assert SAID[language][1] in top
        assert identify(withdrawn / name(kind, "new")) in top
        assert 'role="alert"' in top
        assert "THIS RELEASE WAS WITHDRAWN" in done.stderr
        page, done = write_page(words, withdrawn / name(kind, "old"), language, tmp_path / "b.html")
        assert not any(one in page for one in (*SAID[language], "notice"))
        assert done.stderr.count("WITHDRAWN") == 0


@pytest.mark.parametrize("kind", CALLS)
def test_a_page_names_the_release_that_it_replaces(withdrawn, kind, tmp_path):
    new, old = (withdrawn / name(kind, one) for one in ("new", "old"))
    for words in PAGES[kind]:
        if "--embed" not in words:
            page, _ = write_page(words, new, "en", tmp_path / "a.html")
            assert "not to be used any more" in page
            assert identify(old) in page


@pytest.mark.parametrize("text", ["", "{}", "other"])
@pytest.mark.parametrize("kind", ["table", "flows", "amounts"])
def test_a_notice_that_cannot_be_read_is_said_on_pages(withdrawn, kind, text, tmp_path):
    damaged = tmp_path / "release"
    shutil.copytree(withdrawn / name(kind, "new"), damaged)
    notice = withdrawn / name(kind, "gone") / "WITHDRAWN.json"
    (damaged / "WITHDRAWN.json").write_text(notice.read_text() if text == "other" else text)
    for words in PAGES[kind]:
        page, done = write_page(words, damaged, "en", tmp_path / "a.html")
        assert "A notice of withdrawal lies beside this release" in page.split("</p>")[0]
        assert "WITHDRAWN:" not in page
        assert "cannot be read" in done.stderr


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", [kind for kind in CALLS if kind != "series"])
def test_an_explanation_begins_with_the_withdrawal(withdrawn, kind, language):
    gone, new = (withdrawn / name(kind, one) for one in ("gone", "new"))
    document = json.loads(geodp("explain", gone, "--language", language, "--json").stdout)
    first = " ".join(document["sections"][0]["sentences"])
    assert DAY in first
    assert REASON in first
    assert identify(new) in first
    assert "sections" in document
    plain = json.loads(geodp("explain", new, "--language", language, "--json").stdout)
    assert plain["sections"][0]["heading"] != document["sections"][0]["heading"]


def test_the_text_of_a_report_says_it_too(withdrawn):
    gone = withdrawn / name("table", "gone")
    text = geodp("report", gone).stdout
    assert text.split("\n\n")[1].startswith(f"**WITHDRAWN** on {DAY}: ")
    assert identify(withdrawn / name("table", "new")) in text.split("\n\n")[1]
    assert "WITHDRAWN" not in geodp("report", withdrawn / name("table", "old")).stdout


ENDS = ("--from", "10kmN300E400", "--to", "10kmN300E400")
READERS = {
    "flows": [
        (*("estimate", "GONE", "--simulations", "20"), *ENDS),
        ("compare", "GONE", "NEW", *ENDS),
        ("export", "GONE/public/flows", "--to", "csv:excel", "--output", "OUT"),
    ],
    "households": [
        ("estimate", "GONE", "--area", "10kmN300E400"),
        ("compare", "GONE", "NEW", "--area", "10kmN300E400"),
        ("export", "GONE/public/persons", "--to", "csv:excel", "--output", "OUT"),
    ],
    "amounts": [
        ("estimate", "GONE", "--area", "5339"),
        ("compare", "GONE", "NEW", "--area", "5339"),
        ("export", "GONE/public/count", "--to", "csv:excel", "--output", "OUT"),
    ],
    "amounts series": [
        ("estimate", "GONE", "--area", "5339", "--time", "2015"),
        ("estimate", "GONE/public/2015", "--area", "5339"),
        ("compare", "GONE", "--time", "2015", "--time", "2020", "--area", "5339"),
    ],
    "table": [("map", "GONE", "--output", "MAP")],
}


@pytest.mark.parametrize("kind", READERS)
def test_every_reader_warns_once(withdrawn, kind, tmp_path):
    places = {"GONE": withdrawn / name(kind, "gone"), "NEW": withdrawn / name(kind, "new")}
    places |= {"OUT": tmp_path / "out", "MAP": tmp_path / "map.svg"}
    for words in READERS[kind]:
        begin, _, rest = zip(*(word.partition("/") for word in words), strict=True)
        named = [str(places.get(one, one)) for one in begin]
        done = geodp(
            *(f"{one}/{two}" if two else one for one, two in zip(named, rest, strict=True))
        )
        assert done.returncode == 0, (words, done)
        assert done.stderr.count(f"THIS RELEASE WAS WITHDRAWN on {DAY}") == 1, (words, done)


def test_a_map_says_that_its_release_was_withdrawn(withdrawn, tmp_path):
    gone, new = (withdrawn / name("table", one) for one in ("gone", "new"))
    for more, flags in (((gone,), 1), ((new,), 0), ((new, "--compare", gone), 1)):
        done = geodp("map", *more, "--output", tmp_path / "a.svg", "--overwrite")
        assert done.returncode == 0, done.stderr
        drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
        assert drawn.count("WITHDRAWN") == flags, more
        on = f"Withdrawn on {DAY}: not to be used any more."
        assert (on in drawn) is (more == (gone,))
