"""A selection or domain that no row meets; a check of what would be read; masks and their word."""

import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import geodp
from geodp.cli.commands.budget import budget
from geodp.cli.commands.publish import publish
from geodp.errors import UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.table.reading import ROWS_FACT
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))
ROWS = "code,month,n\n533946113,01,30\n533946114,01,5\n533946113,02,7\n"
BOUNDS = ["--bounds", "139", "35.3333333333", "140", "36"]
ELSEWHERE = ["--bounds", "140", "35.3333333333", "141", "36"]


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder with an input and a ledger."""
    (tmp_path / "in.csv").write_text(ROWS)
    (tmp_path / "mask").write_text("533900\n")
    made = ["init", "--ledger", str(tmp_path / "ledger"), "--dataset", "census", "--epsilon", "9"]
    assert CliRunner().invoke(budget, made).exit_code == 0
    return tmp_path


def call(office: Path, *more: str, where: str = "month=01", domain: list[str] = BOUNDS) -> Result:
    common = ["--grid", "jis:half", "--code", "code", "--value", "n", "--epsilon", "1"]
    common += ["--contribution", "1"]
    spends = ["--ledger", str(office / "ledger"), "--dataset", "census"]
    given = [str(office / "in.csv"), *common, *domain, *spends, "--where", where]
    return CliRunner().invoke(publish, [*given, "--output", str(office / "out"), *more])


def charges(office: Path) -> int:
    return len(Ledger.open(office / "ledger").charges("census"))


MASK = [*BOUNDS, "--mask-source", "a test", "--mask"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"where": "month=3"}, "No row of the input has month=3; column month is written as text"),
        ({"where": "MONTH=03"}, "has month=03; column month is written as text of 2 digits."),
        ({"domain": ELSEWHERE}, "lies in the domain"),
        ({"domain": ["--primary", "5239"]}, "lies in the domain"),
        ({"domain": [*MASK, "mask", "--outside", "drop"]}, "lies in the domain"),
    ],
)
def test_what_no_row_meets_is_refused_before_the_charge(
    office: Path, given: dict[str, Any], words: str
) -> None:
    domain = given.get("domain", BOUNDS)
    given["domain"] = [str(office / "mask") if part == "mask" else part for part in domain]
    refused = call(office, **given)
    assert isinstance(refused.exception, UsageError)
    assert words in str(refused.exception)
    assert "--allow-empty" in str(refused.exception)
    assert not {"01", "02"} & {*re.findall(r"\w+", str(refused.exception).replace("month=01", ""))}
    assert not (office / "out").exists()
    assert charges(office) == 0
    allowed = call(office, "--allow-empty", **given)
    assert allowed.exit_code == 0, allowed.output
    assert charges(office) == 1
    card = json.loads((office / "out" / "public" / "release.json").read_text())
    assert ROWS_FACT not in card["guarantee"]["not_protected"]


def test_that_a_row_is_met_is_a_public_fact_of_the_card(office: Path) -> None:
    assert call(office).exit_code == 0
    card = json.loads((office / "out" / "public" / "release.json").read_text())
    assert ROWS_FACT in card["guarantee"]["not_protected"]
    assert all(check.ok for check in verify(office / "out"))


def test_terms_that_no_row_meets_together(office: Path) -> None:
    refused = call(office, "--where", "n=5", where="month=02")
    assert "all terms of the selection together" in str(refused.exception)
    (office / "in.csv").write_text("code,month,n\n")
    assert "holds no rows" in str(call(office).exception)


def test_rows_that_count_nobody_are_rows(office: Path) -> None:
    (office / "in.csv").write_text("code,month,n\n533946113,01,0\n")
    assert call(office).exit_code == 0


@pytest.mark.parametrize("kind", ["points", "persons", "persons in coarser cells"])
def test_points_that_are_all_elsewhere_are_refused(office: Path, kind: str) -> None:
    (office / "p.csv").write_text("x,y,who\n139.76,35.68,a\n139.76,35.68,a\n")
    given = [str(office / "p.csv"), "--grid", "jis:half", "--points", "--x", "x", "--y", "y"]
    given += ["--epsilon", "1", "--output", str(office / "out")]
    given += ["--contribution", "1"] if kind == "points" else ["--person", "who"]
    given += ["--stop-at", "jis:basic"] if "coarser" in kind else []
    refused = CliRunner().invoke(publish, [*given, *ELSEWHERE])
    assert "lies in the domain" in str(refused.exception)
    assert CliRunner().invoke(publish, [*given, *BOUNDS]).exit_code == 0


EMPTY = {
    # Rows of a second file, how both are given, and the rule.
    ("code,month,n\n", "files"): "more.csv holds no rows",
    ("code,month,n\n533946123,2,4\n", "archive"): "No row of .*more.csv.? has month=01; column",
    **{
        ("code,month,n\n523946123,1,4\n", how): "No row of .*more.csv.? that is selected lies"
        for how in ("files", "folder", "pattern", "archive")
    },
}


@pytest.mark.parametrize(("rows", "how"), EMPTY)
def test_a_file_that_adds_nobody_is_refused(rows: str, how: str, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "in.csv").write_text(ROWS)
    (folder / "more.csv").write_text(rows)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    given: dict[str, Any] = {"files": [folder / "in.csv", folder / "more.csv"], "folder": folder}
    given |= {"pattern": folder / "*.csv", "archive": tmp_path / "all.zip"}
    table = geodp.read_table(
        given[how], grid=GRID, code="code", value="n", where={"month": "01"}, outside="drop"
    )
    with pytest.raises(UsageError, match=EMPTY[rows, how]):
        geodp.publish(table, epsilon=1, contribution=1)
    facts = geodp.publish(table, epsilon=1, contribution=1, allow_empty=True).public_facts
    assert ROWS_FACT not in facts


def test_files_that_their_folders_leave_out_are_not_asked(tmp_path: Path) -> None:
    for month, code in (("1", "533946113"), ("2", "533946114")):
        (tmp_path / f"month={month}").mkdir()
        table = pa.table({"code": [code], "n": [30]})
        pq.write_table(table, tmp_path / f"month={month}" / "a.parquet")
    asked: dict[str, Any] = {"grid": "jis:half", "code": "code", "value": "n"}
    table = geodp.read_table(tmp_path, where={"month": 1}, **asked)
    assert ROWS_FACT in geodp.publish(table, epsilon=1, contribution=1).public_facts
    nothing = geodp.read_table(tmp_path, where={"month": 3}, **asked)
    with refuses(UsageError, "input-folders-say-none"):
        geodp.publish(nothing, epsilon=1, contribution=1)


def test_the_account_of_every_record_is_whole(office: Path) -> None:
    rows = [
        *("533946113,01,30", "533946113,01,5", "533946114,01,0", "533946114,01,-"),
        *("533946123,02,9", "523946113,01,4", "533900113,01,6"),
    ]
    (office / "in.csv").write_text("\n".join(["code,month,n", *rows]))
    (office / "mask").write_text("533946\n")
    done = call(
        office,
        *("--check", "--missing", "-", "--duplicates", "sum", "--outside", "drop"),
        where="month=1",
        domain=[*MASK, str(office / "mask")],
    )
    assert done.exit_code == 0, done.exception
    found = json.loads((office / "out" / "restricted" / "check.json").read_text())["read"]
    (file,) = found["sources"]
    assert file["spellings"] == {"month=1": {"01": 6}}
    assert file["forms"] == {"month=1": "text of 2 digits"}
    assert file["beyond"] == {"bounds": {"rows": 1, "people": 4}, "mask": {"rows": 1, "people": 6}}
    assert (found["rows"], found["selected"]) == (7, 6)
    assert (found["inside"], found["outside"]) == (4, 2)
    assert (found["people"], found["people_outside"]) == (35, 10)
    assert (found["missing"], found["doubled"], found["without_person"]) == (1, 1, 0)


def test_records_without_persons_are_told(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y,who\n139.76,35.68,a\n139.76,35.68,b\n0,0,c\n")
    asked: dict[str, Any] = {"grid": "jis:half", "x": "x", "y": "y", "outside": "drop"}
    asked["grid"] = GRID
    for more, without in (({}, 2), ({"person": "who"}, 0)):
        table = geodp.read_points(tmp_path / "p.csv", **asked, **more)
        assert table.reading is not None
        (source,) = table.reading.sources
        assert (source.rows, source.inside, source.without_person) == (3, 2, without)


def test_what_is_counted_of_records_shows_in_restricted_only(office: Path) -> None:
    """Two inputs of one table, of which one has further records of every kind: the same bytes."""
    more = "533946123,02,9\n523946113,01,4\n533946114,01,-\n533946124,01,0\n"
    (office / "key").write_text(hashlib.sha256(b"a test").hexdigest())
    (office / "key").chmod(0o600)
    found = []
    for rows in ("533946113,01,35\n", f"533946113,01,30\n533946113,01,5\n{more}"):
        (office / "in.csv").write_text(f"code,month,n\n{rows}")
        given = ["--missing", "-", "--duplicates", "sum", "--outside", "drop", "--overwrite"]
        call = [str(office / "in.csv"), "--grid", "jis:half", "--code", "code", "--value", "n"]
        call += ["--contribution", "2", "--where", "month=1", *BOUNDS, *given, "--epsilon", "1"]
        done = CliRunner().invoke(
            publish, [*call, "--key-file", str(office / "key"), "--output", str(office / "out")]
        )
        assert done.exit_code == 0, done.exception
        public = sorted((office / "out" / "public").iterdir())
        files = {path.name: path.read_bytes() for path in public if path.is_file()}
        found.append((done.stdout, done.stderr, files))
    (first, second) = found
    assert first[:2] == second[:2]
    assert first[2].keys() == second[2].keys()
    for name, data in first[2].items():
        assert data == second[2][name], name


def test_a_check_reads_an_empty_selection_on_request(office: Path) -> None:
    """It refuses what publishing would; the operator may look all the same."""

    def check(**given: Any) -> dict[str, Any]:
        assert call(office, "--check", "--allow-empty", **given).exit_code == 0
        return json.loads((office / "out" / "restricted" / "check.json").read_text())["read"]

    refused = call(office, "--check", where="month=3").exception
    assert "No row of the input has month=3" in str(refused)
    assert check(where="month=3")["terms"] == {"month=3": 0}
    away = check(domain=ELSEWHERE)
    assert (away["inside"], away["outside"], away["people_outside"]) == (0, 2, 35)


def test_a_check_replaces_nothing_of_others(office: Path) -> None:
    (office / "out" / "restricted").mkdir(parents=True)
    (office / "out" / "restricted" / "key").write_text("mine")
    assert "holds something other" in str(call(office, "--check").exception)
    assert (office / "out" / "restricted" / "key").read_text() == "mine"


def masked(grid: geodp.Grid, inside: np.ndarray) -> list[geodp.Grid]:
    """The grid limited by a mask, and by a table of regions."""
    cells = np.array(np.nonzero(inside))
    regions = Hierarchy.of_cells(cells, {"city": ["a"] * cells.shape[1]}, "the land survey")
    mask = mask_of_blocks(grid, blocks_of_array(inside), "the land survey")
    return [grid.with_mask(mask), grid.with_hierarchy(regions)]


def test_whether_a_domain_is_taken_does_not_depend_on_the_data() -> None:
    """A domain of exactly the occupied cells, and one of a cell more or less: one outcome."""
    people = np.zeros((8, 8), int)
    people[[1, 2, 5], [0, 3, 7]] = [4, 5, 6]
    wider = people > 0
    wider[7, 7] = True
    grid = geodp.Grid.regular((8, 8))
    for limited in [*masked(grid, people > 0), *masked(grid, wider)]:
        for table in (people, np.where(people > 4, people, 0)):
            release = geodp.publish(
                geodp.CountTable.from_dense(table, limited), epsilon=1, contribution=1
            )
            stated = release.card().guarantee.assumptions[-1]
            assert (stated.stated_by, stated.source) == ("operator", "the land survey")
            assert stated.kind == limited.domain.kind
            assert stated.sentence.endswith("The operator vouches for it: the land survey.")
    whole = geodp.publish(geodp.CountTable.from_dense(people, grid), epsilon=1, contribution=1)
    kinds = [one.kind for one in whole.card().guarantee.assumptions]
    assert kinds == ["contribution", "domain"]
    with refuses(UsageError, "mask-source-missing"):
        mask_of_blocks(grid, blocks_of_array(wider), " ")


def test_the_word_for_a_mask_is_asked_for_and_no_other_switch(office: Path) -> None:
    domain = [*BOUNDS, "--mask", str(office / "mask")]
    assert "--mask-source '" in str(call(office, domain=domain).exception)
    domain = [*MASK, str(office / "mask")]
    assert "--domain-is-public" in str(call(office, "--domain-is-public", domain=domain).exception)
