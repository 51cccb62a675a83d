"""How many tokens a second the models of the presets read on this machine: measured with random weights in their shape.

.venv/bin/python -m benchmarks.preset_speed --rounds 10

Prints the best and the median round. On a machine that is busy otherwise, the best comes nearer to the truth.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys

from gnod.models.supply import catalogue
from gnod.models.supply.speed.measuring import measure
from gnod.models.supply.speed.shapes import Shape


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    speeds = asyncio.run(_speeds(options.rounds, options.threads))
    for uri, known in catalogue.MODELS.items():
        if known.shape:
            found = speeds[known.shape]
            sys.stdout.write(f"{max(found):>8,.0f} {statistics.median(found):>8,.0f} tokens/s  {uri}\n")
    return 0


async def _speeds(rounds: int, threads: int) -> dict[Shape, list[float]]:
    shapes = list(dict.fromkeys(known.shape for known in catalogue.MODELS.values() if known.shape))
    found: dict[Shape, list[float]] = {shape: [] for shape in shapes}
    for _ in range(rounds):
        speeds = await measure(
            shapes, threads=threads, gpu=True, least_tokens_per_s=0, on_progress=lambda *_: None, limit_s=120
        )
        if speeds.failure:
            raise SystemExit(speeds.failure)
        for shape, speed in speeds.tokens_per_s.items():
            found[shape].append(speed)
    return found


if __name__ == "__main__":
    sys.exit(main())
