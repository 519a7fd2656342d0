"""What the documents claim in figures, or of all cases, is held by a test or shown by a command.

``claims.txt`` has a line for every such sentence: how it begins, a bar, and what holds it. That is
tests (``file`` or ``file::test``), benchmarks (``bench.name``), commands (``tests.name``), or the
word ``stated``, where a sentence defines, quotes a source or says what is assumed. A table is bound
as a whole, by the heading that it stands under: ``table: heading``.
"""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.features.cluster import partitioned, run
from geodp.features.plan import plan, shares
from geodp.io import opening
from geodp.io.write import geotiff, tiles
from geodp.table import counts

ROOT = Path(__file__).parents[2]
CLAIMS = Path(__file__).with_name("claims.txt")
OF_ALL = re.compile(r"\b(never|always|nowhere|every|no other|exactly)\b", re.IGNORECASE)
NAMES = re.compile(
    r"\[[^\]]*\]\([^)]*\)|`[^`]*`|<!--.*?-->|https?://\S+|\b(19|20)\d\d\b|SHA-?256|ChaCha20|RFC \d+"
    r"|\b[Ss]ections? \d+|\bT[12]\b|AVX2|AVX-512|theorem \d+|Theorem \d|Proposition \d+"
)
"""Figures in links, code and names, which claim nothing."""

NEXT = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[(])")
STATED = "stated"

DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


