"""Workbooks of four forms with the same cells; xls and xlsb by their published grammars."""

import datetime
import io
import struct
import zipfile
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import openpyxl

FORMS = ("xlsx", "ods", "xls", "xlsb")


@dataclass(frozen=True)
class Error:
    """An error that stands in a cell without a formula."""

    shown: str = "#N/A"


@dataclass(frozen=True)
class Formula:
    """A formula and what it gave; None: nothing that is kept."""

    value: object = None


@dataclass(frozen=True)
class Percent:
    """A number that is shown as a percentage."""

    value: float


@dataclass(frozen=True)
class Amount:
    """A number that is shown as an amount of money."""

    value: float


YEN = '"¥"#,##0'


def write(path, *sheets, names=None, hidden=()):
    """Write sheets of rows into a workbook of the form that the path ends in."""
    names = names or [f"sheet {number}" for number in range(len(sheets))]
    {".xlsx": _xlsx, ".ods": _ods, ".xls": _xls, ".xlsb": _xlsb}[path.suffix](
        path, dict(zip(names, sheets, strict=True)), hidden
    )
    return path


def _xlsx(path, sheets, hidden):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(number, column)
                match value:
                    case Error():
                        cell.value, cell.data_type = value.shown, "e"
                    case Formula():
                        cell.value = "=1+1"
                    case Percent():
                        cell.value, cell.number_format = value.value, "0%"
                    case Amount():
                        cell.value, cell.number_format = value.value, YEN
                    case datetime.timedelta():
                        cell.value, cell.number_format = value, "[h]:mm:ss"
                    case _:
                        cell.value = value
    made.save(path)


NAMES = " ".join(
    f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
    for one in ("office", "table", "text", "style")
)
NAMES += ' xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0"'
CALC = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'


def _ods(path, sheets, hidden):
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>"
        + "".join(
            f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in rows
        )
        + '<table:table-row table:number-rows-repeated="1048000">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
        for name, rows in sheets.items()
    )
    write_ods(path, tables)


