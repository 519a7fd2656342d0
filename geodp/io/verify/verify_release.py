"""Check a release of geodp with nothing but Python: one file, to read and to keep.

    python -I verify_release.py FOLDER

FOLDER is the release's folder, or its ``public`` folder. Any Python from 3.8 on will do. Take this
file from where you trust, not from the release, which it would speak for. The exit code is 0 where
everything holds, 3 where something does not, 2 without a folder. Not read, as by ``geodp verify``,
are GeoTIFF, GeoParquet, pictures and areas of a selection. A notice of withdrawal is told.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from string import Formatter
from typing import Any

CARD, SUMS, NOTICE = "release.json", "SHA256SUMS", "WITHDRAWN.json"
EXACT = r"[0-9]{1,400}(/[0-9]{1,400})?"
SCHEMAS = WHOLE, PARTS, CHOICE = "geodp-release-2", "geodp-release-parts-2", "geodp-selection-1"
OWN, BESIDE = ("name", "release_id", "files", "left_out"), ("standard_error", "low", "high")
NORMAL, LAPLACE = 1.96, 2.118  # half a 95 % interval, in standard errors
JIS = {"primary": (), "secondary": (8,), "5km": (8, 2), "2km": (8, 5), "basic": (8, 10)}
JIS.update({"half": (8, 10, 2), "quarter": (8, 10, 2, 2), "eighth": (8, 10, 2, 2, 2)})
SPLITS = {2: (1, 2, 1, 1), 5: (3, 200, 20, 5), 8: (2, 10, 1, 0), 10: (2, 10, 1, 0)}
METRES = [n * 10**e for e in (2, 3, 4, 5) for n in (1, 2, 2.5, 5) if n * 10**e <= 100_000]
INSPIRE = {
    "crs": "EPSG:3035",
    "origin": ["0", "0"],
    "extent": ["900000", "900000", "7400000", "5500000"],
    "sizes": {f"{n // 1000:g}km" if n % 1000 == 0 else f"{n:g}m": f"{n:g}" for n in METRES},
    "codes": "CRS{epsg}RES{size}mN{north}E{east}",
}
NUMBER = (
    r"(?:\()?\s*(?:(\d+)\s*-\s*)?(north|east|row|col)(?:\s*([+-])\s*(\d+))?\s*(?:\))?"
    r"(?:\s*/\s*(\d+(?:\.\d+)?|zeros))?"
)
LETTERS = {"EW": (1, "EW"), "NS": (0, "NS"), "ew": (1, "ew"), "ns": (0, "ns")}
SPELLINGS: dict[Any, Any] = {}
HASH = "0123456789bcdefghjkmnpqrstuvwxyz"
ENDS = {"code": "", "origin": "origin_", "destination": "destination_"}
MAX_JSON_BYTES, MOST_FIELD, WITHDRAWN = 1 << 26, 1 << 16, "withdrawn"
JUNCTION = 0xA0000003  # the tag of a link to a folder on Windows, whose mode is that of a folder


def require(ok: object, sentence: str) -> None:
    """Raise ValueError where something does not hold; the message says what."""
    if not ok:
        raise ValueError(sentence)


def plain_files(folder: str) -> list[str]:
    """Names of all files below a folder; ValueError where there is a link, a pipe or a device."""
    found = []
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            status, where = os.lstat(path), os.path.relpath(path, folder)
            mode, tag = status.st_mode, getattr(status, "st_reparse_tag", 0)
            plain = (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and tag != JUNCTION
            require(plain, f"{where} is a link or a device.")
            found += [where.replace(os.sep, "/")] * stat.S_ISREG(mode)
    return found


def read_card(folder: str) -> dict[str, Any]:
    """Read the card, whose schema is known."""
    card = read_json(os.path.join(folder, CARD))
    require(isinstance(card, dict) and card.get("schema") in SCHEMAS, "Its schema is unknown.")
    return {**card, "name": "selection", "files": []} if card["schema"] == CHOICE else card


def read_json(path: str) -> Any:
    """Read strictly: JSON that readers take differently is refused."""
    with open(path, "rb") as file:
        data = file.read(MAX_JSON_BYTES + 1)
    require(len(data) <= MAX_JSON_BYTES, "The card is too large.")

    def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "An object of the card has a name twice.")
        return dict(pairs)

    numbers: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), number)
    return json.loads(data.decode("utf-8"), object_pairs_hook=named_once, **numbers)


def number(text: str) -> float:
    """Read a finite number of a sensible length."""
    require(len(text) <= 40 and math.isfinite(float(text)), "A number of the card is none.")
    return int(text) if re.fullmatch("-?[0-9]+", text) else float(text)


def ask_names(folder: str, card: dict[str, Any]) -> str:
    """Names that the card lists lie in the folder, and are all that is there."""
    name, there, listed = card["name"], plain_files(folder), [e["name"] for e in card["files"]]
    require(re.fullmatch(r"\w[\w-]*", name) is not None, "The card's name is no file name.")
    for file in listed:
        parent, slash, last = file.rpartition("/")
        inside = card["schema"] == PARTS and parent in (name + ".parquet", name + ".tiles")
        plain = last not in ("", ".", "..") and "\\" not in file
        require(plain and (inside or not slash), "The card lists a file outside the folder.")
    require(len(set(listed)) == len(listed), "The card lists a file twice.")
    expected = {*listed, CARD, SUMS}
    require(set(there) <= expected, f"{', '.join(sorted(set(there) - expected))} is not listed.")
    require(expected <= set(there), f"{', '.join(sorted(expected - set(there)))} is missing.")
    return f"{len(there)} files, all listed"


def ask_checksums(folder: str, card: dict[str, Any]) -> str:
    """Every file has the SHA-256 of the card and of SHA256SUMS."""
    with open(os.path.join(folder, SUMS), encoding="utf-8") as file:
        sums = {line.rstrip("\n").split("  ", 1)[1]: line.split("  ", 1)[0] for line in file}
    listed = {entry["name"]: entry["sha256"] for entry in card["files"]}
    require(set(sums) == {*listed, CARD}, f"{SUMS} and the card list different files.")
    for name, digest in sums.items():
        found = sha256(os.path.join(folder, name)).hexdigest()
        require(found == digest == listed.get(name, digest), f"{name} was changed.")
    return f"all {len(sums)} files have the listed SHA-256"


def sha256(path: str) -> Any:
    """SHA-256 of a file, open for more."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest


