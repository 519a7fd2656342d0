"""What commands do around the one transaction: stage, make or restore, write."""

import contextlib
from types import SimpleNamespace

import pytest

from geodp.cli import publishing
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.errors import UsageError
from geodp.privacy.loss import PureDP
from geodp.release.charging import release_and_charge
from tests.ledgers import small_ledger
from tests.refusals import refuses
from tests.release.test_charging import CONTENTS, DRAWS, EVENT, ask

OPTIONS = {"output": "out", "overwrite": False, "resume": False}


class Release:
    def write_into(self, place, run):
        return {"public": [place.folder.name], "restricted": [*run]}


@pytest.fixture
def stage(tmp_path):
    """Return what stages a folder, and a list of what it was asked for and how it ended."""
    told = []

    @contextlib.contextmanager
    def stage_folder(path, *, overwrite, resume):
        told.append((path, overwrite, resume))
        yield SimpleNamespace(folder=tmp_path)
        told.append("complete")

    return stage_folder, told


@pytest.mark.parametrize("inferred", [True, False])
def test_a_release_is_made_and_written_in_its_folder(stage, inferred, tmp_path, monkeypatch):
    stage_folder, told = stage
    recipes, release = [], Release()
    monkeypatch.setattr(publishing, "write_recipe", lambda *given: recipes.append(given))
    options = {**OPTIONS, "resume": True}
    seconds = {}
    made = write_release(
        options, stage_folder, lambda _: (release, {"a": 1}), seconds, inferred=inferred
    )
    assert made == (release, {"public": [tmp_path.name], "restricted": ["a"]})
    assert told == [("out", False, True), "complete"]
    assert [*seconds] == ["mechanism", "writing"]
    assert recipes == ([(options, tmp_path)] if inferred else [])


def test_what_fails_leaves_the_folder_unfinished(stage):
    def fail(_):
        raise OSError("full")

    stage_folder, told = stage
    with pytest.raises(OSError, match="full"):
        write_release(OPTIONS, stage_folder, fail, {})
    assert told == [("out", False, False)]


def test_a_charged_draw_is_read_by_the_same_call_alone(tmp_path):
    ledger, folder = small_ledger(tmp_path), tmp_path / "staged"
    (folder / "restricted").mkdir(parents=True)
    request = ask(ledger=ledger, dataset="census")

    def release(keep):
        made, _ = release_and_charge(request, EVENT, DRAWS, lambda: CONTENTS, lambda _: "x", keep)
        return made

    prepared, options = SimpleNamespace(request=request, release=release), {"epsilon": "1/2"}
    drawn = draw_in(folder, prepared, options, {"fact": 3}, lambda one: ({"drawn": one}, {}))
    assert drawn == "x"
    stored, charge = read_charged_draw(folder, request, options)
    assert (dict(stored.card), dict(stored.run)) == ({"drawn": "x"}, {"fact": 3})
    assert charge.fingerprint == stored.fingerprint
    assert charge.loss == PureDP(EVENT.epsilon)
    with refuses(UsageError, "resumed-options-differ"):
        read_charged_draw(folder, request, {"epsilon": "1"})
    with refuses(UsageError, "resumed-charge-missing"):
        read_charged_draw(folder, ask(), options)
