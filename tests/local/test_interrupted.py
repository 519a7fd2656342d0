"""A round that was charged and has no file is completed, and charged once."""

import stat
from dataclasses import replace

from geodp.errors import OutputError, UsageError
from geodp.io.folder import atomic
from geodp.local import open_round, read_round
from tests.refusals import refuses


def lose(monkeypatch, planned, ledger, tmp_path):
    """Charge for a round whose file cannot be written; return the note that is left of it."""
    real = atomic.os.link

    def fail(source, place, **options):
        if place.name == "round.json":
            raise OSError(28, "No space left on device")
        real(source, place, **options)

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "link", fail)
        with refuses(OutputError, "round-charged-unwritten") as error:
            open_round(planned, ledger=ledger, dataset="phones", path=tmp_path / "round.json")
    assert str(error.value).endswith("the same command completes the round and costs nothing.")
    (note,) = (path for path in tmp_path.iterdir() if path.suffix != ".ledger")
    return note


def test_a_round_whose_file_was_lost_is_completed_and_not_charged_again(
    planned, ledger, tmp_path, monkeypatch
):
    note = lose(monkeypatch, planned, ledger, tmp_path)
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    (charge,) = ledger.charges()
    path = tmp_path / "round.json"
    opened = open_round(planned, ledger=ledger, dataset="phones", path=path)
    assert opened.id == charge.fingerprint
    assert read_round(path) == opened
    assert len(ledger.charges()) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["phones.ledger", "round.json"]


def test_an_interrupted_round_is_not_given_up_for_another(planned, ledger, tmp_path, monkeypatch):
    note = lose(monkeypatch, planned, ledger, tmp_path)
    path, other = tmp_path / "round.json", replace(planned, period="week")
    for plan_, options in (
        (other, {"ledger": ledger, "dataset": "phones"}),
        (planned, {"ledger": ledger, "dataset": "census"}),
        (planned, {}),
    ):
        with refuses(UsageError, "round-interrupted"):
            open_round(plan_, **options, path=path)
    note.write_text("{}")
    with refuses(UsageError, "round-not-read-back"):
        open_round(planned, ledger=ledger, dataset="phones", path=path)
    assert len(ledger.charges()) == 1
    assert not path.exists()
    note.unlink()
    assert open_round(planned, path=path).budget is None
