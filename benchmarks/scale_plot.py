"""Draw figures against the number of documents as one SVG, with a small log-log plot for each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log, log10

COLUMNS = 3
WIDTH, HEIGHT, MARGIN = 300, 190, 46


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of the least-squares line through the logarithms; 0 for one size."""
    if len(sizes) < 2:
        return 0.0
    x, y = [log(size) for size in sizes], [log(max(value, 1e-9)) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def draw(sizes: Sequence[int], measured: Sequence[Mapping[str, float]]) -> str:
    names = list(measured[0])
    rows = ceil(len(names) / COLUMNS)
    plots = [
        f'<g transform="translate({at % COLUMNS * WIDTH} {at // COLUMNS * HEIGHT})">'
        f"{_plot(name, sizes, [each[name] for each in measured])}</g>"
        for at, name in enumerate(names)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH} {rows * HEIGHT}"'
        ' font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(plots)
        + "\n</svg>\n"
    )


def _plot(name: str, sizes: Sequence[int], values: Sequence[float]) -> str:
    left, right = log10(sizes[0]), log10(sizes[-1]) if len(sizes) > 1 else log10(sizes[0]) + 1
    bottom = floor(log10(max(min(values), 1e-3)))
    top = max(ceil(log10(max(*values, 1e-3))), bottom + 1)

    def place(size: float, value: float) -> tuple[float, float]:
        across = (log10(size) - left) / (right - left)
        up = (log10(max(value, 1e-3)) - bottom) / (top - bottom)
        return MARGIN + across * (WIDTH - MARGIN - 16), HEIGHT - 28 - up * (HEIGHT - 62)

    parts = [f'<text x="{MARGIN}" y="18" font-weight="bold">{escape(name)} · n^{exponent(sizes, values):.2f}</text>']
    for power in range(bottom, top + 1):
        _, y = place(sizes[0], 10.0**power)
        parts.append(f'<path d="M{MARGIN} {y:.1f}H{WIDTH - 16}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>')
    for at, size in enumerate(sizes):
        x, _ = place(size, values[0])
        anchor = "end" if at and at == len(sizes) - 1 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}" fill="#555">{_short(size)}</text>')
    points = [place(size, value) for size, value in zip(sizes, values, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#06c" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#06c"/>' for x, y in points]
    return "".join(parts)


def _short(size: int) -> str:
    """Return a short label for a number of documents.

    >>> _short(1_000), _short(1_000_000), _short(2_500)
    ('1k', '1M', '2.5k')
    """
    return f"{size / 1e6:g}M" if size >= 1_000_000 else f"{size / 1e3:g}k" if size >= 1_000 else str(size)