@dataclass(frozen=True)
class Sentence:
    """One that a document has, or a table."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


def paragraphs(text):
    """Line, heading and text of paragraphs, items and tables; code is left out."""
    found, lines, start, heading, fenced = [], [], 0, "", False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        fence, item = bare.startswith("```"), re.match(r"\s*(?:[-*]|\d+\.) ", line)
        code = line.startswith("    ") and not lines
        ends = fence or item or not bare or bare[0] in "#|"
        if ends and lines:
            found.append((start, heading, " ".join(lines)))
            lines = []
        fenced ^= fence
        if fence or fenced or code or not bare:
            continue
        if bare.startswith("#"):
            heading = bare.lstrip("# ")
        elif bare.startswith("|"):
            title = f"table: {heading}"
            if not found or found[-1][2] != title:
                found.append((number, heading, title))
        else:
            start = start if lines else number
            lines.append(line[item.end() :].strip() if item else bare)
    return found


def claims_of(file, text):
    """The sentences of a document that have to be held, and its tables."""
    for line, _, paragraph in paragraphs(text):
        if paragraph.startswith("table: "):
            yield Sentence(file, line, paragraph)
            continue
        for sentence in NEXT.split(paragraph):
            prose = NAMES.sub("", sentence)
            if re.search(r"\d", prose) or OF_ALL.search(prose):
                yield Sentence(file, line, sentence)


def bindings():
    """For every document, how sentences begin and what holds them."""
    found, file = {}, ""
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            file = line[2:]
            found[file] = []
        elif line.strip():
            begins, _, holders = line.rpartition(" | ")
            found[file].append((begins, holders.split()))
    return found


BOUND = bindings()


def is_there(holder):
    """Whether a test, a benchmark or a command exists."""
    if holder == STATED:
        return True
    path, _, name = holder.partition("::")
    if path.endswith(".py"):
        file = ROOT / path
        return file.is_file() and (not name or f"def {name}(" in file.read_text(encoding="utf-8"))
    package = path.partition(".")[0]
    if package not in ("bench", "tests") or importlib.util.find_spec(package) is None:
        return False
    return importlib.util.find_spec(path) is not None


@pytest.mark.parametrize("file", BOUND)
def test_every_claim_is_held(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    sentences = [*claims_of(file, text)]
    begins = [begin for begin, _ in BOUND[file]]
    loose = [str(s) for s in sentences if not any(s.text.startswith(begin) for begin in begins)]
    assert loose == [], "nothing holds:\n" + "\n".join(loose)
    gone = [begin for begin in begins if not any(s.text.startswith(begin) for s in sentences)]
    assert gone == [], "no sentence begins like this any more"


@pytest.mark.parametrize("file", BOUND)
def test_what_holds_a_claim_exists(file):
    pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
    lines = [(begin, holder) for begin, holders in BOUND[file] for holder in holders]
    assert all(holders for _, holders in BOUND[file])
    assert [line for line in lines if not is_there(line[1])] == []


def test_planted_claims_are_found():
    text = (
        "# A heading\n\nIt never fails. It `runs 3 times`. See [2](x1.md), 2015.\nIt takes 5 s.\n\n"
        "```\nnever 7\n```\n\n- Every item counts.\n  It works.\n\n    code 8\n\n"
        "| a | 9 |\n| 1 | 2 |\n"
    )
    assert [(s.line, s.text) for s in claims_of("x", text)] == [
        (3, "It never fails."),
        (3, "It takes 5 s."),
        (10, "Every item counts."),
        (15, "table: A heading"),
    ]


@pytest.mark.parametrize(
    "holder",
    [
        "tests/test_gone.py",
        "tests/house/test_claims.py::test_gone",
        "bench.gone",
        "geodp.table.counts",
        "words",
    ],
)
def test_what_does_not_exist_holds_nothing(holder):
    assert not is_there(holder)


def test_what_exists_may_hold():
    for holder in (
        "tests/house/test_claims.py::test_what_exists_may_hold",
        "bench.suites.speed",
        STATED,
    ):
        assert is_there(holder)


@pytest.mark.parametrize(
    ("file", "phrase", "value"),
    [
        ("docs/verify.md", "at most 64 MiB", opening.MOST_JSON >> 20),
        ("docs/verify.md", "64 brackets deep", opening.MOST_DEPTH),
        ("docs/verify.md", "more than 20 digits", opening.MOST_DIGITS),
        ("docs/planning.md", "up to 16 places", plan.PLACES),
        ("docs/planning.md", "more than 2^20 cells", plan.MOST_KEYS.bit_length() - 1),
        ("docs/planning.md", "less than 2 %", shares.LEAST * 100 // shares.PARTS),
        ("docs/distributed.md", "more than 64 combinations", geotiff.MOST_BANDS),
        ("docs/distributed.md", "more than 4,096 tiles", tiles.MOST_TILES),
        ("docs/distributed.md", "at most 16,384 nodes", partitioned.MOST_ROOTS),
        ("docs/distributed.md", "each of 16,384 nodes", partitioned.MOST_ROOTS),
        ("docs/distributed.md", "`parts`, 64)", run.PARTS),
        ("docs/distributed.md", "at most 2^23 cells", run.AT_ONCE.bit_length() - 1),
        ("docs/privacy.md", "more than 2^60 people", counts.MOST_PEOPLE.bit_length() - 1),
    ],
)
def test_limits_in_the_documents_are_those_of_the_code(file, phrase, value):
    text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
    assert phrase in text
    assert int(re.search(r"(?:2\^)?(\d[\d,]*)", phrase)[1].replace(",", "")) == value


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_that_documents_name_are_there(path):
    named = re.findall(r"\btests/[\w/*]+\.py", path.read_text(encoding="utf-8"))
    assert [name for name in named if not [*ROOT.glob(name)]] == []
    modules = re.findall(r"python -m ((?:bench|tests)[\w.]*)", path.read_text(encoding="utf-8"))
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize(
    ("method", "bias", "error"), [("pyramid", -146, 234), ("topdown", -385, 418)]
)
def test_errors_that_the_documents_tell(method, bias, error):
    short, text = (
        " ".join((ROOT / file).read_text(encoding="utf-8").split())
        for file in ("README.md", "docs/guarantee.md")
    )
    grid = geodp.Grid.regular((512, 512))
    nobody = geodp.CountTable.from_index(grid, np.empty((2, 0), np.int64), np.empty(0, np.int64))
    key = geodp.NoiseKey(bytes(range(32)))
    release = geodp.publish(
        nobody, method=method, epsilon="1/10", key=key, allow_empty=True, contribution=1
    )
    lone = release.card().expected_error.isolated_cell
    assert (round(lone.bias), round(lone.rmse)) == (bias, error)
    assert f"{bias} and an error of {error} people" in text or f"{bias} and {error})" in text
    block = -round(release.card().expected_error.isolated_block.bias)
    assert f"loses {block} (" in text or f"(`topdown`: {block})" in text
    if method == "pyramid":
        assert f"a bias of {bias} and an error of {error} people" in short
        errors = [round(release.standard_error(4**level), -1) for level in range(10)]
        assert f"({min(errors):.0f} to {max(errors):.0f} people for 512 x 512 cells" in text
