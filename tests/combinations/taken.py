"""One combination, taken through everything, and what must hold whatever it is."""

import json
import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np

import geodp
from geodp.errors import GeodpError, UsageError
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write import picture
from geodp.io.write.picture import draw_map
from geodp.io.write.view import View
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP, ZeroConcentratedDP
from geodp.release.report.markdown import markdown
from geodp.tools.plan.api import read_plan
from tests.combinations.draws import Draw
from tests.command import geodp as command

DATASET = "census"

CHANGED = ("old", "new", "value", "standard_error", "low", "high")
"""Figures of a change, as ``geodp diff`` prints them."""


@dataclass(frozen=True)
class Outcome:
    """What became of a draw: ``published``, ``refused`` with a reason, or ``failed`` with one."""

    draw: Draw
    kind: str
    why: str = ""


class Broken(AssertionError):
    """Something that must hold does not."""


def hold(claim: object, sentence: str) -> None:
    if not claim:
        raise Broken(sentence)


def take(draw: Draw, folder: Path) -> Outcome:
    """Publish, and ask everything of the release; a refusal is lawful before the charge only."""
    ledger = None
    try:
        ledger = _ledger(draw, folder) if draw.ledger else None
        table, release, given = _published(draw, folder, ledger)
    except GeodpError as error:
        if ledger is not None and ledger.charges(DATASET):
            return Outcome(draw, "failed", f"refused after the charge: {error}")
        if not re.search(r"\w{3,}.*[.]$", str(error), re.DOTALL):
            return Outcome(draw, "failed", f"a refusal that is no sentence: {error!r}")
        return Outcome(draw, "refused", re.sub(r"[\d,./^*]+", "#", str(error))[:70])
    except Exception as error:
        return Outcome(draw, "failed", f"publish: {type(error).__name__}: {error}")
    for step in (_counts, _files, _again, _changes, _maps, _estimates, _plan, _evaluation):
        try:
            step(draw, table, release, given, folder)
        except Exception as error:
            return Outcome(draw, "failed", f"{step.__name__[1:]}: {type(error).__name__}: {error}")
    return Outcome(draw, "published")


def _ledger(draw: Draw, folder: Path) -> Ledger:
    gaussian = draw.terms["rho"] is not None or draw.terms["delta"] is not None
    most = Fraction(1, 2) if draw.seed % 29 == 0 else Fraction(1000)
    cap = ZeroConcentratedDP(most) if gaussian else PureDP(most)
    ledger = Ledger.create(folder / "office.ledger")
    terms = {name: draw.terms[name] for name in ("unit", "neighbours")}
    ledger.add_dataset(DATASET, cap, **terms)
    return ledger


def _published(draw, folder, ledger):
    table = geodp.CountTable.from_index(draw.grid, draw.index, draw.count)
    given = {
        **draw.terms,
        "method": draw.method,
        "key": _key(draw, folder),
        "ledger": ledger,
        "dataset": None if ledger is None else DATASET,
    }
    return table, geodp.publish(table, **{"contribution": 1, **given}), given


def _key(draw, folder):
    secret = np.random.default_rng(draw.seed + 1).bytes(32)
    if draw.key == "fixed":
        return NoiseKey(secret)
    if draw.key == "entropy":
        return None
    path = folder / "key"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(secret.hex())
    return NoiseKey.from_file(path)


def _counts(draw, table, release, given, folder):
    """Cells of the domain, of the promised kind; areas add up; the card is plain values."""
    key, count, method = release.table.key, release.table.count, mechanism(draw.method)
    hold(draw.grid.contains_keys(key).all(), "a cell outside the domain")
    hold(np.isfinite(count).all() and (count != 0).all(), "a count that is 0 or no number")
    hold(not method.nonnegative or (count > 0).all(), "a negative count")
    hold(method.whole == (count.dtype == np.int64), "counts of another kind than promised")
    near = 1e-9 * float(np.abs(count).sum()) + 1e-6
    for areas in release.areas():
        hold(abs(areas.count.sum() - release.table.total) <= near, f"sums of {areas.level}")
        if areas.standard_error is not None:
            hold(np.isfinite(areas.standard_error).all(), f"errors of {areas.level}")
    if _precise(draw):  # nobody is lost on the way
        people = int(table.count.sum())
        off = abs(release.table.total - people)
        hold(off <= people / 20 + 20 * draw.grid.size, f"{off} people of {people} lost or made up")
    card = release.card()
    plain = card.to_json()
    hold(json.loads(json.dumps(plain)) == plain, "a card of other than plain values")
    hold(card.private == (draw.key != "fixed"), "private or not")


