"""What corrects a release and what is said of one that was withdrawn, beyond the contract."""

import json
import shutil

import pytest

import geodp as package
from geodp.io.folder.kinds import CARD, find_card
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import read_table_card
from geodp.io.verify.index import require_one_correction
from tests.command import geodp
from tests.contract.desk import Desk, require
from tests.contract.kinds import KINDS, WEST

ID = "0123456789abcdef"
DAY = "2026-01-31"
REASON = "One <district> was counted twice."
PAGES = {
    "counts": [("",), ("", "--embed")],
    "flows": [("",)],
    "series of amounts": [("", "--time", "2020"), ("/public/2020",)],
}
"""What is reported, by kind: the place in a release, and options."""

SAID = ("撤回済み: この公開物は2026年1月31日に撤回", "代わりに公開物")
"""What a page says first, in another language than that of tests/contract/test_withdrawn.py."""


def identify(release):
    """Return the id as a reader finds it: in the card, or from the digest of the index."""
    card = find_card(release / "public")
    table = json.loads(card.read_text()) if card.name == CARD else {}
    return table.get("release_id") or sha256(card)[:16]


@pytest.fixture(scope="module", params=PAGES)
def office(request, tmp_path_factory):
    """A desk of a kind, with releases: ``old``, one that corrects it, and ``gone``, withdrawn."""
    desk = Desk(tmp_path_factory.mktemp("office"), KINDS[request.param])
    desk.published(to="old")
    desk.published("--supersedes", "old", to="new")
    desk.copy(desk.folder / "old", "gone")
    words = ("withdraw", "gone", "--reason", REASON, "--date", DAY, "--use", "new")
    require(desk.run(*words))
    return desk


def write_page(desk, release, words, language="en"):
    """Write a page of a release of a desk; return its text, and what was said meanwhile."""
    place, *more = words
    path = desk.folder / "page.html"
    call = ("report", f"{release}{place}", *more, "--language", language)
    done = require(desk.run(*call, "--output", path))
    return path.read_text(encoding="utf-8").replace("\u00a0", " "), done.stderr


def test_every_card_names_the_release_that_is_corrected_also_in_turn(office):
    """No card of the first names any; tables that correct different ones are no release."""
    office.published("--supersedes", "new", to="third")
    named = {
        name: [read_table_card(one.parent) for one in (office.folder / name).rglob(CARD)]
        for name in ("old", "new", "third")
    }
    for name, before in (("new", "old"), ("third", "new")):
        corrected = {one.metadata.supersedes for one in named[name]}
        assert corrected == {identify(office.folder / before)}
        require(office.run("verify", name))
    assert not [one.metadata for one in named["old"] if one.metadata]
    if len(named["new"]) > 1:
        require_one_correction(named["new"])
        with pytest.raises(package.errors.VerificationError, match="same earlier release"):
            require_one_correction([*named["new"], named["old"][0]])
    shutil.rmtree(office.folder / "third")


def test_the_library_states_what_a_series_corrects_by_its_id():
    table = package.CountTable.from_dense([[40, 2], [3, 1]], package.Grid.regular((2, 2)))
    series = package.publish_series(
        [table, table], times=["2024-01", "2024-02"], person="all", epsilon=1, contribution=1,
        metadata={"supersedes": ID},
    )  # fmt: skip
    assert [one.card().metadata.supersedes for one in series] == [ID] * 2


def test_every_page_says_first_that_its_release_was_withdrawn(office):
    for words in PAGES[office.kind.name]:
        page, told = write_page(office, "gone", words, "ja")
        top = page[page.index("<body>") :].split("</p>")[0]
        said = (*SAID, "One &lt;district&gt; was counted twice.", 'role="alert"')
        assert [one for one in said if one not in top] == []
        assert identify(office.folder / "new") in top
        assert "THIS RELEASE WAS WITHDRAWN" in told
        page, told = write_page(office, "old", words)
        assert not any(one in page for one in ("WITHDRAWN", "Use the release", "notice"))
        assert "WITHDRAWN" not in told
    document = require(office.run("explain", "gone", "--language", "ja", "--json")).stdout
    first = json.loads(document)["sections"][0]
    for one in (DAY, REASON, identify(office.folder / "new")):
        assert one in " ".join(first["sentences"])


def test_a_page_names_the_release_that_it_replaces(office):
    for words in PAGES[office.kind.name]:
        if "--embed" not in words:
            page, _ = write_page(office, "new", words)
            assert "not to be used any more" in page
            assert identify(office.folder / "old") in page


@pytest.mark.parametrize("text", ["", "other"])
def test_a_notice_that_cannot_be_read_is_said_on_pages(office, text):
    """That of another release is none of this one."""
    notice = (office.folder / "gone" / "WITHDRAWN.json").read_text()
    damaged = office.copy(office.folder / "new", "damaged")
    (damaged / "WITHDRAWN.json").write_text(notice if text == "other" else text)
    for words in PAGES[office.kind.name]:
        page, told = write_page(office, "damaged", words)
        assert "A notice of withdrawal lies beside this release" in page.split("</p>")[0]
        assert "WITHDRAWN:" not in page
        assert "cannot be read" in told
    done = require(office.run("verify", "damaged"))
    assert "cannot be read, or is of another one" in done.stderr
    shutil.rmtree(damaged)


def test_a_map_flags_what_was_withdrawn(tmp_path):
    desk = Desk(tmp_path, KINDS["counts"])
    for name in ("gone", "new"):
        desk.published(to=name)
    require(desk.run("withdraw", "gone", "--reason", REASON, "--date", DAY))
    for more, flags in ((("gone",), 1), (("new",), 0), (("new", "--compare", "gone"), 1)):
        require(desk.run("map", *more, "--output", "a.svg", "--overwrite"))
        drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
        assert drawn.count("WITHDRAWN") == flags, more
        on = f"Withdrawn on {DAY}: not to be used any more."
        assert (on in drawn) is (more == ("gone",))
    text = geodp("report", tmp_path / "gone").stdout
    assert text.split("\n\n")[1].startswith(f"**WITHDRAWN** on {DAY}: ")
    assert WEST[0] in require(desk.run("estimate", "gone", "--area", WEST[0])).stdout
