"""``--check``: what would be counted, for the operator alone, and nothing else."""

import json
import stat
from dataclasses import replace

from tests.contract.desk import CHARGED, KEPT, count_draws, require
from tests.contract.reading import with_cell


def test_a_check_writes_what_would_be_counted(desk):
    """Its numbers are those of the files, and nothing is drawn or charged or published."""
    with count_draws() as drawn:
        require(desk.publish("--check", *CHARGED, *KEPT))
    assert (drawn, desk.charges()) == ([], [])
    out = desk.folder / "out"
    assert [one.name for one in out.iterdir()] == ["restricted"]
    path = out / "restricted/check.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["read"]["people"] == desk.kind.people
    assert {*found["inputs"]} == {*desk.kind.files}
    assert found["domain_cells"] >= 12
    assert found["assumptions"]


def test_a_check_says_nothing_of_the_data(desk):
    """Two inputs of one form give the same screen, and no budget is needed."""
    said = []
    for number, kind in enumerate((desk.kind, desk.kind.thin())):
        kind.write(desk.folder)
        done = desk.run(*kind.command, *kind.inputs, *kind.options, *kind.terms[2:],
                        "--check", "--output", f"out{number}")  # fmt: skip
        require(done)
        said.append((done.stdout + done.stderr).replace(f"out{number}", "out"))
    assert "check.json" in said[0]
    assert said[0] == said[1]


def test_a_check_is_replaced_by_the_release(another):
    assert another.known("--check") == ("--check",)
    assert not (another.folder / "out/restricted/check.json").exists()


def test_a_check_replaces_no_release(released):
    """Nor does it complete an interrupted one."""
    assert released.known("--check") == ("--check",)
    done = released.publish("--check", "--overwrite")
    assert done.returncode == 2
    assert "holds a release" in done.stderr
    done = released.publish("--check", "--resume", to="other")
    assert done.returncode == 2
    assert "--resume" in done.stderr
    assert not (released.folder / "other").exists()


def test_a_check_refuses_the_rows_that_publishing_refuses(desk):
    """In the same words, also with a budget."""
    kind = desk.kind
    replace(kind, files=with_cell(kind, kind.places[0], "x", row=2)).write(desk.folder)
    free = (*kind.command, *kind.inputs, *kind.options, *kind.terms[2:], "--check")
    done = [desk.publish(*CHARGED), desk.publish("--check"), desk.run(*free, "--output", "out")]
    # The command as it was understood stands above, with its own options.
    published, *checked = [(one.returncode, one.stderr.splitlines()[-1]) for one in done]
    assert published[0] != 0
    assert "row 3" in published[1]
    assert checked == [published] * 2
    assert not (desk.folder / "out").exists()
    assert desk.charges() == []


def test_a_check_refuses_what_publishing_refuses(desk):
    """The words are the same, as the wrong call is."""
    kind = desk.kind
    words = (*kind.command, *kind.inputs, *kind.options, *kind.wrong, "--output", "out")
    published, checked = desk.run(*words), desk.run(*words, "--check")
    assert (published.returncode, checked.returncode) == (2, 2)
    last = [done.stderr.splitlines()[-1] for done in (published, checked)]
    assert last[0] == last[1]
    assert not (desk.folder / "out").exists()
