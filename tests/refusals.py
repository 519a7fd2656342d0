"""What geodp refuses, by the codes of its rules: their wording is free to change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refuses(
    error: type[Exception] | tuple[type[Exception], ...], rule: str
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error by the code of its rule, such as "table-empty".

    Behind the code may stand a pattern of what the message says of a file, a row, an option or a
    value: "output-exists: --overwrite". Of several codes, with | between them, it may have any.
    """
    codes, _, said = rule.partition(": ")
    with pytest.raises(error, match=said or None) as refused:
        yield refused
    assert refused.value.code in codes.split("|"), f"{refused.value.code}: {refused.value}"
