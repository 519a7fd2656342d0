"""Publish by a command, whatever the kind: read, checked, drawn, stored, charged, written, resumed.

A kind says in its class of :class:`Publishing` how its inputs are read, designed and tried out; the
rest is done here, once, around the one transaction of :mod:`geodp.release.transaction`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from geodp.cli.check import begin_check, describe_domain, describe_inputs, write_check_file
from geodp.cli.layout import take_recipe, write_recipe
from geodp.cli.output import quote
from geodp.cli.request_options import read_request
from geodp.cli.running import describe_call, format_result, time_phase
from geodp.cli.translation import translate, translate_message

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.folder.kinds import Kind
    from geodp.io.folder.pending import Packed
    from geodp.release.request import Request
    from geodp.release.transaction import Inputs, Keep, Prepared, StoredDesign

Written = dict[str, list[str]]
"""Paths of all that was written, by ``public`` and ``restricted``."""


NEXT = (
    "To check it, to estimate an area with its interval (--area CODE, or --polygons FILE with "
    "outlines such as those of municipalities), and to make a page:"
)

NEXT_OF_LIST = "To check it, and to describe it:"


class Publishing(ABC):
    """One run of a command that publishes; a class for each kind of release.

    Parameters
    ----------
    options : dict
        Options of the command.
    seconds : dict
        Gets those of each phase.

    Attributes
    ----------
    request : Request
    grid : Grid
        The domain, and in most kinds the grid of what is published.
    beyond : str
        Sentence on what the operator's file has besides, with a place for its name; or empty.
    files : sequence of path
        Confidential files besides the inputs.
    inferred : bool
        Whether options come from a recipe or a layout, which a recipe in the folder then states.
    """

    request: Request
    grid: Grid
    beyond: ClassVar[str] = ""
    files: Sequence[Path] = ()
    inferred: bool = False

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        self.options, self.seconds = options, seconds
        self.inferred = take_recipe(click.get_current_context(), options)

    @abstractmethod
    def prepare(self) -> Prepared[Any, Any]:
        """Read the inputs, and do everything that comes before the charge."""

    @abstractmethod
    def design(self, inputs: Any) -> StoredDesign:
        """Make the design again from what an interrupted run has stored of its inputs."""

    @property
    def inputs(self) -> type[Inputs]:
        """Class of what is stored of the inputs."""
        from geodp.release.transaction import Inputs

        return Inputs

    @property
    def call(self) -> dict[str, str]:
        """Options by which a run that resumes this one is recognised."""
        return describe_call(self.options)

    @property
    def place(self) -> dict[str, Any]:
        """Keyword arguments by which a folder is staged."""
        path, overwrite, resume = (self.options[name] for name in ("output", "overwrite", "resume"))
        return {"path": path, "overwrite": overwrite, "resume": resume}

    @abstractmethod
    def stage(self) -> AbstractContextManager[Any]:
        """Yield the folder that takes the place of the output."""

    @abstractmethod
    def try_out(self, place: Any, prepared: Prepared[Any, Any]) -> None:
        """Do in the staged folder what may fail and needs no draw, and reserve its space."""

    def preview(self, _prepared: Prepared[Any, Any]) -> Any:
        """Return the tables without counts, whose output is checked; None where it was before."""
        return None

    def fields(self, release: Any) -> Mapping[str, Any]:
        """Return the kind's own fields of the JSON document."""
        return {}

    def sentences(self, release: Any) -> Sequence[str]:
        """Return the message's sentences after the guarantee."""
        return ()

    def answer(self, release: Any) -> Sequence[str]:
        """Return lines that are printed before the message, as what was asked for."""
        return ()

    def choose_area(self) -> Sequence[str] | None:
        """Return options of ``geodp estimate`` for an area of the domain as an example.

        None for what has no numbers to estimate.
        """
        return choose_area(self.grid)

    def list_notes(self, prepared: Prepared[Any, Any]) -> Sequence[str]:
        """List warnings and other sentences on what is prepared, whatever the data are."""
        from geodp.release.preview import list_warnings

        return [f"Warning: {one}" for one in list_warnings(prepared.design.shown)]

    def write(self, release: Any, run: dict[str, Any], place: Any) -> Written:
        """Write a release and the operator's record into the folder; return all paths."""
        written: Written = release.write_into(place, run)
        return written

    def run(self) -> str:
        """Publish, check or resume, as the options say; return the message for the operator."""
        options = self.options
        if options["resume"]:
            return self._write(None)
        from geodp.io.folder.staging import require_free, require_uninterrupted

        require_free(options["output"], overwrite=options["overwrite"])
        # An interrupted run may have been charged; a new one would charge again and hide it.
        require_uninterrupted(options["output"])
        with time_phase("Reading", "reading", self.seconds):
            prepared = self.prepare()
        if (preview := self.preview(prepared)) is not None:
            preview.check_place(options["output"], overwrite=options["overwrite"])
        for note in self.list_notes(prepared):
            click.echo(translate_message(note), err=True)
        if not options["check"]:
            return self._write(prepared)
        shown = prepared.design.shown
        counted = {**describe_domain(shown.grid), **prepared.counted}
        stated, assumptions = shown.reading, shown.card().guarantee.assumptions
        said = self._say_beyond("check.json")
        summary = describe_inputs(options, self.files, prepared.reading, counted)
        return write_check_file(options, summary, stated, assumptions, said)

    def _write(self, prepared: Prepared[Any, Any] | None) -> str:
        """Release what is prepared, or complete an interrupted run, and write it."""
        with self.stage() as place:
            if self.inferred:
                write_recipe(self.options, place.folder)
            with time_phase("Releasing", "mechanism", self.seconds):
                made = self._resume(place) if prepared is None else self._draw(place, prepared)
            with time_phase("Writing", "writing", self.seconds):
                written = self.write(*made, place)
            release = made[0]
            card = release.card()
            promise = describe_promise(place.folder / "public", card)
        fields = {**promise, **self.fields(release)}
        # The guarantee is independent of the data, so it may be printed.
        said = [card.guarantee.in_words, *self.sentences(release), *self._say_beyond("run.json")]
        message = format_result(self.options, written, fields, said)
        if self.options["as_json"]:
            return message
        answer = map(translate_message, self.answer(release))
        following = list_next(self.options["output"], self.choose_area())
        return "\n".join([*answer, message, *following])

    def _draw(self, place: Any, prepared: Prepared[Any, Any]) -> tuple[Any, dict[str, Any]]:
        """Draw and charge; return the release and the operator's record."""
        from geodp.release.transaction import pack_draw

        run = describe_inputs(self.options, self.files, prepared.reading, prepared.counted)
        # What each file holds is in the summary of a check.
        del run["read"]["sources"]
        if prepared.prior is not None:
            run["prior"] = {"file": str(self.options["prior"]), "cells_sha256": prepared.prior}
        # Formats and disk space fail here, before the charge, and not after it.
        self.try_out(place, prepared)
        pack = partial(pack_draw, prepared.design)
        with store_before_charge(place.folder, self.request, self.call, run, pack) as keep:
            return prepared.release(keep), run

    def _resume(self, place: Any) -> tuple[Any, dict[str, Any]]:
        """Restore the release of an interrupted run, which was charged; nothing is drawn."""
        from geodp.io.folder.pending import read_pending_draw
        from geodp.release.transaction import find_charge, restore

        stored = read_pending_draw(place.folder, self.call)
        charge = find_charge(self.request.ledger, stored.dataset, stored.fingerprint)
        release = restore(stored, self.design, self.inputs, place.folder, charge)
        return release, dict(stored.run)

    def _say_beyond(self, file: str) -> list[str]:
        return [self.beyond.format(f"restricted/{file}")] if self.beyond else []


