"""Slow, obvious twins of the kernels that find stays, for one unit at a time."""

from itertools import groupby, pairwise


def squared(a, b):
    """Return the squared distance of two positions."""
    return sum((int(p) - int(q)) ** 2 for p, q in zip(a, b, strict=True))


def mean_of(records):
    """Return the mean position of records, rounded down."""
    return tuple(sum(int(one[1][axis]) for one in records) // len(records) for axis in range(3))


def zone_of(records):
    """Return the zone of the record that is the closest to the mean position of them all."""
    mean = mean_of(records)
    return min(records, key=lambda one: squared(one[1], mean))[2]


def trips_of_records(*given):
    """Return the trips of one unit, as pairs of zones; see :func:`departures_of_records`."""
    return [one[:2] for one in departures_of_records(*given)]


def departures_of_records(records, radius, speed, dwell, gap):
    """Return the trips of one unit: both zones, and the last time at the first of them.

    ``records``: (time, position in space, zone), in any order, and perhaps labels, of which trips
    then have those of the last record at the first zone; lengths are in centimetres, and times in
    seconds.
    """

    def is_fast(one, other):
        length = squared(one[1], other[1])
        return length > radius**2 and length > (speed * (other[0] - one[0])) ** 2

    def is_broken(one, other):
        return other[0] - one[0] > gap or is_fast(one, other)

    # The lowest of each second.
    lowest = [next(same) for _, same in groupby(sorted(records), key=lambda one: one[0])]
    records = [
        one
        for i, one in enumerate(lowest)
        if not (
            0 < i < len(lowest) - 1 and is_fast(lowest[i - 1], one) and is_fast(one, lowest[i + 1])
        )
    ]
    runs = []
    for one in records:
        run = runs[-1] if runs else None
        joined = run and not is_broken(run[-1], one)
        if joined and squared(run[0][1], one[1]) <= radius**2:
            run.append(one)
        else:
            runs.append([one])
    stays, stay, broken = [], None, False
    for i, run in enumerate(runs):
        if i > 0 and is_broken(runs[i - 1][-1], run[0]):
            broken = True
        if run[-1][0] - run[0][0] < dwell:
            continue
        if stay is not None and not broken:
            near = squared(mean_of(stay["records"]), mean_of(run)) <= radius**2
            if near and (stay["run"] == i - 1 or run[0][0] - stay["until"] <= dwell):
                stay["records"] += run
                stay |= {"run": i, "until": run[-1][0], "labels": run[-1][3:]}
                continue
        follows = stay is not None and not broken
        stay = {"records": [*run], "run": i, "until": run[-1][0], "labels": run[-1][3:]}
        stays.append((follows, stay))
        broken = False
    zones = [zone_of(one["records"]) for _, one in stays]
    return [
        (zones[i - 1], zones[i], stays[i - 1][1]["until"], *stays[i - 1][1]["labels"])
        for i, (follows, _) in enumerate(stays)
        if follows
    ]


def trips_of_stays(stays, gap):
    """Return the trips of one unit, as pairs of zones; ``stays``: (begin, end, zone).

    Perhaps with labels, of which trips then have those of the first row of the stay they lead to.
    """
    joined = []
    for begin, end, zone, *labels in sorted(stays):
        if joined and joined[-1][2] == zone and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end, zone, *labels])
    return [
        (one[2], other[2], *other[3:])
        for one, other in pairwise(joined)
        if other[0] != one[0] and other[0] - one[1] <= gap
    ]
