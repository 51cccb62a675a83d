"""`ask.answer`: search, quote; choose sources, generate an answer, check its citations.

Progress notifications carry the quotes as soon as they are found, the sources before the answer begins, and then the
text as the model writes it, unchecked. The result is checked. The model stops when the client cancels or disconnects,
and when it only repeats itself. Without a capable model for answers, the quotes are all.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from gnod.analysis.short_texts import detect_query
from gnod.analysis.terms import Analyzer
from gnod.handlers.wire_types import (
    Also,
    Stages,
    copies_of,
    corrected_stage,
    corrections_of,
    filters_of,
    freshness_of,
    location_to_wire,
    milliseconds_since,
    stages_of,
)
from gnod.models.generator import Generated, Generator
from gnod.pipeline.answering import citations, prompt, verdict
from gnod.pipeline.answering.citations import CheckedAnswer, CitedText
from gnod.pipeline.answering.confidence import Confidence
from gnod.pipeline.answering.quotes import DOCUMENTS, Quote
from gnod.pipeline.answering.quoting import Quoted
from gnod.pipeline.answering.sources import (
    Question,
    SourcePassage,
    estimated_tokens,
    select,
)
from gnod.pipeline.correction.corrector import Corrector
from gnod.pipeline.fields import reading
from gnod.pipeline.fields.reading import FieldedQuery
from gnod.pipeline.hybrid import HybridResult, SearchOptions
from gnod.pipeline.query import parse_question
from gnod.protocol import base as wire
from gnod.protocol.base import AnswerSource, ProgressValue
from gnod.protocol.search import AskParams, AskResult
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.attached import AttachedCollections, Joined
from gnod.services.configuration import Configuration
from gnod.services.search import HybridSearch, NotCalled
from gnod.store.database import Database
from gnod.store.documents.filters import Filters
from gnod.sync.freshness import FreshnessService

# Without a GPU, a model writes a few words per second. At the limit, the text so far is the answer.
LIMIT_S = 120.0
# The sources get this much room even if `max_tokens` leaves less.
_MIN_SOURCE_TOKENS = 400


def handlers(
    configuration: Configuration,
    database: Database,
    freshness: FreshnessService,
    hybrid: HybridSearch,
    corrector: Corrector,
    attached: AttachedCollections,
) -> Mapping[str, Handler]:
    services = _Services(database, freshness, hybrid, attached)

    async def answer(params: AskParams, call: Call) -> AskResult:
        configuration.check_known(params.collections)
        filters = filters_of(params)
        if params.fresh:
            call.progress(ProgressValue(stage="syncing", done=0))
            await freshness.refresh(params.collections, embedded=True)
        asked = await reading.read_question(database.read, params.question, configuration.current.saved_queries)
        generator = await hybrid.generator(params.collections, params.generate)
        answering = _Answer(services, params, asked, asked.within(filters), generator, call)
        if params.exact:
            return await answering.run()
        corrected = await database.read(lambda connection: corrector.correct(connection, asked.text))
        answering.stages.extend(corrected_stage(corrected, answering.started))
        result = await dataclasses.replace(answering, asked=asked._replace(text=corrected.text)).run()
        return replace(result, corrections=corrections_of(corrected))

    return {"ask.answer": answer}


class _Services(NamedTuple):
    database: Database
    freshness: FreshnessService
    hybrid: HybridSearch
    attached: AttachedCollections


class _Written(NamedTuple):
    """What the model made of the sources; None where it was not asked. `also`: as of `copies_of`."""

    sources: Sequence[SourcePassage]
    generated: Generated | None
    checked: CheckedAnswer | None
    also: Mapping[int, Also]


@dataclass(frozen=True)
class _Answer:
    """The answer to one question."""

    services: _Services
    params: AskParams
    asked: FieldedQuery
    filters: Filters
    generator: Generator | NotCalled
    call: Call
    started: float = field(default_factory=time.perf_counter)
    stages: Stages = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def run(self) -> AskResult:
        self.call.progress(ProgressValue(stage="searching", done=0))
        language = await asyncio.to_thread(detect_query, self.asked.text)
        found = await self._quotes()
        sure = found.confidence
        also = await self._copies(found.quotes)
        shown = [_quote_to_wire(quote, sure, also, explain=self.params.explain) for quote in found.quotes]
        self.call.say(ProgressValue(stage="quotes", done=len(shown), total=len(shown), quotes=shown))
        if isinstance(self.generator, NotCalled):
            return await self._result(shown, sure, _Written([], None, None, {}))
        return await self._result(shown, sure, await self._write(self.generator, language))

    async def _write(self, generator: Generator, language: str | None) -> _Written:
        sources = await self._sources(generator)
        if not sources:
            return _Written(sources, None, None, {})
        also = await self._copies(sources)
        shown = [_to_wire(source, also) for source in sources]
        self.call.say(ProgressValue(stage="sources", done=len(sources), total=len(sources), sources=shown))
        self.call.progress(ProgressValue(stage="reading", done=0, total=len(sources)))
        generated = await self._generate(generator, sources, language)
        return _Written(sources, generated, self._check(sources, generated.text, language), also)

    async def _quotes(self) -> Quoted:
        """Return quotes from the documents that keyword and vector search find. The other stages of a search may take
        seconds."""
        options = SearchOptions(limit=DOCUMENTS, min_score=self.params.min_score, expand=False, rerank=False)
        async with self._searching() as shared:
            result = await self._search(shared, options)
            quoted = await self.services.hybrid.quote(shared.read, self.asked.text, result, self.params.collections)
        self.stages.extend(stages_of(quoted.stages))
        self.stages.append(
            {"stage": "quotes", "ran": True, "ms": milliseconds_since(self.started), "quotes": len(quoted.quotes)}
        )
        return quoted

    async def _copies(self, passages: Sequence[Quote | SourcePassage]) -> Mapping[int, Also]:
        ids = {each.document_id for each in passages}
        return await self.services.database.read(lambda connection: copies_of(connection, ids, self.filters))

    @asynccontextmanager
    async def _searching(self) -> AsyncIterator[Joined]:
        async with (
            self.services.database.snapshot() as read,
            self.services.attached.searching(read, self.filters) as shared,
        ):
            yield shared

    async def _search(self, shared: Joined, options: SearchOptions) -> HybridResult:
        # Phrases are required, as in every query.
        query = parse_question(self.asked.text)
        result = await self.services.hybrid.search(shared.read, query, self.filters, options, sources=shared.sources)
        self.stages.extend(stages_of(result.stages))
        notes = dict.fromkeys((*result.left_out, *shared.notes))
        self.notes.extend(note for note in notes if note not in self.notes)
        return result

    async def _sources(self, generator: Generator) -> list[SourcePassage]:
        options = SearchOptions(
            limit=self.params.limit,
            min_score=self.params.min_score,
            expand=self.params.expand,
            rerank=self.params.rerank,
        )
        question = self.asked.text
        async with self._searching() as shared:
            result = await self._search(shared, options)
            nonsense = await self.services.hybrid.nonsense(result, self.params.collections)
            begun = time.perf_counter()
            vectors = result.vectors.row(0) if result.vectors else {}
            served = result.vectors.served if result.vectors else {}
            room = generator.context_tokens - self.params.max_tokens - prompt.TOKENS - estimated_tokens(question)
            work = partial(
                select,
                question=Question(question, vectors, served, nonsense),
                scores={ranked.id: ranked.score for ranked in result.ranked},
                tokens=max(room, _MIN_SOURCE_TOKENS),
            )
            sources = await shared.read(work)
        self.stages.append({"stage": "passages", "ran": True, "ms": milliseconds_since(begun), "sources": len(sources)})
        return sources

    async def _generate(
        self, generator: Generator, sources: Sequence[SourcePassage], language: str | None
    ) -> Generated:
        begun = time.perf_counter()
        length = 0

        def on_text(text: str) -> None:
            nonlocal length
            length += len(text)
            self.call.say(ProgressValue(stage="answering", done=length, unit="characters", text=text))

        generated = await generator.generate(
            prompt.build(self.asked.text, sources, language),
            max_tokens=self.params.max_tokens,
            limit_s=LIMIT_S,
            on_text=on_text,
            may_repeat=False,
        )
        stage: dict[str, object] = {"stage": "answer", "ran": True, "ms": milliseconds_since(begun)}
        stage |= {"model": generator.uri, "prompt_tokens": generated.prompt_tokens, "tokens": generated.tokens}
        self.stages.append(stage | {"finish": generated.finish, "language": language, "said": generated.text})
        return generated

    def _check(self, sources: Sequence[SourcePassage], answer: str, language: str | None) -> CheckedAnswer:
        begun = time.perf_counter()
        texts = [CitedText(s.number, f"{s.title}\n{s.text}", s.language) for s in sources]
        checked = citations.check(prompt.without_prompt(answer), self.asked.text, texts, Analyzer(language))
        self.stages.append(
            {
                "stage": "citations",
                "ran": True,
                "ms": milliseconds_since(begun),
                "kept": checked.kept,
                "dropped": checked.dropped,
                "added": checked.added,
                "removed": checked.removed,
            }
        )
        return checked

    async def _result(self, quotes: Sequence[wire.Quote], confidence: Confidence, written: _Written) -> AskResult:
        sources, generated, checked, also = written
        cited = checked.citations if checked else []
        collections = self.params.collections
        report = await self.services.database.read(
            lambda c: self.services.freshness.report(c, collections, embedded=True)
        )
        not_called = self.generator if isinstance(self.generator, NotCalled) else None
        answered, reason = verdict.decide(
            not_called and not_called.reason, len(sources), checked, quoted=confidence.is_enough
        )
        explain: dict[str, object] = {"stages": self.stages, "confidence": dict(confidence.components)}
        return AskResult(
            question=self.params.question,
            quotes=list(quotes),
            answer=checked.text if checked and answered and not reason else "",
            answered=answered,
            confidence=confidence.value,
            reason=reason,
            sources=[_to_wire(source, also, cited=source.number in cited) for source in sources],
            citations=cited,
            model=None if isinstance(self.generator, NotCalled) else self.generator.uri,
            no_model_reason=not_called and not_called.why,
            finish=generated.finish if generated else None,
            prompt_tokens=generated.prompt_tokens if generated else 0,
            tokens=generated.tokens if generated else 0,
            took_ms=milliseconds_since(self.started),
            freshness=freshness_of(report),
            notes=self.notes,
            hints=list(self.asked.hints),
            explain=explain if self.params.explain else None,
        )


def _to_wire(source: SourcePassage, also: Mapping[int, Also], *, cited: bool = False) -> AnswerSource:
    location, copies = location_to_wire(source.location), also.get(source.document_id, {})
    return wire.copied(AnswerSource, source, location=location, cited=cited, **copies)


def _quote_to_wire(quote: Quote, sure: Confidence, also: Mapping[int, Also], *, explain: bool) -> wire.Quote:
    components = dict(quote.components) if explain else None
    return wire.copied(
        wire.Quote,
        quote,
        location=location_to_wire(quote.location),
        perhaps=not sure.is_enough,
        explain=components,
        **also.get(quote.document_id, {}),
    )
