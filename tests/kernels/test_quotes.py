"""Records with line breaks in quoted fields are those that a slow reader finds."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from geodp.kernels.records import find_broken


def found(text):
    """Return records with a line break, whether text follows a quote, and what is left."""
    array, out, spans, first = np.frombuffer(text, np.uint8), np.zeros(3, np.int64), [], 0
    while find_broken(array, first, ord(","), out):
        start, first, ragged = out.tolist()
        spans.append((text[start:first], bool(ragged)))
    return spans, text[out[0] :], bool(out[2])


def naive(text):
    spans, record, field, opened, closed = [], "", "", False, False
    broken = ragged = False
    for mark in text:
        if opened and not closed and mark != '"':
            record, field = record + mark, field + mark
            broken |= mark in "\r\n"
        elif mark in ",\r\n":
            record, field, opened, closed = record + mark, "", False, False
            if mark != ",":
                spans += [(record.encode(), ragged)] if broken else []
                record, broken, ragged = "", False, False
        elif mark == '"' and opened:
            record, field, closed = record + mark, field + mark, not closed
        else:
            ragged |= opened and closed and ("\n" in field or "\r" in field)
            opened, closed = (mark == '"' and not field), False
            field = field + mark if opened or not field else f"-{field}"
            record += mark
    return spans, record.encode(), opened and not closed


@given(st.text(alphabet='",\n\ra', max_size=40))
@example('a,"a\n,a\n"')
@example('"a\n"a,"\n"\n')
def test_records_are_those_of_a_slow_reader(text):
    assert found(text.encode()) == naive(text)


def test_a_quote_within_a_field_is_text():
    assert found(b'1,5" pipe,2\n3,6" pipe,4\n') == ([], b"", False)
    assert found(b'1,"a""\nb",2\n"') == ([(b'1,"a""\nb",2\n', False)], b'"', True)
