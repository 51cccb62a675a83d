"""Measure embedding over a local endpoint, compared with the capacity of the server. Prints figures.

    python -m benchmarks.remote_embedding MODEL.gguf [--documents N] [--rounds N]

Starts llama-cpp-python's server (`pip install 'llama-cpp-python[server]'`) with MODEL.gguf, which must have its own
tokenizer, such as multilingual-e5-small (preset `mini-multilingual`). Two clients alternate: gnod embeds the chunks of
an index from its database and back into it; a bare client posts the same texts, 32 at a time, over one connection. The
speed of the machine varies by the minute, so compare only the ratios. The second ratio uses the processor time of the
server, which depends less on other load.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from gnod.evaluate.dataset import CorpusDocument, Dataset
from gnod.evaluate.index import COLLECTION, temporary_index
from gnod.evaluate.models import EvaluationModels
from gnod.models.embedding_profiles import EmbeddingText, apply_document_template, cut, profile_of
from gnod.models.files import ModelFiles
from gnod.store.vectors import vectors
from gnod.tuning.experiment import embed_all

BATCH = 32
NAME = "multilingual-e5-small"
_WORDS = [
    "harbour",
    "crane",
    "vessel",
    "storm",
    "pilot",
    "cargo",
    "anchor",
    "ledger",
    "signal",
    "engine",
    "rope",
    "tide",
]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(words)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    corpus = [_document(number) for number in range(options.documents)]
    dataset = Dataset("remote", Path(), corpus, queries={}, qrels={}, unjudged=0)
    with _server(options.model.resolve()) as (port, process), TemporaryDirectory() as folder:
        uri = f"http://127.0.0.1:{port}/v1#{NAME}"
        with (
            temporary_index(dataset, lambda *_: None) as index,
            EvaluationModels(uri, ModelFiles(Path(folder))) as models,
        ):
            pending = index.database.submit_read(lambda c: vectors.pending(c, uri, [COLLECTION], 10**6)).result()
            profile = profile_of(uri)
            texts = [
                apply_document_template(profile, EmbeddingText(chunk.title, chunk.heading, chunk.text[start:end]))
                for chunk in pending
                for start, end in cut(chunk.text, profile.piece)
            ]
            print(f"{len(pending)} chunks, {len(texts)} pieces of {sum(map(len, texts)) / len(texts):.0f} characters")
            _post(port, texts[:BATCH])
            ratios, of_cpu = [], []
            for _ in range(options.rounds):
                before = _cpu_s(process)
                theirs = len(texts) / _post(port, texts)
                between, started = _cpu_s(process), time.perf_counter()
                index.loop.run(embed_all(index.database, models.embedder, COLLECTION, lambda *_: None))
                ours = len(texts) / (time.perf_counter() - started)
                of_cpu.append((between - before) / (_cpu_s(process) - between))
                index.database.submit_write(lambda c: vectors.drop(c, uri)).result()
                ratios.append(ours / theirs)
                line = f"gnod {ours:.1f} pieces/s, the server alone {theirs:.1f}: ratio {ratios[-1]:.2f}"
                print(f"{line}; by processor time {of_cpu[-1]:.2f}", flush=True)
    for name, values in (("ratio", ratios), ("by processor time", of_cpu)):
        print(f"{name} {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    return 0


def _document(number: int) -> CorpusDocument:
    """Return a unique text of about 4,000 characters."""
    sentences = [
        " ".join(_WORDS[(number * 7 + at * (3 + word % 5) + word) % len(_WORDS)] for word in range(12)).capitalize()
        + f" {number}-{at}."
        for at in range(50)
    ]
    return CorpusDocument(id=str(number), title=f"Log {number}", text=" ".join(sentences))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _post(port: int, texts: Sequence[str]) -> float:
    """Post all texts and read the responses; return the seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    started = time.perf_counter()
    for first in range(0, len(texts), BATCH):
        body = json.dumps({"model": NAME, "input": texts[first : first + BATCH]})
        connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    took_s = time.perf_counter() - started
    connection.close()
    return took_s


@contextlib.contextmanager
def _server(model: Path) -> Iterator[tuple[int, psutil.Process]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    options = {"model": str(model), "model_alias": NAME, "embedding": "true", "n_ctx": 512, "verbose": "false"}
    command = [sys.executable, "-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", str(port)]
    command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet) as process:
        try:
            for _ in range(600):
                url = f"http://127.0.0.1:{port}/v1/models"
                with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
                    break
                if process.poll() is not None:
                    raise SystemExit("the server does not start: pip install 'llama-cpp-python[server]'")
                time.sleep(0.1)
            yield port, psutil.Process(process.pid)
        finally:
            process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
