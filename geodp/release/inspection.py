"""Files described without their values, with the lines of Python that publish them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from geodp.advice import takes
from geodp.errors import UsageError, printable
from geodp.io.read.counting.choosing import phrase_for_python
from geodp.io.read.layout.inspect import DEGREES, KnownRoles, name_roles
from geodp.io.read.layout.inspect import inspect as describe
from geodp.io.read.layout.propose import Proposal, propose
from geodp.io.read.rows.forms.locations import fetch_urls
from geodp.io.read.rows.input_files import FilePath, list_paths
from geodp.io.read.rows.members import list_members
from geodp.io.read.rows.period_columns import match_periods
from geodp.io.read.rows.span import Opening
from geodp.options.file_question import HOW_MANY
from geodp.release.file_answers import FileAnswer, are_trips, list_answers
from geodp.release.periods import find_period
from geodp.reprs import one_line

OF_GRID = ("bounds", "mask", "primary", "pairs", "points", "points_crs", "domain_is_public")
"""Options of a layout that make the grid, or choose the reader."""

CONTRIBUTION = "contribution=NUMBER"

TERMS = ("--protect", "--person-in", "--delta", "--contribution", "--epsilon")
"""Options of a release; all others say how a file is read."""

ELSEWHERE = (
    *("--all-columns", "--grid", "--units-source", "--points"),
    *("--period", "--periods", "--period-columns", "--households"),
)
"""Options that lines of Python have in another form."""

KEYWORDS = {
    "--from": "origin",
    "--to": "destination",
    "--pings": "place",
    "--stays": "place",
    "--points-crs": "crs",
    "--person-in": "person",
}
"""Keywords that are not called as their options."""

OF_PLACES = ("--from", "--to", "--pings")
"""Options that are pairs of columns where they have a comma."""

NAMED = ("--column", "--labels", "--where")
"""Options that are dictionaries in Python."""

GRIDS = (
    "GRID  # such as geodp.Grid.mesh('jis:half', bounds=geodp.find_bounds('japan', 'jis:half')), "
    "or geodp.read_units('towns.gpkg', source=WORDS)"
)
PERIODS = "PERIODS  # such as ['2024-01', '2024-02']"
COLUMNS = "COLUMNS  # by their periods, such as {'2024-01': 'JAN', '2024-02': 'FEB'}"

AS_IN_PYTHON = {
    "--grid units:OUTLINES": "grid=geodp.read_units(OUTLINES, source=WORDS)",
    "--grid units:TABLE": "grid=geodp.read_units(TABLE, source=WORDS)",
    "--grid file:GRID.toml": "grid=geodp.Grid.mesh('file:GRID.toml')",
    "geodp inspect FILE --code COLUMN": "geodp.inspect(FILE, code=COLUMN)",
    "geodp amounts plan": "geodp.amounts.plan",
    "geodp amounts publish": "geodp.amounts.publish",
    "geodp publish-series": "geodp.publish_series",
    "--points-crs": "crs=",
    "--grid": "grid=",
    "--person-in": "--person",
}
"""What stands in questions for the command line, and in Python."""

TO_USE = (
    "release.write('out')",
    "release = geodp.open('out')  # at any later time, by everybody",
)
"""Lines behind those of every release."""

TO_ESTIMATE = (
    "release.estimate(AREA)  # with a 95 % interval: a code, a box in degrees or a polygon"
)
TO_ESTIMATE_FLOWS = (
    "release.estimate(FROM, TO)  # with a 95 % interval: codes, boxes in degrees or polygons"
)

FLAG = re.compile(r"--([a-z][a-z-]*)(?: (household|person|all|one|\d+)(?=[,;.) ]))?")
"""An option of a release in a question, with its value where that is a word or a number."""


@dataclass(frozen=True)
class FileCall:
    """A question that a file answers, and the lines of Python that answer it.

    Attributes
    ----------
    question : str
        In whole sentences.
    asks : tuple of str
        What you decide, as no file says it.
    code : str
        Lines of Python; what is in capitals is to be replaced.
    """

    question: str
    asks: tuple[str, ...]
    code: str

    def __str__(self) -> str:
        asks = [f"  still to decide: {one}" for one in self.asks]
        return "\n".join(
            [self.question, *asks, "", *(f"    {one}" for one in self.code.split("\n"))]
        )

    __repr__ = one_line


@dataclass(frozen=True)
class Inspection:
    """Description of a file without its values, and the calls that publish it; print it.

    Attributes
    ----------
    file : str
    columns : mapping of str to str
        Columns, and the role of each where names or forms of values show one.
    calls : tuple of FileCall
        For every question that the file answers.
    draft : str
        Where codes belong to no known grid, the draft of a description of one; else empty.
    """

    file: str
    columns: Mapping[str, str]
    calls: tuple[FileCall, ...]
    draft: str = ""

    def __str__(self) -> str:
        columns = [
            f"  {name}  {f'({role})' if role else ''}".rstrip()
            for name, role in self.columns.items()
        ]
        parts = ["\n".join([printable(self.file), *map(printable, columns)]), *map(str, self.calls)]
        if self.draft:
            parts.append(
                f"Codes of no known grid; to define it, complete this draft:\n\n{self.draft}"
            )
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"Inspection({len(self.calls)} calls; print it to read them)"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@takes(Opening)
def inspect(path: FilePath, *, code: str | None = None, **opening: Any) -> Inspection:
    """Describe a file without its values, and write the calls that publish it.

    Like ``geodp inspect``, which writes commands: it tells from names of columns, and from the form
    of the first values, which questions a file answers. It shows no value, sum or number of rows,
    and no value decides.

    Parameters
    ----------
    path : path
        A file, or a folder of files, of which the first is described.
    code : str, optional
        Column of the codes of cells. Default: detected.

    Returns
    -------
    Inspection
        ``print`` it, or end a cell of a notebook with it.

    Raises
    ------
    UsageError, InputError
        The file cannot be opened in this way, or is damaged.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory; import geodp
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "visits.csv")
    ...     _ = file.write_text("mesh,population\\n53394611,812\\n53394612,40\\n")
    ...     found = geodp.inspect(file)
    >>> print(found.calls[0].code.split("\\n")[1])
    grid = geodp.Grid.mesh('jis:basic')
    """
    files = list_paths(path) if Path(path).is_dir() else [path]
    known = {} if code is None else {"code": code}
    with fetch_urls(str(files[0])) as first:
        description = describe(first, **opening, known=KnownRoles(key=code))
        answers = list_answers(description, files if len(files) > 1 else [first])
        proposal: Proposal | str
        try:
            proposal = propose(first, {**opening, **known}, description=description)
        except UsageError as error:  # a file that no call publishes is described all the same
            proposal = str(error)
    domain = proposal.options if isinstance(proposal, Proposal) else {}
    calls = [_write_call(one, description, path, files, opening, domain) for one in answers]
    if not are_trips(description):
        calls += _write_counts(path, proposal, description, opening, others=bool(calls))
    table: Mapping[str, Any] = next(iter(description.get("tables", ())), {})
    names = [str(one["name"]) for one in table.get("columns") or ()]
    roles = {column: role.replace("_", " ") for role, column in _roles_of(table).items()}
    columns = {name: roles.get(name, "") for name in names}
    return Inspection(str(path), columns, tuple(calls), table.get("own_grid", ""))


def _roles_of(table: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the columns of a table by their roles; none without names."""
    return name_roles(table) if table.get("columns") else {}