def write_ods(path, tables, packing=zipfile.ZIP_DEFLATED, styles="", others=None):
    """Write a spreadsheet of OpenDocument of the XML of its tables, its styles, and others."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMES} {CALC}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w", packing) as archive:
        kind = "application/vnd.oasis.opendocument.spreadsheet"
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        if others is not None:
            archive.writestr(
                "styles.xml",
                f"<office:document-styles {NAMES}><office:styles>{others}</office:styles>"
                "</office:document-styles>",
            )
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    return path


def ods_cell(value):
    """Return the XML of a cell."""
    typed = 'office:value-type="{}" office:{}="{}"'.format
    match value:
        case None:
            return "<table:table-cell/>"
        case Error():
            said = 'office:value-type="string" office:string-value="" calcext:value-type="error"'
            return f"<table:table-cell {said}><text:p>{value.shown}</text:p></table:table-cell>"
        case Formula():
            formula = 'table:formula="of:=1+1"'
            return ods_cell(value.value).replace(
                "<table:table-cell", f"<table:table-cell {formula}"
            )
        case Percent():
            said = typed("percentage", "value", value.value)
        case Amount():
            said = typed("currency", "value", value.value) + ' office:currency="JPY"'
        case bool():
            said = typed("boolean", "boolean-value", str(value).lower())
        case int() | float():
            said = typed("float", "value", value)
        case datetime.datetime() | datetime.date():
            said = typed("date", "date-value", value.isoformat())
        case datetime.time():
            said = typed("time", "time-value", value.strftime("PT%HH%MM%SS"))
        case datetime.timedelta():
            said = typed("time", "time-value", f"PT{int(value.total_seconds())}S")
        case _:
            text = f"<text:p>{escape(value)}</text:p>"
            return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f"<table:table-cell {said}><text:p>shown</text:p></table:table-cell>"


STYLES = {"plain": 0, "percent": 9, "moment": 22, "time": 21, "span": 46, "amount": 171}
CODES = {
    "#NULL!": 0,
    "#DIV/0!": 7,
    "#VALUE!": 15,
    "#REF!": 23,
    "#NAME?": 29,
    "#NUM!": 36,
    "#N/A": 42,
}


def record(kind, data=b""):
    """Return a record of BIFF."""
    return struct.pack("<HH", kind, len(data)) + data


def begin(kind, version=0x0600):
    """Return what begins a workbook (5) or a sheet (16)."""
    return record(0x0809, struct.pack("<HHHHLL", version, kind, 3515, 1996, 0, 6))


def _xls(path, sheets, hidden):
    path.write_bytes(compound(biff(sheets, hidden)))


def biff(sheets, hidden=(), *, epoch=1900, extra=b"", inside=b""):
    """Return the stream of a workbook; `extra` stands after what begins it, `inside` in sheets."""
    head = begin(5) + extra + record(0x42, struct.pack("<H", 1200))
    head += record(0x22, struct.pack("<H", epoch == 1904))
    shown = YEN.encode("utf-16-le")
    head += record(0x41E, struct.pack("<HHB", STYLES["amount"], len(YEN), 1) + shown)
    for number in STYLES.values():
        head += record(0xE0, struct.pack("<HH16x", 0, number))
    bodies = [begin(16) + _cells(rows, epoch) + inside + record(10) for rows in sheets.values()]
    listed = [_sheet(name, name in hidden) for name in sheets]
    at = len(head) + sum(len(one) + 8 for one in listed) + 4
    for one, body in zip(listed, bodies, strict=True):
        head += record(0x85, struct.pack("<L", at) + one)
        at += len(body)
    return head + record(10) + b"".join(bodies)


def _sheet(name, hidden):
    return struct.pack("<BBBB", hidden, 0, len(name), 1) + name.encode("utf-16-le")


def _cells(rows, epoch):
    return b"".join(
        _biff_cell(number, column, value, epoch)
        for number, row in enumerate(rows)
        for column, value in enumerate(row)
    )


def _biff_cell(row, column, value, epoch):
    styles = [*STYLES]

    def place(style="plain"):
        return struct.pack("<HHH", row, column, styles.index(style))

    def number(amount, style="plain"):
        return record(0x203, place(style) + struct.pack("<d", amount))

    start = datetime.datetime(1904, 1, 1) if epoch == 1904 else datetime.datetime(1899, 12, 30)
    day = datetime.timedelta(days=1)
    match value:
        case None:
            return record(0x201, place())
        case Error():
            return record(0x205, place() + bytes([CODES[value.shown], 1]))
        case Formula():
            amount = struct.pack("<d", 0.0 if value.value is None else value.value)
            return record(6, place() + amount + struct.pack("<HLH", 0, 0, 3) + b"\x1e\x01\x00")
        case Percent():
            return number(value.value, "percent")
        case Amount():
            return number(value.value, "amount")
        case bool():
            return record(0x205, place() + bytes([value, 0]))
        case int() if 0 <= value < 1 << 29:
            return record(0x27E, place() + struct.pack("<L", value << 2 | 2))
        case int() | float():
            return number(value)
        case datetime.datetime():
            return number((value - start) / day, "moment")
        case datetime.date():
            return number(
                (datetime.datetime.combine(value, datetime.time()) - start) / day, "moment"
            )
        case datetime.time():
            seconds = value.hour * 3600 + value.minute * 60 + value.second
            return number(seconds / 86400, "time")
        case datetime.timedelta():
            return number(value / day, "span")
    text = value.encode("utf-16-le")
    return record(0x204, place() + struct.pack("<HB", len(text) // 2, 1) + text)


def compound(stream, name="Workbook", *, short=False):
    """Return a compound file with one stream; ``short``: among those of less than 4,096 bytes."""
    size, end, sectors = len(stream), 0xFFFFFFFE, []

    def add(data):
        data = data + bytes(-len(data) % 512)
        first = len(sectors)
        sectors.extend(data[at : at + 512] for at in range(0, len(data), 512))
        table.extend([*range(first + 1, len(sectors)), end])
        return first

    def entry(name, kind, first, many):
        text = name.encode("utf-16-le")
        found = text + bytes(64 - len(text)) + struct.pack("<HBB", len(text) + 2, kind, 1)
        found += struct.pack("<LLL", *[0xFFFFFFFF] * 2, 1 if kind == 5 else 0xFFFFFFFF)
        return found + bytes(36) + struct.pack("<LLL", first, many, 0)

    table: list[int] = []
    small = (end, 0)
    if short:
        where = add(stream)
        many = -(-size // 64)
        chain = struct.pack(f"<{many}L", *range(1, many), end)
        small = (add(chain + b"\xff" * (-len(chain) % 512)), 1)
        entries = entry("Root Entry", 5, where, many * 64) + entry(name, 2, 0, size)
    else:
        size = max(size, 4096)
        where = add(stream + bytes(size - len(stream)))
        entries = entry("Root Entry", 5, end, 0) + entry(name, 2, where, size)
    start = add(entries)
    many = 1
    while many * 128 < len(sectors) + many:
        many += 1
    first = len(sectors)
    table += [0xFFFFFFFD] * many
    packed = struct.pack(f"<{len(table)}L", *table) + b"\xff\xff\xff\xff" * (
        many * 128 - len(table)
    )
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack(
        "<HHHHH6xLLLLLLLLL", 62, 3, 0xFFFE, 9, 6, 0, many, start, 0, 4096, *small, end, 0
    )
    head += struct.pack("<109L", *range(first, first + many), *[0xFFFFFFFF] * (109 - many))
    return head + b"".join(sectors) + packed


def record12(kind, data=b""):
    """Return a record of a binary workbook since 2007: kind and length in seven bits a byte."""
    head, size = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7]), len(data)
    while size > 127:
        head, size = head + bytes([size & 127 | 128]), size >> 7
    return head + bytes([size]) + data


def wide(text):
    """Return a text with its length in front."""
    data = text.encode("utf-16-le")
    return struct.pack("<L", len(data) // 2) + data


def _xlsb(path, sheets, hidden):
    path.write_bytes(xlsb(sheets, hidden))


def xlsb(sheets, hidden=(), *, epoch=1900, inside=b"", parts=None):
    """Return a workbook; `inside` stands in sheets behind their cells, `parts` are others."""
    texts, listed, links = list[str](), b"", ""
    made = {}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        state = struct.pack("<LL", name in hidden, number)
        listed += record12(156, state + wide(f"rId{number}") + wide(name))
        links += (
            f'<Relationship Id="rId{number}" Target="worksheets/sheet{number}.bin" Type="'
            'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/>'
        )
        made[f"xl/worksheets/sheet{number}.bin"] = _xlsb_sheet(rows, texts, epoch, inside)
    flags = struct.pack("<LL", epoch == 1904, 0) + wide("")
    styles = record12(615, struct.pack("<L", 1))
    styles += record12(44, struct.pack("<H", STYLES["amount"]) + wide(YEN)) + record12(616)
    styles += record12(617, struct.pack("<L", len(STYLES)))
    for number in STYLES.values():
        styles += record12(47, struct.pack("<HHHHH6x", 0, number, 0, 0, 0))
    shared = b"".join(record12(19, b"\0" + wide(text)) for text in texts)
    many = struct.pack("<LL", len(texts), len(texts))
    packages = "http://schemas.openxmlformats.org/package/2006"
    made |= {
        "[Content_Types].xml": f'<Types xmlns="{packages}/content-types"/>',
        "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{packages}/relationships">{links}'
        "</Relationships>",
        "xl/workbook.bin": record12(131)
        + record12(153, flags)
        + record12(143)
        + listed
        + record12(144)
        + record12(132),
        "xl/styles.bin": record12(278) + styles + record12(618) + record12(279),
        "xl/sharedStrings.bin": record12(159, many) + shared + record12(160),
        **(parts or {}),
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in made.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _xlsb_sheet(rows, texts, epoch, inside):
    height, width = len(rows), max(map(len, rows), default=0)
    ends = struct.pack("<LLLL", 0, max(height - 1, 0), 0, max(width - 1, 0))
    data = record12(129) + record12(148, ends) + record12(145)
    for number, row in enumerate(rows):
        data += row12(number)
        for column, value in enumerate(row):
            data += _xlsb_cell(column, value, texts, epoch)
    return data + inside + record12(146) + record12(130)


def row12(number):
    """Return the record that begins a row."""
    return record12(0, struct.pack("<LLH7x", number, 0, 300))


def cell12(kind, column, data, style="plain"):
    """Return the record of a cell."""
    return record12(kind, struct.pack("<LL", column, [*STYLES].index(style)) + data)


def _xlsb_cell(column, value, texts, epoch):
    start = datetime.datetime(1904, 1, 1) if epoch == 1904 else datetime.datetime(1899, 12, 30)
    day = datetime.timedelta(days=1)

    def number(amount, style="plain"):
        return cell12(5, column, struct.pack("<d", amount), style)

    match value:
        case None:
            return cell12(1, column, b"")
        case Error():
            return cell12(3, column, bytes([CODES[value.shown]]))
        case Formula():
            amount = struct.pack("<d", 0.0 if value.value is None else value.value)
            return cell12(9, column, amount + struct.pack("<HLHBL", 0, 3, 0x1E, 0, 0))
        case Percent():
            return number(value.value, "percent")
        case Amount():
            return number(value.value, "amount")
        case bool():
            return cell12(4, column, bytes([value]))
        case int() if 0 <= value < 1 << 29:
            return cell12(2, column, struct.pack("<L", value << 2 | 2))
        case int() | float():
            return number(value)
        case datetime.datetime():
            return number((value - start) / day, "moment")
        case datetime.date():
            moment = datetime.datetime.combine(value, datetime.time())
            return number((moment - start) / day, "moment")
        case datetime.time():
            seconds = value.hour * 3600 + value.minute * 60 + value.second
            return number(seconds / 86400, "time")
        case datetime.timedelta():
            return number(value / day, "span")
    if len(value) % 2:
        return cell12(6, column, wide(value))
    texts.append(value)
    return cell12(7, column, struct.pack("<L", len(texts) - 1))
