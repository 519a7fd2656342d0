"""Check a release of geodp with Python's standard library alone: one file to read and to keep.

    python -I verify_release.py FOLDER

FOLDER is the folder of a release, or its ``public`` folder. Python 3.8 or later is needed. Take
this file from a source that you trust, and not from the release that it is to check. The exit code
is 0 if everything holds, 3 if something does not, and 2 if there is no folder.

GeoTIFF, GeoParquet, pictures and the areas of a selection are compared by their SHA-256 only;
``geodp verify`` reads them. Of a folder of several releases (a series, flows, persons and
households, a census, amounts) the index and each of the releases are checked, and a note says what
is not.
Sentences of cards are compared with those that follow from their numbers, if this file knows the
words of the version that has written them. A notice of withdrawal is printed, and changes no exit
code.
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
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from string import Formatter
from typing import Any, NamedTuple

CARD, SUMS, NOTICE = "release.json", "SHA256SUMS", "WITHDRAWN.json"
# Numbers of a card may be a stranger's: each pattern and limit bounds the work they can cause.
EXACT = r"[0-9]{1,400}(/[0-9]{1,400})?"
SCHEMAS = ONE_TABLE, PARTS, SELECTION = (
    "geodp-release-2",
    "geodp-release-parts-2",
    "geodp-selection-1",
)
# Indexes of several releases: which fields list these, the name of each folder, and its words.
INDEXES = {
    "series.json": ("snapshots", "time", "these releases"),
    "flows.json": ("tables", "name", "these tables"),
    "households.json": ("tables", "name", "these tables"),
    "census.json": ("tables", "name", "these tables"),
    "amounts.json": ("tables", "name", "these numbers"),
}
UNREAD = {
    "series.json": "that the files of all snapshots show what these do",
    "flows.json": "that flows add up to origins and destinations, noisy pairs, and errors of pairs",
    "households.json": "that every cell is possible, and the table of both counts",
    "census.json": "that everything adds up, and the table of all columns",
    "amounts.json": "sums, means and classes, which are in the table of amounts",
}
# A kind of another package states its maps in an index of the same form; a series of any kind of
# several tables lists its periods.
MAPS, PERIODS = ("tables", "name", "these maps"), ("periods", "time", "these releases")
MAPS_UNREAD = "the tables of all maps together, and what holds exactly"
PERIODS_UNREAD = "changes between periods"
# Versions whose words this file knows, and formats of the noise of earlier releases, which have
# other words. Numbers are compared whatever the version is.
WORDED, EARLIER = ("0.1.0",), ("chacha20-inverse-2",)
NOT_PRIVATE = "NOT PRIVATE: the noise was made with a fixed key, for tests only."
KEYS = {
    "entropy": "256 bits from the operating system, forgotten after the run",
    "file": "derived from a 256-bit key kept by its owner and a digest of the input",
    "fixed": "fixed by the calling program: NOT PRIVATE",
}
PUBLIC_CARD = "the domain, the grid and every value of this card: public by construction"
OTHERS = "other releases about the same people: their budgets add to this one"
REPEATS = (
    "whether two releases with the same kept key and parameters come from exactly the same input: "
    "they are then identical, so use a new key for every new state of the data"
)
LOCAL_FACTS = [
    "taking part, and the number of reports, which is the total: both are public",
    "further reports of the same device, in this round or another: k reports cost k times epsilon",
    "silence: a device outside of the domain sends nothing, which tells that it is not inside",
    "how a report came: network addresses and times are no part of it and are not protected by it",
]
ASSUMED = {
    "domain": "The grid and the domain were chosen without the records.",
    "prior": "The prior is public, or a release that was charged itself.",
    "public totals": "The totals that the release meets exactly were public before.",
}
CLOSED = (
    "closed form for an aligned block of cells {}; independent of the data; margin_95 = 1.96 "
    "standard errors; largest: of all such blocks, including those at the edges of the domain; "
    "with a mask an upper bound"
)
ISOLATED = "one isolated populous cell, which the clamp lowers"
# A release id is the digest of table and card without these, which are known only after it.
UNHASHED, EXTRAS = ("name", "release_id", "files", "left_out"), ("standard_error", "low", "high")
NORMAL, LAPLACE = 1.96, 2.118  # half a 95 % interval, in standard errors
# Intervals of methods that clamp: their version, and its constants, which are described in
# geodp/accuracy/region_interval.py. A card of another version has intervals of other rules.
VERSION = 6
HIDDEN, FEW = 0.35, 0.25
WEAK = 1.5
MOVED = 2.1
DROPPED, DROPPED_SQUARE = 0.4, 0.5
# Splits of a mesh code by level (JIS X 0410), and of each split: how many digits it adds, what a
# step north and a step east add to their number, and the least number.
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
# What the guarantee speaks of, of a table that depends on the noise of other tables, too.
TOGETHER = "any result of this table together with all that it depends on"
DEPENDS = (
    "that this table depends on noisy counts of other tables of its release, too: the stated "
    "budget is that of all that it depends on, of which its own noise has {}; it was charged once, "
    "and budgets of tables of one release do not add up"
)
MAX_JSON, MAX_FIELD, WITHDRAWN, NOT_CHECKED = 1 << 26, 1 << 16, "withdrawn", "not checked"
JUNCTION = 0xA0000003  # the tag of a link to a folder on Windows, whose mode is that of a folder


def require(ok: object, message: str) -> None:
    """Raise ValueError with a message if a condition does not hold."""
    if not ok:
        raise ValueError(message)


def plain_files(folder: str) -> list[str]:
    """List all files below a folder; ValueError if there is a link, a pipe or a device."""
    names = []
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            status, where = os.lstat(path), os.path.relpath(path, folder)
            mode, tag = status.st_mode, getattr(status, "st_reparse_tag", 0)
            plain = (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and tag != JUNCTION
            require(plain, f"{where} is a link or a device.")
            names += [where.replace(os.sep, "/")] * stat.S_ISREG(mode)
    return names


def read_card(folder: str) -> dict[str, Any]:
    """Read the card; ValueError for an unknown schema."""
    card = read_json(os.path.join(folder, CARD))
    require(isinstance(card, dict) and card.get("schema") in SCHEMAS, "Its schema is unknown.")
    return {**card, "name": "selection", "files": []} if card["schema"] == SELECTION else card


def read_json(path: str) -> Any:
    """Read JSON strictly, and refuse what readers understand differently."""
    with open(path, "rb") as file:
        data = file.read(MAX_JSON + 1)
    require(len(data) <= MAX_JSON, "The card is too large.")

    # Of a name that occurs twice, some readers take the first value and some the last.
    def require_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "An object of the card has a name twice.")
        return dict(pairs)

    numbers: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), number)
    return json.loads(data.decode("utf-8"), object_pairs_hook=require_unique_names, **numbers)


def number(text: str) -> float:
    """Read a finite number of a sensible length."""
    require(len(text) <= 40 and math.isfinite(float(text)), "The card has an invalid number.")
    return int(text) if re.fullmatch("-?[0-9]+", text) else float(text)


def check_names(folder: str, card: dict[str, Any]) -> str:
    """Require the files that the card lists, all of them inside the folder, and no others."""
    name, there, listed = card["name"], plain_files(folder), [e["name"] for e in card["files"]]
    require(re.fullmatch(r"\w[\w-]*", name) is not None, "The card's name is not a file name.")
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


def check_checksums(folder: str, card: dict[str, Any]) -> str:
    """Require every file to have the SHA-256 of the card and of SHA256SUMS."""
    with open(os.path.join(folder, SUMS), encoding="utf-8") as file:
        sums = {line.rstrip("\n").split("  ", 1)[1]: line.split("  ", 1)[0] for line in file}
    listed = {entry["name"]: entry["sha256"] for entry in card["files"]}
    require(set(sums) == {*listed, CARD}, f"{SUMS} and the card list different files.")
    for name, digest in sums.items():
        actual = sha256(os.path.join(folder, name)).hexdigest()
        require(actual == digest == listed.get(name, digest), f"{name} was changed.")
    return f"all {len(sums)} files have the listed SHA-256"


def sha256(path: str) -> Any:
    """Compute the SHA-256 of a file; more bytes can be added to it."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest


def check_identity(folder: str, card: dict[str, Any]) -> str:
    """Require the release id to be the digest of table and card."""
    text = json.dumps({key: card[key] for key in card if key not in UNHASHED}, sort_keys=True)
    if card["schema"] == ONE_TABLE:
        digest = sha256(os.path.join(folder, card["name"] + ".csv"))
    else:
        # A release in parts has no one table, so that the digests of its files stand for it.
        digest = hashlib.sha256("".join(e["sha256"] + "\n" for e in card["files"]).encode())
    digest.update(text.encode())
    require(digest.hexdigest()[:16] == card["release_id"], "It is not the digest of the files.")
    return str(card["release_id"])


def check_card(folder: str, card: dict[str, Any]) -> str:
    """Require the card not to contradict itself on privacy and domain."""
    guarantee, domain = card["guarantee"], card["domain"]
    is_selection = card["schema"] == SELECTION
    for name in ("epsilon",) if is_selection else ("epsilon", "rho", "delta"):
        text, decimal = guarantee[name], guarantee[name + "_decimal"]
        same = (text is None) == (decimal is None)
        same = same and (text is None or math.isclose(exact(text), decimal))
        require(same, f"{name} and its decimal number differ.")
    has_budget = guarantee["epsilon"] is not None or guarantee.get("rho") is not None
    require(has_budget, "It states no budget.")
    text = guarantee["in_words"] + guarantee["noise_key"]
    require(card["private"] is ("NOT PRIVATE" not in text), "It contradicts itself on privacy.")
    if not is_selection:
        check_promise(card)
        check_errors(card)
    sizes = list(domain["axes"].values())
    require(all(type(n) is int and n > 0 for n in sizes), "Sizes of axes are whole numbers.")
    cells = math.prod(sizes)
    # How many cells a mask or a table of regions leaves is not known from the card alone.
    fewest = 1 if domain["mask"] is not None or isinstance(domain["order"], dict) else cells
    require(fewest <= domain["cells"] <= cells, "The domain has other cells than its axes.")
    labels = [len(each["labels"]) for each in domain["attributes"]]
    require(sizes[len(sizes) - len(labels) :] == labels, "Attributes and axes differ.")
    if is_selection:
        each = exact(guarantee["epsilon"]) / guarantee["rounds"] / exact(guarantee["sensitivity"])
        rate = each / (2 - guarantee["monotone"])
        require(exact(guarantee["rate"]) == rate, "The rate does not follow from the budget.")
        if is_worded(card, card["mechanism"]["noise_format"]):
            words = promise({**guarantee, "delta": None}, "any choice")
            require(guarantee["in_words"] == words, "Its guarantee is worded otherwise.")
    return str(guarantee["in_words"])


def is_worded(card: dict[str, Any], noise_format: str) -> bool:
    """Return whether this file knows the words of the version that has written a card."""
    known = card["software"]["name"] == "geodp" and card["software"]["version"] in WORDED
    return known and noise_format not in EARLIER


def check_promise(card: dict[str, Any]) -> None:
    """Require the numbers and the sentences of a guarantee to follow from each other."""
    guarantee, unit = card["guarantee"], card["guarantee"]["unit"]
    local, origin = guarantee.get("model") == "local", guarantee["key_origin"]
    private = origin in ("entropy", "file", "device")
    require(card["private"] is private, "It contradicts itself on privacy.")
    require(guarantee["spends"] == spends(guarantee), "Its budget in one line is another.")
    epsilon, rho = guarantee["epsilon"], guarantee["rho"]
    times, most = guarantee["l1_sensitivity"], guarantee["contribution"]
    share = exact(guarantee.get("share", "1"))
    require(share < 1 or "share" not in guarantee, "The share of a table is above 0 and below 1.")
    if local:
        key = f"coins of every {unit}, from its operating system; nobody has them"
        bound = f"kept by the {unit}: one report a {guarantee['period']}"
        scale = sigma2 = None
    else:
        key, bound = KEYS[origin], "vouched for by the operator"
        layout = [a for a in guarantee.get("assumptions") or [] if a["stated_by"] == "layout"]
        if guarantee["enforced"]:
            bound = "enforced by geodp on the records"
        elif layout:
            bound = f"stated by the layout {layout[0]['source']}, for one table of its publisher"
        doubled = most * (2 if guarantee["neighbours"] == "replace-one" else 1)
        scale = None if rho is not None else times / (exact(epsilon) * share)
        sigma2 = None if rho is None else times * doubled / (2 * exact(rho) * share)
    same = guarantee["noise_key"] == key and guarantee["contribution_bound"] == bound
    require(same, "Its sentences on the key or the contribution are others.")
    widths = [guarantee[name] for name in ("noise_scale", "noise_sigma2")]
    expected = [None if one is None else str(one) for one in (scale, sigma2)]
    require(widths == expected, "The width of its noise is another.")
    decimal = guarantee["noise_scale_decimal"]
    same = decimal is None if scale is None else math.isclose(decimal, scale)
    require(same, "The width of its noise and its decimal number differ.")
    require_mechanism(card)
    together = ("share" in guarantee) is (TOGETHER in guarantee["in_words"])
    require(together or not private, "Share and guarantee of the table contradict each other.")
    if not is_worded(card, card["mechanism"]["noise_format"]):
        return
    of = TOGETHER if "share" in guarantee else "any result"
    require(guarantee["in_words"] == promise(guarantee, of), "Its guarantee is worded otherwise.")
    groups = "k times epsilon" if rho is None else "k squared times rho"
    facts = [OTHERS, f"groups: k people together are protected with {groups}"]
    facts = LOCAL_FACTS if local else [*facts, *([] if origin == "entropy" else [REPEATS])]
    facts += [DEPENDS.format(share)] if "share" in guarantee else []
    stated = guarantee["not_protected"][: 1 + len(facts)]
    require(stated == [PUBLIC_CARD, *facts], "It words otherwise what is not protected.")
    require_assumptions(card)


