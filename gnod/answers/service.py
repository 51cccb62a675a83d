"""The answer service: answers a question by quotes, by a generated answer with checked citations, or by evidence.

The quotes come first, from keyword and vector search alone, because the other stages of a search may take seconds. The
model stops when the request is cancelled, or when it only repeats itself. If no capable model is configured, the quotes
are the answer. This module must not depend on the wire types.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol

from gnod.analysis.short_texts import detect_query
from gnod.analysis.terms import Analyzer
from gnod.answers import citations, line_citations, prompt, quoting, verification
from gnod.answers.citations import CheckedAnswer, CitedText
from gnod.answers.evidence import EvidenceList, PassageText, gather
from gnod.answers.line_citations import CitationNow
from gnod.answers.query_models import ConfiguredModels, NotCalled
from gnod.answers.quotes import DOCUMENTS, ScoredQuote, quote
from gnod.answers.quoting import Quoted
from gnod.answers.verification import Stance
from gnod.errors import InvalidParams
from gnod.freshness.read_your_writes import FreshnessReport
from gnod.models.run.roles import GeneratedText, Generator
from gnod.search.correction.query_correction import WordCorrection
from gnod.search.hits import Copies
from gnod.search.hybrid.budget import Stage, milliseconds_since, stage
from gnod.search.hybrid.stages import HybridResult, HybridSettings
from gnod.search.results import SearchRequest
from gnod.search.service import PreparedQuery, SearchService
from gnod.types import UnavailableModel, estimated_tokens

# Without a GPU, a model writes a few words per second. At this limit, the text so far is the answer.
LIMIT_S = 120.0
# The limits for the tokens of all sources: without a GPU, a model of 1.7B parameters reads about 100 per second. The
# minimum applies even if `max_tokens` leaves less.
_MAX_SOURCE_TOKENS = 1200
_MIN_SOURCE_TOKENS = 400
# The maximum number of claims, and of citations, in one request. A claim takes about as long as a search.
MAX_CHECKED = 100


class AnswerOptions(NamedTuple):
    """`max_tokens`: of the answer. `generate`: True calls the model whatever its size; False calls none; None calls it
    if it is large enough."""

    expand: bool
    rerank: bool
    max_tokens: int
    generate: bool | None


class Listener(Protocol):
    """Gets the progress of an answer. `copies`: of the documents, by id."""

    def quoted(self, found: Quoted, copies: Mapping[int, Copies]) -> None: ...
    def chose(self, sources: Sequence[PassageText], copies: Mapping[int, Copies]) -> None: ...
    def wrote(self, text: str, length: int) -> None:
        """`text`: the text that the model has just written, unchecked. `length`: of all its text so far, in
        characters."""


AnswerReason = Literal[
    "not_found", "no_model", "model_too_small", "not_wanted", "no_sources", "model_declined", "unsupported"
]
"""Why the quotes are the whole answer, or why there is no answer."""


class Answer(NamedTuple):
    """`sources`: the passages that the model read; it cites them by number from 1. `generated` and `checked`: its text;
    None if no model was called. `reason`: None if there is a generated text. `generator`: the model that was called, or
    why none was."""

    quoted: Quoted
    sources: Sequence[PassageText]
    generated: GeneratedText | None
    checked: CheckedAnswer | None
    answered: bool
    reason: AnswerReason | None
    generator: Generator | NotCalled
    copies: Mapping[int, Copies]
    said: Said


class EvidenceFound(NamedTuple):
    evidence: EvidenceList
    copies: Mapping[int, Copies]
    lexical_only_reason: str | None
    said: Said


class JudgedClaim(NamedTuple):
    """`sentence`: the sentence that supports or contradicts the claim."""

    text: str
    stance: Stance
    differs: Sequence[str]
    sentence: ScoredQuote | None


class VerifiedText(NamedTuple):
    claims: Sequence[JudgedClaim]
    citations: Sequence[CitationNow]
    freshness: FreshnessReport


class Said(NamedTuple):
    """The parts of every answer besides its content."""

    took_ms: float
    freshness: FreshnessReport
    stages: Sequence[Stage]
    notes: Sequence[str]
    hints: Sequence[str]
    corrections: Sequence[WordCorrection]


class AnswerService:
    def __init__(self, searches: SearchService, models: ConfiguredModels) -> None:
        self._searches = searches
        self._models = models

    async def answer(self, request: SearchRequest, options: AnswerOptions, listener: Listener) -> Answer:
        """Answer a question. Raises the errors of `ConfiguredModels.generator`."""
        async with self._searches.question(request) as question:
            generator = await self._models.generator(question.read, request.collections, options.generate)
            answering = _Answering(self._models, request, options, question, listener)
            quoted = await answering.quote()
            sources = [] if isinstance(generator, NotCalled) else await answering.choose(generator)
            freshness = await question.freshness()
        generated = checked = not_called = None
        if isinstance(generator, NotCalled):
            not_called = generator.reason
        elif sources:
            generated, checked = await answering.write(generator, sources)
        answered, reason = decide(not_called, checked, quoted=quoted.confidence.is_enough)
        given = (generated, checked, answered, reason, generator, answering.copies)
        return Answer(quoted, sources, *given, answering.said(freshness))

    async def evidence(self, request: SearchRequest, options: HybridSettings, max_tokens: int) -> EvidenceFound:
        """Return the fewest passages that support an answer, within a token budget."""
        async with self._searches.question(request) as question:
            found = await question.find(options)
            dependencies = await self._models.quote_dependencies(question.read, found, request.collections)
            evidence = await gather(dependencies, question.text, found, max_tokens=max_tokens)
            copies = await question.copies({passage.place.document.id for passage in evidence.passages})
            freshness = await question.freshness()
        reason = self._searches.lexical_only_reason(found)
        notes = [note for note in question.notes(found) if note != reason]
        stages = [*question.stages, *found.stages, *evidence.stages]
        return EvidenceFound(evidence, copies, reason, _said(question, freshness, stages, notes))

    async def verify(self, request: SearchRequest, on_claim: Callable[[int, int], None]) -> VerifiedText:
        """Check the claims and the citations in the request's text. `on_claim` gets the number of checked claims, and
        of all. Raises InvalidParams if there are too many."""
        freshness = await self._searches.current(request)
        cited, text = line_citations.find(request.text), line_citations.without(request.text)
        language = await asyncio.to_thread(detect_query, text)
        claims = verification.claims_of(text, language)
        for found, noun in ((claims, "claims"), (cited, "citations")):
            if len(found) > MAX_CHECKED:
                raise InvalidParams(f"the text has {len(found)} {noun}: check at most {MAX_CHECKED} at once")
        verified = []
        for number, claim in enumerate(claims):
            on_claim(number, len(claims))
            verified.append(await self._verify(request._replace(text=claim, fresh=False, exact=True), language))
        checked = [
            await self._searches.read_document(each.document, partial(line_citations.check, citation=each))
            for each in cited
        ]
        return VerifiedText(verified, checked, freshness)

    async def _verify(self, request: SearchRequest, language: str | None) -> JudgedClaim:
        claim = request.text
        options = HybridSettings(limit=request.limit, expand=False, rerank=False)
        async with self._searches.question(request._replace(text=verification.searched(claim))) as question:
            found = await question.find(options)
            dependencies = await self._models.quote_dependencies(question.read, found, request.collections)
            scored = await quoting.score(
                dependencies._replace(reranker=UnavailableModel("the reranker judges answers, not claims")),
                *(question.text, found),
                preselected=verification.COMPARED,
                limit_s=verification.LIMIT_S,
            )
            work = partial(verification.judge, claim=claim, scored=scored, language=language)
            stance, unit, _, differs = await question.read(work)
        return JudgedClaim(claim, stance, differs, quote(unit, scored.collected.texts) if unit else None)


class _Answering:
    """Answers one question."""

    def __init__(
        self,
        models: ConfiguredModels,
        request: SearchRequest,
        options: AnswerOptions,
        question: PreparedQuery,
        listener: Listener,
    ) -> None:
        self.copies: dict[int, Copies] = {}
        self._models = models
        self._request = request
        self._options = options
        self._question = question
        self._listener = listener
        self._stages = list(question.stages)
        self._notes: list[str] = []

    async def quote(self) -> Quoted:
        options = HybridSettings(limit=DOCUMENTS, min_score=self._request.min_score, expand=False, rerank=False)
        found = await self._find(options)
        dependencies = await self._models.quote_dependencies(self._question.read, found, self._request.collections)
        quoted = await quoting.quote(dependencies, self._question.text, found)
        self._stages += quoted.stages
        self._note("quotes", self._question.asked.started, {"quotes": len(quoted.quotes)})
        self._listener.quoted(quoted, await self._copies({quote.document_id for quote in quoted.quotes}))
        return quoted

    async def choose(self, generator: Generator) -> list[PassageText]:
        """Return the passages for the model to read: the evidence for an answer."""
        options, question = self._options, self._question
        limit, min_score = self._request.limit, self._request.min_score
        result = await self._find(
            HybridSettings(limit=limit, min_score=min_score, expand=options.expand, rerank=options.rerank)
        )
        room = generator.context_tokens - options.max_tokens - prompt.TOKENS - estimated_tokens(question.text)
        max_tokens = min(max(room, _MIN_SOURCE_TOKENS), _MAX_SOURCE_TOKENS)
        dependencies = await self._models.quote_dependencies(question.read, result, self._request.collections)
        evidence = await gather(dependencies, question.text, result, max_tokens=max_tokens)
        self._stages += evidence.stages
        if sources := evidence.passages:
            self._listener.chose(sources, await self._copies({passage.place.document.id for passage in sources}))
        return sources

    async def write(self, generator: Generator, sources: Sequence[PassageText]) -> tuple[GeneratedText, CheckedAnswer]:
        language = await asyncio.to_thread(detect_query, self._question.text)
        generated = await self._generate(generator, sources, language)
        return generated, self._check(sources, generated.text, language)

    def said(self, freshness: FreshnessReport) -> Said:
        return _said(self._question, freshness, self._stages, self._notes)

    async def _find(self, options: HybridSettings) -> HybridResult:
        found = await self._question.find(options)
        self._stages += found.stages
        self._notes = list(dict.fromkeys((*self._notes, *self._question.notes(found))))
        return found

    async def _copies(self, documents: set[int]) -> Mapping[int, Copies]:
        self.copies |= await self._question.copies(documents)
        return self.copies

    async def _generate(
        self, generator: Generator, sources: Sequence[PassageText], language: str | None
    ) -> GeneratedText:
        started = time.perf_counter()
        length = 0

        def on_text(text: str) -> None:
            nonlocal length
            length += len(text)
            self._listener.wrote(text, length)

        texts = [(source.place.document.title, source.in_context) for source in sources]
        generated = await generator.generate(
            prompt.build(self._question.text, texts, language),
            max_tokens=self._options.max_tokens,
            limit_s=LIMIT_S,
            on_text=on_text,
            may_repeat=False,
        )
        details: dict[str, object] = {"model": generator.uri, "prompt_tokens": generated.prompt_tokens}
        details |= {"tokens": generated.tokens, "finish": generated.finish, "language": language}
        self._note("answer", started, details | {"said": generated.text})
        return generated

    def _check(self, sources: Sequence[PassageText], answer: str, language: str | None) -> CheckedAnswer:
        started = time.perf_counter()
        texts = [
            CitedText(number, f"{document.title}\n{source.in_context}", document.language)
            for number, source in enumerate(sources, start=1)
            for document in [source.place.document]
        ]
        checked = citations.check(prompt.without_prompt(answer), self._question.text, texts, Analyzer(language))
        counts: dict[str, object] = {"kept": checked.kept, "dropped": checked.dropped}
        self._note("citations", started, counts | {"added": checked.added, "removed": checked.removed})
        return checked

    def _note(self, name: str, started: float, details: dict[str, object]) -> None:
        self._stages.append(stage(name, started, details))


def _said(question: PreparedQuery, freshness: FreshnessReport, stages: Sequence[Stage], notes: Sequence[str]) -> Said:
    asked, corrections = question.asked, question.corrected.corrections
    return Said(milliseconds_since(asked.started), freshness, stages, notes, asked.query.hints, corrections)


def decide(
    not_called: AnswerReason | None, checked: CheckedAnswer | None, *, quoted: bool
) -> tuple[bool, AnswerReason | None]:
    """Return whether the question is answered, and the reason. It is answered by a generated text that a source
    supports in part, or by quotes with enough confidence (`quoted`). `not_called`: why no model was called. `checked`:
    None without sources."""
    if checked is not None and checked.reason is None:
        return True, None
    if not quoted:
        return False, "not_found"
    return True, not_called or (checked and checked.reason) or "no_sources"
