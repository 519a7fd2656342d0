"""What geodp refuses, by the codes of its rules: their wording is free to change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refuses(
    error: type[Exception] | tuple[type[Exception], ...], code: str, match: str | None = None
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of a rule; ``match`` is what it says of a file, a row, an option, a value."""
    with pytest.raises(error, match=match) as refused:
        yield refused
    assert refused.value.code == code, f"{refused.value.code}: {refused.value}"
