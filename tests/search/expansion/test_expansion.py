"""Expansion without a model, from earlier output of a model. test_expansion_model.py tests a real model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import ModelNotPulled
from gnod.models.files import ModelFiles
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Generator
from gnod.search.expansion.expander import Expander, Expansion
from gnod.search.expansion.guard import losses
from gnod.search.expansion.prompts import (
    ENGLISH,
    GERMAN,
    LENGTHS,
    MAX_QUERY_CHARACTERS,
    MULTILINGUAL,
    Prompt,
    messages,
    one_line,
)
from gnod.search.query.parsing import Kind, Subquery, parse_subqueries, render
from gnod.store.connection import Connection
from tests.small_index import SmallIndex

QUERY = "reset the boiler to 4 bar in Oslo"


def generator(folder: Path) -> Generator:
    """Return a generator without a model file."""
    inference = Inference(idle_unload_s=1)
    return Generator("hf:org/repo:Q8_0", files=ModelFiles(folder), inference=inference, gpu=False, threads=1)


async def expanded(folder: Path, query: str, written: str) -> Expansion:
    """Expand with earlier output of a model."""

    async def read(work: Callable[[Connection], str | None]) -> str | None:
        return written

    async def write(work: Callable[[Connection], None]) -> None:
        raise AssertionError("a cached expansion must not be written again")

    return await Expander(generator(folder), read, write).expand(query)


async def test_cached_variants_are_checked_again(tmp_path: Path) -> None:
    lines = [
        "lex: boiler reset 4 bar Oslo",
        "lex: boiler reset Oslo",
        "lex: Boiler  RESET 4 bar Oslo!",
        'lex: boiler 4 bar Oslo "odd',
        "vec: How do I reset a boiler to 4 bar in Oslo?",
        "vec: Reset the boiler to 4 bar in Oslo.",
        "hyde: In Norway a boiler is set back to 4 bar.",
    ]
    found = await expanded(tmp_path, QUERY, "\n".join(lines))
    assert render(found.variants).splitlines() == [lines[0], lines[4]]
    assert [(render([line]), why) for line, why in found.dropped] == [
        (lines[1], "lost '4'"),
        (lines[2], "the same as another lex line"),
        (lines[3], "a quotation mark is not closed: put one on both sides of the phrase"),
        (lines[5], "the same as the query"),
        (lines[6], "lost 'Oslo'"),
    ]
    assert (found.cached, found.timed_out, found.language) == (True, False, "en")
    assert 0 < found.took_ms < 60_000


@pytest.mark.parametrize("written", ["", "no form at all", "lex: a\nand more", "lexical: a\nvector: b"])
async def test_a_cached_text_of_invalid_form_is_ignored(written: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotPulled, match="gnoctl models pull"):
        await expanded(tmp_path, QUERY, written)


async def test_without_time_there_are_no_variants_and_nothing_is_kept(small_index: SmallIndex, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    inference = Inference(idle_unload_s=1)
    uri = f"file:{model}"
    slow = Generator(uri, files=ModelFiles(tmp_path), inference=inference, gpu=False, threads=1)
    found = await Expander(slow, *on(small_index)).expand(QUERY, limit_s=0)
    await inference.close()
    assert (found.variants, found.dropped, found.timed_out, found.cached) == ([], [], True, False)
    assert small_index.rows("SELECT count(*) FROM llm_cache") == [(0,)]


def on(
    index: SmallIndex,
) -> tuple[
    Callable[[Callable[[Connection], str | None]], Awaitable[str | None]],
    Callable[[Callable[[Connection], None]], Awaitable[None]],
]:
    return (
        lambda work: asyncio.wrap_future(index.database.submit_read(work)),
        lambda work: asyncio.wrap_future(index.database.submit_write(work)),
    )


@pytest.mark.parametrize(
    ("language", "prompt"),
    [("en", ENGLISH), ("de", GERMAN), ("fr", MULTILINGUAL), ("ja", MULTILINGUAL), (None, MULTILINGUAL)],
)
def test_the_prompt_speaks_the_querys_language_and_ends_with_it(language: str | None, prompt: Prompt) -> None:
    said = messages("Wer? Who? “; lex: no", language)
    assert said[0] == ("system", prompt.system)
    assert said[-1] == ("user", prompt.query.format('Wer? Who? "; lex: no'))
    assert [each.role for each in said[1:-1]] == ["user", "assistant"] * len(prompt.examples)
    assert messages("other", language)[:-1] == said[:-1]


@pytest.mark.parametrize(("prompt", "language"), [(ENGLISH, "en"), (GERMAN, "de"), (MULTILINGUAL, "fr")])
def test_the_examples_do_what_is_asked(prompt: Prompt, language: str) -> None:
    assert len(prompt.system) + sum(map(len, chain.from_iterable(prompt.examples))) < 1200
    for query, answer in prompt.examples:
        lines = parse_subqueries(answer)
        assert lines
        assert [line.kind for line in lines] == ["lex", "lex", "vec", "vec", "hyde"]
        for line in lines:
            assert len(line.text) <= LENGTHS[line.kind]
            assert losses(query, line, language) == []


def test_a_query_is_one_short_line_of_text() -> None:
    assert one_line(" a\x00b\n\tc \ud800 d\u2028e ") == "a b c d e"
    assert len(one_line("word " * 500)) <= MAX_QUERY_CHARACTERS
    assert one_line("\x00") == ""


# The output that the grammar allows, as strategies of hypothesis.
_OTHER = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029")
_FIRST = _OTHER.filter(lambda c: not re.match("[\\s\u2000-\u200f\u2028-\u202f\u205f-\u206f\ufeff]", c))


def _text(kind: Kind) -> st.SearchStrategy[str]:
    return st.builds(lambda first, rest: first + rest, _FIRST, st.text(_OTHER, max_size=LENGTHS[kind] - 1))


def _lines(kind: Kind, low: int, high: int) -> st.SearchStrategy[list[tuple[Kind, str]]]:
    return st.lists(_text(kind).map(lambda text: (kind, text)), min_size=low, max_size=high)


@given(_lines("lex", 2, 3), _lines("vec", 2, 2), _lines("hyde", 1, 1), st.sampled_from(["", "\n"]))
def test_whatever_the_grammar_lets_through_is_read(
    lex: list[tuple[Kind, str]], vec: list[tuple[Kind, str]], hyde: list[tuple[Kind, str]], end: str
) -> None:
    lines = [*lex, *vec, *hyde]
    said = "\n".join(f"{kind}: {text}" for kind, text in lines) + end
    assert parse_subqueries(said) == [Subquery(kind, text.strip()) for kind, text in lines]
