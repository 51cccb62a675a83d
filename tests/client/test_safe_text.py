"""Text is made safe and cut to fit, and the output for any answer of the daemon is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields, replace

from gnoctl.printing import answers, evidence, graphs, hits, memories, text
from gnoctl.printing.terminal import Terminal
from gnod.protocol.base import Copy, Correction
from gnod.protocol.evidence import AskVerifyResult, CheckedCitation, VerifiedClaim
from gnod.protocol.links import GraphNode, LinksGraphResult
from gnod.protocol.memory import MemorySearchResult
from gnod.protocol.search import AskResult, FacetCount, Reason
from tests.client import samples
from tests.client.samples import few, hostile_text


@few
@given(hostile_text)
def test_made_safe_it_has_the_same_length(raw: str) -> None:
    for safe in (text.line(raw), text.block(raw)):
        assert text.is_safe(safe)
        assert len(safe) == len(raw)
    assert text.block(raw).count("\n") == raw.count("\n")


@few
@given(hostile_text, st.integers(1, 30))
def test_clipped_it_fits(raw: str, width: int) -> None:
    safe = text.line(raw)
    for clipped in (text.clip(safe, width), text.clip_start(safe, width)):
        assert text.cells(clipped) <= width


@few
@given(hostile_text, st.integers(2, 30))
def test_wrapped_it_fits_and_nothing_but_space_is_lost(raw: str, width: int) -> None:
    safe = text.block(raw).replace("\t", " ")
    spans = text.wrap(safe, width)
    pieces = [safe[start:end] for start, end in spans]
    assert all(text.cells(piece) <= width for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(safe.split())
    assert spans == sorted(spans)


def test_bidirectional_text_of_honest_languages_stays() -> None:
    assert text.line("שלום مرحبا\u200f") == "שלום مرحبا\u200f"


@pytest.mark.parametrize(
    ("raw", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("👍", 2), ("हिन्दी", 5), ("\u200d", 0)]
)
def test_cells(raw: str, width: int) -> None:
    assert text.cells(raw) == width


def test_a_long_path_keeps_its_end() -> None:
    assert text.clip_start("notes/2026/deploy.md", 10) == "…deploy.md"


def test_chinese_is_broken_without_spaces() -> None:
    assert [end - start for start, end in text.wrap("知識検索デーモン", 6)] == [3, 3, 2]


def hostile(value: Any, raw: str) -> Any:
    """Return an answer of the daemon in which all texts are `raw`, except words of a fixed set."""
    if isinstance(value, Struct):
        free = [field.name for field in fields(type(value)) if get_origin(field.type) is not Literal]
        return replace(value, **{name: hostile(getattr(value, name), raw) for name in free})
    if isinstance(value, list):
        return [hostile(each, raw) for each in value]
    if isinstance(value, dict):
        return {hostile(key, raw): hostile(each, raw) for key, each in value.items()}
    return raw if isinstance(value, str) else value


COPIES = [Copy(uri="gno://n/b.md", collection="n", path="b.md", source="/n/b.md")]
NAMED: dict[str, Any] = {"notes": ["a"], "hints": ["b"], "corrections": [Correction(written="c", searched="d")]}
HITS = samples.found(samples.hit(context="about", also=COPIES, reasons=[Reason(kind="links_to", number=2)]))
ANSWER = AskResult(
    question="?",
    answer="Miso [1].",
    answered=True,
    confidence=0.9,
    sources=[samples.source(1, also=COPIES), samples.source(2, cited=True)],
    quotes=[samples.quote(also=COPIES), samples.quote(kind="sentence", perhaps=True, heading="Cats")],
    citations=[1],
    explain={"stages": [{"stage": "quotes", "more": "x"}], "confidence": {"words": 0.3}},
    took_ms=1.0,
    freshness=samples.CURRENT,
    **NAMED,
)
PACKET = samples.evidence(samples.passage(lead="| A |"), left_out=[samples.left_out("repeats", "c.md", repeats=1)])
CLAIM = VerifiedClaim(text="a", stance="contradicted", differs=["b"], sentence=samples.quote(citation="c"))
CITED = CheckedCitation(citation="c", state="moved", uri="gno://n/a.md", line=5, end_line=6)
CLAIMS = AskVerifyResult(claims=[CLAIM], citations=[CITED], took_ms=1.0, freshness=samples.CURRENT)
MEMORIES = MemorySearchResult(results=[samples.memory()], counts="1 of 1", topics={"a": 1}, notes=["b"])
NODES = [GraphNode(uri="gno://n/a.md", title="A", docid="#1", collection="n", distance=0, links=0, backlinks=0)]
GRAPH = LinksGraphResult(nodes=NODES, edges=[], total=1, is_cut=False)


@few
@given(hostile_text, st.sampled_from([None, 20, 60]))
def test_no_answer_of_the_daemon_reaches_the_terminal_unchecked(raw: str, width: int | None) -> None:
    terminal = Terminal(width=width)
    drawn: list[tuple[Callable[..., Iterable[str]], Struct]] = [
        (hits.render, replace(HITS, **NAMED, facets={"tag": [FacetCount(value="x", count=1)]})),
        (answers.render, ANSWER),
        (evidence.render, replace(PACKET, **NAMED, explain={"a": "b"})),
        (evidence.render_claims, CLAIMS),
        (memories.render_results, MEMORIES),
        (graphs.tree, GRAPH),
    ]
    for render, answer in drawn:
        for line in render(hostile(answer, raw), terminal):
            assert text.is_safe(line), render
            assert "\n" not in line, render