def ask_identity(folder: str, card: dict[str, Any]) -> str:
    """Require that the release id is the digest of table and card."""
    given = json.dumps({key: card[key] for key in card if key not in OWN}, sort_keys=True)
    if card["schema"] == WHOLE:
        digest = sha256(os.path.join(folder, card["name"] + ".csv"))
    else:
        digest = hashlib.sha256("".join(e["sha256"] + "\n" for e in card["files"]).encode())
    digest.update(given.encode())
    require(digest.hexdigest()[:16] == card["release_id"], "It is another than that of the files.")
    return str(card["release_id"])


def ask_card(folder: str, card: dict[str, Any]) -> str:
    """Require that what the card says of privacy and domain does not contradict itself."""
    said, domain, chosen = card["guarantee"], card["domain"], card["schema"] == CHOICE
    for name in ("epsilon",) if chosen else ("epsilon", "rho", "delta"):
        text, decimal = said[name], said[name + "_decimal"]
        require((text is None) == (decimal is None), f"{name} is there once only.")
        require(text is None or math.isclose(exact(text), decimal), f"{name} is another.")
    require(said["epsilon"] is not None or said.get("rho") is not None, "It names no budget.")
    words = said["in_words"] + said["noise_key"]
    require(card["private"] is ("NOT PRIVATE" not in words), "It contradicts itself on privacy.")
    sizes = list(domain["axes"].values())
    require(all(type(n) is int and n > 0 for n in sizes), "Sizes of axes are whole numbers.")
    cells = math.prod(sizes)
    least = 1 if domain["mask"] is not None or isinstance(domain["order"], dict) else cells
    require(least <= domain["cells"] <= cells, "The domain has other cells than its axes.")
    labels = [len(each["labels"]) for each in domain["attributes"]]
    require(sizes[len(sizes) - len(labels) :] == labels, "Attributes and axes differ.")
    if chosen:
        each = exact(said["epsilon"]) / said["rounds"] / exact(said["sensitivity"])
        require(exact(said["rate"]) == each / (2 - said["monotone"]), "The rate is another.")
    return str(said["in_words"])


