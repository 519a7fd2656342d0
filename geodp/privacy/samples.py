"""Records behind a release: all of a data set's, or a sample whose members stay secret.

The guarantee of a sampled table with suppressed counts (:mod:`geodp.audit`) rests on the sample's
secrecy. It adds to the losses of releases from all records or from fresh samples, and to no loss of
a release from the same sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from geodp.errors import UsageError
from geodp.privacy.names import canonical_name, look_alike, require_one_script, skeleton

ALL, FRESH, SAME = RECORDS = ("all", "fresh-sample", "same-sample")
"""Records that a release can be made from, as its charge declares them."""


@dataclass(frozen=True, slots=True)
class SecretSample:
    """A sample of a data set's records, on whose secrecy the guarantee of a table made of it rests.

    By charging one you vouch that it is fresh: that nothing else charged to the data set was made
    from it, and that it depends on no earlier release.

    Attributes
    ----------
    name : str
        Name of the sample; the rules for names of data sets apply.
    """

    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical_name(self.name, "sample"))


Records = str | SecretSample | None
"""One of ``RECORDS``, a secret sample, or undeclared."""


def follow_samples(dataset: str, samples: tuple[str, ...], records: Records) -> tuple[str, ...]:
    """Return the secret samples after a release; UsageError where its loss would not add up.

    The sampled table's guarantee relies on the secrecy of the sample. A release from the same
    sample reveals a little of it, which costs more than the sum of both losses.

    Parameters
    ----------
    dataset : str
    samples : tuple of str
        Names of the samples of which a table was charged to the data set.
    records : one of ``RECORDS``, SecretSample or None
        What the release was made from.
    """
    if isinstance(records, SecretSample):
        # Not the lookalike test: this one runs again on old entries, and must not change with
        # Unicode.
        if skeleton(records.name) in map(skeleton, samples):
            raise UsageError(
                f"A table of the sample {records.name} is charged to {dataset} already, and "
                "losses of two tables of one sample do not add up; draw a fresh sample.",
                code="sample-charged-already",
            )
        return (*samples, records.name)
    if records == SAME:
        raise UsageError(
            "A release from the same sample as an earlier table reveals who was sampled, which "
            "that table's guarantee keeps secret: the losses do not add up. Make it from all "
            "records, or from a fresh sample.",
            code="sample-tells-who",
        )
    if records not in (None, ALL, FRESH):
        raise UsageError(f"records must be one of: {', '.join(RECORDS)}.", code="records-unknown")
    if records is None and samples:
        raise UsageError(
            f"A table of a secret sample is charged to {dataset}; state what this release is "
            f"made from: --records {'|'.join(RECORDS)}, records=.",
            code="records-undeclared",
        )
    return samples


def require_new_sample(records: Records, samples: tuple[str, ...]) -> None:
    """Raise UsageError for a new secret sample whose name looks like an earlier one's."""
    if not isinstance(records, SecretSample):
        return
    require_one_script(records.name, "sample")
    if (near := look_alike(records.name, samples)) is not None:
        raise UsageError(
            f"The name of the sample {records.name} reads like {near}, of which a table is charged "
            "already, and losses of two tables of one sample do not add up; choose a name that "
            "differs in more than punctuation or letters that look alike.",
            code="sample-looks-alike",
        )


def write_records(records: Records) -> dict[str, str]:
    """Return the columns of a charge's entry that describe the records of its release.

    Examples
    --------
    >>> write_records("all"), write_records(SecretSample("autumn 2020")), write_records(None)
    ({'records': 'all'}, {'sample': 'autumn 2020'}, {})
    """
    if isinstance(records, SecretSample):
        return {"sample": records.name}
    return {} if records is None else {"records": records}


def read_records(columns: dict[str, Any]) -> Records:
    """Read the records back from the columns of :func:`write_records`."""
    return SecretSample(columns["sample"]) if "sample" in columns else columns.get("records")
