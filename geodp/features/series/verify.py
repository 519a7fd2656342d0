"""Verification of a written series: its index, its snapshots, its budget."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from geodp.errors import Rule
from geodp.features.series.card import SeriesCard, SharingInfo
from geodp.features.series.files import list_shared
from geodp.features.series.formats import netcdf
from geodp.features.series.series import state_guarantee
from geodp.features.series.smoothing import Smoothing
from geodp.io.crs import same_crs
from geodp.io.folder.kinds import Check
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import (
    check_checksums,
    read_listed_card,
    require_losses,
    require_one_correction,
    verify_index,
)
from geodp.io.verify.readback import (
    event_of,
    explain_errors,
    read_masked_grid,
    read_release_table,
)
from geodp.io.verify.remade import Remake
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.write.view import View
from geodp.mechanisms import Mechanism, find_method
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.release.periods import Periods
from geodp.release.release import SMOOTHED
from geodp.release.sharing import (
    CROSSING,
    SHOWN,
    count_changed,
    count_levels,
    describe_sharing,
    spread_loss,
)
from geodp.release.verifying_series import check_parts
from geodp.table.card import Card, File, LeftOut
from geodp.table.index import OF_PERIOD, describe_period, read_amounts
from geodp.table.plain import write_plain

PROMISES = Rule(
    "series-snapshot-promises-otherwise", "The guarantee of a snapshot differs from the index."
)

EMPTY = Rule("series-without-snapshots", "The index lists no snapshots.")


def verify_series(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index of a written series matches its snapshots, and verify each of these.

    Parameters
    ----------
    folder : path
        Folder of its public files.
    errors : callable, optional
        See :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Checks of the index, and one for every snapshot, with the checks that failed there.
    """
    return verify_index(folder, SeriesCard, QUESTIONS, _list_times, errors)


def _list_times(card: SeriesCard) -> list[str]:
    return [one.time for one in card.snapshots]


def _check_checksums(folder: Path, card: SeriesCard) -> str:
    return check_checksums(folder / card.file, card.files, _list_times(card))


def _read(folder: Path, card: SeriesCard) -> dict[str, tuple[Card, Measurement]]:
    """Read the card of every snapshot, and the event of its own noise, by time."""
    require(bool(card.snapshots), EMPTY)
    found = {}
    for one in card.snapshots:
        snapshot = read_listed_card(folder / one.time, one, card.name, card)
        event = event_of(snapshot)
        require(
            isinstance(event, Measurement),
            Rule("series-not-measured", "A snapshot of the series was not measured."),
        )
        found[one.time] = snapshot, cast(Measurement, event).own
    return found


def _check_times(folder: Path, card: SeriesCard) -> str:
    periods = Periods.of(_list_times(card))
    require(
        periods.step == card.step,
        Rule("series-step-differs", "The length of the snapshots differs from the index."),
    )
    return f"{len(periods.names)} {periods.step}s, none missing"


def _check_snapshots(folder: Path, card: SeriesCard) -> str:
    """Check that every snapshot is the one in the index, on one grid, with all its loss."""
    read, smoothing = _read(folder, card), Smoothing(card.smoothing, card.cycles)
    promise, expected = card.guarantee, {}
    for number, (time, (_, own)) in enumerate(read.items()):
        seen, total = smoothing.count_seen(number, len(read)), replace(own, **read_amounts(promise))
        expected[time] = spread_loss(own, total, promise.sharing.changed, seen)
    snapshots = {time: snapshot for time, (snapshot, _) in read.items()}
    understated = require_losses(snapshots, expected, PROMISES)
    first, *others = snapshots.values()
    require(
        all(one.domain == first.domain for one in others),
        Rule("series-grids-differ", "The snapshots have different grids."),
    )
    require_one_correction(snapshots.values())
    return f"cards, ids and guarantees are those of the index; one grid{understated}"


def _check_sharing(folder: Path, card: SeriesCard) -> str:
    """Check that the budgets of the snapshots that a person changes add up exactly."""
    events = [own for _, own in _read(folder, card).values()]
    return check_parts(card.guarantee, card.guarantee.sharing.person, events)


def _is_rule(rule: str, info: SharingInfo, method: Mechanism, snapshots: int) -> bool:
    """Test whether a sentence is a reason for the noise that such a series can have.

    Which of the reasons it was, and the ratio of errors in it, depend on what was asked for: a
    delta that the noise does not need is in no release.
    """
    sharing = describe_sharing(snapshots, info.person, info.changed, info.levels)
    name, number = "Gaussian" if info.gaussian else "Laplace", r"[1-9][0-9]{0,9}"
    reasons = [
        re.escape("chosen by who publishes"),
        re.escape("as the other would be too wide to be drawn"),
    ]
    sizes = f"of {', '.join(f'{size:,}' for size in SHOWN[:-1])} and {SHOWN[-1]:,} cells"
    reasons.append(
        re.escape(f"as its errors at blocks {sizes} are ") + r"(0\.[0-9]{2}|1\.00) of the other's"
    )
    few = f"{CROSSING} or more" if info.gaussian else f"below {CROSSING}"
    reasons.append(f"as {number} measurements of a person with Laplace noise are {few}")
    reasons.append(
        "as rho was given" if info.gaussian else re.escape(f"as {method.name} has no other")
    )
    pattern = re.escape(f"{sharing}{name} noise, ") + f"({'|'.join(reasons)})" + r"\."
    return re.fullmatch(pattern, rule) is not None