def exact(text: str) -> Fraction:
    """Read an exact number above 0."""
    require(re.fullmatch(EXACT, text) and Fraction(text) > 0, "A number is not exact.")
    return Fraction(text)


def coordinate(text: str) -> Fraction:
    """Read an exact number of a description, whole, decimal or a fraction."""
    pattern = r"-?[0-9]{1,15}(/[0-9]{1,15}|\.[0-9]{1,15})?"
    require(re.fullmatch(pattern, text) is not None, "A number of the card is none.")
    return Fraction(text)


def ask_counts(folder: str, card: dict[str, Any]) -> str:
    """Require counts as the card says, of cells inside the extent, once, in key order."""
    if card["schema"] == PARTS:
        return "not read: the tables of a release in parts are Parquet"
    name, domain, last, total, rows = card["name"], card["domain"], -1, Fraction(0), 0
    whole, nonnegative = card["mechanism"]["whole"], card["mechanism"]["nonnegative"]
    encode, stated, seen = encoder(domain), card["expected_error"], set()
    most = math.inf if stated["blocks"] is None else stated["blocks"][0]["largest"]
    for rows, row in enumerate(cells_of(folder, card), 1):
        require(rows <= domain["cells"], "There are more rows than cells.")
        total += count(row[name], whole, nonnegative)
        if stated["blocks"] is None and "parts" not in (stated.get("cells") or {}):
            require(not {*BESIDE} & set(row), "There are errors, and the card has none.")
        else:
            require(0 < float(row["standard_error"]) <= most, f"Row {rows}: another error.")
            near = interval(card, *(float(row[column]) for column in (name, *BESIDE)))
            require(near, f"Row {rows}: another interval.")
        index = decode(domain, row)
        require(index not in seen, f"Row {rows} is a cell that was there before.")
        seen.add(index)
        before, last = last, rows if encode is None else encode(index)
        require(last > before, f"Row {rows} is not in key order.")
    return f"{rows} cells, {total if whole else float(total)} in all"


def interval(card: dict[str, Any], value: float, error: float, low: float, high: float) -> bool:
    """Whether a row has the interval that follows from its count and its standard error.

    Where a method clamps, it follows from the whole tree of the release: it is asked to lie within
    what the card says that a cell can have lost, and is worked out by ``geodp verify``.
    """
    stated, cells = card["expected_error"], card["expected_error"].get("cells")
    if not -math.inf < low <= value <= high < math.inf:
        return False
    if cells is None or stated["blocks"] is None or "parts" in cells:
        return True
    normal = card["guarantee"]["rho"] is not None or card["guarantee"].get("model") == "local"
    digits = 0.002 + 1e-15 * abs(value)  # three decimals are written, and wide counts have fewer
    if not card["mechanism"]["nonnegative"]:
        margin = (NORMAL if normal else LAPLACE) * error
        room = digits + 1e-5 * margin  # six digits of the error are written
        return all(abs(side - margin) <= room for side in (value - low, high - value))
    most = max(cells["beside"], cells["alone"]) * LAPLACE / NORMAL + digits
    return low >= 0 and max(value - low, high - value) <= most