def _write_call(
    answer: FileAnswer,
    description: Mapping[str, Any],
    path: FilePath,
    files: Sequence[FilePath],
    opening: Mapping[str, Any],
    domain: Mapping[str, Any],
) -> FileCall:
    """Write the call that answers a question of a kind."""
    roles = _roles_of(description["tables"][0])
    options = {flag: values for flag, values in answer.options.items() if flag not in ELSEWHERE}
    reading = {flag: values for flag, values in options.items() if flag not in TERMS}
    terms = {flag: values for flag, values in options.items() if flag in TERMS}
    terms["--epsilon"] = ("0.1",)
    blanks = answer.blanks
    periods = roles.get("period", "").split(",")
    of_period = [f"{periods[0]!r}: one"]
    if len(periods) > 1:
        of_period = [
            f"{name!r}: one{part}" for name, part in zip(periods, ("[:4]", "[5:]"), strict=True)
        ]
    where = [
        f"{name!r}: VALUE"
        for name, _, _ in (word.partition("=") for word in reading.get("--where", ()))
    ]
    if any("{where}" in line for line in answer.python):
        reading.pop("--where", None)
    dated = {} if "{files}" not in answer.python[0] else _date_files(files)
    member = ", member=one" if dated and len(files) == 1 else ""
    named = reading | {"--value": answer.options.get("--households", ())}
    fields = {
        "file": repr(str(path)),
        "reading": _write_keywords(reading, blanks, opening) + member,
        "reading_households": _write_keywords(named, blanks, opening),
        "terms": _write_keywords(terms, blanks),
        "where": f"where={{{', '.join([*of_period, *where])}}}",
        "columns": _date_columns(description["tables"][0]),
        "times": PERIODS,
        "files": dated,
        "one": "one" if len(files) > 1 else repr(str(path)),
    }
    lines = [one.format_map(fields) for one in answer.python]
    grid = _write_grid(answer.options.get("--grid", ("GRID",))[0], domain, roles.get("code"))
    to_estimate = TO_ESTIMATE_FLOWS if answer.command.startswith("flows") else TO_ESTIMATE
    asks = tuple(map(_phrase, answer.asks))
    return FileCall(answer.question, asks, _join(grid, lines, to_estimate))


