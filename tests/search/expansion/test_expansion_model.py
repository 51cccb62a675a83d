"""Expansion by a real model. It is too small for useful output, but has the same grammar."""

from __future__ import annotations

import asyncio
import ctypes
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gnod.models.files import ModelFiles
from gnod.models.run import messages as m
from gnod.models.run.inference import Inference
from gnod.models.run.llama import library
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.messages import ModelSpec
from gnod.models.run.roles import Generator, Message
from gnod.search.expansion.expander import Expander
from gnod.search.expansion.prompts import GRAMMAR, LENGTHS
from gnod.search.query.parsing import parse_subqueries
from gnod.store.connection import Connection
from tests.small_index import SmallIndex
from tests.waiting import until

pytestmark = pytest.mark.slow

# The model soon finishes its output for this query.
QUERY = "where is the invoice"
OTHER = "how are cats fed"
FORMS = (["lex"] * 2 + ["vec"] * 2 + ["hyde"], ["lex"] * 3 + ["vec"] * 2 + ["hyde"])


@asynccontextmanager
async def expander(model: Path, index: SmallIndex) -> AsyncIterator[tuple[Expander, Inference]]:
    async def read(work: Callable[[Connection], str | None]) -> str | None:
        return await index.database.read(work)

    async def write(work: Callable[[Connection], None]) -> None:
        await index.database.write(work)

    inference = Inference(idle_unload_s=60)
    files = ModelFiles(model.parent)
    writer = Generator(f"file:{model}", files=files, inference=inference, gpu=False, threads=2)
    try:
        yield Expander(writer, read, write), inference
    finally:
        await inference.close()


@pytest.mark.stress
async def test_a_model_expands_once(smollm_gguf: Path, small_index: SmallIndex) -> None:
    async with expander(smollm_gguf, small_index) as (expands, inference):
        first = await expands.expand(QUERY, limit_s=90)
        assert (first.cached, first.timed_out, first.language) == (False, False, "en")
        written = [*first.variants, *(line for line, _ in first.dropped)]
        assert sorted(line.kind for line in written) in [sorted(form) for form in FORMS]
        assert all(0 < len(line.text) <= LENGTHS[line.kind] for line in written)
        assert all(why for _, why in first.dropped)
        inference.unload()
        await until(lambda: inference.status().state == "off")
        again = await expands.expand(f"  {QUERY}\n", limit_s=90)
        assert again._replace(took_ms=0) == first._replace(took_ms=0, cached=True)
        assert inference.status().state == "off"


@pytest.mark.stress
async def test_at_the_limit_the_model_goes_on_for_the_cache(smollm_gguf: Path, small_index: SmallIndex) -> None:
    async with expander(smollm_gguf, small_index) as (expands, _):
        await expands.expand(QUERY, limit_s=90)  # loaded
        found = await expands.expand(OTHER, limit_s=0.15)
        assert (found.variants, found.dropped, found.timed_out, found.cached) == ([], [], True, False)
        assert found.goes_on
        # Until it has finished, other queries have only the cache.
        other = await expands.expand("a third question", limit_s=90)
        assert (other.timed_out, other.goes_on, other.variants) == (True, False, [])
        assert (await expands.expand(QUERY, limit_s=90)).cached
        await until(lambda: small_index.rows("SELECT count(*) FROM llm_cache") == [(2,)])
        again = await expands.expand(OTHER, limit_s=0.0)
        assert (again.cached, again.timed_out) == (True, False)


async def test_a_query_that_is_cancelled_stops_the_model(smollm_gguf: Path, small_index: SmallIndex) -> None:
    async with expander(smollm_gguf, small_index) as (expands, inference):
        await expands._generator.generate([Message("user", "Hi")], max_tokens=1)  # loaded
        query = asyncio.create_task(expands.expand(OTHER, limit_s=90))
        await until(lambda: inference.status().state == "busy")
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
        await until(lambda: inference.status().state == "idle")
        assert small_index.rows("SELECT count(*) FROM llm_cache") == [(0,)]


@pytest.mark.stress
async def test_a_model_that_goes_on_lets_other_work_go_first(smollm_gguf: Path, minilm_onnx: Path) -> None:
    """The worker does not write while it computes for a caller that waits."""
    inference = Inference(idle_unload_s=60)
    chunks: list[m.ResultChunk] = []
    story = m.Generate(
        model=ModelSpec(path=str(smollm_gguf), gpu=False, threads=2),
        messages=[("user", "Write a long story about boats.")],
        max_tokens=300,
        yields_after_s=0.0,
    )
    try:
        spec = ModelSpec(path=str(minilm_onnx), gpu=False, threads=2)
        await inference.embed(spec, ["loaded"], interactive=True)
        going = asyncio.create_task(inference.run(story, chunks.append))
        await until(lambda: len(chunks) > 3)
        started = time.monotonic()
        await inference.embed(spec, ["how are the boats counted in the harbour at night? " * 40] * 8, interactive=True)
        took_s = time.monotonic() - started
        written = len(chunks)
        await until(lambda: len(chunks) > written + 3 or going.done())
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
    finally:
        await inference.close()
    times = [chunk.took_s for chunk in chunks if isinstance(chunk, m.TextGenerated)]  # by the worker's clock
    assert max(after - before for before, after in pairwise(times)) > took_s / 2


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(4))
def test_whatever_llama_cpp_lets_through_is_read(seed: int, smollm_gguf: Path) -> None:
    """The model writes any token that the grammar permits."""
    said = _random_text(smollm_gguf, random.Random(seed))
    lines = parse_subqueries(said)
    assert lines
    assert [line.kind for line in lines] in FORMS
    assert all(0 < len(line.text) <= LENGTHS[line.kind] for line in lines)


def _random_text(path: Path, chance: random.Random) -> str:
    model = library.load(ModelSpec(path=str(path), gpu=False))
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    grammar = llama_cpp.llama_sampler_init_grammar(vocabulary, GRAMMAR.encode(), b"root")
    assert grammar, "llama.cpp does not accept the grammar"
    size = llama_cpp.llama_vocab_n_tokens(vocabulary)
    said = b""
    while True:
        permitted = _permitted(grammar, size)
        token = chance.choice(permitted)
        if llama_cpp.llama_vocab_is_eog(vocabulary, token):
            break
        llama_cpp.llama_sampler_accept(grammar, token)
        piece = ctypes.create_string_buffer(256)
        length = llama_cpp.llama_token_to_piece(vocabulary, token, piece, 256, 0, False)
        said += piece.raw[:length]
    llama_cpp.llama_sampler_free(grammar)
    llama_cpp.llama_model_free(model)
    return said.decode()


def _permitted(grammar: llama_cpp.llama_sampler_p, size: int) -> list[int]:
    candidates = np.zeros(size, np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
    candidates["id"] = np.arange(size)
    array = llama_cpp.llama_token_data_array(
        data=ctypes.cast(candidates.ctypes.data, llama_cpp.llama_token_data_p), size=size, selected=-1, sorted=False
    )
    llama_cpp.llama_sampler_apply(grammar, ctypes.byref(array))
    return [int(token) for token in candidates["id"][np.isfinite(candidates["logit"])]]
