"""A notice of withdrawal stands in all that anybody is shown or given of a release."""

import warnings

import pytest

import geodp
from geodp.errors import WithdrawnWarning
from geodp.io.verify import verify_release
from tests.contract.desk import contents, require
from tests.contract.using import REASON, WRONG_CALL, list_inside, require_refused

NOTICE = "WITHDRAWN.json"


def test_a_withdrawal_changes_no_file(released, withdrawn):
    before, after = (contents(desk.folder / "out") for desk in (released, withdrawn))
    assert {name: after[name] for name in after if name != NOTICE} == before
    assert NOTICE in after
    done = withdrawn.run("withdraw", "out", "--reason", "Another one.")
    assert "already" in require_refused(done, WRONG_CALL)


def test_a_withdrawn_release_is_intact_and_says_so(withdrawn, capsys):
    done = require(withdrawn.run("verify", "out"))
    assert REASON in done.stderr
    assert verify_release.main([str(withdrawn.folder / "out")]) == 0
    assert REASON in capsys.readouterr().out


def test_every_answer_shows_the_withdrawal(kind, withdrawn, later):
    asked = withdrawn.asked()
    other = later.folder / later.asked()
    for words in (
        ("estimate", asked, *kind.region),
        ("estimate", asked, *kind.region, "--json"),
        ("compare", asked, *kind.region, *kind.other),
        ("compare", other, asked, *kind.region),
        ("diff", "out", later.folder / "out"),
        ("diff", later.folder / "out", "out"),
        ("statistics", "out"),
        ("explain", "out"),
        ("explain", "out", "--language", "ja"),
        ("report", "out"),
        ("inspect", "out"),
        ("inspect", "out", "--json"),
        ("export", "out", "--to", "csv:excel", "--output", "exported"),
    ):
        done = withdrawn.run(*words)
        # Every kind answers these; a refusal of the others shows nothing of the release.
        assert done.returncode == 0 or words[0] not in ("explain", "report", "inspect"), words
        assert done.returncode != 0 or REASON in done.stdout + done.stderr, words


def test_pages_show_the_withdrawal(pages):
    assert all(REASON in page for page in pages.values())
    assert "撤回" in pages["ja"]


def test_maps_show_the_withdrawal(withdrawn, tmp_path):
    done = withdrawn.run("map", "out", "--output", tmp_path / "map.svg")
    assert done.returncode == 0, done.stderr
    assert "withdrawn" in (tmp_path / "map.svg").read_text(encoding="utf-8").lower()


def test_what_is_inside_is_withdrawn_too(withdrawn):
    """The folder of a table, of a period, and ``public`` itself."""
    for folder in list_inside(withdrawn.folder / "out"):
        done = withdrawn.run("explain", folder)
        assert REASON in done.stdout + done.stderr, folder
        with pytest.warns(WithdrawnWarning, match=REASON):
            geodp.open(folder)


def test_a_withdrawn_release_warns_where_it_is_opened_in_python(withdrawn):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        geodp.open(withdrawn.folder / "out")
    assert {one.category for one in told} == {WithdrawnWarning}
    assert all(REASON in str(one.message) for one in told)
