"""MWEM of Hardt, Ligett, McSherry (2012), cell by cell."""

import math


def queries(inside):
    """Node numbers and their cells: aligned blocks that both halves of the domain share in."""
    n = len(inside)
    found, seen = [], set()
    for node in range(1, 2 * n):
        width = n >> (node.bit_length() - 1)
        low = node * width - n
        cells = [k for k in range(low, low + width) if inside[k]]
        halves = [any(inside[low : low + width // 2]), any(inside[low + width // 2 : low + width])]
        if cells and (width == 1 or all(halves)):
            assert tuple(cells) not in seen
            seen.add(tuple(cells))
            if len(cells) < sum(inside):
                found.append((node, cells))
    return found


def estimate(people, inside, rounds, passes, total_noise, select_noise, measure_noise, average):
    """Values of all keys; ``select_noise(turn)[node]`` and ``measure_noise(turn)`` are noises."""
    total = max(sum(people) + total_noise, 1)
    size = sum(inside)
    values = [total / size if here else 0.0 for here in inside]
    left = queries(inside)
    measured, history = [], []
    for turn in range(min(rounds, len(left))):
        noise = select_noise(turn)

        def score(query, noise=noise, values=values):
            node, cells = query
            truth = sum(people[k] for k in cells)
            guess = round(sum(values[k] for k in cells) - 2**-20)  # halves go down
            return abs(truth - guess) + int(noise[node])

        chosen = max(left, key=score)
        left.remove(chosen)
        truth = sum(people[k] for k in chosen[1])
        measured.append((chosen[1], truth + measure_noise(turn)))
        for _ in range(passes):
            for cells, target in measured:
                step = (target - sum(values[k] for k in cells)) / (2 * total)
                for k in cells:
                    values[k] *= math.exp(step)
                whole = sum(values)
                values = [v * total / whole for v in values]
        history.append(list(values))
    if average and history:
        return [sum(v) / len(history) for v in zip(*history, strict=True)]
    return values