def spends(guarantee: dict[str, Any]) -> str:
    """Return the exact parameters of a budget in one line."""
    named = [(name, guarantee.get(name)) for name in ("rho", "epsilon", "delta")]
    return ", ".join(f"{name} = {text}" for name, text in named if text is not None)


def promise(guarantee: dict[str, Any], of: str = "any result") -> str:
    """Return the sentence that follows from the numbers of a guarantee."""
    unit, most = guarantee["unit"], guarantee["contribution"]
    if guarantee.get("model") == "local":
        return (
            f"The place of a {unit} changes the probability of what it sends by a factor of at "
            f"most {factor(guarantee['epsilon'])}, with one report a {guarantee['period']}; only "
            f"the {unit} needs to be trusted."
        )
    if guarantee.get("key_origin") == "fixed":
        return NOT_PRIVATE
    change = f"Adding or removing one {unit}"
    if guarantee["neighbours"] != "add-remove-one":
        change = f"Replacing one {unit} by another"
    counted = f"if each {unit} is counted {'once' if most == 1 else f'at most {most} times'}."
    if guarantee["epsilon"] is None:
        return (
            f"{change} changes the probability of {of} only slightly: the Renyi divergence of "
            f"order a is at most {guarantee['rho']} a for every a above 1, {counted}"
        )
    by = f"{change} changes the probability of {of} by a factor of at most "
    by += f"{factor(guarantee['epsilon'])}, "
    if guarantee["delta"] is not None:
        by += f"plus at most {float(exact(guarantee['delta'])):g}, "
    return by + counted


def factor(text: str) -> str:
    """Return the factor by which a probability may change, as text."""
    epsilon = exact(text)
    return f"{math.exp(epsilon):.4g} (exp({epsilon}))" if epsilon < 100 else f"exp({epsilon})"


def require_mechanism(card: dict[str, Any]) -> None:
    """Require the method to be that of the guarantee, and its flags to be those of its words."""
    mechanism, gaussian = card["mechanism"], card["guarantee"]["rho"] is not None
    require(mechanism["spec"] == card["guarantee"]["mechanism"], "It names two methods.")
    require(mechanism["spec"].partition(":")[0] == mechanism["name"], "It names two methods.")
    kind = "whole numbers" if mechanism["whole"] else "real numbers"
    sign = "none negative" if mechanism["nonnegative"] else "negative ones among them"
    require(mechanism["values"] == f"{kind}, {sign}", "It words its values otherwise.")
    normal = "discrete Gaussian on integers, sampled exactly"
    require(not gaussian or mechanism["noise"] == normal, "It words its noise otherwise.")


def require_assumptions(card: dict[str, Any]) -> None:
    """Require the assumptions to be those of the contribution, the domain and what was public."""
    guarantee, order = card["guarantee"], card["domain"]["order"]
    (bound, *others), unit = guarantee["assumptions"], guarantee["unit"]
    add = f"One {unit} adds at most {guarantee['contribution']:,} to the sum of "
    texts = [f"{add}all counts.", f"{add}the counts that this table is computed from."]
    who = "geodp" if guarantee["enforced"] else "layout" if bound.get("source") else "operator"
    if guarantee.get("model") == "local":
        who, texts = "device", [f"Each {unit} sends at most one report a {guarantee['period']}."]
    same = bound["kind"] == "contribution" and bound["stated_by"] == who
    require(same and bound["statement"] in texts, "It words the contribution otherwise.")
    sources = {
        "mask": (card["domain"]["mask"] or {}).get("source"),
        "table of regions": order["regions"]["source"] if isinstance(order, dict) else None,
        "prior": (card.get("prior") or {}).get("source"),
        "domain": None,
    }
    for one in others:
        kind = one["kind"]
        said = ASSUMED.get(kind) or f"The {kind} is public and was not made from the records."
        same = one["statement"] == said and one["stated_by"] == "operator"
        same = same and kind in (*sources, "public totals")
        require(same, "It words an assumption otherwise.")
        if kind != "public totals" and kind in sources:
            named = one.get("source")
            near = named == sources[kind] or str(named or "").startswith(str(sources[kind]))
            require(near, f"The source of its {kind} is another.")


def check_errors(card: dict[str, Any]) -> None:
    """Require the stated errors to follow from each other, as far as no method is needed."""
    errors = card["expected_error"]
    for block in [*(errors["blocks"] or []), *errors["areas"]]:
        margin = 1.96 * block["standard_error"]
        right = math.isclose(margin, block["margin_95"], rel_tol=2e-5)
        right = right and block["largest"] >= block["standard_error"] * (1 - 1e-5)
        require(right, "A margin of its errors is another.")
    for isolated in (errors["isolated_cell"], errors["isolated_block"]):
        right = isolated is None or isolated["rmse"] >= abs(isolated["bias"]) * (1 - 1e-5)
        require(right, "The error of an isolated cell is below its bias.")
    if errors["blocks"] is None or not is_worded(card, card["mechanism"]["noise_format"]):
        return
    holds = "where nothing is clamped" if card["mechanism"]["nonnegative"] else "wherever it lies"
    require(errors["meaning"] == CLOSED.format(holds), "It words its errors otherwise.")
    if errors["isolated_cell"] is not None:
        holds += "; isolated cells are lowered"
        require(errors["isolated_cell"]["meaning"] == ISOLATED, "It words its errors otherwise.")
    require(errors["holds"] == holds, "It words its errors otherwise.")


def exact(text: str) -> Fraction:
    """Read an exact number above 0."""
    require(re.fullmatch(EXACT, text) and Fraction(text) > 0, "A number of the card is not exact.")
    return Fraction(text)


def coordinate(text: str) -> Fraction:
    """Read an exact number of a description: an integer, a decimal or a fraction."""
    pattern = r"-?[0-9]{1,15}(/[0-9]{1,15}|\.[0-9]{1,15})?"
    require(re.fullmatch(pattern, text) is not None, "The card has an invalid number.")
    return Fraction(text)


