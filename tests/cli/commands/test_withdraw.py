"""``geodp withdraw``: a notice beside a sealed release, which all that read it are told."""

import json
import shutil
import warnings

import pytest

import geodp
from geodp import cli
from geodp.errors import UsageError, WithdrawnWarning
from tests.command import geodp as run
from tests.refusals import refuses
from tests.tools.compare.releases import released

ASKED = ("--reason", "One district was counted twice.", "--date", "2026-01-31")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    for seed, name in enumerate(("old", "new")):
        released("hay", seed, 50).write(folder / name)
    return folder


@pytest.fixture
def folders(written, tmp_path):
    return shutil.copytree(written, tmp_path / "releases")


def test_what_several_steps_warn_of_is_said_once(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cli._show_warnings()
        for text in ("gone", "gone", "gone too"):
            warnings.warn(text, WithdrawnWarning, stacklevel=1)
    assert capsys.readouterr().err == "Note: gone\nNote: gone too\n"


def test_what_is_no_withdrawal_is_refused_and_nothing_is_written(folders):
    old = folders / "old"
    for more, said in (
        (("--reason", " "), "on one line"),
        (("--reason", "a\nb"), "on one line"),
        (("--reason", "a", "--date", "31.1.2026"), "YYYY-MM-DD"),
        (("--reason", "a", "--use", old), "that is withdrawn"),
        (("--reason", "a", "--use", folders), "no release"),
    ):
        done = run("withdraw", old, *more)
        assert done.returncode
        assert said in done.stderr
    assert not (old / "WITHDRAWN.json").exists()
    shutil.copytree(old / "public", folders / "alone")
    assert "holds its public folder" in run("withdraw", folders / "alone", *ASKED).stderr


def test_a_withdrawn_release_is_not_overwritten(folders):
    run("withdraw", folders / "old", *ASKED)
    with refuses(UsageError, r"output-holds-other-files: WITHDRAWN\.json"):
        released("hay", 3, 50).write(folders / "old", overwrite=True)
    assert (folders / "old" / "WITHDRAWN.json").exists()


def test_a_second_notice_replaces_the_first_only_when_asked(folders):
    notice = folders / "old" / "WITHDRAWN.json"
    done = run("withdraw", folders / "old", *ASKED, "--use", folders / "new")
    assert done.stdout == f"{notice}\n"
    use = json.loads(notice.read_text())["use"]
    assert use == geodp.open(folders / "new").card().release_id
    again = ("withdraw", folders / "old", "--reason", "Two districts.", "--date", "2026-02-01")
    assert "already" in run(*again).stderr
    assert run(*again, "--overwrite").returncode == 0
    assert "Two districts." in run("verify", folders / "old").stderr


@pytest.fixture
def series(tmp_path):
    for name, people in (("2024", 300), ("2025", 310)):
        (tmp_path / f"{name}.csv").write_text(f"code,people\n533946,{people}\n533945,40\n")
    done = run(
        "publish-series",
        *(f"{year}={tmp_path / year}.csv" for year in ("2024", "2025")),
        *("--grid", "jis:secondary", "--primary", "5339", "--code", "code", "--value", "people"),
        *("--epsilon", "1", "--contribution", "1", "--person-in", "all"),
        *("--output", tmp_path / "series"),
    )
    assert done.returncode == 0, done.stderr
    return tmp_path / "series"


@pytest.mark.law
def test_a_series_is_withdrawn_as_a_whole(series, folders):
    done = run("withdraw", series / "public" / "2024", *ASKED)
    assert done.returncode == 2
    assert "of a whole series" in done.stderr
    assert list(series.rglob("WITHDRAWN.json")) == []
    assert run("withdraw", series, *ASKED, "--use", folders / "new").returncode == 0
    again = run("withdraw", series, *ASKED)
    assert again.returncode == 2
    (series / "public" / "series.json").write_text("[1")
    done = run("withdraw", series, *ASKED, "--overwrite")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("reason", "notice"),
    [
        ("a district twice", "a district twice."),
        ("A district twice. ", "A district twice."),
        ("Who knows?", "Who knows?"),
        ("Two (of five)", "Two (of five)"),
        ("\u4e8c\u91cd\u306b\u6570\u3048\u305f", "\u4e8c\u91cd\u306b\u6570\u3048\u305f\u3002"),
    ],
)
def test_a_reason_ends_as_a_sentence_does(reason, notice, folders):
    done = run("withdraw", folders / "old", "--reason", reason)
    assert done.returncode == 0, done.stderr
    assert json.loads((folders / "old" / "WITHDRAWN.json").read_text())["reason"] == notice