def _write_counts(
    path: FilePath,
    proposal: Proposal | str,
    description: Mapping[str, Any],
    opening: Mapping[str, Any],
    *,
    others: bool,
) -> list[FileCall]:
    """Write the call that publishes counts; none for a file that has none and another use."""
    if isinstance(proposal, str):
        return [FileCall(HOW_MANY, (_phrase(proposal),), "")]
    asks = tuple(map(_phrase, proposal.questions))
    table: Mapping[str, Any] = next(iter(description.get("tables", ())), {})
    if "raster" not in description and not table.get("columns"):
        return [FileCall(HOW_MANY, asks, "")]
    options, questions = dict(proposal.options), " ".join(proposal.questions)
    grid = _write_grid(str(options.pop("grid", "GRID")), options)
    keywords = [f"{name}={one!r}" for name, one in options.items() if name not in OF_GRID]
    records = "(--points)" in questions and not table["counts"]
    if records:
        if {"x", "y"} <= options.keys() and table["crs"] == DEGREES:
            keywords.append(f"crs={DEGREES!r}")
        persons = next(iter(table["persons"]), None)
        keywords += ["reader='points'", f"person={persons!r}" if persons else CONTRIBUTION]
    elif "(--value)" in questions and others and not table["counts"]:
        return []
    else:
        keywords += ["value=COLUMN"] * ("(--value)" in questions)
        keywords += [CONTRIBUTION] * ("--contribution" in questions)
    keywords += [f"{name}={one!r}" for name, one in opening.items()]
    call = ", ".join([repr(str(path)), "grid=grid", *keywords, "epsilon='0.1'"])
    return [FileCall(HOW_MANY, asks, _join(grid, [f"release = geodp.publish({call})"]))]


def _join(grid: str, lines: Sequence[str], to_estimate: str = TO_ESTIMATE) -> str:
    """Join the lines of a call."""
    return "\n".join(["import geodp", grid, *lines, *TO_USE, to_estimate])


def _date_files(files: Sequence[FilePath]) -> dict[str | None, str]:
    """Return files, or the members of one archive, by the period in their names."""
    names = list_members(Path(files[0])) if len(files) == 1 else [str(one) for one in files]
    return {find_period(Path(one).name): one for one in names}


def _date_columns(table: Mapping[str, Any]) -> dict[str | None, str] | str:
    """Return columns of counts by their periods; a placeholder where names lack the year."""
    if not table["whole_periods"]:
        return COLUMNS
    names = [str(one["name"]) for one in table["columns"]]
    columns = {find_period(name): name for name in match_periods(names, table["period_columns"])}
    return COLUMNS if None in columns else columns


def _write_grid(spec: str, options: Mapping[str, Any], code: str | None = None) -> str:
    """Write the line that makes the grid, in the bounds and on the land of a layout.

    ``code``: column of the codes of units, which their table may call the same.
    """
    kind, _, rest = spec.partition(":")
    if spec == "GRID":
        return f"grid = {GRIDS}"
    if kind == "units":
        columns = "" if code is None else f"columns=[{code!r}], "
        return f"grid = geodp.read_units({Path(rest).stem}, {columns}source=WORDS)"
    if kind == "regular":
        return "grid = geodp.Grid.regular((ROWS, COLUMNS))"
    if kind == "like":
        return "grid = geodp.grid_like('TEMPLATE.tif')"
    bounds = options.get("bounds")
    box = f"geodp.find_bounds({bounds!r}, {spec!r})" if isinstance(bounds, str) else repr(bounds)
    grid = f"geodp.Grid.mesh({spec!r}{'' if bounds is None else f', bounds={box}'})"
    land = str(options.get("mask") or "")
    return f"grid = geodp.cut_to_land({grid}, {land!r})" if land else f"grid = {grid}"


def _write_keywords(
    options: Mapping[str, Sequence[str]],
    blanks: Collection[str],
    opening: Mapping[str, Any] | None = None,
) -> str:
    """Write options as keywords of a call."""
    names = {flag: KEYWORDS.get(flag, flag[2:].replace("-", "_")) for flag in options}
    named = [
        f"{names[flag]}={_write_value(flag, values, flag in blanks)}"
        for flag, values in options.items()
        if values
    ]
    return ", ".join([*named, *(f"{name}={one!r}" for name, one in (opening or {}).items())])


def _write_value(flag: str, values: Sequence[str], blank: bool) -> str:
    """Write the values of an option in Python; placeholders stay as they are."""
    if flag in NAMED:
        pairs = [one.partition("=")[::2] for one in values]
        labels = flag == "--labels"
        shown = [
            f"{name!r}: {one.split(',') if labels else _literal(one, blank)}" for name, one in pairs
        ]
        return f"{{{', '.join(shown)}}}"
    if flag == "--by":
        return repr(values[0].split(","))
    if flag in OF_PLACES and "," in values[0]:
        return repr(tuple(values[0].split(",")))
    words = [_literal(one, blank) for one in values]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _literal(word: str, blank: bool) -> str:
    """Write a number, a text, or a placeholder in capitals."""
    return word if word.isdecimal() or (blank and word.isupper()) else repr(word)


def _phrase(sentence: str) -> str:
    """Rewrite a question about options of the command line for arguments of a call."""
    for old, new in AS_IN_PYTHON.items():
        sentence = sentence.replace(old, new)
    return FLAG.sub(_spell, phrase_for_python(sentence))


def _spell(match: re.Match[str]) -> str:
    """Return an option and its value as Python spells them."""
    value = match[2] or ""
    return (
        f"{match[1].replace('-', '_')}={value if value.isdecimal() or not value else repr(value)}"
    )
