"""Wire types of `evidence.gather` and `ask.verify`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Copy, Correction, Freshness, Location, Quote, Result
from gnod.protocol.search import FilterParams, QuestionParams

TokenLimit = Annotated[int, Meta(ge=1, le=100_000)]
BudgetSeconds = Annotated[float, Meta(ge=0.0, le=120.0)]


class EvidenceParams(QuestionParams, frozen=True, kw_only=True):
    """The question, and the limits of the packet.

    - `limit`: the number of documents that are searched for passages.
    - `tokens`: the maximum length of all passages together.
    - `expand`, `rerank`, `budget_s`: as in `search.query`.
    - `exact`: as in `search.lexical`.
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
    """A part of a document: whole paragraphs, list items, table rows or blocks of code. A very long one is split into
    whole sentences or lines.

    - `number`: from 1.
    - `citation`: as in Quote.
    - `heading`: the headings above it, joined by ` > `.
    - `line`, `end_line`: lines of the file if it is text, otherwise lines of its Markdown.
    - `text`: as in the file, in Unicode NFC, or as in its Markdown.
    - `lead`: the header of the table that the rows of `text` belong to, or the line above the list. It is empty if
      there is none, or if an earlier passage has it.
    - `lead_line`: the first line of `lead`; null if that is empty.
    - `score`: in [0, 1].
    - `also`, `also_left_out`: as in Hit.
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
    """Passages that are not in the packet, for one reason.

    - `reason`: over_budget (relevant, but there were too few tokens left), repeats (the packet has the same text), or
      below_score (it adds little to the packet).
    - `count`: the number of these passages. The place, `score` and `tokens` are those of the best one.
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

    - `passages`: the fewest that support an answer. They are grouped by document, in the order of their lines. The
      document with the best passage comes first.
    - `tokens`: the length of all passages with titles, addresses and headings. It is an upper estimate that fits any
      model.
    - `max_tokens`: the limit that was requested.
    - `reason`: why there are no passages: nothing_found (no document is about the question) or over_budget (the best
      passage is longer than the limit; `left_out` has its length).
    - `confidence`: how probable it is that the documents answer the question, in [0, 1], as in AskResult.
    - `state`: what `confidence` means. `answered`: the passages most probably have the answer. `perhaps`: they may have
      it, or only a part: read them before you say so. `not_found`: the documents most probably do not have it, and the
      passages are only the nearest ones.
    - `notes`, `hints`, `corrections`: as in SearchResult.
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
    """A text whose claims are compared with the documents.

    - `text`: its sentences, list items and table rows are claims, at most 100; headings, questions and code are not.
      Its citations (`gno://notes/plan.md:12-14@9f3b2c1d4e5f`), at most 100, are checked, too.
    - `limit`: the number of documents that each claim is compared with.
    - `min_score`, `full`, `explain`: have no effect.
    - `fresh`: also waits for the vectors of the collections that are searched.
    """

    text: Annotated[str, Meta(max_length=65_536)]


class VerifiedClaim(Result, frozen=True, kw_only=True):
    """A claim, and what the documents say of it.

    - `stance`: `supported`: a sentence says the same. `contradicted`: a sentence says the same but for what `differs`
      names, such as `14 ≠ 15` (first the claim). `not_found`: neither; the claim may still be true.
    - `sentence`: the sentence that supports or contradicts it; its `score` is that of a search for the claim.
    """

    text: str
    stance: Literal["supported", "contradicted", "not_found"]
    differs: list[str] = []
    sentence: Quote | None = None


class CheckedCitation(Result, frozen=True, kw_only=True):
    """A citation, and whether its document still says the same.

    - `state`: `unchanged`; `moved`: to `line` and `end_line` of the same document; `changed`; `gone`: there is no such
      document.
    - `uri`: the document; null if it is gone.
    """

    citation: str
    state: Literal["unchanged", "moved", "changed", "gone"]
    uri: str | None = None
    line: int
    end_line: int


class AskVerifyResult(Result, frozen=True, kw_only=True):
    """The claims and the citations of a text, each in its order."""

    claims: list[VerifiedClaim]
    citations: list[CheckedCitation] = []
    took_ms: float
    freshness: Freshness
