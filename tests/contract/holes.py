"""All that a kind lacks, and all that it is not asked for: by check, and by kind.

A check is the name of its test, a kind one of ``kinds``. A hole fails strictly: where it is mended,
its test says so until its row is gone.
"""

EVERY = "every kind"
"""Stands for all kinds in a row that holds for each of them."""

HOLES: dict[str, dict[str, str]] = {}
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NOT_ASKED: dict[str, dict[str, str]] = {
    "a_kept_key_replays": {"local round": "its noise is drawn by devices"},
    "a_release_is_charged_once": {"local round": "the round is charged when it is opened"},
    "an_output_is_replaced_on_request_alone": {"local round": "the round is charged"},
}
"""What a kind is not asked for, and why it would make no sense there: not run."""
