"""Cell codes by the words of their standards: one cell at a time, in exact fractions.

JIS X 0410:2002 divides degrees, minutes and seconds and writes down the quotients; INSPIRE
D2.8.I.2 writes the lower left corner.
"""

from fractions import Fraction
from math import floor

# Height in seconds of latitude and width in seconds of longitude of the cells of each level.
SECONDS = {
    "primary": (40 * 60, 3600),
    "secondary": (5 * 60, Fraction(15, 2) * 60),
    "5km": (Fraction(5, 2) * 60, Fraction(15, 4) * 60),
    "2km": (60, 90),
    "basic": (30, 45),
    "half": (15, Fraction(45, 2)),
    "quarter": (Fraction(15, 2), Fraction(45, 4)),
    "eighth": (Fraction(15, 4), Fraction(45, 8)),
}
QUADRANTS = {"5km": 1, "half": 1, "quarter": 2, "eighth": 3}


def jis_code(level, latitude, longitude) -> str:
    """The code of the cell that holds a point, degrees as fractions."""
    y, x = latitude * 3600, (longitude - 100) * 3600

    def divide(height, width):
        nonlocal y, x
        north, east = floor(y / height), floor(x / width)
        y, x = y - north * height, x - east * width
        return north, east

    code = "{:02d}{:02d}".format(*divide(*SECONDS["primary"]))
    if level == "primary":
        return code
    code += "{}{}".format(*divide(*SECONDS["secondary"]))
    if level == "secondary":
        return code
    if level == "2km":
        north, east = divide(*SECONDS["2km"])
        return code + f"{north * 2}{east * 2}5"
    if level != "5km":
        code += "{}{}".format(*divide(*SECONDS["basic"]))
    for size in ["5km"] if level == "5km" else ["half", "quarter", "eighth"]:
        if QUADRANTS.get(level, 0) >= QUADRANTS[size]:
            north, east = divide(*SECONDS[size])
            code += {(0, 0): "1", (0, 1): "2", (1, 0): "3", (1, 1): "4"}[north, east]
    return code


def jis_corner(level, row, col) -> tuple[Fraction, Fraction]:
    """Latitude and longitude of the south-west corner of a cell."""
    height, width = SECONDS[level]
    return Fraction(row * height) / 3600, 100 + Fraction(col * width) / 3600


def jis_index(level, code) -> tuple[int, int]:
    """The index of a cell, adding up what the digits of its code stand for."""
    north, east = int(code[:2]) * SECONDS["primary"][0], int(code[2:4]) * SECONDS["primary"][1]
    parts = []
    if level != "primary":
        parts.append(("secondary", int(code[4]), int(code[5])))
    if level == "2km":
        parts.append(("2km", int(code[6]) // 2, int(code[7]) // 2))
    if level in ("basic", "half", "quarter", "eighth"):
        parts.append(("basic", int(code[6]), int(code[7])))
    sizes = ["5km"] if level == "5km" else ["half", "quarter", "eighth"]
    for size, digit in zip(sizes, code[6:] if level == "5km" else code[8:], strict=False):
        if level != "2km":
            parts.append((size, (int(digit) - 1) // 2, (int(digit) - 1) % 2))
    for size, up, right in parts:
        north, east = north + up * SECONDS[size][0], east + right * SECONDS[size][1]
    height, width = SECONDS[level]
    return int(north / Fraction(height)), int(east / Fraction(width))


def inspire_code(resolution, form, northing, easting) -> str:
    """The code of the cell with this lower left corner, metres."""
    if form == "long":
        return f"CRS3035RES{resolution}mN{northing}E{easting}"
    size = f"{resolution // 1000}km" if resolution >= 1000 else f"{resolution}m"
    dropped = len(str(resolution)) - len(str(resolution).rstrip("0"))
    return f"{size}N{northing // 10**dropped}E{easting // 10**dropped}"