def _precise(draw):
    """Whether noise is so small that the total tells.

    The program of barak has other aims, and the sums of matrix wrap around above 2**55 people.
    """
    epsilon, name = Fraction(draw.terms["epsilon"] or 0), draw.method.partition(":")[0]
    exact = name != "barak" and (name != "matrix" or draw.count.sum() < 1 << 55)
    return exact and epsilon >= 20 and draw.terms["contribution"] == 1


def _quick(draw):
    """Maps take long, so most draws leave them out."""
    if draw.whole:
        return nullcontext()
    return mock.patch.object(picture, "why_no_picture", return_value="it is not drawn")


def _files(draw, table, release, given, folder):
    """Written, verified, reported, read back, drawn again."""
    with _quick(draw):
        release.write(folder / "out", name=draw.name)
    failed = [f"{check.name}: {check.detail}" for check in verify(folder / "out") if not check.ok]
    hold(not failed, f"not verified: {failed}")
    again, card = read_release_table(folder / "out")
    drawn = (folder / "out" / "public" / f"{draw.name}.tif").exists()
    known = draw.grid if drawn or draw.grid.mask is None else replace(draw.grid, mask=None)
    hold(again.grid == known, "another grid is read back")  # a mask stands in the raster alone
    hold(np.array_equal(again.key, release.table.key), "other cells are read back")
    hold(np.array_equal(again.count, release.table.count), "other counts are read back")
    hold(len(markdown(card)) > 500, "a report of a few words")
    if draw.whole and draw.grid.places:
        drawn, view = folder / "out" / "public" / f"{draw.name}.png", View(again, card)
        # Pairs of a map whose method has no errors of pairs have no picture by themselves.
        untold = bool(draw.grid.maps.missing) and card.expected_error.blocks is None
        hold(drawn.exists() != untold, "a picture too few or too many")
        hold(untold or draw_map(view) == drawn.read_bytes(), "another map")


def _again(draw, table, release, given, folder):
    """The same key gives the same bytes, and is charged once."""
    charges = None
    if given["ledger"] is not None:
        charges = len(given["ledger"].charges(DATASET))
        hold(charges == 1, f"{charges} charges for one release")
    if draw.key == "entropy":
        return
    second = geodp.publish(table, **{"contribution": 1, **given})
    hold(np.array_equal(second.table.key, release.table.key), "other cells with the same key")
    hold(np.array_equal(second.table.count, release.table.count), "other counts, the same key")
    if charges:
        hold(len(given["ledger"].charges(DATASET)) == 1, "a replay was charged")
        hold(second.charge.replay, "a replay that does not say so")
    if draw.whole:
        second.write(folder / "second", name=draw.name)
        one, two = (
            {p.name: p for p in (folder / f / "public").iterdir()} for f in ("out", "second")
        )
        hold(set(one) == set(two), "other files with the same key")
        other = [name for name in one if one[name].read_bytes() != two[name].read_bytes()]
        hold(not other, f"other bytes with the same key: {other}")


def _changes(draw, table, release, given, folder):
    """Compared with a second draw of the same table: every cell of either, within its interval."""
    other = geodp.publish(table, **{**given, "key": None, "ledger": None, "dataset": None})
    with mock.patch.object(picture, "why_no_picture", return_value="it is not drawn"):
        other.write(folder / "other", name=draw.name)
    done = command("diff", folder / "out", folder / "other", "--json")
    if done.returncode:
        hold(done.returncode == 2, f"diff: {done.stderr}")
        hold(re.search(r"\w{3,}.*[.]\n$", done.stderr, re.DOTALL), f"no sentence: {done.stderr}")
        return
    rows = json.loads(done.stdout)["differences"]
    listed = np.union1d(release.table.key, other.table.key)
    hold(len(rows) == listed.size, f"{len(rows)} changes of {listed.size} cells")
    for row in rows:
        old, new, change, error, low, high = (row[name] for name in CHANGED)
        near = 1e-9 * (abs(old) + abs(new)) + 1e-6
        hold(abs(new - old - change) <= near, f"{new} less {old} is no {change}")
        hold(np.isfinite([error, low, high]).all(), "no finite interval of a change")
        hold(low - near <= change <= high + near, f"a change of {change} out of its interval")


