"""Wire types of `evidence.gather` and `ask.verify`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Copy, Correction, Freshness, Location, Quote, Result
from gnod.protocol.search import FilterParams, QuestionParams

TokenLimit = Annotated[int, Meta(ge=1, le=100_000)]
BudgetSeconds = Annotated[float, Meta(ge=0.0, le=120.0)]


class EvidenceParams(QuestionParams, frozen=True, kw_only=True):
    """Contains the question and the limits of the packet.

    - `limit`: the number of documents that are searched for passages.
    - `tokens`: the maximum total length of the passages.
    - `expand`, `rerank`, `budget_s`: see `search.query`.
    - `exact`: see `search.lexical`.
    - `full`: has no effect.
    - `fresh`: also waits for the vectors of the collections that are searched.
    """

    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    tokens: TokenLimit = 1500
    expand: bool = True
    rerank: bool = True
    budget_s: BudgetSeconds = 1.0
    exact: bool = False


class EvidencePassage(Result, frozen=True, kw_only=True):
    """A part of a document: whole paragraphs, list items, table rows or blocks of code. Very long ones are split into
    whole sentences or lines.

    - `number`: from 1.
    - `citation`: see Quote.
    - `heading`: the headings above it, joined by ` > `.
    - `line`, `end_line`: lines of the file if it is text, otherwise lines of its Markdown.
    - `text`: copied from the file (in Unicode NFC) or from its Markdown.
    - `lead`: the header of the table that the rows of `text` belong to, or the line above the list. It is empty if
      there is none, or if an earlier passage has it.
    - `lead_line`: the first line of `lead`; null if `lead` is empty.
    - `score`: in [0, 1].
    - `also`, `also_left_out`: see Hit.
    """

    number: int
    uri: str
    docid: str
    collection: str
    path: str
    title: str
    heading: str
    line: int
    end_line: int
    location: Location | None = None
    text: str
    citation: str
    lead: str = ""
    lead_line: int | None = None
    score: float
    language: str | None = None
    also: list[Copy] = []
    also_left_out: int = 0


class LeftOutPassages(Result, frozen=True, kw_only=True):
    """The passages that one reason keeps out of the packet.

    - `reason`: over_budget (relevant, but there were too few tokens left), repeats (the packet has the same text), or
      below_score (it adds little to the packet).
    - `count`: the number of these passages. The place, `score` and `tokens` describe the best one.
    - `repeats`: the number of the passage that has the same text.
    """

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
    """The packet of evidence for a question.

    - `passages`: the fewest passages that support an answer. They are grouped by document and sorted by line. The
      document with the best passage comes first.
    - `tokens`: the length of all passages with titles, addresses and headings. It is an upper estimate for any model.
    - `max_tokens`: the limit that was requested.
    - `reason`: why there are no passages: nothing_found (no document is about the question) or over_budget (the best
      passage is longer than the limit; `left_out` has its length).
    - `confidence`: how probable it is that the documents answer the question, in [0, 1]; see AskResult.
    - `state`: the meaning of `confidence`. `answered`: the passages most probably have the answer. `perhaps`: they may
      have the answer or only a part of it, so read them before you rely on them. `not_found`: the documents most
      probably do not have it, and the passages are only the nearest ones.
    - `notes`, `hints`, `corrections`: see SearchResult.
    """

    question: str
    passages: list[EvidencePassage]
    tokens: int
    max_tokens: int
    left_out: list[LeftOutPassages] = []
    reason: Literal["nothing_found", "over_budget"] | None = None
    state: Literal["answered", "perhaps", "not_found"] = "not_found"
    confidence: float = 0.0
    took_ms: float
    freshness: Freshness
    lexical_only_reason: str | None = None
    notes: list[str] = []
    hints: list[str] = []
    corrections: list[Correction] = []
    explain: dict[str, object] | None = None


class AskVerifyParams(FilterParams, frozen=True, kw_only=True):
    """Contains the text to check. Its claims are compared with the documents.

    - `text`: its sentences, list items and table rows are claims, at most 100; headings, questions and code are not.
      At most 100 of its citations (`gno://notes/plan.md:12-14@9f3b2c1d4e5f`) are also checked.
    - `limit`: the number of documents that each claim is compared with.
    - `min_score`, `full`, `explain`: have no effect.
    - `fresh`: also waits for the vectors of the collections that are searched.
    """

    text: Annotated[str, Meta(max_length=65_536)]


class VerifiedClaim(Result, frozen=True, kw_only=True):
    """A claim, and what the documents say about it.

    - `stance`: `supported`: a sentence says the same. `contradicted`: a sentence says the same except for the values in
      `differs`, such as `14 ≠ 15` (the value in the claim comes first). `not_found`: neither; the claim may still be
      true.
    - `sentence`: the sentence that supports or contradicts it. Its `score` comes from a search for the claim.
    """

    text: str
    stance: Literal["supported", "contradicted", "not_found"]
    differs: list[str] = []
    sentence: Quote | None = None


class CheckedCitation(Result, frozen=True, kw_only=True):
    """A citation, and whether its document still contains the cited words.

    - `state`: `unchanged`; `moved`: to `line` and `end_line` of the same document; `changed`; `gone`: the document does
      not exist.
    - `uri`: the document; null if it does not exist.
    """

    citation: str
    state: Literal["unchanged", "moved", "changed", "gone"]
    uri: str | None = None
    line: int
    end_line: int


class AskVerifyResult(Result, frozen=True, kw_only=True):
    """The claims and the citations of a text, in their order in the text."""

    claims: list[VerifiedClaim]
    citations: list[CheckedCitation] = []
    took_ms: float
    freshness: Freshness
