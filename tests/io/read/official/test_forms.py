"""Every form of input is published as docs/measured/official.md says, or refused in its words."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.command import geodp
from tests.io.read.official.forms import PEOPLE

DOCUMENT = Path(__file__).parents[4] / "docs" / "measured" / "official.md"
PUBLISHED = {"persons.nc", "mesh.xlsx"}
"""Forms that the quick test takes all the way; the long one takes all of them."""


def commands():
    """Words of every documented command, and why it is refused, if it is."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command, _, result = line.partition("  # ")
            yield shlex.split(command)[2:], result.strip() or "published"


LISTS = {"blocks.csv", "sections.csv", "areas.csv", "sa1.csv", "mesh_blocks.csv", "subsections.csv"}
BESIDE = {".shx", ".dbf", ".prj", ".cpg"}
"""Tables of units, and parts of files, beside the forms."""

COMMANDS = list(commands())
NAMES = [f"{number} {words[0]}" for number, (words, _) in enumerate(COMMANDS)]


def run(folder, words, *more):
    shutil.rmtree(folder / "out", ignore_errors=True)
    return geodp("publish", *words, *more, cwd=folder)


def test_every_form_is_documented(folder):
    written = {path.name for path in folder.iterdir()} - LISTS
    named = {words[0] for words, _ in COMMANDS}
    assert {name for name in written if Path(name).suffix not in BESIDE} | named == named
    assert named <= written
    assert len({words[0] for words, result in COMMANDS if result == "published"}) >= 30


@pytest.mark.parametrize(("words", "result"), COMMANDS, ids=NAMES)
def test_a_form_is_read_or_refused_as_documented(words, result, folder):
    whole = words[0] in PUBLISHED or result != "published"
    done = run(folder, words, *([] if whole else ["--check"]))
    if result == "published":
        assert done.returncode == 0, done.stderr
        file = "run.json" if whole else "check.json"
        said = json.loads((folder / "out" / "restricted" / file).read_text())
        people = said["counted_people"]
        expected = 1012 if words[0] == "mesh_excel.csv" else PEOPLE
        chance = 4 if "stochastic" in words else 0  # each of four cells is off by less than one
        assert abs(people - expected) <= chance
        assert whole == (folder / "out" / "public").exists()
    else:
        assert done.returncode in (2, 5), done.stderr
        assert result.removeprefix("refused: ") in done.stderr
        said = [
            one for one in done.stderr.splitlines() if not one.startswith(("Read as", "Domain"))
        ]
        assert len(said) == 1
        assert not (folder / "out").exists()


@pytest.mark.law
def test_a_form_of_every_extent_is_published_whole(folder):
    """What is written of a table goes by its domain, however it was read."""
    extents = set()
    for words, result in COMMANDS:
        if result == "published":
            run(folder, words, "--check")
            said = json.loads((folder / "out" / "restricted" / "check.json").read_text())
            extent = str(said["bounds"] or said["domain_cells"])
            if extent not in extents:
                extents.add(extent)
                done = run(folder, words)
                assert done.returncode == 0, (words, done.stderr)
                assert (folder / "out" / "public" / "release.json").is_file(), words
    assert len(extents) > 20
