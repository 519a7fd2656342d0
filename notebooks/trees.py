"""Drawings of orders and binary trees for the notebook about the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from figures import BLACK, BLUE, GREEN, GREY, ORANGE, RED
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray


def morton_figure(key: NDArray[np.uint64]) -> Figure:
    """Draw the order of the cells of a square; ``key[row, col]`` are their keys."""
    side = len(key)
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.7))
    row, col = np.unravel_index(np.argsort(key, axis=None), key.shape)
    for ax, bits, title in zip(
        axes,
        (0, 2, 4),
        ("One curve through all cells", "Runs of 4 keys", "Runs of 16 keys"),
        strict=True,
    ):
        block = (key >> np.uint64(bits)).astype(float)
        if bits:
            tints = ListedColormap(["#d9ecf8", "#fbe6c2", "#d4efe5", "#f4dcea"])
            # Squares that touch differ in one of the two lowest digits of their number.
            ax.imshow(block % 4, cmap=tints, origin="lower", vmin=0, vmax=3)
        else:
            ax.imshow(block, cmap="Blues", origin="lower", vmin=-6, vmax=210)
        if bits:
            starts = range(0, side * side, 1 << bits)
            for start in starts:
                run = slice(start, start + (1 << bits))
                ax.plot(col[run], row[run], color=BLUE, linewidth=1.6)
        else:
            ax.plot(col, row, color=BLUE, linewidth=1.2)
        for r in range(side):
            for c in range(side):
                shown = int(key[r, c])
                number = ax.text(c + 0.26, r + 0.19, shown, fontsize=6.5, ha="center")
                number.set_path_effects([withStroke(linewidth=2, foreground="#eef4f9")])
        ax.plot(col, row, "o", color=BLUE, markersize=2.5)
        ax.set(xticks=[], yticks=[], title=title)
        step = 1 << (bits // 2)
        for line in np.arange(0, side + 1, step) - 0.5:
            ax.axhline(line, color="white", linewidth=1.5 if step > 1 else 0.6)
            ax.axvline(line, color="white", linewidth=1.5 if step > 1 else 0.6)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    return fig


def _places(bits: int) -> Callable[[int, int], tuple[float, float]]:
    """Where a node of a level is drawn: (x, y); leaves at y = 0."""

    def place(level: int, prefix: int) -> tuple[float, float]:
        width = 1 << (bits - level)
        return (prefix + 0.5) * width - 0.5, float(bits - level)

    return place


def haar_figure(counts: Sequence[int], person: int) -> Figure:
    """Draw sums and differences over 2**bits cells, and what one more person changes."""
    bits = len(counts).bit_length() - 1
    place = _places(bits)
    sums = {(bits, i): count for i, count in enumerate(counts)}
    for level in range(bits - 1, -1, -1):
        for i in range(1 << level):
            sums[level, i] = sums[level + 1, 2 * i] + sums[level + 1, 2 * i + 1]
    fig, ax = plt.subplots(figsize=(9, 4.4))
    for (level, i), total in sums.items():
        x, y = place(level, i)
        touched = person >> (bits - level) == i
        if level:
            above = place(level - 1, i // 2)
            colour, width = (RED, 2.2) if touched else ("#b5b5b5", 1.0)
            ax.plot([above[0], x], [above[1], y], color=colour, linewidth=width, zorder=1)
        leaf = level == bits
        ink = "#a8a8a8" if not total else BLACK
        box = FancyBboxPatch(
            (x - (0.13 if leaf else 0.34), y - (0.13 if leaf else 0.22)),
            0.26 if leaf else 0.68,
            0.26 if leaf else 0.44,
            boxstyle="round,pad=0.03",
            mutation_aspect=0.7,
            facecolor="#f2f2f2" if leaf else "white",
            edgecolor=RED if touched else "#b5b5b5",
            linewidth=1.8 if touched else 1.0,
        )
        ax.add_patch(box)
        words = {"ha": "center", "va": "center_baseline", "fontsize": 10}
        if leaf:
            ax.text(x, y, total, color=ink, **words)
            continue
        detail = sums[level + 1, 2 * i] - sums[level + 1, 2 * i + 1]
        sign = "+" if detail > 0 else "−" if detail < 0 else ""
        bold = {"fontweight": "bold"} if not level else {}
        ax.text(x, y + 0.1, f"S = {total}", color=ink if not level else "#8a8a8a", **words, **bold)
        ax.text(x, y - 0.1, f"D = {sign}{abs(detail)}", color=ink, fontweight="bold", **words)
    ax.text(-0.95, 0, "cells", ha="right", va="center", color="#666666")
    for level in range(bits):
        cells = 1 << (bits - level)
        label = f"{cells} cells"
        ax.text(-0.95, bits - level, label, ha="right", va="center", color="#666666")
    ax.set(xlim=(-1.9, len(counts) - 0.4), ylim=(-0.45, bits + 0.45))
    ax.axis("off")
    handles = [
        Line2D([], [], color=RED, linewidth=2.2, label="changed by one more person here"),
        Line2D([], [], linestyle="", label="bold: what the transform keeps"),
    ]
    ax.legend(handles=handles, loc="upper right")
    return fig


def refinement_figure(
    nodes: Mapping[tuple[int, int], tuple[int, str]], truth: Sequence[int]
) -> Figure:
    """Draw one pruned refinement.

    Parameters
    ----------
    nodes : mapping from (level, prefix) to (count, kind)
        Of all nodes that were reached; kind is "split", "clamped", "empty" or "cell".
    truth : sequence of int
        True counts of the cells.
    """
    bits = len(truth).bit_length() - 1
    place = _places(bits)
    looks = {
        "split": ("#d6e9f6", BLUE, BLACK),
        "clamped": ("#fdeacb", ORANGE, BLACK),
        "empty": ("white", GREY, GREY),
        "cell": ("#cdeade", GREEN, BLACK),
    }
    fig, ax = plt.subplots(figsize=(10, 4.9))
    for level in range(bits + 1):
        for i in range(1 << level):
            x, y = place(level, i)
            known = (level, i) in nodes
            if level:
                above = place(level - 1, i // 2)
                ax.plot(
                    [above[0], x],
                    [above[1], y],
                    color="#9a9a9a" if known else "#e3e3e3",
                    linewidth=1.2 if known else 0.7,
                    linestyle="-" if known else (0, (3, 2)),
                    zorder=1,
                )
            if not known:
                ax.plot(x, y, "o", color="#d9d9d9", markersize=4)
                continue
            count, kind = nodes[level, i]
            face, edge, ink = looks[kind]
            ax.text(
                x,
                y,
                str(count),
                ha="center",
                va="center",
                fontsize=10,
                color=ink,
                bbox={"boxstyle": "round,pad=0.35", "facecolor": face, "edgecolor": edge},
            )
    for i, count in enumerate(truth):
        released = nodes.get((bits, i), (0, ""))[0]
        ax.text(i, -0.55, released, ha="center", color=BLACK if released else "#b0b0b0")
        ax.text(i, -0.9, count, ha="center", color=BLACK if count else "#b0b0b0")
    ax.text(-0.75, -0.55, "released", ha="right", color="#666666")
    ax.text(-0.75, -0.9, "true", ha="right", color="#666666")
    labels = {
        "split": "visited: split by a noisy difference",
        "clamped": "visited: its difference was clamped",
        "empty": "pruned: nobody there, not looked into",
        "cell": "cell of the output",
    }
    handles: list[Any] = [
        Patch(facecolor=looks[k][0], edgecolor=looks[k][1], label=text)
        for k, text in labels.items()
    ]
    dot = Line2D([], [], marker="o", linestyle="", color="#d9d9d9", label="never visited")
    ax.legend(handles=[*handles, dot], loc="upper left", fontsize=9)
    ax.set(xlim=(-2.1, len(truth) - 0.4), ylim=(-1.1, bits + 0.4))
    ax.axis("off")
    return fig