def _check_guarantee(folder: Path, card: SeriesCard) -> str:
    """Check that what the index says follows from its budget, its grid and its snapshots."""
    promise, times, read = card.guarantee, _list_times(card), _read(folder, card)
    first, own = read[times[0]]
    grid, method = read_masked_grid(folder / times[0], first), find_method(own.mechanism)
    assert isinstance(method, Mechanism)
    total = replace(own, **read_amounts(promise))
    terms = Terms(total.loss, total.neighbours, unit=total.unit).bound(total.bound)
    require_charge(card.budget, total.unit, total.neighbours, total.loss)
    gaussian, person = total.rho is not None, promise.sharing.person
    info = SharingInfo(
        person,
        count_changed(person, promise.neighbours, len(times)),
        count_levels(grid, method, terms, gaussian=gaussian),
        gaussian,
        promise.sharing.rule,
    )
    worded = has_words_of(card.software, first.mechanism.noise_format)
    smoothing = Smoothing(card.smoothing, card.cycles).description
    named = times, person, total.unit, total.spends, "snapshot"
    for time, (one, each) in read.items():
        made = state_guarantee(each, replace(each, **read_amounts(promise)), info)
        require_same(write_plain(promise), write_plain(made), "index.guarantee", worded=worded)
        smoothed = tuple(text for text in one.post_processing if text.startswith(SMOOTHED))
        start, facts = OF_PERIOD.format("snapshot"), one.guarantee.not_protected
        said = [fact for fact in facts if fact.startswith(start)]
        require(
            not worded or (smoothed == smoothing and said == [describe_period(time, *named)]),
            Rule("series-snapshot-says-otherwise", f"{time} is worded as of another series."),
        )
    require(
        card.private is total.is_private
        and (not worded or _is_rule(promise.sharing.rule, info, method, len(times))),
        Rule("series-guarantee-differs", "The index contradicts the guarantee of its snapshots."),
    )
    return f"{promise.spends} for one {promise.unit} in all {len(times)} snapshots"


def _check_shared(folder: Path, card: SeriesCard) -> str:
    """Check that the files for all snapshots are listed, and that the NetCDF has their counts."""
    require(bool(card.snapshots), EMPTY)
    shown = [View(*read_release_table(folder / one.time)) for one in card.snapshots]
    files: list[File] = []
    left_out: list[LeftOut] = []
    for form, name, reason in list_shared(shown, card.name):
        if reason is None:
            files.append(File(name=name, media_type=form.MEDIA_TYPE, what=form.WHAT, sha256=""))
        else:
            left_out.append(LeftOut(name, reason))
    names = [one.name for one in files]
    require(
        [(one.name, one.media_type, one.what) for one in card.files]
        == [(one.name, one.media_type, one.what) for one in files]
        and [*card.left_out] == left_out,
        Rule("series-files-differ", "The index lists other files than the series has."),
    )
    name = f"{card.name}.{netcdf.ENDING}"
    if name in names:
        periods = Periods.of(_list_times(card))
        with TemporaryDirectory(prefix="geodp-") as again, explain_errors(folder):
            own = Path(again, name)
            netcdf.write(own, periods, shown, card)
            require(
                _same_netcdf(folder / name, own),
                Rule("series-netcdf-differs", "The NetCDF does not hold what the snapshots do."),
            )
    return ", ".join(names) or "none, as no format shows such counts"


def _same_netcdf(one: Path, other: Path) -> bool:
    """Test whether NetCDF files are equal but for how versions of PROJ write the same CRS."""
    if sha256(one) == sha256(other):
        return True
    (first, said), (last, own) = (_read_netcdf(path) for path in (one, other))
    # Of one version of PROJ, files of the same counts have the same bytes.
    if None in (said, own) or said == own:
        return False
    return first == last and same_crs(said, own)


def _read_netcdf(path: Path) -> tuple[Any, str | None]:
    """Read all that a NetCDF holds but for its CRS, and the definition of that."""
    from scipy.io import netcdf_file

    with netcdf_file(path, "r", mmap=False) as file:
        definition = getattr(file.variables.get("crs"), "crs_wkt", None)
        variables = {
            name: (
                *(one.dimensions, one.data.dtype.str, np.asarray(one.data).tobytes()),
                # Texts on a CRS, such as names of its parts, are other ones in other versions.
                _read_attributes(one, (np.ndarray, np.generic, *([bytes] * (name != "crs")))),
            )
            for name, one in file.variables.items()
        }
        attributes = _read_attributes(file, (np.ndarray, np.generic, bytes))
        content = dict(file.dimensions), attributes, variables
    return content, None if definition is None else definition.decode()


def _read_attributes(owner: Any, kinds: tuple[type, ...]) -> dict[str, bytes]:
    """Read the attributes of a NetCDF or of a variable, which are those of its object."""
    return {
        name: np.asarray(value).tobytes()
        for name, value in vars(owner).items()
        if name != "data" and isinstance(value, kinds)
    }


QUESTIONS: list[tuple[str, Callable[[Path, SeriesCard], str]]] = [
    ("checksums", _check_checksums),
    ("times", _check_times),
    ("snapshots", _check_snapshots),
    ("budget", _check_sharing),
    ("guarantee", _check_guarantee),
    ("shared files", _check_shared),
    ("restricted", check_restricted),
]
