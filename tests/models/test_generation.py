"""A real generative model in this process: prompts, grammars, memory. test_inference.py tests the worker."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.run.engines import Stop
from gnod.models.run.llama import library
from gnod.models.run.llama.chat import Messages
from gnod.models.run.llama.generation import GeneratedPiece, GenerationEngine
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.messages import ModelSpec
from tests.systems import needs_linux

pytestmark = pytest.mark.slow

QUESTION = [("user", "Name three animals that live in the sea.")]
GIGABYTE = 1 << 30
LONG = "The harbour master closed the east gate before the storm. " * 60
YES_OR_NO = 'root ::= "yes" | "no"'
LINES = 'root ::= line line\nline ::= ("lex: " | "vec: ") [a-z]{3,10} " " [a-z]{3,10} "\\n"'


@pytest.fixture(scope="module")
def spec(smollm_gguf: Path) -> ModelSpec:
    # Use one thread: outside the worker, two threads would spin on a busy machine.
    return ModelSpec(path=str(smollm_gguf), gpu=False, threads=1)


@pytest.fixture(scope="module")
def engine(spec: ModelSpec) -> Iterator[GenerationEngine]:
    made = GenerationEngine(spec)
    yield made
    made.close()


def generate(
    engine: GenerationEngine,
    messages: Messages,
    *,
    max_tokens: int = 12,
    grammar: str | None = None,
) -> list[GeneratedPiece]:
    return list(engine.generate(messages, stop=Stop(), max_tokens=max_tokens, grammar=grammar))


def text_of(pieces: list[GeneratedPiece]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.stress
def test_generation_is_deterministic(engine: GenerationEngine) -> None:
    first = generate(engine, QUESTION)
    assert text_of(first) == text_of(generate(engine, QUESTION))
    assert len(text_of(first)) > 20
    assert (first[-1].finish, first[-1].tokens) == ("length", 12)


def test_generation_stops_at_the_end_of_the_text(engine: GenerationEngine) -> None:
    last = generate(engine, [("user", "Say hello in one word.")], max_tokens=200)[-1]
    assert last.finish == "stop"
    assert last.tokens < 200


@pytest.mark.parametrize("prompt", ["Is water wet?", "Write a poem about the sea.", "Answer in Chinese: 你好吗?", ""])
def test_output_follows_the_grammar_for_any_prompt(engine: GenerationEngine, prompt: str) -> None:
    pieces = generate(engine, [("user", prompt)], grammar=YES_OR_NO)
    assert text_of(pieces) in ("yes", "no")
    assert pieces[-1].finish == "stop"


def test_a_grammar_of_lines(engine: GenerationEngine) -> None:
    lines = text_of(generate(engine, QUESTION, grammar=LINES, max_tokens=80)).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(("lex: ", "vec: ")) for line in lines)


def test_an_invalid_grammar_is_reported(engine: GenerationEngine) -> None:
    for grammar in ("root ::= (", "root ::= nothing", 'other ::= "a"', 'root ::= root "a"', "\0", ""):
        with pytest.raises(InferenceFailed, match="grammar"):
            generate(engine, QUESTION, grammar=grammar)
    assert text_of(generate(engine, QUESTION, grammar=YES_OR_NO)) in ("yes", "no")


@pytest.mark.stress
def test_the_common_beginning_of_prompts_is_cached(engine: GenerationEngine, spec: ModelSpec) -> None:
    system = ("system", LONG[:800])
    questions = ["Which gate was closed?", "Who closed the gate?"]
    fresh = GenerationEngine(spec)
    try:
        expected = text_of(generate(fresh, [system, ("user", questions[1])]))
    finally:
        fresh.close()
    generate(engine, [system, ("user", questions[0])])
    pieces = generate(engine, [system, ("user", questions[1])])
    assert text_of(pieces) == expected
    first, last = pieces[0].prompt_tokens, pieces[-1].prompt_tokens
    assert last > 150
    assert first > last - 64, "the beginning was read again"


def test_generation_stops_when_the_window_is_full(spec: ModelSpec) -> None:
    small = GenerationEngine(ModelSpec(path=spec.path, window=64, gpu=False, threads=1))
    try:
        pieces = generate(small, [("user", "Write a long story about a lighthouse.")], max_tokens=1000)
        assert pieces[-1].finish == "length"
        assert pieces[-1].prompt_tokens + pieces[-1].tokens == 64
    finally:
        small.close()


def test_a_character_is_never_cut(engine: GenerationEngine) -> None:
    grammar = 'root ::= ("港" | "船" | "🚢" | "é"){8}'
    pieces = generate(engine, [("user", "Draw ships.")], grammar=grammar, max_tokens=200)
    assert len(text_of(pieces)) == 8
    assert set(text_of(pieces)) <= set("港船🚢é")
    cut = generate(engine, [("user", "Draw ships.")], grammar='root ::= "🚢"+', max_tokens=2)
    assert "\N{REPLACEMENT CHARACTER}" not in text_of(cut)


@pytest.mark.stress
def test_stop_interrupts_a_step(engine: GenerationEngine) -> None:
    """Measured in processor time, which does not depend on other processes."""

    def read(prompt: str, stop: Stop) -> tuple[float, list[GeneratedPiece]]:
        started = time.process_time()
        pieces = list(engine.generate([("user", prompt)], max_tokens=1, stop=stop))
        return time.process_time() - started, pieces

    whole_s, _ = read(f"Read this. {LONG[:1200]}", Stop())
    stop = Stop()
    threading.Timer(0.02, stop.set).start()
    stopped_s, pieces = read(f"Learn that. {LONG[:1200]}", stop)  # this beginning is not cached
    assert stopped_s < whole_s / 2
    assert not any(piece.finish for piece in pieces)
    assert text_of(generate(engine, QUESTION)) == text_of(generate(engine, QUESTION)), "what the step left is forgotten"


def test_a_model_that_cannot_generate_is_rejected(minilm_gguf: Path) -> None:
    with pytest.raises(ModelRejected, match="does not write"):
        GenerationEngine(ModelSpec(path=str(minilm_gguf), gpu=False))


@needs_linux("limits the address space")
def test_a_context_that_does_not_fit_is_an_error_of_memory(spec: ModelSpec) -> None:
    model = library.load(spec)
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Without a limit, the kernel grants any amount of memory, and kills the process that uses it.
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + GIGABYTE, hard))
    try:
        with pytest.raises(MemoryError):
            library.new_context(model, "to write text", threads=1, n_ctx=1 << 30)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))
        llama_cpp.llama_model_free(model)