def check_counts(folder: str, card: dict[str, Any]) -> str:
    """Require valid counts and intervals, of cells inside the extent, each once, in key order."""
    if card["schema"] == PARTS:
        return "not read: the tables of a release in parts are Parquet"
    name, domain, last, total, rows = card["name"], card["domain"], -1, Fraction(0), 0
    integer, nonnegative = card["mechanism"]["whole"], card["mechanism"]["nonnegative"]
    key_order, errors, seen = KeyOrder.of(folder, card), card["expected_error"], set()
    listed: tuple[array[int], list[Any], array[float], array[float]]
    listed = array("Q"), [], array("d"), array("d")
    cells = errors.get("cells") or {}
    # Which cells a mask leaves out stands in the raster, which is not read here.
    has_tree = cells.get("version") == VERSION and "tree" in cells and domain["mask"] is None
    largest = math.inf if errors["blocks"] is None else errors["blocks"][0]["largest"]
    for rows, row in enumerate(cells_of(folder, card), 1):
        require(rows <= domain["cells"], "There are more rows than cells.")
        value = count(row[name], integer, nonnegative)
        total += value
        if errors["blocks"] is None and "parts" not in cells:
            require(not {*EXTRAS} & set(row), "There are standard errors, and the card has none.")
        else:
            in_range = 0 < float(row["standard_error"]) <= largest
            require(in_range, f"Row {rows}: the standard error is above that of the card.")
            fits = fits_interval(card, *(float(row[column]) for column in (name, *EXTRAS)))
            require(fits, f"Row {rows}: the interval does not fit the count.")
        index = decode(domain, row)
        require(index not in seen, f"Row {rows} repeats a cell of an earlier row.")
        seen.add(index)
        before, last = last, rows if key_order is None else key_order.encode(index)
        require(last > before, f"Row {rows} is not in key order.")
        if has_tree and key_order is not None:
            listed[0].append(last)
            listed[1].append(int(value) if integer else float(value))
            listed[2].append(float(row["low"]))
            listed[3].append(float(row["high"]))
    detail = f"{rows} cells, {total if integer else float(total)} in all"
    if listed[0]:
        assert key_order is not None
        require_ends(Tree(card, key_order, *listed[:2]), *listed[2:])
        detail += "; their intervals follow from the counts"
    return detail


def fits_interval(
    card: dict[str, Any], value: float, error: float, low: float, high: float
) -> bool:
    """Return whether an interval follows from the count and the standard error of its row.

    Where a method clamps, it follows from all counts, see :class:`Tree`.
    """
    errors, cells = card["expected_error"], card["expected_error"].get("cells")
    if not -math.inf < low <= value <= high < math.inf:
        return False
    if cells is None or errors["blocks"] is None or "parts" in cells:
        return True
    if card["mechanism"]["nonnegative"]:
        return low >= 0
    normal = card["guarantee"]["rho"] is not None or card["guarantee"].get("model") == "local"
    margin = (NORMAL if normal else LAPLACE) * error
    # Three decimals of an end are written, six digits of the error, and floats of large counts.
    near = 0.002 + 1e-15 * abs(value) + 1e-5 * margin
    return all(abs(side - margin) <= near for side in (value - low, high - value))


def table(folder: str, file: str, columns: Any = None) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file as dicts."""
    csv.field_size_limit(MAX_FIELD)
    with open(os.path.join(folder, file), encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, strict=True)
        header = next(rows, [])
        require(columns in (None, header), f"{file} has other columns than the card says.")
        for number, row in enumerate(rows, 1):
            require(len(row) == len(header), f"{file}: row {number} has another length.")
            yield dict(zip(header, row))


def cells_of(folder: str, card: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the rows of cells with the codes of their regions; a unit has the code of its cell."""
    name, files = card["name"], {entry["name"]: entry for entry in card["files"]}
    # The table of cells has codes of cells or, where these are units, of units.
    places, regions = card["domain"]["places"], {}
    if name + ".regions.csv" in files:
        finest = [*card["domain"]["order"]["regions"]["levels"].values()][-1]
        units = all([p["rows"], p["cols"], p["crs"]] == [1, finest, None] for p in places)
        regions = {[*r.values()][units]: r for r in table(folder, name + ".regions.csv")}
    for row in table(folder, name + ".csv", files[name + ".csv"]["columns"]):
        for column in ENDS.keys() & row.keys() if regions else ():
            codes = {ENDS[column] + level: code for level, code in regions[row[column]].items()}
            row.update({**codes, column: next(iter(codes.values()))})
        yield row


def count(text: str, integer: bool, nonnegative: bool) -> Fraction:
    """Read a count as a Fraction, so that sums are exact; ValueError if the card excludes it."""
    pattern = (
        r"-?[0-9]{1,20}" if integer else r"-?[0-9]{1,20}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?"
    )
    require(re.fullmatch(pattern, text) is not None, "A count is not a number of the card's kind.")
    value = Fraction(text)
    require(value != 0 and (value > 0 or not nonnegative), "A count is 0 or negative.")
    return value


def decode(domain: dict[str, Any], row: dict[str, Any]) -> tuple[int, ...]:
    """Return the indices of a row's cell, which lies in the extent."""
    places, axes, index = domain["places"], list(domain["axes"]), []
    for column, place in zip(["origin", "destination"] if len(places) == 2 else ["code"], places):
        at = position(row[column], place)
        index += [i - first for i, first in zip(at, place["first"])]
    attributes = domain["attributes"]
    index += [int(row[axis]) for axis in axes[len(index) : len(axes) - len(attributes)]]
    index += [each["labels"].index(row[each["attribute"]]) for each in attributes]
    inside = all(0 <= i < n for i, n in zip(index, domain["axes"].values()))
    require(inside, "A code lies outside the extent.")
    return tuple(index)


def position(code: str, place: dict[str, Any]) -> tuple[int, int]:
    """Read row and column from the code of a cell."""
    family, _, size = (place["code"] or "").partition(":")
    if family == "jis":
        return jis_position(code, JIS[size])
    if family == "quadkey":
        require(re.fullmatch(f"[0-3]{{{int(size)}}}", code), "A code is not one of its system.")
        south, col = (int("".join(str(int(d) >> i & 1) for d in code), 2) for i in (1, 0))
        return (1 << int(size)) - 1 - south, col
    if family == "geohash":
        require(re.fullmatch(f"[{HASH}]{{{int(size)}}}", code), "A code is not one of its system.")
        bits = "".join(f"{HASH.index(letter):05b}" for letter in code)
        return int(bits[1::2] or "0", 2), int(bits[::2], 2)
    if family:
        return Spelling.of(place, place["code"]).read(code)
    match = re.fullmatch("(0|[1-9][0-9]{0,9})_(0|[1-9][0-9]{0,9})", code)
    require(match is not None, "A code is not one of its system.")
    return tuple(map(int, match.groups()))  # type: ignore[union-attr, return-value]


