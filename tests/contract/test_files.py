"""One table in several files and forms is read alike by all kinds, or refused with its file."""

from io import BytesIO, StringIO

import pandas
import pytest

from tests.contract.reading import FIRST, faults_of, rows_of, text_of, with_name

TEXTS = {
    "byte order mark": (lambda text: text.encode("utf-8-sig"), ()),
    "ends of Windows": (lambda text: text.replace("\n", "\r\n"), ()),
    "no last end": (lambda text: text.rstrip("\n"), ()),
    "semicolons": (lambda text: text.replace(",", ";"), ()),
    "tabs": (lambda text: text.replace(",", "\t"), ()),
    "blank lines": (lambda text: text.replace("\n", "\n\n"), ()),
}
MARKED = {
    "UTF-16": (lambda text: text.encode("utf-16"), ()),
    "titles above": (lambda text: f"A title\n\n{text}", ("--header-row", "3")),
}
BROKEN = {
    "a picture": lambda text: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "a zero byte": lambda text: text.replace("5", "\0", 1),
    "two headers": lambda text: text.partition("\n")[0] + "\n" + text,
    "a row cut off": lambda text: f"{text}5339\n",
    "a note below": lambda text: f"{text}\nSource: us\n",
    "a title above": lambda text: f"A title\n\n{text}",
    "no header": lambda text: text.partition("\n")[2],
}


def spelt(reader, form, *more):
    """Read all files of the world in another form."""
    files = {name: form(text) for name, text in reader.kind.files.items()}
    return reader.read(files, *more)


def given(reader, *names):
    """Return the words of the command with other inputs in place of the first file."""
    words = []
    for word in reader.words():
        before, found, _ = str(word).partition(FIRST)
        words += [f"{before}{name}" for name in names] if found else [word]
    return words


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_is_read_in_every_spelling(reader, form):
    change, more = TEXTS[form]
    read = spelt(reader, change, *more)
    assert read.counted == reader.whole, read.said


@pytest.mark.parametrize("form", MARKED)
def test_a_text_is_read_as_its_marks_and_options_say(reader, form):
    change, more = MARKED[form]
    read = spelt(reader, change, *more)
    assert read.counted == reader.whole, read.said


@pytest.mark.parametrize("form", BROKEN)
def test_a_broken_file_is_refused_by_its_name(reader, form):
    read = spelt(reader, BROKEN[form])
    assert faults_of(read, None, None) == []
    assert len(read.done.stderr.strip().splitlines()) == 1 or "Read as" in read.done.stderr


@pytest.mark.parametrize("text", ["", "\n", "\ufeff"])
def test_a_file_without_a_row_is_refused_by_its_name(reader, text):
    assert faults_of(spelt(reader, lambda _: text), None, None) == []


def test_a_header_alone_is_refused(reader):
    assert spelt(reader, lambda text: text.partition("\n")[0] + "\n").counted is None


@pytest.mark.parametrize("name", ["nothing.csv", "*.nothing", "nobody"])
def test_what_is_not_there_is_named(reader, name):
    (reader.desk.folder / "nobody").mkdir(exist_ok=True)
    read = reader.read(None, words=given(reader, name))
    assert faults_of(read, None, None, name) == []


def test_a_file_that_is_given_twice_is_refused(reader):
    assert reader.read(None, words=given(reader, FIRST, FIRST)).counted is None


@pytest.mark.parametrize("name", ["parts", "parts/*.csv"])
def test_several_files_add_up_as_one(reader, name):
    header, *rows = rows_of(reader.kind.files[FIRST])
    parts = {f"parts/{n}.csv": text_of([header, *rows[n::2]]) for n in range(2)} | dict(
        reader.kind.files
    )
    read = reader.read(parts, words=given(reader, name))
    assert read.counted == reader.whole, read.said


def in_form(text, form):
    """Return a CSV text in another form: bytes."""
    frame = pandas.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    # Numbers are numbers there, and codes with as many digits stay texts.
    for name in frame.columns:
        if frame[name].str.fullmatch(r"\d{1,4}").all():
            frame[name] = frame[name].astype(int)
    out = BytesIO()
    if form == "parquet":
        frame.to_parquet(out)
    elif form == "xlsx":
        frame.to_excel(out, index=False)
    else:
        frame.to_json(out, orient="records", lines=True)
    return out.getvalue()


@pytest.mark.parametrize("form", ["parquet", "xlsx", "jsonl"])
def test_other_forms_count_the_same(reader, form):
    files = {
        name.replace("csv", form): in_form(text, form) for name, text in reader.kind.files.items()
    }
    words = [str(word).replace(".csv", f".{form}") for word in reader.words()]
    read = reader.read(files, words=words)
    assert read.counted == reader.whole, read.said


def test_a_text_in_cp932_is_read(reader):
    """Its encoding is detected by a name in Japanese."""
    kind = reader.kind
    column = (*kind.amounts, *kind.places)[0]
    files = with_name(kind, column, "人数")
    words = ["人数" if word == column else word for word in reader.words()]
    encoded = {name: text.encode("cp932") for name, text in files.items()}
    read = reader.read(encoded, words=words)
    assert read.counted == reader.whole, read.said
