"""``--check`` refuses what publishing refuses, in the same words, before anything is charged."""

import re
from pathlib import Path

import pytest

from geodp.privacy.ledger import Ledger
from tests.command import geodp

DOCUMENT = Path(__file__).parents[3] / "docs" / "proofs" / "privacy.md"
MESHES = "code,day,sex,n\n533946113,1,f,30\n533946114,1,f,5\n533946113,2,m,7\n"
TABLE = ["--grid", "jis:half", "--primary", 5339, "--code", "code", "--value", "n"]
ONE_DAY = ["--where", "day=1", "--contribution", 1]
PINGS = "x,y,who\n139.76,35.68,a\n139.76,35.69,\n"
POINTS = ["--grid", "jis:half", "--primary", 5339, "--points", "--x", "x", "--y", "y"]
PARTS = "\n".join(
    ["code,sex,n"]
    + [
        f"{code},{label},{count}"
        for code in (533946113, 533946114, 533946123)
        for label, count in (("a", 30000), ("b", 10000), ("c", 20000))
    ]
)
SEXES = [*TABLE, "--labels", "sex=a,b,c", "--column", "sex=sex"]
TOTALS = ["--public-totals", "totals.csv", "--public-totals-source", "the law"]
ALONE = ["--grid", "jis:half", "--code", "code", "--value", "n", *ONE_DAY]
SEA = [*ALONE, "--bounds", 139, 34, 141, 36, "--mask", "land:japan:1km"]

REFUSALS = {
    "nothing is counted": (MESHES, [*TABLE, "--where", "day=9", "--contribution", 1], "day=9"),
    "in several ways": (f"{MESHES}533946114,01,f,7\n", [*TABLE, *ONE_DAY], "in several ways"),
    "other times of the day": ("code,day,n\n533946113,2020-01-02T08:15,7\n",
        [*TABLE, "--where", "day=2020-01-02", "--contribution", 1], "times within the day"),
    "a label is the sum": (PARTS, [*SEXES, "--contribution", 1], "in every cell the sum"),
    "outside of a mask of land": ("code,day,n\n514044001,1,3\n", SEA, "row 2"),
    "other totals": (MESHES, [*TABLE, *ONE_DAY, *TOTALS], "does not have the public totals"),
    "outside of the domain": (MESHES, [*ALONE, "--bounds", 140, 35, 141, 36, "--outside", "error"],
        "outside"),
    "a cell is there twice": (MESHES, [*TABLE, "--contribution", 1], "The cell already has a row"),
    "cannot be read": ("code,n\nx,3\n", [*TABLE, "--contribution", 1], "row 2"),
    "a quoted field": (
        'code,n,name\n533946113,3,"a\n533946114,4,b\n', [*TABLE, "--contribution", 1], "quote"
    ),
    "a person's name": (PINGS, [*POINTS, "--person", "who"], "the person is missing"),
    "seem swapped": ("x,y\n35.68,139.76\n", [*POINTS, "--contribution", 1], "latitude"),
    "look like degrees": (
        "x,y\n8.41,47.31\n8.42,47.32\n",
        ["--grid", "statpop:100m", "--bounds", "switzerland", *POINTS[4:], "--contribution", 1],
        "look like degrees",
    ),
    "above 9,000,000,000": (
        "code,n\n533946113,9\n533946114,9000000001\n",
        [*TABLE, "--contribution", 1],
        "above 9,000,000,000",
    ),
}  # fmt: skip
"""By words of their row in docs/proofs/privacy.md: an input, options, words of the refusal."""

ASKED = {
    "no contribution": (MESHES, [*TABLE, "--where", "day=1"]),
    "points without a person": ("x,y\n139.76,35.68\n", POINTS),
    "a total beside its parts": (
        "code,n,m,f\n533946113,8,5,3\n",
        [
            *TABLE[:-2],
            "--value",
            "Total=n",
            "--value",
            "m=m",
            "--labels",
            "sex=Total,m",
            "--contribution",
            1,
        ],
    ),
    "sums": (MESHES, [*TABLE, "--duplicates", "sum"]),
}
"""What is refused without a look at the counts."""


@pytest.fixture
def office(tmp_path):
    (tmp_path / "totals.csv").write_text("code,total\n5339,36\n")
    ledger = ["--ledger", tmp_path / "ledger", "--dataset", "census"]
    assert geodp("budget", "init", *ledger, "--epsilon", 9).returncode == 0
    return tmp_path, ledger


def refusals(office, rows, options):
    """Return what publishing and a check say: exit code and standard error."""
    folder, ledger = office
    (folder / "in.csv").write_text(rows)
    call = ["publish", "in.csv", *options, "--output", "out"]
    calls = (["--epsilon", 1, *ledger], ["--check"], ["--check", "--epsilon", 1])
    for more in calls:
        done = geodp(*call, *more, cwd=folder)
        assert not (folder / "out").exists(), done.stderr
        assert done.stdout == ""
        yield done.returncode, done.stderr
    assert Ledger.open(folder / "ledger").charges("census") == ()


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_by_the_data_comes_in_a_check_too(office, name):
    rows, options, words = REFUSALS[name]
    (code, said), *others = refusals(office, rows, options)
    assert code != 0
    assert words in said
    assert others == [(code, said)] * 2
    # Nor does it tell a count.
    numbers = {*re.findall(r"\d+", said)} - {"2", "60", "0", "1", "9", "3", "5", "10"}
    assert not numbers & {*re.findall(r"\d+", rows)}, said


@pytest.mark.parametrize("name", ASKED)
def test_what_nobody_states_is_asked_for_in_a_check_too(office, name):
    (code, said), *others = refusals(office, *ASKED[name])
    assert code == 2
    assert "--contribution" in said
    assert others == [(code, said)] * 2


def test_the_document_lists_every_refusal_that_looks_at_the_data():
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition("| refused | looks at | on the card |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 25
    for name in REFUSALS:
        assert any(name in row.replace("`", "") for row in rows), name