class Spelling:
    """Codes of one size of cells of a grid that a card describes, in their first spelling."""

    @staticmethod
    def of(place: dict[str, Any], name: str) -> Spelling:
        """Return the spelling of the code system of a place."""
        definition = place.get("definition") or INSPIRE
        # The definition is kept with its spelling, so that no other object can get its id.
        kind = id(definition), name
        if kind not in SPELLINGS:
            label = next(n for n in definition["sizes"] if n.lower() == name.rpartition(":")[2])
            SPELLINGS[kind] = definition, Spelling(definition, label)
        spelling: Spelling = SPELLINGS[kind][1]
        return spelling

    def __init__(self, definition: dict[str, Any], label: str) -> None:
        sizes = {name: coordinate(size) for name, size in definition["sizes"].items()}
        require(len(sizes) <= 64, "The card has too many sizes of cells.")
        self.size, low = sizes[label], [coordinate(one) for one in definition["extent"][1::-1]]
        require(min(sizes.values()) > 0, "A size of the card is not above 0.")
        # Codes count from a corner that is one of cells of all sizes, at the edge of the extent.
        lcm, gcd = 1, 0
        for size in sizes.values():
            lcm *= size.numerator // math.gcd(lcm, size.numerator)
            gcd = math.gcd(gcd, size.denominator)
        self.corner = [coordinate(one) for one in definition["origin"][::-1]]
        steps = [max(0, math.ceil((a - b) * gcd / lcm)) for a, b in zip(self.corner, low)]
        self.first = [a - n * Fraction(lcm, gcd) for a, n in zip(self.corner, steps)]
        constants = {"size": str(self.size), "label": label, "epsg": definition["crs"][5:]}
        codes = definition["codes"]
        codes = codes[label] if isinstance(codes, dict) else codes
        squares = definition.get("letters") or {}
        self.parts: list[Any] = []
        for literal, name, width, _ in Formatter().parse(codes if type(codes) is str else codes[0]):
            self.parts.append(literal)
            if name in squares:
                self.parts.append(self.square(squares[name]))
            elif name is not None:
                self.parts.append(
                    constants.get(name) or LETTERS.get(name) or self.number(name, width)
                )
        # Of an axis that several parts name, each part counts what those before it leave.
        named = [axis for part in self.parts for axis in self.axes_of(part)]
        self.shared = {at for at in (0, 1) if named.count(at) > 1 or self.lettered(at)}

    @staticmethod
    def axes_of(part: Any) -> tuple[int, ...]:
        """Return the axes whose index a part of a code depends on."""
        if isinstance(part, Square):
            return tuple(at for at in (0, 1) if part.shape[at] > 1)
        return (part[0],) if isinstance(part, tuple) and len(part) == 4 else ()

    def lettered(self, at: int) -> bool:
        """Return whether letters of squares depend on the index of an axis."""
        return any(isinstance(part, Square) and part.shape[at] > 1 for part in self.parts)

    def square(self, table: dict[str, Any]) -> Square:
        """Return a table of letters of squares; ValueError if their side is no number of cells."""
        rows, cells = table["rows"], coordinate(table["side"]) / self.size
        require(cells >= 1 == cells.denominator, "The letters of the card are of no squares.")
        widths = {len(row) for row in rows}
        require(0 < len(rows) <= 200 and len(widths) == 1, "The letters of the card are no table.")
        return Square(rows, int(cells))

    def number(self, name: str, width: Any) -> tuple[int, Fraction, Fraction, int]:
        """Return axis, a, b and width of a field, which is ``a + b * index``."""
        match = re.fullmatch(NUMBER, name)
        require(match is not None, "The codes of the card are of no known form.")
        minuend, axis, sign, offset, unit = match.groups()  # type: ignore[union-attr]
        at, cells = int(axis in ("east", "col")), axis in ("row", "col")
        zeros = 1
        while unit == "zeros" and self.size % (10 * zeros) == 0:
            zeros *= 10
        start, step = self.first[at], self.size
        if cells:
            start, step = (start - self.corner[at]) / self.size, Fraction(1)
        factor, more = (-1, int(minuend)) if minuend else (1, int((sign or "") + (offset or "0")))
        by = Fraction(zeros if unit == "zeros" else unit or 1)
        return at, (factor * start + more) / by, factor * step / by, int(width or 0)

    def read(self, code: str) -> tuple[int, int]:
        """Read row and column of a code; ValueError if it is not spelt as the card says."""
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
        require(match is not None, "A code is not one of its system.")
        texts = [*zip(parts, match.groups())]  # type: ignore[union-attr]
        below = {part[0] for part, text in texts if self.axes_of(part) == () and text == part[1][1]}
        index = {at: self.start(at) for at in self.shared}
        for part, text in texts:
            if isinstance(part, Square):
                for at in self.axes_of(part):
                    index[at] += part.place(text)[at] * part.cells
            elif self.axes_of(part) and part[0] in self.shared:
                index[part[0]] += int(text) * self.digits(part)[0] // self.digits(part)[1]
            elif self.axes_of(part):
                value = (-int(text) if part[0] in below else int(text)) - part[1]
                require(value % part[2] == 0, "A code is not one of its system.")
                index[part[0]] = int(value / part[2])
        require(self.write(index[0], index[1]) == code, "A code is not one of its system.")
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
                text += part.letter(left, self.axes_of(part))
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
    """A table of letters, one for each square of cells; its rows begin in the north."""

    def __init__(self, rows: list[str], cells: int) -> None:
        self.rows, self.cells, self.shape = rows, cells, (len(rows), len(rows[0]))

    def place(self, letter: str) -> tuple[int, int]:
        """Return the row from the south, and the column."""
        at = "".join(self.rows).index(letter)
        return self.shape[0] - 1 - at // self.shape[1], at % self.shape[1]

    def letter(self, left: list[int], axes: tuple[int, ...]) -> str:
        """Return the letter of a cell, and leave its indices within the square."""
        place = [left[at] // self.cells if at in axes else 0 for at in (0, 1)]
        for at in axes:
            left[at] %= self.cells
        require(0 <= place[0] < self.shape[0], "A code is not one of its system.")
        require(0 <= place[1] < self.shape[1], "A code is not one of its system.")
        return self.rows[self.shape[0] - 1 - place[0]][place[1]]


def jis_position(code: str, factors: tuple[int, ...]) -> tuple[int, int]:
    """Read row and column of a mesh code (JIS X 0410)."""
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


class KeyOrder:
    """The order of cells: which digits their keys have, and which keys are cells of the domain.

    A digit is an axis and a radix, the most significant first. A place in a table of regions has
    one number instead of row and column, whose digits name the first of its two axes.
    """

    @staticmethod
    def of(folder: str, card: dict[str, Any]) -> KeyOrder | None:
        """Return the order of a release; None where its table of regions is not here."""
        domain, order = card["domain"], card["domain"]["order"]
        sizes = list(domain["axes"].values())
        first = [0] * len(sizes)
        if isinstance(order, dict):
            file = card["name"] + ".regions.csv"
            if file not in [entry["name"] for entry in card["files"]]:
                return None
            digits = list(zip(order["axes"], order["radices"]))
            numbers = region_numbers(folder, file, domain)
            return KeyOrder(digits, first, sizes, numbers, 2 * len(domain["places"]))
        if order != "Morton":
            return KeyOrder([*zip(order[0], order[1])], order[2] or first, sizes, {})
        # Morton order: from the highest bit on, one of every axis of the map that has so many.
        bits, space = [(n - 1).bit_length() for n in sizes], len(sizes) - len(domain["attributes"])
        places = range(max(bits[:space], default=0) - 1, -1, -1)
        digits = [(axis, 2) for at in places for axis in range(space) if bits[axis] > at]
        # Attributes stand below all axes of the map, each in its own bits.
        digits += [(axis, 2) for axis in range(space, len(sizes)) for _ in range(bits[axis])]
        return KeyOrder(digits, first, sizes, {})

    def __init__(
        self,
        digits: list[tuple[int, int]],
        first: list[int],
        sizes: list[int],
        numbers: dict[tuple[int, ...], int],
        numbered: int = 0,
    ) -> None:
        self.digits, self.first, self.numbers = digits, first, numbers
        self.numbered = range(0, numbered, 2)
        self.last = [a + n - 1 for a, n in zip(first, sizes)]
        self.existing = sorted(numbers.values())

    def encode(self, index: tuple[int, ...]) -> int:
        """Return the key of a cell."""
        at = [i + a for i, a in zip(index, self.first)]
        for axis in self.numbered:
            place = index[axis : axis + 2]
            require(place in self.numbers, "A cell is not in the table of regions.")
            at[axis] = self.numbers[place]
        key, scale = 0, 1
        for axis, radix in reversed(self.digits):
            key += at[axis] % radix * scale
            at[axis], scale = at[axis] // radix, scale * radix
        return key

    def widths(self, digits: int) -> dict[int, int]:
        """Return the indices of each axis that a node spans whose keys share so many digits."""
        widths = {axis: 1 for axis, _ in self.digits}
        for axis, radix in self.digits[digits:]:
            widths[axis] *= radix
        return widths

    def start(self, prefix: int, digits: int) -> dict[int, int]:
        """Return the first index of each axis of a node whose keys share their first digits."""
        index, scale = {axis: 0 for axis, _ in self.digits}, self.widths(digits)
        for axis, radix in reversed(self.digits[:digits]):
            index[axis] += prefix % radix * scale[axis]
            prefix, scale[axis] = prefix // radix, scale[axis] * radix
        return index

    def children(self, prefix: int, digits: int, below: int) -> int:
        """Return how many nodes of ``below`` digits within a node hold a cell of the domain."""
        children, span, width = 1, self.widths(digits), self.widths(below)
        for axis, first in self.start(prefix, digits).items():
            end, wide = first + span[axis], width[axis]
            if axis in self.numbered:
                # Regions differ in size: not every number within a node is that of a place.
                low, high = (bisect_left(self.existing, one) for one in (first, end))
                children *= len({number // wide for number in self.existing[low:high]})
            else:
                # The extent is a box, so that a node has the children of a box, axis by axis.
                low, high = max(first, self.first[axis]), min(end - 1, self.last[axis])
                children *= max(0, high // wide - low // wide + 1)
        return children


def region_numbers(folder: str, file: str, domain: dict[str, Any]) -> dict[tuple[int, ...], int]:
    """Return the numbers of places by row and column, from the release's table of regions.

    A number has digits for the region within the one above it, level by level, and then for the
    place within its region; all of them count from 0 in the order of the table.
    """
    place, order, chains = domain["places"][0], domain["order"], []
    for row in table(folder, file):
        codes = tuple(row.values())  # the place's own and those of its regions, the finest first
        chains.append([codes[start:] for start in range(len(codes))][::-1])
    # A region is named by its path of codes, as two counties may have towns of one code.
    ranks: list[dict[Any, int]] = [{} for _ in max(chains, key=len, default=[])]
    parts: list[dict[Any, int]] = [{} for _ in ranks]
    for chain in chains:
        for rank, count_of, path in zip(ranks, parts, chain):
            if path not in rank:
                rank[path] = count_of.get(path[1:], 0)
                count_of[path[1:]] = rank[path] + 1
    # A level has the fewest digits that number its largest region, and none if that has one part.
    radices = [radix for axis, radix in zip(order["axes"], order["radices"]) if axis == 0]
    sizes = []
    for count_of in parts:
        size = 1
        while size < max(count_of.values()):
            size *= radices.pop(0)
        sizes.append(size)
    numbers = {}
    for chain in chains:
        number = 0
        for rank, size, path in zip(ranks, sizes, chain):
            number = number * size + rank[path]
        at = [i - first for i, first in zip(position(chain[-1][0], place), place["first"])]
        numbers[tuple(at)] = number
    return numbers


class Error(NamedTuple):
    """The error of a node's count, given which nodes were released as 0.

    Variance and fourth cumulant of its noise, the variance of the people in nodes that were
    released as 0 (``hidden``), how many it received from elsewhere (``moved``; negative: it lost
    them), and whether a node above has a child that was released as 0 (``clamped``).
    """

    variance: float
    fourth: float
    hidden: float = 0.0
    moved: float = 0.0
    clamped: bool = False

    def interval(self, count: float) -> tuple[float, float]:
        """Return the low and the high end of the 95 % interval around a released count."""
        # A sum that is known exactly has no variance to divide the tails by.
        variance = max(self.variance + self.hidden, 1e-12)
        # The longer the tails, the nearer to Laplace noise.
        excess = min(max(self.fourth / variance**2 / 3, 0.0), 1.0)
        margin = (NORMAL + (LAPLACE - NORMAL) * excess) * math.sqrt(variance)
        # Where nothing was released as 0, few people are no sign of empty children.
        moved = self.moved if self.clamped else 0.0
        return max(count - margin - max(moved, 0.0), 0.0), count + margin + max(-moved, 0.0)


class Level(NamedTuple):
    """Moments of the children of the nodes of a level, and the rule that drops some of them.

    ``digits``, ``below``: how many digits the keys of a node share, and those of a child.
    """

    digits: int
    below: int
    variance: float
    fourth: float
    threshold: float
    scale: float

    def hand_down(self, above: Error, counts: list[Any], possible: int) -> Iterator[Error]:
        """Yield the errors of the listed children of a node, of so many that it can have."""
        listed, zeros = len(counts), possible - len(counts)
        # Noise lifts a child above the threshold the more often, the more people it has.
        kept = min((listed + 1) / (possible + 2), 0.5)
        dropped = max(self.threshold - self.scale * math.log(0.5 / kept), 0.0)
        part = listed / possible
        unseen = HIDDEN * part * min(part / FEW, 1.0) * self.variance + DROPPED_SQUARE * dropped**2
        # A child has all of its own error, and each of those that are listed an equal part of it.
        mean = 1 / listed
        squares = (1 - mean) ** 2 + (listed - 1) * mean**2
        powers = (1 - mean) ** 4 + (listed - 1) * mean**4
        error = Error(
            self.variance * squares + above.variance * mean**2,
            self.fourth * powers + above.fourth * mean**4,
            (unseen * zeros + above.hidden) * mean**2,
            (DROPPED * dropped * zeros + above.moved) * mean,
            above.clamped or zeros > 0,
        )
        # A weak child may be empty: the others, if there are any, lack what it received.
        bound = WEAK * math.sqrt(self.variance) + self.threshold
        weak = [count for count in counts if count < bound]
        people, firm = sum(weak), listed - len(weak)
        for count in counts:
            received = count if count < bound else 0
            given = mean if firm == 0 else 0.0 if count < bound else 1 / firm
            yield error._replace(moved=error.moved + MOVED * (received - given * people))


class Tree:
    """The card's tree over the listed cells: from all counts follow the intervals."""

    def __init__(
        self, card: dict[str, Any], order: KeyOrder, key: array[int], value: list[Any]
    ) -> None:
        tree = card["expected_error"]["cells"]["tree"]
        fanouts, variances = tree["fanouts"], tree["variances"]
        fourths = tree["fourth_cumulants"] or [0.0] * len(variances)
        drops = tree["dropped"] or [(0.0, 0.0)] * len(fanouts)
        self.order, self.key, self.sums = order, key, [0, *accumulate(value)]
        self.root, self.levels, digits = Error(variances[0], fourths[0]), [], 0
        self.strides = [math.prod(radix for _, radix in order.digits)]
        require(math.prod(fanouts) == self.strides[0], "The card's tree is not one of its cells.")
        for i, fanout in enumerate(fanouts):
            below, size = digits, 1
            while size < fanout:
                size *= order.digits[below][1]
                below += 1
            require(size == fanout, "A level of the card's tree splits a digit of its keys.")
            self.levels.append(Level(digits, below, variances[i + 1], fourths[i + 1], *drops[i]))
            self.strides.append(self.strides[-1] // fanout)
            digits = below

    def intervals(self) -> Iterator[tuple[float, float]]:
        """Yield the low and the high end of each cell."""
        return self.descend(0, 0, len(self.key), self.root)

    def descend(
        self, depth: int, first: int, last: int, error: Error
    ) -> Iterator[tuple[float, float]]:
        """Yield the ends of all cells in a node, which hands its error down to its children.

        ``first``, ``last``: the rows of these cells.
        """
        if depth == len(self.levels):
            yield error.interval(self.sums[last] - self.sums[first])
            return
        level, stride, starts, counts = self.levels[depth], self.strides[depth + 1], [first], []
        while starts[-1] < last:
            end = (self.key[starts[-1]] // stride + 1) * stride
            starts.append(bisect_left(self.key, end, starts[-1], last))
            counts.append(self.sums[starts[-1]] - self.sums[starts[-2]])
        node = self.key[first] // self.strides[depth]
        possible = self.order.children(node, level.digits, level.below)
        errors = level.hand_down(error, counts, possible)
        for start, stop, each in zip(starts, starts[1:], errors):
            yield from self.descend(depth + 1, start, stop, each)


def require_ends(tree: Tree, low: array[float], high: array[float]) -> None:
    """Require the intervals in the rows to be those that follow from all counts."""
    for row, (begin, end) in enumerate(tree.intervals(), 1):
        # Ends are written outwards with three decimals, and numbers of the card with nine digits.
        near = 1e-6 + 1e-8 * (end - begin) + 1e-15 * end
        outside = begin - low[row - 1], high[row - 1] - end
        ok = all(-near <= one <= 0.001 + near for one in outside)
        require(ok, f"Row {row}: the interval is not {begin:.3f} to {end:.3f}.")


def check_areas(folder: str, card: dict[str, Any]) -> str:
    """Require the tables of areas to have the sums of their cells."""
    if card["schema"] == PARTS:
        return "none"
    name, levels = card["name"], []
    integer, nonnegative = card["mechanism"]["whole"], card["mechanism"]["nonnegative"]
    cells = list(cells_of(folder, card))
    for entry in (e for e in card["files"] if e["name"].endswith(".csv") and "level" in e):
        file = entry["name"]
        sums: dict[Any, Fraction] = {}
        expected: dict[Any, Fraction] = {}
        columns = [c for c in entry["columns"] if c not in (name, "standard_error")]
        for row in table(folder, file, entry["columns"]):
            key = tuple(row[column] for column in columns)
            require(key not in sums, f"{file} has an area twice.")
            sums[key] = count(row[name], integer, nonnegative)
        for row in cells:
            key = tuple(area_of(row, c, entry["level"], card["domain"]["places"]) for c in columns)
            expected[key] = expected.get(key, 0) + count(row[name], integer, nonnegative)
        expected = {key: value for key, value in expected.items() if value != 0}
        # Sums of real numbers depend on the order in which they are added up.
        near = 0 if integer else 1e-9
        same = set(sums) == set(expected)
        same = same and all(abs(v - expected[key]) <= near * abs(v) for key, v in sums.items())
        require(same, f"The sums of {file} are not those of its cells.")
        levels.append(entry["level"])
    return f"{', '.join(levels)}: the sums of their cells" if levels else "none"


def area_of(row: dict[str, str], column: str, level: str, places: list[dict[str, Any]]) -> str:
    """Return the value that a column of an area's table has for a cell."""
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


def check_answers(folder: str, card: dict[str, Any]) -> str:
    """Require the requested number of answers, each once; codes of cells lie in the extent."""
    question, chosen, domain = card["question"], card["chosen"], card["domain"]
    right = len(chosen) == question["chosen"] <= question["candidates"]
    require(right, "There are other answers than were requested.")
    each = {json.dumps(one, sort_keys=True) for one in chosen}
    require(len(each) == len(chosen), "An answer is there twice.")
    detail = f"{len(chosen)} of {question['candidates']} candidates, each once"
    if question["name"] != "top" or "level" in question:
        return detail
    require(question["candidates"] == domain["cells"], "The candidates are not the cells.")
    require(len({decode(domain, one) for one in chosen}) == len(chosen), "A cell is there twice.")
    return detail + "; codes lie in the extent"


def describe_notice(folder: str, seal: str) -> str:
    """Return the text of a notice of withdrawal beside a public folder; "" without one.

    ``seal``: the card or the index, whose digest the notice has.
    """
    parent, name = os.path.split(os.path.abspath(folder))
    path = os.path.join(parent, NOTICE)
    # The card may have been taken out of its folder: then nothing beside it belongs to it.
    if name != "public" or not os.path.lexists(path):
        return ""
    try:
        require(stat.S_ISREG(os.lstat(path).st_mode), "It is a link or a device.")
        # No digest covers the notice, so that it has to name the card that it is about.
        notice, digest = read_json(path), sha256(os.path.join(folder, seal)).hexdigest()
        require(notice["card_sha256"] == digest, "It is of another release.")
        use = f" Use the release {notice['use']} instead." if notice["use"] else ""
        return f"THIS RELEASE WAS WITHDRAWN on {notice['date']}: {notice['reason']}{use}"
    except BROKEN:
        return f"{NOTICE} stands beside it and cannot be read, or is of another release."


ALWAYS = {"files": check_names, "checksums": check_checksums, "release id": check_identity}
CHECKS = {**ALWAYS, "card": check_card, "counts": check_counts, "areas": check_areas}
SELECTION_CHECKS = {**ALWAYS, "card": check_card, "answers": check_answers}
READING = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, csv.Error)
BROKEN = (*READING, RecursionError, StopIteration)


def verify(folder: str) -> Iterator[tuple[str, bool, str]]:
    """Yield (name, whether it holds, detail) of each check of a release."""
    folder = [*filter(os.path.isdir, [os.path.join(folder, "public")]), folder][0]
    seal = find_seal(folder)
    try:
        plain_files(folder)
        if notice := describe_notice(folder, seal):
            yield WITHDRAWN, True, notice
    except BROKEN as error:
        yield "card", False, str(error) or type(error).__name__
        return
    yield from verify_card(folder) if seal == CARD else verify_index(folder, seal)


def find_seal(folder: str) -> str:
    """Return the name of the index in a folder of several releases, or that of a card."""
    # Kinds of other packages have other names, and a folder of files has no other document.
    names = (*INDEXES, *sorted(one for one in os.listdir(folder) if one.endswith(".json")))
    there = [name for name in names if os.path.isfile(os.path.join(folder, name))]
    return CARD if os.path.isfile(os.path.join(folder, CARD)) or not there else there[0]


def verify_card(folder: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the checks of the release of one table, or of a selection."""
    try:
        card = read_card(folder)
    except BROKEN as error:
        yield "card", False, str(error) or type(error).__name__
        return
    checks = SELECTION_CHECKS if card["schema"] == SELECTION else CHECKS
    for name, check in checks.items():
        try:
            yield name, True, check(folder, card)
        except BROKEN as error:
            yield name, False, str(error) or type(error).__name__
            # Other checks would open a link, or a file outside of the folder.
            if name == "files":
                return


def verify_index(folder: str, seal: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the checks of an index, and of each release that it lists."""
    try:
        index = read_json(os.path.join(folder, seal))
        names = list_parts(index, seal)
        yield "files", True, check_listed(folder, seal, names, index)
    except BROKEN as error:
        yield "files", False, str(error) or type(error).__name__
        return
    try:
        yield "index", True, check_index(folder, seal, index)
    except BROKEN as error:
        yield "index", False, str(error) or type(error).__name__
    for name in names:
        part = os.path.join(folder, name)
        inner = find_seal(part)
        yield from (
            (f"{name}: {check}" if check != NOT_CHECKED else check, ok, detail)
            for check, ok, detail in (
                verify_card(part) if inner == CARD else verify_index(part, inner)
            )
        )
    unread = PERIODS_UNREAD if form_of(index, seal) == PERIODS else MAPS_UNREAD
    yield NOT_CHECKED, True, f"Only geodp verify checks {UNREAD.get(seal, unread)}."


def form_of(index: dict[str, Any], seal: str) -> tuple[str, str, str]:
    """Return which field of an index lists releases, the name of each folder, and its words."""
    return INDEXES.get(seal, PERIODS if "periods" in index else MAPS)


def list_parts(index: dict[str, Any], seal: str) -> list[str]:
    """Return the names of the folders that an index lists; ValueError for another name."""
    field, key, _ = form_of(index, seal)
    names = [one[key] for one in index[field]]
    plain = all(re.fullmatch(r"[0-9a-z][0-9a-zT-]{0,40}", name) for name in names)
    require(names and plain and len(set(names)) == len(names), "It lists no folders of releases.")
    return names


def list_cards(folder: str) -> list[dict[str, Any]]:
    """Return the cards of all releases in a folder; an index is none."""
    seal = find_seal(folder)
    plain = read_json(os.path.join(folder, seal))
    if seal == CARD:
        return [plain]
    parts = (os.path.join(folder, name) for name in list_parts(plain, seal))
    return [card for part in parts for card in list_cards(part)]


def check_listed(folder: str, seal: str, names: list[str], index: dict[str, Any]) -> str:
    """Require exactly the listed files and folders, and the SHA-256 of every file."""
    # The index of a series of amounts lists none: all of its files lie in its periods.
    files = index.get("files", [])
    with open(os.path.join(folder, SUMS), encoding="utf-8") as file:
        sums = {line.rstrip("\n").split("  ", 1)[1]: line.split("  ", 1)[0] for line in file}
    there = {name for name in plain_files(folder) if name != SUMS}
    other = ", ".join(sorted(there ^ set(sums)))
    require(not other, f"{SUMS} does not list exactly the existing files: {other}.")
    listed = {seal, SUMS, *names, *(entry["name"] for entry in files)}
    require(set(os.listdir(folder)) == listed, "The index lists other files than there are.")
    for name, digest in sums.items():
        require(sha256(os.path.join(folder, name)).hexdigest() == digest, f"{name} was changed.")
    for entry in files:
        require(
            sums[entry["name"]] == entry["sha256"], f"{entry['name']} is not that of the index."
        )
    return f"all {len(sums)} files have the listed SHA-256"


def check_index(folder: str, seal: str, index: dict[str, Any]) -> str:
    """Require an index to agree with the cards that it lists, and its words with its budget."""
    field, key, together = form_of(index, seal)
    guarantee, cards = index["guarantee"], list_cards(folder)
    for name in ("epsilon", "rho", "delta"):
        text, decimal = guarantee[name], guarantee[name + "_decimal"]
        same = (text is None) == (decimal is None)
        require(same and (text is None or math.isclose(exact(text), decimal)), f"{name} differs.")
    require(guarantee["spends"] == spends(guarantee), "Its budget in one line is another.")
    for one in index[field]:
        inner = os.path.join(folder, one[key])
        card = find_seal(inner)
        digest = sha256(os.path.join(inner, card)).hexdigest()
        require(
            digest == one.get("card_sha256", one.get("index_sha256")), f"{one[key]} is another."
        )
        part = read_json(os.path.join(inner, card))
        require(
            one.get("release_id") == part.get("release_id"), f"The id of {one[key]} is another."
        )
        for name in ("private", "budget", "software"):
            require(part[name] == index[name], f"{one[key]} has another {name} than the index.")
        said = [part["guarantee"][name] for name in ("unit", "neighbours")]
        near = said[1] == guarantee["neighbours"] and said[0] in (
            guarantee["unit"],
            index.get("unit"),
        )
        require(near, f"{one[key]} protects somebody else than the index says.")
    origins = {card["guarantee"].get("key_origin") for card in cards}
    formats = {"", *((card.get("mechanism") or {}).get("noise_format", "") for card in cards)}
    if not all(is_worded(index, one) for one in formats) or None in origins:
        return f"{len(index[field])} releases; their budget is {guarantee['spends']}"
    (origin,) = origins
    words = promise({**guarantee, "key_origin": origin}, f"any result of {together} together")
    if field == "periods" and words != NOT_PRIVATE:
        words = f"{words[:-1]} in each period."
    require(guarantee["in_words"] == words, "Its guarantee is worded otherwise.")
    return str(guarantee["in_words"])


def main(arguments: list[str]) -> int:
    """Print the result of every check; return the exit code."""
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print("Usage: python -I verify_release.py FOLDER", file=sys.stderr)
        return 2
    bad = False
    for name, ok, detail in verify(arguments[0]):
        # Texts of a card are a stranger's, and must not steer the terminal.
        text = "".join(letter if letter.isprintable() else "?" for letter in detail[:500])
        print(
            "NOTE  " if name in (WITHDRAWN, NOT_CHECKED) else "ok    " if ok else "FAILED",
            f" {name}: {text}",
        )
        bad = bad or not ok
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