def _maps(draw, table, release, given, folder):
    """Drawn with a look that is drawn itself, alone and beside an earlier release."""
    if not draw.whole:
        return
    random, placed = np.random.default_rng(draw.seed + 3), len(draw.grid.places) == 1
    looks = [["--dark"], ["--no-fade"], ["--unit", "households"], ["--size", "300"]]
    if placed and draw.grid.places[0].crs is not None:
        looks.append(["--graticule"])
    for compare in ([], ["--compare", folder / "other"]):
        look = [word for one in looks if random.random() < 0.4 for word in one]
        path = folder / f"map-{len(compare)}.{random.choice(['png', 'svg'])}"
        done = command("map", folder / "out", *compare, *look, "--output", path)
        hold(done.returncode in (0, 2), f"map: {done.stderr}")
        hold(path.exists() == (done.returncode == 0), "a map that is not there, or half")
        said = re.search(r"\w{3,}.*[.]\n$", done.stderr, re.DOTALL)
        hold(done.returncode == 0 or said, f"no sentence: {done.stderr}")
        shown = (folder / "out" / "public" / f"{draw.name}.png").exists()
        lawful = done.returncode == 0 or not shown or (compare and not placed)
        hold(lawful, f"a map of the release is not drawn: {done.stderr}")


def _estimates(draw, table, release, given, folder):
    """Estimates of a cell, a block and a place are sums of counts, within finite intervals."""
    random, grid = np.random.default_rng(draw.seed + 2), draw.grid
    at = int(random.integers(table.key.size))
    cell = grid.decode(table.key[at : at + 1])
    stride = int(np.prod(grid.order.radices[int(random.integers(len(grid.order.radices) + 1)) :]))
    every = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    every = every[:, grid.contains(every)]
    keys = np.sort(grid.encode(every))
    block = keys[keys // np.uint64(stride) == table.key[at] // np.uint64(stride)]
    asked = [cell, block]
    if len(grid.places) == 1 and grid.places[0].transform is not None:
        west, south, east, north = grid.places[0].bounds
        asked.append((west, south, east, north))
    if len(grid.places) == 1 and grid.places[0].system is not None:
        asked.append(str(grid.places[0].format(*cell[:2])[0]))
    tree = release.method.tree_variance(grid, release.event)
    for region in asked:
        try:
            found = release.estimate(region)
        except UsageError as error:
            hold(tree is None, f"no estimate: {error}")
            continue
        hold(np.isfinite([found.standard_error, found.low, found.high]).all(), "no finite interval")
        hold(found.standard_error >= 0, "an error below 0")
        near = 1e-9 * (abs(found.count) + 1)
        hold(found.low <= found.count + near, f"{found.count} below its interval")
        hold(found.high >= found.count - near, f"{found.count} above its interval")
    total = release.estimate(keys).count if tree is not None else release.table.total
    near = 1e-9 * float(np.abs(release.table.count).sum()) + 1e-6
    hold(abs(total - release.table.total) <= near, "the total of all cells")


def _plan(draw, table, release, given, folder):
    """Planned before: the errors of the card."""
    planned = geodp.plan(draw.grid, draw.method, **draw.terms)
    stated = release.card().expected_error
    if stated.blocks is None:
        hold(not planned.blocks, "errors that the card does not have")
    else:
        finest = planned.blocks[0]
        for name in ("standard_error", "largest"):
            planned_error, cards = getattr(finest, name), getattr(stated.blocks[0], name)
            hold(abs(planned_error / cards - 1) < 1e-4, f"{name}: {planned_error}, card {cards}")
        hold(len(stated.areas) <= len(planned.areas), "areas of the card that are not planned")
    json.dumps(planned.to_dict())
    path = folder / "plan.toml"
    path.write_text(planned.toml(), encoding="utf-8")
    read_plan(path).require_grid(draw.grid)


def _evaluation(draw, table, release, given, folder):
    """Measured: finite figures, and the largest block is everything."""
    terms = {n: draw.terms[n] for n in ("epsilon", "rho", "delta", "neighbours", "contribution")}
    found = geodp.evaluate(
        table,
        methods=draw.method,
        **terms,
        trials=1 + draw.seed % 2,
        key=NoiseKey(bytes(32)),
        rectangles=3 if len(draw.grid.places) == 1 else 0,
    )
    (figures,) = found.methods.values()
    hold(np.isfinite(figures["rmse"]).all(), "an error that is no number")
    hold(found.blocks[-1] == 1, f"{found.blocks[-1]} blocks of all cells")
    hold(found.cells == draw.grid.size, "other cells")