def table(folder: str, file: str, columns: Any = None) -> Iterator[dict[str, str]]:
    """Rows of a CSV as dicts."""
    csv.field_size_limit(MOST_FIELD)
    with open(os.path.join(folder, file), encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, strict=True)
        header = next(rows, [])
        require(columns in (None, header), f"{file} has other columns than the card says.")
        for number, row in enumerate(rows, 1):
            require(len(row) == len(header), f"{file}: row {number} has another length.")
            yield dict(zip(header, row))


def cells_of(folder: str, card: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Rows of the cells with what their regions are; a unit, which is a cell, by its place."""
    name, files = card["name"], {entry["name"]: entry for entry in card["files"]}
    places, regions = card["domain"]["places"], {}
    if name + ".regions.csv" in files:
        finest = [*card["domain"]["order"]["regions"]["levels"].values()][-1]
        units = all([p["rows"], p["cols"], p["crs"]] == [1, finest, None] for p in places)
        regions = {[*r.values()][units]: r for r in table(folder, name + ".regions.csv")}
    for row in table(folder, name + ".csv", files[name + ".csv"]["columns"]):
        for column in ENDS.keys() & row.keys() if regions else ():
            own = {ENDS[column] + level: code for level, code in regions[row[column]].items()}
            row.update({**own, column: next(iter(own.values()))})
        yield row


def count(text: str, whole: bool, nonnegative: bool) -> Fraction:
    """Return a count as the card says counts are; a Fraction, so that sums are exact."""
    pattern = r"-?[0-9]{1,20}" if whole else r"-?[0-9]{1,20}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?"
    require(re.fullmatch(pattern, text) is not None, "A count is no number of the card's kind.")
    value = Fraction(text)
    require(value != 0 and (value > 0 or not nonnegative), "A count is 0 or negative.")
    return value


def decode(domain: dict[str, Any], row: dict[str, Any]) -> tuple[int, ...]:
    """Return the indices of a row's cell, which lies in the extent."""
    places, axes, index = domain["places"], list(domain["axes"]), []
    for column, place in zip(["origin", "destination"] if len(places) == 2 else ["code"], places):
        found = position(row[column], place)
        index += [i - first for i, first in zip(found, place["first"])]
    attributes = domain["attributes"]
    index += [int(row[axis]) for axis in axes[len(index) : len(axes) - len(attributes)]]
    index += [each["labels"].index(row[each["attribute"]]) for each in attributes]
    inside = all(0 <= i < n for i, n in zip(index, domain["axes"].values()))
    require(inside, "A code lies outside the extent.")
    return tuple(index)


def position(code: str, place: dict[str, Any]) -> tuple[int, int]:
    """Row and column of a cell's code."""
    family, _, size = (place["code"] or "").partition(":")
    if family == "jis":
        return jis_position(code, JIS[size])
    if family == "quadkey":
        require(re.fullmatch(f"[0-3]{{{int(size)}}}", code), "A code is none of its system.")
        south, col = (int("".join(str(int(d) >> i & 1) for d in code), 2) for i in (1, 0))
        return (1 << int(size)) - 1 - south, col
    if family == "geohash":
        require(re.fullmatch(f"[{HASH}]{{{int(size)}}}", code), "A code is none of its system.")
        bits = "".join(f"{HASH.index(letter):05b}" for letter in code)
        return int(bits[1::2] or "0", 2), int(bits[::2], 2)
    if family:
        return Spelling.of(place, place["code"]).read(code)
    match = re.fullmatch("(0|[1-9][0-9]{0,9})_(0|[1-9][0-9]{0,9})", code)
    require(match is not None, "A code is none of its system.")
    return tuple(map(int, match.groups()))  # type: ignore[union-attr, return-value]


class Spelling:
    """The codes of one size of a grid that its card describes: the first of their spellings."""

    @staticmethod
    def of(place: dict[str, Any], name: str) -> Spelling:
        """Return that of a name; a definition is the card's own."""
        definition = place.get("definition") or INSPIRE
        kind = id(definition), name  # of an object that is kept, so that no other has its id
        if kind not in SPELLINGS:
            label = next(n for n in definition["sizes"] if n.lower() == name.rpartition(":")[2])
            SPELLINGS[kind] = definition, Spelling(definition, label)
        found: Spelling = SPELLINGS[kind][1]
        return found

    def __init__(self, definition: dict[str, Any], label: str) -> None:
        sizes = {name: coordinate(size) for name, size in definition["sizes"].items()}
        require(len(sizes) <= 64, "The card has too many sizes of cells.")
        self.size, low = sizes[label], [coordinate(one) for one in definition["extent"][1::-1]]
        require(min(sizes.values()) > 0, "A size of the card is none.")
        lcm, gcd = 1, 0  # of numerators and denominators: what all sizes divide
        for size in sizes.values():
            lcm *= size.numerator // math.gcd(lcm, size.numerator)
            gcd = math.gcd(gcd, size.denominator)
        self.corner = [coordinate(one) for one in definition["origin"][::-1]]
        turns = [max(0, math.ceil((a - b) * gcd / lcm)) for a, b in zip(self.corner, low)]
        self.first = [a - n * Fraction(lcm, gcd) for a, n in zip(self.corner, turns)]
        words = {"size": str(self.size), "label": label, "epsg": definition["crs"][5:]}
        codes = definition["codes"]
        codes = codes[label] if isinstance(codes, dict) else codes
        squares = definition.get("letters") or {}
        self.parts: list[Any] = []
        for literal, name, width, _ in Formatter().parse(codes if type(codes) is str else codes[0]):
            self.parts.append(literal)
            if name in squares:
                self.parts.append(self.square(squares[name]))
            elif name is not None:
                self.parts.append(words.get(name) or LETTERS.get(name) or self.number(name, width))
        told = [axis for part in self.parts for axis in self.told(part)]
        self.shared = {at for at in (0, 1) if told.count(at) > 1 or self.lettered(at)}

    @staticmethod
    def told(part: Any) -> tuple[int, ...]:
        """Axes that a part tells something of."""
        if isinstance(part, Square):
            return tuple(at for at in (0, 1) if part.shape[at] > 1)
        return (part[0],) if isinstance(part, tuple) and len(part) == 4 else ()

    def lettered(self, at: int) -> bool:
        """Whether letters of squares tell something of an axis."""
        return any(isinstance(part, Square) and part.shape[at] > 1 for part in self.parts)

    def square(self, table: dict[str, Any]) -> Square:
        """Return a table of letters, whose side is one of whole cells."""
        rows, cells = table["rows"], coordinate(table["side"]) / self.size
        require(cells >= 1 == cells.denominator, "The letters of the card are of no squares.")
        widths = {len(row) for row in rows}
        require(0 < len(rows) <= 200 and len(widths) == 1, "The letters of the card are no table.")
        return Square(rows, int(cells))

    def number(self, name: str, width: Any) -> tuple[int, Fraction, Fraction, int]:
        """Return axis, a, b and width of a field, which is ``a + b * index``."""
        found = re.fullmatch(NUMBER, name)
        require(found is not None, "The codes of the card are of no known form.")
        whole, axis, sign, offset, unit = found.groups()  # type: ignore[union-attr]
        at, cells = int(axis in ("east", "col")), axis in ("row", "col")
        zeros = 1
        while unit == "zeros" and self.size % (10 * zeros) == 0:
            zeros *= 10
        start, step = self.first[at], self.size
        if cells:
            start, step = (start - self.corner[at]) / self.size, Fraction(1)
        factor, more = (-1, int(whole)) if whole else (1, int((sign or "") + (offset or "0")))
        by = Fraction(zeros if unit == "zeros" else unit or 1)
        return at, (factor * start + more) / by, factor * step / by, int(width or 0)

    def read(self, code: str) -> tuple[int, int]:
        """Return row and column of a code."""
        lettered = {part[0] for part in self.parts if isinstance(part, tuple) and len(part) == 2}
        pattern = ""
        parts: list[Any] = []
        for part in self.parts:
            if isinstance(part, str):
                pattern += re.escape(part)
            elif isinstance(part, Square):
                parts.append(part)
                pattern += f"([{re.escape(''.join(part.rows))}])"
            else:
                parts.append(part)
                digits = f"[0-9]{{{part[3] or '1,15'}}}" if len(part) == 4 else f"[{part[1]}]"
                minus = "-?" if len(part) == 4 and not part[3] and part[0] not in lettered else ""
                pattern += f"({minus}{digits})"
        match = re.fullmatch(pattern, code)
        require(match is not None, "A code is none of its system.")
        texts = [*zip(parts, match.groups())]  # type: ignore[union-attr]
        below = {part[0] for part, text in texts if self.told(part) == () and text == part[1][1]}
        index = {at: self.start(at) for at in self.shared}
        for part, text in texts:
            if isinstance(part, Square):
                for at in self.told(part):
                    index[at] += part.place(text)[at] * part.cells
            elif self.told(part) and part[0] in self.shared:
                index[part[0]] += int(text) * self.digits(part)[0] // self.digits(part)[1]
            elif self.told(part):
                value = (-int(text) if part[0] in below else int(text)) - part[1]
                require(value % part[2] == 0, "A code is none of its system.")
                index[part[0]] = int(value / part[2])
        require(self.write(index[0], index[1]) == code, "A code is none of its system.")
        return index[0], index[1]

    def start(self, at: int) -> int:
        """Return the index that fields of a shared axis count from."""
        return int((self.corner[at] - self.first[at]) / self.size)

    @staticmethod
    def digits(part: Any) -> tuple[int, int]:
        """Return the cells that a number of a shared axis counts by, and what its digits count."""
        return max(1, int(1 / part[2])), max(1, int(part[2]))

    def write(self, row: int, col: int) -> str:
        """Return the code of a cell."""
        lettered = {part[0] for part in self.parts if isinstance(part, tuple) and len(part) == 2}
        values = {
            part[0]: int(part[1] + part[2] * (row, col)[part[0]])
            for part in self.parts
            if isinstance(part, tuple) and len(part) == 4 and part[0] not in self.shared
        }
        left = [(row, col)[at] - (self.start(at) if at in self.shared else 0) for at in (0, 1)]
        text = ""
        for part in self.parts:
            if isinstance(part, str):
                text += part
            elif isinstance(part, Square):
                text += part.letter(left, self.told(part))
            elif len(part) == 2:
                text += part[1][values[part[0]] < 0]
            elif part[0] in self.shared:
                by, times = self.digits(part)
                text += str(left[part[0]] // by * times).zfill(part[3])
                left[part[0]] %= by
            else:
                value = abs(values[part[0]]) if part[0] in lettered else values[part[0]]
                text += str(value).zfill(part[3])
        return text


class Square:
    """Letters of squares of so many cells, rows from the north."""

    def __init__(self, rows: list[str], cells: int) -> None:
        self.rows, self.cells, self.shape = rows, cells, (len(rows), len(rows[0]))

    def place(self, letter: str) -> tuple[int, int]:
        """Return the row from the south, and the column."""
        at = "".join(self.rows).index(letter)
        return self.shape[0] - 1 - at // self.shape[1], at % self.shape[1]

    def letter(self, left: list[int], axes: tuple[int, ...]) -> str:
        """Return the letter of a cell by what is left to tell of its indices, and take it away."""
        place = [left[at] // self.cells if at in axes else 0 for at in (0, 1)]
        for at in axes:
            left[at] %= self.cells
        require(0 <= place[0] < self.shape[0], "A code is none of its system.")
        require(0 <= place[1] < self.shape[1], "A code is none of its system.")
        return self.rows[self.shape[0] - 1 - place[0]][place[1]]


def jis_position(code: str, factors: tuple[int, ...]) -> tuple[int, int]:
    """Row and column of a mesh code (JIS X 0410)."""
    length = 4 + sum(SPLITS[factor][0] for factor in factors)
    require(re.fullmatch(f"[0-9]{{{length}}}", code) is not None, "A code has another length.")
    row, col, at = int(code[:2]), int(code[2:4]), 4
    for factor in factors:
        digits, by_row, by_col, base = SPLITS[factor]
        number = int(code[at : at + digits]) - base
        down, rest = divmod(number, by_row)
        right, none = divmod(rest, by_col)
        require(number >= 0 == none and max(down, right) < factor, "A code does not exist.")
        row, col, at = row * factor + down, col * factor + right, at + digits
    return row, col


def encoder(domain: dict[str, Any]) -> Callable[[tuple[int, ...]], int] | None:
    """Return a function from indices to the cell's key; None in the order of regions."""
    order, sizes = domain["order"], list(domain["axes"].values())
    if isinstance(order, dict):
        return None
    offset = [0] * len(sizes)
    if order == "Morton":
        bits, space = [(n - 1).bit_length() for n in sizes], len(sizes) - len(domain["attributes"])
        turns = range(max(bits[:space], default=0) - 1, -1, -1)
        digits = [(axis, 2) for at in turns for axis in range(space) if bits[axis] > at]
        digits += [(axis, 2) for axis in range(space, len(sizes)) for _ in range(bits[axis])]
    else:
        digits, offset = list(zip(order[0], order[1])), order[2] or offset

    def encode(index: tuple[int, ...]) -> int:
        key, scale, left = 0, 1, [1] * len(sizes)
        for axis, radix in reversed(digits):
            key += (index[axis] + offset[axis]) // left[axis] % radix * scale
            left[axis], scale = left[axis] * radix, scale * radix
        return key

    return encode


def ask_areas(folder: str, card: dict[str, Any]) -> str:
    """Tables of areas hold the sums of the cells."""
    if card["schema"] == PARTS:
        return "none"
    name, said = card["name"], []
    whole, nonnegative = card["mechanism"]["whole"], card["mechanism"]["nonnegative"]
    cells = list(cells_of(folder, card))
    for entry in (e for e in card["files"] if e["name"].endswith(".csv") and "level" in e):
        file = entry["name"]
        found: dict[Any, Fraction] = {}
        expected: dict[Any, Fraction] = {}
        columns = [c for c in entry["columns"] if c not in (name, "standard_error")]
        for row in table(folder, file, entry["columns"]):
            key = tuple(row[column] for column in columns)
            require(key not in found, f"{file} has an area twice.")
            found[key] = count(row[name], whole, nonnegative)
        for row in cells:
            key = tuple(area_of(row, c, entry["level"], card["domain"]["places"]) for c in columns)
            expected[key] = expected.get(key, 0) + count(row[name], whole, nonnegative)
        expected = {key: value for key, value in expected.items() if value != 0}
        near = 0 if whole else 1e-9  # real numbers are sums of rounded ones
        same = set(found) == set(expected)
        same = same and all(abs(v - expected[key]) <= near * abs(v) for key, v in found.items())
        require(same, f"{file} has other sums than its cells.")
        said.append(entry["level"])
    return f"{', '.join(said)}: the sums of their cells" if said else "none"


def area_of(row: dict[str, str], column: str, level: str, places: list[dict[str, Any]]) -> str:
    """Return what an area's table says of a cell in one of its columns."""
    if column != "code":
        return row[column]
    family, _, size = level.partition(":")
    if size == "5km" and family == "jis" and len(row["code"]) > 7:  # quadrants of 5 x 5 cells
        down, right = (int(digit) // 5 for digit in row["code"][6:8])
        return row["code"][:6] + str(1 + 2 * down + right)
    if family == "jis":  # the code of an area is how those of its cells begin
        return row["code"][: 4 + sum(SPLITS[factor][0] for factor in JIS[size])]
    if family in ("quadkey", "geohash"):
        return row["code"][: int(size)]
    fine, area = (Spelling.of(places[0], name) for name in (places[0]["code"], level))
    cells = int(area.size / fine.size)
    return area.write(*(index // cells for index in fine.read(row["code"])))


def ask_answers(folder: str, card: dict[str, Any]) -> str:
    """Require as many answers as were asked for, each once; codes of cells lie in the extent."""
    asked, chosen, domain = card["question"], card["chosen"], card["domain"]
    require(len(chosen) == asked["chosen"] <= asked["candidates"], "Other answers than asked for.")
    each = {json.dumps(one, sort_keys=True) for one in chosen}
    require(len(each) == len(chosen), "An answer is there twice.")
    said = f"{len(chosen)} of {asked['candidates']} candidates, each once"
    if asked["name"] != "top" or "level" in asked:
        return said
    require(asked["candidates"] == domain["cells"], "The candidates are others than the cells.")
    require(len({decode(domain, one) for one in chosen}) == len(chosen), "A cell is there twice.")
    return said + "; codes lie in the extent"


def tell_notice(folder: str) -> str:
    """Return what a notice beside a public folder says, which no digest holds; "" without one."""
    parent, name = os.path.split(os.path.abspath(folder))
    path = os.path.join(parent, NOTICE)
    if name != "public" or not os.path.lexists(path):
        return ""
    try:
        require(stat.S_ISREG(os.lstat(path).st_mode), "It is a link or a device.")
        said, own = read_json(path), sha256(os.path.join(folder, CARD)).hexdigest()
        require(said["card_sha256"] == own, "It is of another release.")
        use = f" Use the release {said['use']} instead." if said["use"] else ""
        return f"THIS RELEASE WAS WITHDRAWN on {said['date']}: {said['reason']}{use}"
    except BROKEN:
        return f"{NOTICE} stands beside it and cannot be read, or is of another release."


ALWAYS = {"files": ask_names, "checksums": ask_checksums, "release id": ask_identity}
QUESTIONS = {**ALWAYS, "card": ask_card, "counts": ask_counts, "areas": ask_areas}
OF_CHOICE = {**ALWAYS, "card": ask_card, "answers": ask_answers}
READING = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, csv.Error)
BROKEN = (*READING, RecursionError, StopIteration)


def verify(folder: str) -> Iterator[tuple[str, bool, str]]:
    """(question, whether it holds, what was found) of a release, one by one."""
    folder = [*filter(os.path.isdir, [os.path.join(folder, "public")]), folder][0]
    try:
        plain_files(folder)
        if notice := tell_notice(folder):
            yield WITHDRAWN, True, notice
        card = read_card(folder)
    except BROKEN as error:
        yield "card", False, str(error) or type(error).__name__
        return
    for name, ask in (OF_CHOICE if card["schema"] == CHOICE else QUESTIONS).items():
        try:
            yield name, True, ask(folder, card)
        except BROKEN as error:
            yield name, False, str(error) or type(error).__name__
            if name == "files":
                return


def main(arguments: list[str]) -> int:
    """Tell what was found; return the exit code."""
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print("Usage: python -I verify_release.py FOLDER", file=sys.stderr)
        return 2
    bad = False
    for name, ok, detail in verify(arguments[0]):
        text = "".join(mark if mark.isprintable() else "?" for mark in detail[:500])
        print("NOTE  " if name == WITHDRAWN else "ok    " if ok else "FAILED", f" {name}: {text}")
        bad = bad or not ok
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
