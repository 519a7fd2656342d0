"""What is refused: in one sentence, before anything is charged, and with nothing left behind."""

import pytest

import geodp
from geodp.io.folder import staging
from geodp.io.folder.atomic import hold
from tests.contract.desk import CHARGED, DATASET, count_draws, require


def empty(desk):
    """Leave only the headers of the inputs."""
    for name, text in desk.kind.files.items():
        (desk.folder / name).write_text(text.splitlines()[0] + "\n", encoding="utf-8")


def test_an_empty_input_is_refused(desk):
    """The sentence says so; it names the file, as it is spelt, where there are several."""
    empty(desk)
    before = desk.names()
    done = desk.publish(*CHARGED)
    assert done.returncode == 2, done.stderr
    assert "no rows" in done.stderr
    named = [name for name in desk.kind.files if name in done.stderr.splitlines()[-1]]
    assert bool(named) == (len(desk.kind.files) > 1)
    assert (desk.names(), desk.charges()) == (before, [])


def test_an_empty_input_is_refused_in_python(desk):
    kind = desk.kind
    assert kind.in_python is not None
    frames = {name: frame[:0] for name, frame in kind.frames().items()}
    with count_draws() as drawn, pytest.raises(geodp.UsageError, match="allow_empty=True"):
        kind.in_python(frames, ledger=desk.ledger(), dataset=DATASET)
    assert (drawn, desk.charges()) == ([], [])


def test_an_empty_input_is_published_on_request(desk):
    assert desk.known("--allow-empty") == ("--allow-empty",)
    empty(desk)
    require(desk.publish("--allow-empty"))
    assert desk.index()["private"]


def test_a_missing_file_is_named(desk):
    for name in (*desk.kind.files, *desk.kind.inputs):
        (desk.folder / name).unlink(missing_ok=True)
    before = desk.names()
    done = desk.publish()
    assert done.returncode == 5, done.stderr
    assert any(name in done.stderr for name in (*desk.kind.files, *desk.kind.inputs))
    assert "unforeseen" not in done.stderr
    assert desk.names() == before


def test_a_wrong_value_is_refused_in_a_sentence(desk):
    kind, before = desk.kind, desk.names()
    with count_draws() as drawn:
        done = desk.run(*kind.command, *kind.inputs, *kind.options, *kind.wrong, "--output", "out")
    assert (done.returncode, done.stdout) == (2, "")
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert error.endswith(".")
    assert (drawn, desk.names()) == ([], before)


def test_a_wrong_value_is_refused_in_python(desk):
    """The sentence says what is allowed."""
    assert desk.kind.in_python is not None
    with count_draws() as drawn, pytest.raises(geodp.UsageError, match="replace-one") as refused:
        desk.kind.in_python(desk.kind.frames(), neighbours="turtles")
    assert str(refused.value).endswith(".")
    assert drawn == []


def test_an_unknown_option_is_refused(desk):
    before = desk.names()
    done = desk.publish("--no-such-option")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--no-such-option" in done.stderr
    assert desk.names() == before


def test_an_output_that_is_no_release_is_kept(desk):
    """Other files in it, a file of that name, a folder that another run holds."""
    (desk.folder / "notes").mkdir()
    (desk.folder / "notes/mine.txt").write_text("mine")
    (desk.folder / "file").write_text("mine")
    before = desk.names()
    for name in ("notes", "file"):
        done = desk.publish("--overwrite", to=name)
        assert done.returncode == 2, done.stderr
        assert done.stderr.rstrip().endswith(".")
    assert (desk.folder / "notes/mine.txt").read_text() == "mine"
    assert (desk.folder / "file").read_text() == "mine"
    assert desk.names() == before


def test_one_run_at_a_time_writes_to_an_output(desk, monkeypatch):
    """The second is refused before it has cost anything."""
    monkeypatch.setattr(staging, "A_LOOK", 0)
    partial = desk.folder / ".out.partial"
    partial.mkdir()
    words = () if desk.kind.before else CHARGED
    with count_draws() as drawn, hold(partial):
        done = desk.publish(*words)
    assert done.returncode != 0
    assert "another run" in done.stderr
    assert (drawn, desk.charges()) == ([], [])
    assert not (desk.folder / "out").exists()
