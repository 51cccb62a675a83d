"""Fuzz everything that a client can reach, and record the faults.

    python -m tests.stress.fuzz_wire --seconds 3600 --corpus FOLDER

It runs all methods on a real index with a few documents, over socket pairs. A fault is an uncaught exception, a reply
with an internal error, a reply that is not JSON, bytes whose meaning depends on how they are split, or an input that
takes more than two seconds of CPU time. FOLDER/faults keeps one input per kind of fault.

With atheris the run is guided by coverage. Atheris is not a dependency of gnod; install it in its own environment:

    python3.11 -m venv ~/fuzz && ~/fuzz/bin/pip install atheris==3.0.0
    PYTHONPATH=$PWD:$PWD/.venv/lib/python3.11/site-packages ~/fuzz/bin/python -m tests.stress.fuzz_wire …

Without atheris, sys.settrace reports the lines that an input reaches, about ten times slower.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import random
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tests.stress.mutation import mutated

MAX_BYTES = 4096


def main() -> None:
    arguments = _arguments()
    has_atheris = importlib.util.find_spec("atheris") is not None
    if has_atheris:
        atheris = importlib.import_module("atheris")
        with atheris.instrument_imports(include=["gnod"]):
            target = importlib.import_module("tests.stress.fuzz_target")
    else:
        target = importlib.import_module("tests.stress.fuzz_target")
    arguments.corpus.mkdir(parents=True, exist_ok=True)
    for name, seed in target.seeds().items():
        (arguments.corpus / name).write_bytes(seed)
    with target.Target(arguments.corpus / "faults") as tested:
        if has_atheris:
            print(f"atheris {atheris.__version__ if hasattr(atheris, '__version__') else ''}, {arguments.seconds} s")
            _by_atheris(atheris, tested, arguments)
        else:
            print(f"atheris is not installed; using sys.settrace, {arguments.seconds} s")
            _by_tracing(tested, arguments)


def _by_atheris(atheris: Any, tested: Any, arguments: argparse.Namespace) -> None:
    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        # libFuzzer's mutations know which bytes the program compared; use them half of the time.
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, max_size))
        return mutated(data, chance)[:max_size]

    command = [
        sys.argv[0],
        str(arguments.corpus),
        f"-max_total_time={arguments.seconds}",
        f"-max_len={MAX_BYTES}",
        "-timeout=120",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
    ]
    atheris.Setup(command, tested.one_input, custom_mutator=mutate)
    atheris.Fuzz()  # ends the process


def _by_tracing(tested: Any, arguments: argparse.Namespace) -> None:
    """Keep inputs that reach new lines."""
    chance = random.Random(arguments.seed)
    corpus = [path.read_bytes() for path in sorted(arguments.corpus.iterdir()) if path.is_file()]
    reached: set[tuple[str, int]] = set()
    fresh: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if "/gnod/" not in frame.f_code.co_filename:
            return None
        where = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and where not in reached:
            fresh.add(where)
        return trace

    deadline, runs, reported_at = time.monotonic() + arguments.seconds, 0, time.monotonic()
    while time.monotonic() < deadline:
        data = corpus[runs] if runs < len(corpus) else mutated(chance.choice(corpus), chance)[:MAX_BYTES]
        sys.settrace(trace)
        with contextlib.ExitStack() as stack:
            stack.callback(sys.settrace, None)
            tested.one_input(data)
        if fresh and runs >= len(corpus):
            corpus.append(data)
        reached |= fresh
        fresh.clear()
        runs += 1
        if time.monotonic() - reported_at > 60:
            reported_at = time.monotonic()
            print(f"{runs} inputs, {len(reached)} lines, corpus {len(corpus)}, faults {tested.faults}", flush=True)
    print(f"{runs} inputs, {len(reached)} lines, corpus {len(corpus)}, faults {tested.faults}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of inputs; the next run continues from it")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
