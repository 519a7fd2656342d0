"""Tables of children times parts by their definition: lists of whole numbers and of floats."""

MASK = 2**64 - 1


def coin(seed, number):
    """The top bit of a word of splitmix64."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return (z ^ (z >> 31)) >> 63


def rounded(table, digits, seed):
    """Entries times ``2**digits`` with all lower digits gone, by closed walks of digits."""
    table = [list(row) for row in table]
    rows, columns = range(len(table)), range(len(table[0]))
    for digit in range(digits):
        edges = {(i, j) for i in rows for j in columns if table[i][j] >> digit & 1}
        for start in rows:
            step = -(1 << digit) if coin(seed, digit * len(rows) + start) else 1 << digit
            i = start
            while mine := [j for j in columns if (i, j) in edges]:
                j = mine[0]
                edges.remove((i, j))
                table[i][j] += step
                i = min(k for k in rows if (k, j) in edges)
                edges.remove((i, j))
                table[i][j] -= step
    return table


def fitted(u, rows, columns):
    """Proportional fitting, the rows last; then no column holds too much."""
    u = [[x + 1e-6 * float(row) for x in line] for line, row in zip(u, rows, strict=True)]
    for _ in range(12):
        u = scaled_columns(u, columns)
        u = [
            list(line)
            for line in zip(*scaled_columns(list(zip(*u, strict=True)), rows), strict=True)
        ]
    return scaled_columns(u, columns, only_down=True)


def scaled_columns(u, columns, only_down=False):
    """Every column times what takes it to its sum."""
    out = [list(line) for line in u]
    for j, column in enumerate(columns):
        held = 0.0
        for line in u:
            held += line[j]
        if held > column or not only_down:
            by = float(column) / held
            for line in out:
                line[j] *= by
    return out


def exact(u, rows, columns, digits):
    """Whole multiples of ``2**-digits`` with exactly these sums."""
    row, column = [x << digits for x in rows], [x << digits for x in columns]
    table = [[int(x * 2**digits) for x in line] for line in u]
    for i, line in enumerate(table):
        for j, x in enumerate(line):
            line[j] = min(x, row[i], column[j])
            row[i] -= line[j]
            column[j] -= line[j]
    lacks = float(sum(row))
    for last in (False, True):
        for i, line in enumerate(table):
            own = row[i]
            for j in range(len(line)):
                more = min(row[i], column[j])
                if not last and more:
                    more = min(more, int(float(own) * (float(column[j]) / lacks)))
                line[j] += more
                row[i] -= more
                column[j] -= more
    return table


def shared(wanted, rows, columns, seed):
    """Whole parts of children, of one node; ``wanted`` None: all have its shares."""
    if len(rows) == 1:
        return [list(columns)]
    some = [j for j, column in enumerate(columns) if column > 0]
    held, total = [columns[j] for j in some], sum(columns)
    if wanted is None:
        u = [[float(row) * (float(column) / float(total)) for column in held] for row in rows]
    else:
        u = fitted([[line[j] for j in some] for line in wanted], rows, held)
    digits = 10
    while digits and total >> (61 - digits):
        digits -= 1
    table = rounded(exact(u, rows, held, digits), digits, seed)
    out = [[0] * len(columns) for _ in rows]
    for line, whole in zip(out, table, strict=True):
        for j, x in zip(some, whole, strict=True):
            line[j] = x >> digits
    return out
