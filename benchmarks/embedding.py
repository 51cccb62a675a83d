"""Measure the inference worker: tokens per second, query latency, and memory after unloading.

    python -m benchmarks.embedding MODEL.gguf [--reference PYTHON FOLDER]

MODEL.gguf is all-MiniLM-L6-v2 (`gnoctl models path embed` with the preset `mini`). With `--reference`, gnod and
sentence-transformers (in the environment of PYTHON, with the same weights in FOLDER) alternate with the same texts. The
speed of the machine varies by the minute, so compare only ratios within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gnod.models.run.inference import Inference
from gnod.models.run.messages import ModelSpec

ROUNDS = 7
CHUNKS = 48
QUERIES = 200
BUSY_ROUNDS = 3
CORES = os.cpu_count() or 1

# About 250 tokens each, all different.
_SENTENCES = (
    "The harbour master keeps a log of every vessel that enters the basin after sunset.",
    "When the wind exceeds twenty metres per second, cranes are lowered and secured with two pins.",
    "Retries are made with exponential back-off, and the caller sees the first error and not the last.",
    "A migration runs in one transaction together with the row that records it in the schema table.",
    "Potatoes are planted in April, earthed up in June, and lifted when the leaves have turned yellow.",
    "The committee adopted the report without a vote and asked for an independent review of the budget.",
)

_REFERENCE = """
import sys, time
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
texts = eval(sys.stdin.readline())
model.encode(texts[:8])
print("ready", flush=True)
for line in sys.stdin:
    started = time.perf_counter()
    model.encode(texts, batch_size=32)
    print(time.perf_counter() - started, flush=True)
"""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--reference", nargs=2, metavar=("PYTHON", "FOLDER"))
    options = parser.parse_args(words)
    asyncio.run(_measure(options.model.resolve(), options.reference))
    return 0


async def _measure(model: Path, reference: list[str] | None) -> None:
    print(f"{CORES} cores, load {os.getloadavg()[0]:.1f}")
    spec = ModelSpec(path=str(model), window=256, gpu=False, threads=CORES)
    inference = Inference(idle_unload_s=1)
    texts = _texts()
    with inference.lease(), ExitStack() as stack:
        started = time.perf_counter()
        await inference.embed(spec, ["first"], interactive=True)
        print(f"first query, which starts the worker and loads the model: {time.perf_counter() - started:.2f} s")
        other = stack.enter_context(_sentence_transformers(reference, texts)) if reference else None
        quiet = await _throughput(inference, spec, texts, other, ROUNDS)
        await _query_latency(inference, spec, "idle daemon", background=None)
        await _query_latency(inference, spec, "during a backlog", background=texts)
        with _busy(CORES):
            busy = await _throughput(inference, spec, texts, other, BUSY_ROUNDS, f"with {CORES} busy processes")
        print(f"busy over quiet: {busy / quiet:.2f} (a fair share is .5)")
    memory = inference.status().resident_bytes
    await asyncio.sleep(1.5)
    status = inference.status()
    print(f"worker: {memory / 1e6:.0f} MB with the model; {status.resident_bytes} after idle unload ({status.state})")
    await inference.close()


async def _throughput(
    inference: Inference,
    spec: ModelSpec,
    texts: list[str],
    other: subprocess.Popen[str] | None,
    rounds: int,
    where: str = "quiet",
) -> float:
    """Print chunks per second of gnod and of the reference, which alternate. Return the median of gnod."""
    ours, theirs = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        await inference.embed(spec, texts, interactive=False)
        ours.append(len(texts) / (time.perf_counter() - started))
        if other:
            theirs.append(len(texts) / _ask(other))
    line = f"{where}: {statistics.median(ours):,.1f} chunks/s"
    if theirs:
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        line += f"; sentence-transformers {statistics.median(theirs):,.1f}"
        line += f"; ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    print(line, flush=True)
    return statistics.median(ours)


async def _query_latency(inference: Inference, spec: ModelSpec, when: str, background: list[str] | None) -> None:
    embedding = asyncio.create_task(_embed_for_ever(inference, spec, background)) if background else None
    took_ms = []
    for number in range(QUERIES):
        await asyncio.sleep(0.013 if background else 0)
        started = time.perf_counter()
        await inference.embed(spec, [f"how do I configure the retry limit of worker {number}"], interactive=True)
        took_ms.append((time.perf_counter() - started) * 1000)
    if embedding:
        embedding.cancel()
        await asyncio.gather(embedding, return_exceptions=True)
    took_ms.sort()
    print(
        f"one query, {when}: p50 {took_ms[QUERIES // 2]:.1f} ms, p95 {took_ms[int(QUERIES * 0.95)]:.1f} ms", flush=True
    )


async def _embed_for_ever(inference: Inference, spec: ModelSpec, texts: list[str]) -> None:
    while True:
        await inference.embed(spec, texts, interactive=False)


@contextmanager
def _sentence_transformers(reference: list[str], texts: list[str]) -> Iterator[subprocess.Popen[str]]:
    python, folder = reference
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", _REFERENCE, folder]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(repr(texts) + "\n")
        process.stdin.flush()
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("sentence-transformers does not start: check PYTHON and FOLDER")
        yield process
        process.stdin.close()


def _ask(process: subprocess.Popen[str]) -> float:
    assert process.stdin
    assert process.stdout
    process.stdin.write("again\n")
    process.stdin.flush()
    return float(process.stdout.readline())


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep this many cores busy."""
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def _texts() -> list[str]:
    def text(number: int) -> str:
        pieces = [f"Entry {number}."]
        while len(" ".join(pieces)) < 1_180:
            pieces.append(_SENTENCES[(number * 7 + len(pieces) * 5) % len(_SENTENCES)])
        return " ".join(pieces)

    return [text(number) for number in range(CHUNKS)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
