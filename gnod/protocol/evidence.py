"""Wire types of `evidence.gather`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Copy, Correction, Freshness, Location, Result
from gnod.protocol.search import QuestionParams

TokenLimit = Annotated[int, Meta(ge=1, le=100_000)]
BudgetSeconds = Annotated[float, Meta(ge=0.0, le=120.0)]


class EvidenceParams(QuestionParams, frozen=True, kw_only=True):
    """`tokens`: the packet has at most so many. `limit`: documents that are searched for passages. `expand`, `rerank`
    and `budget_s` as in `search.query`. `full` has no effect. `fresh` also waits for the vectors of the collections
    that are searched. `exact` as in `search.lexical`."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    tokens: TokenLimit = 1500
    expand: bool = True
    rerank: bool = True
    budget_s: BudgetSeconds = 1.0
    exact: bool = False


class EvidencePassage(Result, frozen=True, kw_only=True):
    """A part of a document: whole paragraphs, list items, table rows or blocks of code; of a very long one, whole
    sentences or lines.

    `number` from 1. `text` is as in the file, in Unicode NFC, or as in its Markdown. `lead` is the header of the table
    that `text` has rows of, or the line above the list, and `lead_line` its first line; empty and null without one, or
    if a passage before has it. `heading`: the headings above it, joined by ` > `. `line` to `end_line` count lines of
    the file where it is text, otherwise lines of its Markdown. `content_hash`: of the document's Markdown (SHA-256);
    equal for copies. `score` is in [0, 1]. `also` and `also_left_out`: as in Hit.
    """

    number: int
    uri: str
    docid: str
    content_hash: str
    collection: str
    path: str
    title: str
    heading: str
    line: int
    end_line: int
    location: Location | None = None
    text: str
    lead: str = ""
    lead_line: int | None = None
    score: float
    language: str | None = None
    also: list[Copy] = []
    also_left_out: int = 0


class LeftOutPassages(Result, frozen=True, kw_only=True):
    """`count` passages that are not in the packet. `reason`: over_budget (relevant, but the tokens were not enough),
    repeats (the same text is in the packet, in passage `repeats`), or below_score (adds little to the packet).
    The place, `score` and `tokens` are those of the best of them."""

    reason: Literal["over_budget", "repeats", "below_score"]
    count: int
    uri: str
    docid: str
    collection: str
    path: str
    heading: str
    line: int
    end_line: int
    location: Location | None = None
    score: float
    tokens: int
    repeats: int | None = None


class EvidenceResult(Result, frozen=True, kw_only=True):
    """`passages`: the fewest that support an answer; grouped by document, the one with the best passage first, and in
    the order of their lines. `tokens`: of all passages with titles, addresses and headings; an upper estimate that fits
    any model. `max_tokens`: the limit. `reason` says why there are no passages: nothing_found (no document is about the
    question) or over_budget (the best passage is longer than the limit; `left_out` has its tokens). `confidence`, in
    [0, 1], that the documents answer the question, as in AskResult. `found` is false if it is too low: then the
    passages are only the nearest ones. `notes`, `hints`, `corrections`: as in SearchResult."""

    question: str
    passages: list[EvidencePassage]
    tokens: int
    max_tokens: int
    left_out: list[LeftOutPassages] = []
    reason: Literal["nothing_found", "over_budget"] | None = None
    found: bool = False
    confidence: float = 0.0
    took_ms: float
    freshness: Freshness
    lexical_only_reason: str | None = None
    notes: list[str] = []
    hints: list[str] = []
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None