class TablesPublishing(Publishing):
    """One run of a command that publishes several tables, each a release in its own folder.

    Attributes
    ----------
    kind : Kind
        What is published.
    """

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The kind of release, whose metadata a card may state."""

    def read_request(self, **fields: Any) -> Request:
        """Make the request from the options; ``fields``: see :func:`read_request`."""
        fields = {"kind": self.kind, **fields}
        return read_request(begin_check(self.options), self.grid, **fields)

    def read_known(self) -> dict[str, Any]:
        """Read public files, such as a prior, before confidential ones; return them by name."""
        return {}

    def stage(self) -> AbstractContextManager[Any]:
        """Yield the folder of the release."""
        from geodp.io.folder.staged_release import StagedTables

        return StagedTables.stage(**self.place)

    def preview(self, prepared: Prepared[Any, Any]) -> Any:
        """Return the tables without counts."""
        return prepared.design.preview

    def list_trials(self, prepared: Prepared[Any, Any]) -> list[Any]:
        """List releases whose files are tried before the charge: one without counts at least."""
        return [prepared.design.preview]

    def list_cells(self, prepared: Prepared[Any, Any]) -> list[int]:
        """List occupied cells, for which space is reserved."""
        return [prepared.cells]

    def try_out(self, place: Any, prepared: Prepared[Any, Any]) -> None:
        """Write tables without counts, and reserve the space of those with counts."""
        first, *more = self.list_trials(prepared)
        place.try_out(first, self.list_cells(prepared), *more)


def choose_area(grid: Grid) -> Sequence[str]:
    """Return options of ``geodp estimate`` for an area of a domain as an example."""
    from geodp.grid.region import choose_code

    code = choose_code(grid)
    return ["--polygons", "FILE"] if code is None else ["--area", code]


def list_next(output: Path, area: Sequence[str] | None) -> list[str]:
    """List the commands that use a release, below a sentence; ``area``: None without estimates."""
    folder = str(output)
    verify, report = ["verify", folder], ["report", folder]
    said, words = NEXT_OF_LIST, [verify, report]
    if area is not None:
        page = [*report, "--output", f"{folder}.html"]
        said, words = NEXT, [verify, ["estimate", folder, *area], page]
    return [translate(said), *(" ".join(["geodp", *map(quote, one)]) for one in words)]


def describe_promise(public: Path, card: Any) -> dict[str, Any]:
    """Describe a release that was written for a JSON document: its id, and what it promises."""
    promise, budget = card.guarantee, ("spends", "epsilon", "rho", "delta")
    return {
        "release_id": _identify(public, card),
        **{name: getattr(promise, name, None) for name in budget},
        "method": promise.mechanism,
        "private": card.private,
    }


def _identify(public: Path, card: Any) -> str:
    """Return the id of a release that was written."""
    from geodp.io.folder.kinds import CARD
    from geodp.io.folder.manifest import sha256 as digest_file
    from geodp.io.opening import read_json
    from geodp.table.index import IndexCard

    # That of an index is a digest of it; other cards state theirs.
    if isinstance(card, IndexCard):
        return digest_file(public / card.file)[:16]
    release_id: str = read_json(public / CARD)["release_id"]
    return release_id


@contextmanager
def store_before_charge(
    folder: Path,
    request: Request,
    call: Mapping[str, str],
    run: Mapping[str, Any],
    pack: Callable[[Any], Packed],
) -> Iterator[Keep[Any]]:
    """Yield a function that stores a draw in a staged folder before the charge.

    After an interruption, the ledger shows whether the draw was charged.

    Parameters
    ----------
    folder : Path
    request : Request
        Without a ledger nothing is stored.
    call : mapping
        Options of the command, by name.
    run : mapping
        Facts for the operator.
    pack : callable
        Converts the draw to plain values and arrays.
    """
    from geodp.io.folder.pending import PendingDraw, keep, mark_charged

    ledger, dataset = request.ledger, request.dataset

    def keep_drawn(drawn: Any, fingerprint: str) -> None:
        if ledger is not None and dataset is not None:
            card, arrays = pack(drawn)
            path = str(ledger.path)
            # Written before the charge: if the process dies after it, the ledger knows the
            # fingerprint and the draw is still here, so the budget is not lost.
            keep(
                folder, PendingDraw(path, ledger.id, dataset, fingerprint, call, run, card, arrays)
            )

    yield keep_drawn
    mark_charged(folder)
